//! Closed-form timing: what the model must give whatever else changes, on kernels as the compiler made
//! them. Every run here also checks that its issue slots add up and that it reports no hazard.

mod laws_support;

use laws_support::{cycles, cycles_per_trip, gpu, number, resized, run, timing, workload};

/// GPUs whose sub-cores have FP32 lanes for a warp every cycle.
const WHOLE_WARP: [&str; 6] = [
    "rtx-a6000",
    "rtx-3080",
    "rtx-3080-ti",
    "rtx-3090",
    "rtx-4090",
    "h100-pcie",
];
/// GPUs that have half of them.
const HALF_WARP: [&str; 3] = ["a100-sxm4-40gb", "rtx-2080-ti", "rtx-2070-super"];

fn gpus() -> impl Iterator<Item = &'static str> {
    WHOLE_WARP.into_iter().chain(HALF_WARP)
}

/// A chain of n dependent FFMAs takes 4 n + c cycles, with one c for loops that end alike: those of 64
/// and 128 with one branch, those of 256 and 512 with a call that is not taken and a branch, where the
/// compiler puts one.
#[test]
fn a_chain_of_n_dependent_ffmas_takes_4_n_and_a_constant() {
    const TRIPS: [u32; 3] = [4, 8, 12];
    for name in gpus() {
        let trip = |n: u64| {
            let [first, second, third] = cycles(
                "laws/ffma_chain.toml",
                &format!("ffma_chain_{n}"),
                1,
                TRIPS,
                gpu(name),
            );
            assert_eq!(
                second - first,
                third - second,
                "{name}: every trip is alike"
            );
            assert_eq!((second - first) % 4, 0, "{name}: four whole trips");
            (second - first) / 4
        };
        let [c64, c128, c256, c512] = [64, 128, 256, 512].map(|n| trip(n) - 4 * n);
        println!("{name}: c = {c64}, {c128}, {c256}, {c512}");
        assert_eq!(c64, c128, "{name}");
        assert_eq!(c256, c512, "{name}");
        // Code for Ampere and Ada has a call in the long loops, that for Turing and Hopper has none.
        let call = matches!(gpu(name).architecture(), 80 | 86 | 89);
        assert_eq!(
            c256 - c128,
            if call { 2 } else { 0 },
            "{name}: the call and its slot of the branch unit"
        );
        assert!(c64 <= 4, "{name}: {c64} cycles for the end of the loop");
    }
}

/// Sub-cores of GA102 and AD102 issue an FFMA every cycle, those of GA100 every second.
#[test]
fn ffmas_issue_at_the_rate_of_their_lanes() {
    const WARPS: f64 = 8.0;
    let body = |name: &str, length: u32| {
        cycles_per_trip(
            "laws/ffma_stream_512_32_warps.toml",
            &format!("ffma_stream_{length}"),
            32,
            gpu(name),
        ) / WARPS
    };
    for name in WHOLE_WARP {
        let (long, short) = (body(name, 512), body(name, 64));
        let interval = (long - short) / 448.0;
        println!("{name}: {interval:.4} cycles per FFMA, {long} per trip of 516 instructions");
        assert!((1.0..1.005).contains(&interval), "{name}: {interval}");
        // Besides the FFMAs the loop has four instructions: count, compare, call, branch.
        assert!((516.0..516.0 * 1.006).contains(&long), "{name}: {long}");
    }
    for name in HALF_WARP {
        let (long, short) = (body(name, 512), body(name, 64));
        let interval = (long - short) / 448.0;
        println!("{name}: {interval:.4} cycles per FFMA, {long} per trip of 512 FFMAs");
        assert!((interval - 2.0).abs() < 0.005, "{name}: {interval}");
        // The loop's other instructions fit beside the FFMAs.
        assert_eq!(long, 1024.0, "{name}");
    }
}

/// In steady state a tensor core takes an HMMA every m n k / rate cycles, and a GPU full of them reaches
/// the data sheet's dense figure.
#[test]
fn hmma_reaches_the_data_sheets_dense_rates() {
    for name in gpus() {
        for (shape, depth) in [("16816", 16.0), ("1688", 8.0)] {
            for accumulator in ["f16", "f32"] {
                let card = gpu(name);
                let kernel = format!("mma_{shape}_{accumulator}");
                let file = format!("laws/{kernel}_16_warps.toml");
                let architectures = workload(&file).architectures;
                if architectures.is_some_and(|known| !known.contains(&card.architecture())) {
                    continue;
                }
                let kind = format!("f16_{accumulator}");
                let rate = number(&card, &format!("tensor.{kind}"));
                let peak = number(&card, &format!("peak.tensor_{kind}"));
                let clock = if card.has("peak.tensor_clock") {
                    "peak.tensor_clock"
                } else {
                    "card.boost_clock"
                };
                let (sms, clock) = (number(&card, "card.sms"), number(&card, clock) * 1e6);
                // Four warps per sub-core, 32 HMMAs each.
                let interval = cycles_per_trip(&file, &kernel, 16, card) / (4.0 * 32.0);
                let work = 16.0 * 8.0 * depth;
                let tflops = 2.0 * work / interval * 4.0 * sms * clock / 1e12;
                println!("{name} {kernel}: every {interval} cycles, {tflops:.1} of {peak} TFLOPS");
                if name == "h100-pcie" {
                    // HMMA cannot feed Hopper's tensor cores: its registers come through one port per
                    // bank (MODEL 5.2), ten of them for m16n8k16 with single accumulators.
                    assert!(interval >= work / rate, "{kernel}: {interval}");
                    if kernel == "mma_16816_f32" {
                        assert!((interval - 10.0 / 2.0).abs() < 0.05, "{kernel}: {interval}");
                    }
                    continue;
                }
                if name == "a100-sxm4-40gb" && kernel == "mma_1688_f32" {
                    // Where a bank's reads end at a fixed point, as measured on the A100, each of the
                    // loop's two other reads of the bank that the products saturate costs the tensor
                    // core a cycle: two of the 128 cycles of a warp's trip.
                    assert_eq!(
                        interval,
                        work / rate * (1.0 + 2.0 / 128.0),
                        "{name} {kernel}"
                    );
                    continue;
                }
                assert_eq!(interval, work / rate, "{name} {kernel}");
                assert!(
                    (tflops / peak - 1.0).abs() < 0.01,
                    "{name} {kernel}: {tflops}"
                );
            }
        }
    }
}

/// Cycles between products of a tensor core that is never idle: four warps per sub-core, 32 products
/// each and trip.
fn interval(kernel: &str, card: hardware::Gpu) -> f64 {
    let file = format!("laws/{kernel}_16_warps.toml");
    cycles_per_trip(&file, kernel, 16, card) / (4.0 * 32.0)
}

/// Operations per second, in 10^12, of a GPU whose sub-cores each do `products` multiply-adds in
/// `interval` cycles.
fn tera_operations(card: &hardware::Gpu, products: f64, interval: f64) -> f64 {
    let clock = number(card, "card.boost_clock") * 1e6;
    2.0 * products / interval * 4.0 * number(card, "card.sms") * clock / 1e12
}

/// bfloat16, TF32 and bytes reach the data sheets' dense figures; bfloat16 has that of halves with
/// single accumulators.
#[test]
fn other_types_reach_the_data_sheets_dense_rates() {
    let types = [
        ("mma_bf16", 16.0, "bf16", "f16_f32"),
        ("mma_tf32", 8.0, "tf32", "tf32"),
        ("mma_s8", 32.0, "int8", "int8"),
    ];
    for name in ["rtx-a6000", "rtx-4090", "a100-sxm4-40gb"] {
        for (kernel, depth, rate, peak) in types {
            let rate = number(&gpu(name), &format!("tensor.{rate}"));
            let peak = number(&gpu(name), &format!("peak.tensor_{peak}"));
            let work = 16.0 * 8.0 * depth;
            let interval = interval(kernel, gpu(name));
            let found = tera_operations(&gpu(name), work, interval);
            println!("{name} {kernel}: every {interval} cycles, {found:.1} of {peak} TOPS");
            assert_eq!(interval, work / rate, "{name} {kernel}");
            assert!(
                (found / peak - 1.0).abs() < 0.01,
                "{name} {kernel}: {found}"
            );
        }
    }
}

/// 8-bit floats of the RTX 4090: as many operations as bytes with half accumulators, half as many with
/// single ones (Ada whitepaper: 660.6 and 330.3 TFLOPS).
#[test]
fn eight_bit_floats_reach_the_data_sheets_dense_rates() {
    let name = "rtx-4090";
    let peaks = [
        ("mma_e4m3_f16", number(&gpu(name), "peak.tensor_int8")),
        ("mma_e4m3_f32", number(&gpu(name), "peak.tensor_f16_f16")),
    ];
    for (kernel, peak) in peaks {
        let interval = interval(kernel, gpu(name));
        let found = tera_operations(&gpu(name), 16.0 * 8.0 * 32.0, interval);
        println!("{name} {kernel}: every {interval} cycles, {found:.1} of {peak} TFLOPS");
        assert!(
            (found / peak - 1.0).abs() < 0.01,
            "{name} {kernel}: {found}"
        );
    }
}

/// With a sparse factor a tensor core takes twice the depth in the time of a dense product.
#[test]
fn sparse_products_run_at_twice_the_dense_rate() {
    let types = [
        ("mma_sparse_f16", 32.0, "f16_f32"),
        ("mma_sparse_s8", 64.0, "int8"),
    ];
    for name in ["rtx-a6000", "a100-sxm4-40gb"] {
        for (kernel, depth, rate) in types {
            let rate = number(&gpu(name), &format!("tensor.{rate}"));
            let interval = interval(kernel, gpu(name));
            let dense = 16.0 * 8.0 * depth / rate;
            println!("{name} {kernel}: every {interval} cycles, dense {dense}");
            assert!(
                (0.5..0.505).contains(&(interval / dense)),
                "{name} {kernel}: {interval}"
            );
        }
    }
}

/// A streaming kernel moves its bytes at 85 to 95 % of the data sheet's bandwidth.
#[test]
fn vadd_of_16_mi_elements_keeps_the_dram_busy() {
    let name = "rtx-a6000";
    let file = "vadd/vadd_16m.toml";
    let report = run(file, &workload(file), gpu(name));
    let timing = timing(&report.launches[0]);
    let share = timing.metric("dram__throughput.avg.pct_of_peak_sustained_elapsed");
    let share = share.expect("the metric");
    println!(
        "{name}: {share:.2} % of the data sheet's bandwidth in {} cycles",
        timing.cycles
    );
    assert!((85.0..=95.0).contains(&share), "{share} %");
    // What the program needs, whatever else was moved or is still in L2.
    let seconds = timing.cycles as f64 / (timing.clock * 1e6);
    let needed = 3.0 * 4.0 * 16.0 * 1024.0 * 1024.0 / seconds / 1e9;
    println!(
        "{name}: {:.2} % for the bytes of the program",
        100.0 * needed / 768.0
    );
    assert!((0.85..=0.95).contains(&(needed / 768.0)), "{needed} GB/s");
}

/// Slots add up and nothing is reported on the standing workloads too.
#[test]
fn issue_slots_add_up_on_the_standing_workloads() {
    for file in ["bench/ffma.toml", "bench/mixed.toml"] {
        for name in [
            "rtx-2080-ti",
            "a100-sxm4-40gb",
            "rtx-a6000",
            "rtx-4090",
            "h100-pcie",
        ] {
            run(file, &workload(file), gpu(name));
        }
    }
    let file = "bench/dispatch.toml";
    run(file, &resized(file, 4096), gpu("rtx-a6000"));
}
