//! Closed forms of the timing, from whole kernels: chains of n dependent instructions take
//! latency x n + c cycles, independent ones issue at the rate of their unit.

#![allow(clippy::unwrap_used)]

mod common;

use common::{kernels, run};

/// Cycles and warp instructions of each launch.
fn launches(file: &str, gpu: &str) -> Vec<(i64, i64)> {
    let outcome = run(&kernels().join("laws").join(file), &["--gpu", gpu]);
    let launches = outcome.report.as_array().unwrap().clone();
    launches
        .iter()
        .map(|launch| {
            let number = |key: &str| launch[key].as_i64().unwrap();
            (number("cycles"), number("warp_instructions"))
        })
        .collect()
}

#[test]
fn a_chain_of_n_dependent_ffmas_takes_4_n_cycles() {
    for gpu in common::GPUS {
        let launches = launches("ffma_chain_warm.toml", gpu);
        // Pairs of two and three trips: their difference is one trip with warm caches.
        for (pair, n) in launches.chunks(2).zip([64, 128, 256, 512]) {
            let trip = pair[1].0 - pair[0].0;
            let rest = trip - 4 * n;
            assert!(
                (0..=16).contains(&rest),
                "{gpu}: {n} FFMAs take {trip} cycles"
            );
        }
    }
}

/// Cycles per warp instruction and sub-core of the second launch beyond the first.
fn interval(file: &str, gpu: &str) -> f64 {
    let launches = launches(file, gpu);
    let [first, second] = launches[..] else {
        panic!("{file}: two launches")
    };
    4.0 * (second.0 - first.0) as f64 / (second.1 - first.1) as f64
}

#[test]
fn ffmas_issue_every_cycle_on_ga102_and_every_second_on_ga100() {
    for (gpu, expected) in [
        ("rtx-a6000", 1.0),
        ("rtx-4090", 1.0),
        ("a100-sxm4-40gb", 2.0),
    ] {
        let interval = interval("ffma_stream_512_32_warps.toml", gpu);
        assert!(
            (interval / expected - 1.0).abs() < 0.02,
            "{gpu}: {interval} cycles"
        );
    }
}
