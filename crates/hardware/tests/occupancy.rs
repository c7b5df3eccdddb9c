//! Occupancy against the vendor's calculator and against values known by hand.

#![allow(clippy::unwrap_used)]

use hardware::{CtaFootprint, Gpu, Limit, Occupancy, OccupancyError, OccupancyParameters};

fn sm(gpu: &str) -> OccupancyParameters {
    OccupancyParameters::load(&Gpu::load(gpu).unwrap()).unwrap()
}

fn cta(threads: u32, registers: u32, shared: u32) -> CtaFootprint {
    CtaFootprint {
        threads,
        registers_per_thread: registers,
        shared,
        barriers: 1,
    }
}

fn by(occupancy: &Occupancy, limit: Limit) -> u32 {
    occupancy.by.iter().find(|(l, _)| *l == limit).unwrap().1
}

/// `occupancy.csv` was made with `cudaOccMaxActiveBlocksPerMultiprocessor` of the vendor's
/// `cuda_occupancy.h` (CUDA 13) for devices with the properties of these GPUs.
#[test]
fn equals_the_vendors_calculator() {
    let gpus = [
        ("80", sm("a100-sxm4-40gb")),
        ("86", sm("rtx-a6000")),
        ("89", sm("rtx-4090")),
        ("75", sm("rtx-2080-ti")),
        ("90", sm("h100-pcie")),
    ];
    let mut rows = 0;
    for line in include_str!("occupancy.csv").lines().skip(1) {
        let (architecture, numbers) = line.split_once(',').unwrap();
        let sm = &gpus.iter().find(|(a, _)| *a == architecture).unwrap().1;
        let numbers: Vec<u32> = numbers.split(',').map(|n| n.parse().unwrap()).collect();
        let [
            threads,
            registers,
            shared,
            ctas,
            by_warps,
            by_registers,
            by_shared,
            by_ctas,
            carveout,
        ] = numbers[..]
        else {
            panic!("{line}");
        };
        rows += 1;
        let Ok(occupancy) = sm.occupancy(&cta(threads, registers, shared)) else {
            assert_eq!(ctas, 0, "{line}");
            continue;
        };
        assert_eq!(occupancy.ctas_per_sm, ctas, "{line}");
        assert_eq!(by(&occupancy, Limit::Warps), by_warps, "{line}");
        assert_eq!(by(&occupancy, Limit::Registers), by_registers, "{line}");
        assert_eq!(by(&occupancy, Limit::Shared), by_shared, "{line}");
        assert_eq!(by(&occupancy, Limit::Ctas), by_ctas, "{line}");
        assert_eq!(occupancy.carveout, carveout, "{line}");
        assert_eq!(occupancy.l1_size, sm.l1_shared_size - carveout, "{line}");
    }
    assert_eq!(rows, 700);
}

#[test]
fn the_limiting_resource_is_named() {
    let sm = sm("rtx-a6000");
    let limit = |cta| {
        let occupancy = sm.occupancy(&cta).unwrap();
        (occupancy.ctas_per_sm, occupancy.limit)
    };
    assert_eq!(limit(cta(32, 16, 0)), (16, Limit::Ctas));
    assert_eq!(limit(cta(256, 32, 0)), (6, Limit::Warps));
    assert_eq!(limit(cta(1024, 32, 0)), (1, Limit::Warps));
    assert_eq!(limit(cta(256, 64, 0)), (4, Limit::Registers));
    assert_eq!(limit(cta(256, 255, 0)), (1, Limit::Registers));
    assert_eq!(limit(cta(128, 32, 48 << 10)), (2, Limit::Shared));
    let barriers = CtaFootprint {
        barriers: 4,
        ..cta(64, 16, 0)
    };
    assert_eq!(limit(barriers), (4, Limit::Barriers));
}

#[test]
fn the_carveout_is_the_smallest_that_holds_the_resident_ctas() {
    let ga102 = sm("rtx-a6000");
    // 6 CTAs of 1 KB reserved each.
    let occupancy = ga102.occupancy(&cta(256, 32, 0)).unwrap();
    assert_eq!(
        (occupancy.carveout, occupancy.l1_size),
        (8 << 10, 120 << 10)
    );
    // 6 CTAs of 8 + 1 KB.
    let occupancy = ga102.occupancy(&cta(256, 32, 8 << 10)).unwrap();
    assert_eq!(
        (occupancy.carveout, occupancy.l1_size),
        (64 << 10, 64 << 10)
    );
    let occupancy = ga102.occupancy(&cta(256, 32, 99 << 10)).unwrap();
    assert_eq!(
        (occupancy.carveout, occupancy.l1_size),
        (100 << 10, 28 << 10)
    );
    let ga100 = sm("a100-sxm4-40gb");
    let occupancy = ga100.occupancy(&cta(256, 32, 163 << 10)).unwrap();
    assert_eq!(
        (occupancy.carveout, occupancy.l1_size),
        (164 << 10, 28 << 10)
    );
    // Turing has two sizes, and no reserved part.
    let turing = sm("rtx-2080-ti");
    let occupancy = turing.occupancy(&cta(256, 32, 0)).unwrap();
    assert_eq!(
        (occupancy.ctas_per_sm, occupancy.carveout, occupancy.l1_size),
        (4, 32 << 10, 64 << 10)
    );
    let occupancy = turing.occupancy(&cta(256, 32, 16 << 10)).unwrap();
    assert_eq!(
        (occupancy.ctas_per_sm, occupancy.carveout, occupancy.l1_size),
        (4, 64 << 10, 32 << 10)
    );
    let hopper = sm("h100-pcie");
    let occupancy = hopper.occupancy(&cta(256, 32, 227 << 10)).unwrap();
    assert_eq!(
        (occupancy.carveout, occupancy.l1_size),
        (228 << 10, 28 << 10)
    );
}

#[test]
fn what_does_not_fit_at_all_is_an_error() {
    let sm = sm("rtx-a6000");
    let error = |cta| sm.occupancy(&cta).unwrap_err().to_string();
    assert_eq!(error(cta(0, 32, 0)), "a CTA of 0 threads");
    assert_eq!(
        error(cta(1024, 65, 0)),
        "a CTA takes 73728 registers, the most is 65536"
    );
    assert_eq!(
        error(cta(32, 256, 0)),
        "a thread takes 256 registers, the most is 255"
    );
    assert_eq!(
        error(cta(32, 32, u32::MAX)),
        "a CTA takes 4294967295 bytes of shared memory, the most is 101376"
    );
    assert!(matches!(
        sm.occupancy(&cta(u32::MAX, 255, 0)),
        Err(OccupancyError::TooLarge {
            limit: Limit::Threads,
            ..
        })
    ));
    let barriers = CtaFootprint {
        barriers: 17,
        ..cta(32, 32, 0)
    };
    assert_eq!(error(barriers), "a CTA takes 17 barriers, the most is 16");
}

/// Every setting that the ranges allow gives a result or an error.
#[test]
fn odd_settings_never_panic() {
    let mut gpu = Gpu::load("rtx-a6000").unwrap();
    for setting in [
        "occupancy.carveouts=0",
        "occupancy.warp_unit=16",
        "occupancy.register_unit=4096",
        "occupancy.shared_reserved_per_cta=0",
        "occupancy.shared_unit=4096",
        "occupancy.l1_shared_size=1024",
        "occupancy.carveouts=5,3,9999999",
        "occupancy.registers_per_sm=1024",
    ] {
        gpu.set(setting).unwrap();
        let sm = OccupancyParameters::load(&gpu).unwrap();
        for threads in [1, 33, 1024, 1536] {
            for registers in [0, 1, 33, 255] {
                for shared in [0, 1, 50_000, 101_376] {
                    let _ = sm.occupancy(&cta(threads, registers, shared));
                }
            }
        }
    }
}
