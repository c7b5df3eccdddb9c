//! Bandwidth that follows from mechanism, against data sheets (REGRESSIONS.md M16).

mod driver;

use driver::{Mix, VADD, bandwidth, gpu, stream};
use hardware::MemoryParameters;
use memory::MemorySystem;

const READS: Mix = Mix {
    reads: 1,
    writes: 0,
    elements: 8 << 20,
    warps_per_cta: 8,
    ctas_per_sm: 6,
};

#[test]
fn bytes_per_clock_give_the_data_sheets_bandwidth_on_every_gpu() {
    for name in hardware::names() {
        let gpu = gpu(name, &[]);
        let memory = MemorySystem::new(&gpu).expect("a complete GPU");
        let sheet = MemoryParameters::load(&gpu).expect("a memory").bandwidth * 1e9;
        let peak = memory.dram_peak(&gpu).expect("a peak");
        assert!(
            (peak / sheet - 1.0).abs() < 0.001,
            "{name}: {peak} B/s from the timing, {sheet} B/s in the data sheet"
        );
    }
}

#[test]
fn vadd_of_16_mi_floats_moves_85_to_95_percent_on_the_a6000() {
    let gpu = gpu("rtx-a6000", &[]);
    let outcome = stream(&gpu, &VADD, None, 2);
    let share = bandwidth(&gpu, &outcome) / 768e9;
    assert!((0.85..=0.95).contains(&share), "{:.1} %", share * 100.0);
    let s = outcome.memory.statistics();
    // Every byte read once, every byte written once or still in L2.
    assert_eq!(s.dram_read_bytes, 2 * 4 * VADD.elements);
    assert!(s.dram_write_bytes <= 4 * VADD.elements);
    assert!(s.dram_write_bytes >= 4 * VADD.elements - (6 << 20));
    assert_eq!(outcome.requests, outcome.replies);
}

#[test]
fn vadd_comes_near_the_data_sheet_on_every_gpu() {
    for name in hardware::names() {
        let gpu = gpu(name, &[]);
        let mix = Mix {
            elements: 4 << 20,
            ..VADD
        };
        let outcome = stream(&gpu, &mix, None, 2);
        let sheet = MemoryParameters::load(&gpu).expect("a memory").bandwidth * 1e9;
        let share = bandwidth(&gpu, &outcome) / sheet;
        // What a large L2 keeps is not written, which makes the share of turns smaller.
        assert!(
            (0.80..=1.0).contains(&share),
            "{name}: {:.1} %",
            share * 100.0
        );
    }
}

/// Reads alone, as many bytes under way as a grid that fills the SMs has. A kernel, whose SMs do more
/// than ask, reaches somewhat less.
#[test]
fn streaming_reads_come_near_the_data_sheet() {
    let mut out_of_bounds = Vec::new();
    for name in [
        "rtx-4090",
        "rtx-a6000",
        "rtx-3080",
        "rtx-2080-ti",
        "a100-sxm4-40gb",
    ] {
        let gpu = gpu(name, &[]);
        let outcome = stream(&gpu, &READS, None, 2);
        let sheet = MemoryParameters::load(&gpu).expect("a memory").bandwidth * 1e9;
        let share = bandwidth(&gpu, &outcome) / sheet;
        let s = outcome.memory.statistics();
        assert_eq!(s.dram_read_bytes, 4 * READS.elements, "{name}");
        assert_eq!(s.dram_write_bytes, 0, "{name}");
        println!(
            "{name}: {:.1} %, {:.1} % of bursts in open rows",
            100.0 * share,
            100.0 * s.dram_row_hits as f64 / s.dram_reads as f64
        );
        if !(0.9..=1.0).contains(&share) {
            out_of_bounds.push((name, share));
        }
    }
    assert!(out_of_bounds.is_empty(), "{out_of_bounds:?}");
}

#[test]
fn what_fits_l2_runs_at_the_rate_of_its_slices() {
    // 48 slices of one sector per cycle; 84 SMs ask for one per cycle.
    let gpu = gpu("rtx-a6000", &[]);
    let mut memory = MemorySystem::new(&gpu).expect("a complete GPU");
    let sectors = 65_536_u64;
    let traffic: Vec<Vec<_>> = (0..84)
        .map(|sm| {
            let fill = (0..sectors.div_ceil(84)).map(move |n| (n * 20, n * 84 + sm));
            let again = (0..2000).map(move |n| (100_000 + n, (n * 84 + sm) % sectors));
            let both = fill.chain(again).enumerate();
            both.map(|(id, (cycle, sector))| {
                driver::request(
                    cycle,
                    sm as u16,
                    id as u32,
                    source::RequestKind::Read,
                    sector,
                )
            })
            .collect()
        })
        .collect();
    let got = driver::replay(&mut memory, &traffic, || 200, 1);
    let last = got
        .replies
        .iter()
        .flatten()
        .map(|reply| reply.cycle.0)
        .max();
    let cycles = last.expect("answers") - 100_000 - 214;
    let rate = 84.0 * 2000.0 / cycles as f64;
    assert!((45.0..=48.1).contains(&rate), "{rate} sectors per cycle");
}

#[test]
fn a_smaller_scheduler_reaches_less() {
    // The bandwidth is no constant: without a choice of rows it falls.
    let mix = Mix {
        elements: 1 << 20,
        ..VADD
    };
    let reach = |overrides: &[&str]| {
        let gpu = gpu("rtx-a6000", overrides);
        bandwidth(&gpu, &stream(&gpu, &mix, None, 1))
    };
    let full = reach(&[]);
    assert!(reach(&["dram.queue=16"]) < 0.9 * full);
    assert!(reach(&["dram.write_high=2", "dram.write_low=1"]) < 0.9 * full);
    assert!(reach(&["dram.ccdl=16"]) < full);
}
