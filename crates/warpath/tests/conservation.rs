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

/// What was looked up in the L1 data cache was found or not, in every space.
fn lookups_add_up(launch: &Value, place: &str) {
    let l1 = |name: &str| metric(launch, &format!("l1tex__t_sectors_{name}.sum"));
    let mut missed = 0;
    for kind in [
        "pipe_lsu_mem_global_op_ld",
        "pipe_lsu_mem_global_op_st",
        "pipe_lsu_mem_local_op_ld",
        "pipe_lsu_mem_local_op_st",
    ] {
        let misses = l1(&format!("{kind}_lookup_miss"));
        assert_eq!(
            l1(&format!("{kind}_lookup_hit")) + misses,
            l1(kind),
            "{place}: {kind}"
        );
        missed += misses;
    }
    let copies = metric(launch, "l1d_ldgsts_misses.sum");
    assert_eq!(
        metric(launch, "l1d_ldgsts_hits.sum") + copies,
        metric(
            launch,
            "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"
        ),
        "{place}"
    );
    // L1 is written through: stores that hit go to L2 all the same. Loads of a sector that is on its
    // way do not ask again. Of atomics, a packet carries the lanes of a sector that travel together.
    let stores =
        l1("pipe_lsu_mem_global_op_st_lookup_hit") + l1("pipe_lsu_mem_local_op_st_lookup_hit");
    let textures = l1("pipe_tex_lookup_miss");
    let merged = metric(launch, "l1d_load_merges.sum");
    let l2 = |name: &str| metric(launch, &format!("lts__t_sectors_srcunit_tex{name}.sum"));
    let atomics =
        metric(launch, "lts__t_sectors_op_atom.sum") + metric(launch, "lts__t_sectors_op_red.sum");
    assert_eq!(
        missed + copies + stores + textures - merged,
        l2("") - atomics,
        "{place}: L1 misses"
    );
    let atomic_sectors = l1("pipe_lsu_mem_global_op_atom") + l1("pipe_lsu_mem_global_op_red");
    assert!(atomics >= atomic_sectors, "{place}: {atomics} packets");
    assert_eq!(
        metric(launch, "lts__t_sectors.sum"),
        l2("") + metric(launch, "lts__t_sectors_srcunit_gcc.sum"),
        "{place}"
    );
    for operation in ["read", "write", "atom", "red"] {
        let sectors = |what: &str| {
            let name = format!("lts__t_sectors_op_{operation}{what}.sum");
            launch["metrics"][name].as_u64()
        };
        let misses = sectors("_lookup_miss").unwrap_or(0);
        let hits = sectors("_lookup_hit").unwrap();
        assert_eq!(Some(hits + misses), sectors(""), "{place}: {operation}");
    }
}

/// What L2 lacks comes from the DRAM, what it holds alone gets there or is left.
fn beyond_l2(launch: &Value, first: bool, place: &str) {
    let sectors = |name: &str| metric(launch, &format!("{name}.sum"));
    assert_eq!(
        sectors("dram__sectors_read"),
        sectors("lts__t_sectors_lookup_miss") - sectors("l2_sectors_merged"),
        "{place}"
    );
    assert_eq!(
        sectors("dram__sectors_write"),
        sectors("l2_sectors_written_back"),
        "{place}"
    );
    assert!(sectors("l2_sectors_written_back_partly") <= sectors("l2_sectors_written_back"));
    if first {
        // Later launches find what earlier ones left.
        assert_eq!(
            sectors("l2_sectors_dirtied"),
            sectors("l2_sectors_written_back")
                + sectors("l2_sectors_dirty")
                + sectors("l2_bytes_flushed") / 32,
            "{place}"
        );
    }
    // Every packet of data is translated once, and none of the others.
    assert_eq!(
        sectors("tlb_lookups"),
        sectors("lts__t_requests_srcunit_tex"),
        "{place}"
    );
}

/// No queue grows beyond its places.
fn queues_end(launch: &Value, gpu: &str, overrides: &[&str], place: &str) {
    let mut gpu = hardware::Gpu::load(gpu).unwrap();
    for assignment in overrides {
        gpu.set(assignment).unwrap();
    }
    let number = |key: &str| match gpu.value(key) {
        Ok(&hardware::Value::Integer(value)) => value as u64,
        other => panic!("{key}: {other:?}"),
    };
    let credits = number("sm_port.outstanding");
    let places = number("dram.queue") + number("dram.return_queue");
    let share = places / number("l2.slices_per_partition");
    for (mark, bound) in [
        ("l1tex_packets_under_way", credits),
        ("l1d_sectors_missing", number("l1_data_cache.outstanding")),
        (
            "l1i_lines_missing",
            number("l1_instruction_cache.outstanding"),
        ),
        (
            "l1i_requests_stalled",
            number("l1_instruction_cache.link") + 1,
        ),
        ("crossbar_request_packets", credits * number("card.sms")),
        ("l2_queue_packets", number("l2.queue")),
        ("l2_reply_queue_packets", number("l2.reply_queue")),
        ("l2_miss_queue_packets", number("l2.miss_queue")),
        ("l2_mshrs_used", number("l2.mshrs")),
        ("l2_dram_requests", share),
        ("l2_fill_queue_bursts", share),
        ("dram_queue_requests", number("dram.queue")),
        ("crossbar_reply_packets", 4 * credits),
    ] {
        let most = metric(launch, &format!("{mark}.max"));
        assert!(most <= bound, "{place}: {mark}: {most} of {bound}");
    }
}

/// Instances add up to what is told of all of them.
fn instances_add_up(launch: &Value, place: &str) {
    for (kind, most) in [("sm", 200), ("slice", 200), ("channel", 200)] {
        let instances = &launch["instances"][kind];
        let count = instances["count"].as_u64().unwrap();
        assert!((1..=most).contains(&count), "{place}: {count} of {kind}");
        for (name, counter) in instances["counters"].as_object().unwrap() {
            let values = counter["values"].as_array().unwrap();
            assert_eq!(values.len() as u64, count, "{place}: {name}");
            let values = values.iter().map(|value| value.as_u64().unwrap());
            let most = values.clone().max().unwrap();
            assert_eq!(counter["max"], most, "{place}: {name}");
            assert_eq!(counter["min"], values.clone().min().unwrap());
            match counter["sum"].as_u64() {
                Some(sum) => {
                    assert_eq!(sum, values.sum::<u64>(), "{place}: {name}");
                    assert_eq!(sum, metric(launch, &format!("{name}.sum")), "{place}");
                    let average = counter["avg"].as_f64().unwrap();
                    assert!((average * count as f64 - sum as f64).abs() <= 1e-6 * sum as f64);
                }
                None => assert_eq!(most, metric(launch, &format!("{name}.max")), "{place}"),
            }
        }
    }
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
            "spmv_csr",
        ]
        .contains(&folder)
    });
    for file in files.iter().filter(|file| !file.ends_with("vadd_16m.toml")) {
        for (architecture, gpu) in GPUS {
            if !has_code_for(file, architecture) {
                continue;
            }
            let outcome = run(file, &["--gpu", gpu, "--per", "sm,slice,channel"]);
            for (number, launch) in outcome.report.as_array().unwrap().iter().enumerate() {
                let place = format!("{} on {gpu}", file.display());
                lookups_add_up(launch, &place);
                beyond_l2(launch, number == 0, &place);
                queues_end(launch, gpu, &[], &place);
                instances_add_up(launch, &place);
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

/// The least that every queue can be.
const LEAST: [&str; 12] = [
    "sm_port.outstanding=64",
    "l1_instruction_cache.outstanding=1",
    "l1_instruction_cache.merges=1",
    "l2.queue=1",
    "l2.reply_queue=1",
    "l2.miss_queue=8",
    "l2.mshrs=4",
    "l2.mshr_merges=1",
    "dram.queue=2",
    "dram.return_queue=0",
    "dram.write_high=2",
    "dram.write_low=1",
];

/// Queues of one place make everything slower. They lose nothing and change no result, and neither windows
/// nor threads matter.
#[test]
fn queues_of_one_place_change_nothing_but_time() {
    let least: Vec<&str> = LEAST.iter().flat_map(|set| ["--set", set]).collect();
    for name in ["vadd/vadd.toml", "histogram/histogram_shared.toml"] {
        let file = common::kernels().join(name);
        let plain = run(&file, &["--gpu", "rtx-a6000", "--warm-l2", "off"]);
        let narrow = |threads: &str, window: &str| {
            let more = [
                "--gpu",
                "rtx-a6000",
                "--warm-l2",
                "off",
                "--threads",
                threads,
                "--window",
                window,
            ];
            run(&file, &[&more[..], &least].concat())
        };
        let slow = narrow("1", "1000");
        assert_eq!(slow.memory, plain.memory, "{name}");
        let cycles = |outcome: &common::Outcome| outcome.report[0]["cycles"].as_u64().unwrap();
        assert!(cycles(&slow) > cycles(&plain), "{name}");
        for (number, launch) in slow.report.as_array().unwrap().iter().enumerate() {
            lookups_add_up(launch, name);
            beyond_l2(launch, number == 0, name);
            queues_end(launch, "rtx-a6000", &LEAST, name);
            for mark in [
                "l2_queue_packets",
                "l2_reply_queue_packets",
                "l1i_lines_missing",
            ] {
                assert_eq!(metric(launch, &format!("{mark}.max")), 1, "{name}: {mark}");
            }
        }
        for (threads, window) in [("1", "1"), ("1", "7"), ("2", "1000"), ("2", "7")] {
            assert!(
                narrow(threads, window) == slow,
                "{name}: {threads}, {window}"
            );
        }
    }
}
