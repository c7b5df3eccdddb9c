//! Conservation laws: what is counted in parts adds up to the whole.

#![allow(clippy::unwrap_used)]

mod common;

use common::{GPUS, has_code_for, launch_files, run};
use serde_json::Value;

fn metric(launch: &Value, name: &str) -> u64 {
    launch["metrics"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no metric {name}"))
}

#[test]
fn slots_and_accesses_add_up() {
    let files = launch_files(|folder| {
        [
            "vadd",
            "reduction",
            "transpose",
            "histogram",
            "softmax",
            "bitonic_sort",
        ]
        .contains(&folder)
    });
    for file in files.iter().filter(|file| !file.ends_with("vadd_16m.toml")) {
        for (architecture, gpu) in GPUS {
            if !has_code_for(file, architecture) {
                continue;
            }
            let outcome = run(file, &["--gpu", gpu]);
            for launch in outcome.report.as_array().unwrap() {
                let cycles = launch["cycles"].as_u64().unwrap();
                let schedulers = launch["schedulers"].as_u64().unwrap();
                let slots = launch["issue_slots"].as_object().unwrap();
                let sum: u64 = slots.values().map(|count| count.as_u64().unwrap()).sum();
                assert_eq!(sum, cycles * schedulers, "{} on {gpu}", file.display());
                assert_eq!(slots["selected"], launch["warp_instructions"]);

                assert_eq!(
                    metric(launch, "lts__t_sectors_lookup_hit.sum")
                        + metric(launch, "lts__t_sectors_lookup_miss.sum"),
                    metric(launch, "lts__t_sectors.sum"),
                    "{}",
                    file.display()
                );
                // Every packet that leaves an SM is looked up in L2 once.
                assert_eq!(
                    metric(launch, "l1tex2xbar_packets.sum"),
                    metric(launch, "lts__t_requests.sum"),
                    "{}",
                    file.display()
                );
                // Every packet of data is translated once.
                assert_eq!(
                    metric(launch, "tlb_hits.sum") + metric(launch, "tlb_misses.sum"),
                    metric(launch, "tlb_lookups.sum"),
                    "{}",
                    file.display()
                );
                assert!(metric(launch, "tlb_refills.sum") <= metric(launch, "tlb_misses.sum"));
                assert!(
                    metric(launch, "tlb_lookups.sum") <= metric(launch, "l1tex2xbar_packets.sum")
                );
                let grid = launch["grid"].as_array().unwrap();
                let ctas: u64 = grid.iter().map(|extent| extent.as_u64().unwrap()).product();
                assert_eq!(metric(launch, "sm__ctas_launched.sum"), ctas);
            }
        }
    }
}

#[test]
fn both_modes_count_the_same_instructions() {
    for name in ["vadd/vadd.toml", "softmax/softmax.toml", "sgemm/sgemm.toml"] {
        let file = common::kernels().join(name);
        let counts = |mode| {
            let outcome = run(&file, &["--mode", mode]);
            let launches = outcome.report.as_array().unwrap().clone();
            launches
                .iter()
                .map(|launch| {
                    (
                        launch["warp_instructions"].clone(),
                        launch["thread_instructions"].clone(),
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(counts("timing"), counts("functional"), "{name}");
    }
}
