//! Neither the length of windows nor the number of threads changes anything (DESIGN.md H6, W1).

mod driver;
mod laws;

use driver::{Mix, Replayed, gpu, replay, stream};
use laws::traffic;
use memory::MemorySystem;
use proptest::prelude::*;
use source::{Request, RequestKind};

/// A small memory side, so that everything fills up: few sets, entries and places.
fn small(name: &str) -> hardware::Gpu {
    let sets = if name == "rtx-a6000" { 4 } else { 8 };
    let sets = format!("l2.sets={sets}");
    let mut gpu = gpu(
        name,
        &[
            "l2.mshrs=6",
            "l2.mshr_merges=3",
            "l2.miss_queue=8",
            "dram.queue=16",
            "dram.return_queue=4",
            "dram.write_high=6",
            "dram.write_low=2",
        ],
    );
    let load = |key: &str| match gpu.value(key) {
        Ok(&hardware::Value::Integer(value)) => value as u64,
        other => panic!("{key}: {other:?}"),
    };
    let lines = load("l2.partitions") * load("l2.slices_per_partition") * load("l2.ways");
    let size = lines * 128 * if name == "rtx-a6000" { 4 } else { 8 };
    // Both together: the check of the one against the other comes when the system is made.
    gpu.set(&sets).expect("an override");
    gpu.set(&format!("memory.l2_size={size}"))
        .expect("an override");
    gpu
}

fn check_performed(memory: &MemorySystem, traffic: &[Vec<Request>], got: &Replayed) {
    let latency = memory.request_latency();
    let map = memory.address_map();
    let mut expected = Vec::new();
    for (sm, requests) in traffic.iter().enumerate() {
        for (n, request) in requests.iter().enumerate() {
            if let Some(deferred) = request.deferred {
                let slice = map.slice(map.place(request.line));
                for sector in (0..4).filter(|sector| request.sectors >> sector & 1 == 1) {
                    expected.push((
                        request.cycle.0 + latency,
                        slice,
                        sm,
                        n,
                        deferred.token,
                        deferred.virtual_line.sector(sector),
                    ));
                }
            }
            let reply = got.replies[sm]
                .iter()
                .find(|reply| reply.id == request.id)
                .expect("an answer");
            assert!(reply.cycle.0 >= request.cycle.0 + latency + memory.reply_latency());
        }
    }
    expected.sort_by_key(|&(cycle, slice, sm, n, ..)| (cycle, slice, sm, n));
    let performed: Vec<_> = got
        .performed
        .iter()
        .map(|p| (p.cycle.0, usize::from(p.sm.0), p.token, p.sector))
        .collect();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(cycle, _, sm, _, token, sector)| (cycle, sm, token, sector))
        .collect();
    assert_eq!(performed, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn windows_never_matter(
        traffic in traffic(68, 6, None),
        lengths in prop::collection::vec(1_u64..=200, 1..20),
        two_per_cycle in any::<bool>(),
    ) {
        let mut gpu = small("rtx-3080");
        if two_per_cycle {
            gpu.set("crossbar.sm_rate=2").expect("an override");
            gpu.set("crossbar.slice_rate=2").expect("an override");
        }
        let run = |windows: &[u64]| {
            let mut memory = MemorySystem::new(&gpu).expect("a complete GPU");
            let mut n = 0;
            let got = replay(&mut memory, &traffic, || {
                n += 1;
                windows[n % windows.len()]
            }, 1);
            laws::check(&memory, &traffic, &got);
            check_performed(&memory, &traffic, &got);
            got
        };
        let one = run(&[1]);
        prop_assert_eq!(&one, &run(&[7]));
        prop_assert_eq!(&one, &run(&[200]));
        prop_assert_eq!(&one, &run(&lengths));
    }
}

const SHORT: Mix = Mix {
    elements: 1 << 17,
    ..driver::VADD
};

#[test]
fn a_stream_is_the_same_in_every_window_and_on_every_number_of_threads() {
    for name in hardware::names() {
        let gpu = gpu(name, &[]);
        let reference = stream(&gpu, &SHORT, None, 1);
        for (window, threads) in [
            (Some(1), 1),
            (Some(7), 1),
            (None, 2),
            (None, 5),
            (Some(150), 2),
        ] {
            let got = stream(&gpu, &SHORT, window, threads);
            assert_eq!(got.digest, reference.digest, "{name} {window:?} {threads}");
            assert_eq!(got.cycles, reference.cycles);
            assert_eq!(got.memory.statistics(), reference.memory.statistics());
        }
    }
}

#[test]
fn a_fresh_kernel_does_not_see_the_one_before() {
    let gpu = gpu("rtx-a6000", &[]);
    let mut memory = MemorySystem::new(&gpu).expect("a complete GPU");
    let mut traffic = vec![Vec::new(); 84];
    traffic[3] = (0..500)
        .map(|n| driver::request(n * 3, 3, n as u32, RequestKind::Write, n * 7))
        .collect();
    let first = replay(&mut memory, &traffic, || 200, 1);
    assert_eq!(first.statistics.l2_dirty, 500);
    memory.flush();
    assert_eq!(memory.statistics().l2_dirty, 0);
    let second = replay(&mut memory, &traffic, || 7, 1);
    assert_eq!(first.replies, second.replies);
    assert_eq!(second.statistics.l2_lookups, 1000);
    memory.reset_statistics();
    // What is dirty is a state, not a count.
    let only_dirty = memory::MemoryStatistics {
        l2_dirty: 500,
        ..Default::default()
    };
    assert_eq!(memory.statistics(), only_dirty);
}

#[test]
fn idle_windows_may_be_skipped() {
    let gpu = gpu("rtx-a6000", &[]);
    let traffic: Vec<Request> = (0..40)
        .map(|n| driver::request(n * 3000, 0, n as u32, RequestKind::Read, n * 12_345))
        .collect();
    let mut all = vec![Vec::new(); 84];
    all[0] = traffic.clone();
    let mut memory = MemorySystem::new(&gpu).expect("a complete GPU");
    let reference = replay(&mut memory, &all, || 200, 1);

    let mut memory = MemorySystem::new(&gpu).expect("a complete GPU");
    let (mut requests, mut replies) = (vec![Vec::new(); 84], vec![Vec::new(); 84]);
    let mut performed = Vec::new();
    let mut runs = 0;
    for request in traffic {
        requests[0].push(request);
        let mut until = request.cycle + 1;
        let before = replies[0].len();
        while replies[0].len() == before {
            memory.run(until, &mut requests, &mut replies, &mut performed);
            runs += 1;
            let next = memory.next_event();
            assert!(
                replies[0].len() > before || next > until,
                "it makes progress"
            );
            until = next;
        }
    }
    assert_eq!(replies, reference.replies);
    assert!(runs <= 40 * 8, "{runs} runs for 40 loads");
}
