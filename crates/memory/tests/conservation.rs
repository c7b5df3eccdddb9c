//! Laws of conservation over random machines and random traffic, and queues of one or two places that never
//! overflow, lose or forget anything.

mod driver;
mod laws;

use driver::{Replayed, gpu, replay};
use hardware::{CardParameters, Gpu};
use laws::traffic;
use memory::{MemoryStatistics, MemorySystem};
use proptest::prelude::*;
use source::{Line, Request};

/// How large the queues of a machine are.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    requests: u64,
    replies: u64,
    misses: u64,
    mshrs: u64,
    merges: u64,
    dram: u64,
    back: u64,
    rate: u64,
}

/// The smallest that there may be: a line may have four sectors to write back and four to read.
const LEAST: Sizes = Sizes {
    requests: 1,
    replies: 1,
    misses: 8,
    mshrs: 4,
    merges: 1,
    dram: 5,
    back: 0,
    rate: 1,
};

prop_compose! {
    fn sizes()(
        requests in 1_u64..=4,
        replies in 1_u64..=4,
        misses in 8_u64..=12,
        mshrs in 4_u64..=9,
        merges in 1_u64..=4,
        dram in prop_oneof![5_u64..=6, 5_u64..=40],
        back in 0_u64..=8,
        rate in 1_u64..=2,
    ) -> Sizes {
        Sizes { requests, replies, misses, mshrs, merges, dram, back, rate }
    }
}

/// A GPU with queues of these sizes and, where its sets may be few, a small L2.
fn machine(name: &str, sizes: Sizes) -> Gpu {
    let Sizes {
        requests,
        replies,
        misses,
        mshrs,
        merges,
        dram,
        back,
        rate,
    } = sizes;
    let mut overrides = vec![
        format!("l2.queue={requests}"),
        format!("l2.reply_queue={replies}"),
        format!("l2.miss_queue={misses}"),
        format!("l2.mshrs={mshrs}"),
        format!("l2.mshr_merges={merges}"),
        format!("dram.queue={dram}"),
        format!("dram.return_queue={back}"),
        format!("dram.write_high={}", 1.max(dram / 2)),
        format!("dram.write_low={}", dram / 5),
        format!("crossbar.sm_rate={rate}"),
        format!("crossbar.slice_rate={rate}"),
    ];
    let plain = gpu(name, &[]);
    let number = |key: &str| match plain.value(key) {
        Ok(&hardware::Value::Integer(value)) => value as u64,
        other => panic!("{key}: {other:?}"),
    };
    // The masks of AD102 are for its sets.
    if !plain.has("l2.set_masks") {
        let lines = number("l2.partitions") * number("l2.slices_per_partition") * number("l2.ways");
        overrides.push("l2.sets=4".to_owned());
        overrides.push(format!("memory.l2_size={}", 4 * lines * Line::BYTES));
    }
    let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
    gpu(name, &overrides)
}

/// The marks of all queues with what they must not exceed.
fn marks(
    gpu: &Gpu,
    s: &MemoryStatistics,
    sizes: Sizes,
    packets: u64,
) -> Vec<(&'static str, u64, u64)> {
    let slices = match gpu.value("l2.slices_per_partition") {
        Ok(&hardware::Value::Integer(value)) => value as u64,
        other => panic!("{other:?}"),
    };
    let share = (sizes.dram + sizes.back) / slices;
    vec![
        ("packets in the network", s.crossbar_queue_most, packets),
        ("packets of a slice", s.l2_queue_most, sizes.requests),
        ("replies of a slice", s.l2_reply_queue_most, sizes.replies),
        ("misses of a slice", s.l2_miss_queue_most, sizes.misses),
        ("sectors awaited", s.l2_mshrs_most, sizes.mshrs),
        ("requests at a channel", s.l2_dram_places_most, share),
        ("bursts not taken", s.l2_fill_queue_most, share),
        ("queue of a channel", s.dram_queue_most, sizes.dram),
        ("replies at an SM", s.sm_replies_most, 4 * packets),
    ]
}

fn within(gpu: &Gpu, got: &Replayed, sizes: Sizes, traffic: &[Vec<Request>]) {
    let packets = traffic.iter().map(Vec::len).sum::<usize>() as u64;
    for (what, most, bound) in marks(gpu, &got.statistics, sizes, packets) {
        assert!(most <= bound, "{what}: {most} of {bound}");
    }
}

/// Lines of one slice.
fn of_one_slice(gpu: &Gpu, count: usize) -> Vec<u64> {
    let memory = MemorySystem::new(gpu).expect("a complete GPU");
    let map = memory.address_map();
    let slice = |line: u64| map.slice(map.place(Line(line)));
    let first = slice(0);
    (0..)
        .filter(|&line| slice(line) == first)
        .take(count)
        .collect()
}

/// Plays traffic, checks every law, and that neither windows nor threads matter.
fn play(gpu: &Gpu, traffic: &[Vec<Request>], lengths: &[u64]) -> Replayed {
    let run = |windows: &[u64], threads| {
        let mut memory = MemorySystem::new(gpu).expect("a complete GPU");
        let mut n = 0;
        let next = || {
            n += 1;
            windows[n % windows.len()]
        };
        let got = replay(&mut memory, traffic, next, threads);
        laws::check(&memory, traffic, &got);
        got
    };
    let one = run(&[150], 1);
    assert!(one == run(lengths, 1), "windows matter");
    assert!(one == run(&[150], 2), "threads matter");
    one
}

fn sms(gpu: &Gpu) -> usize {
    CardParameters::load(gpu).expect("a card").sms as usize
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn laws_hold_on_any_machine(
        (name, sizes, traffic, lengths) in (
            prop::sample::select(vec![
                "rtx-a6000", "rtx-3080", "rtx-2080-ti", "a100-sxm4-40gb", "h100-pcie", "rtx-4090", "l40s",
            ]),
            sizes(),
        )
            .prop_flat_map(|(name, sizes)| {
                let sms = sms(&gpu(name, &[]));
                let lengths = prop::collection::vec(1_u64..=150, 1..10);
                (Just(name), Just(sizes), traffic(sms, 8, None), lengths)
            }),
    ) {
        let gpu = machine(name, sizes);
        let got = play(&gpu, &traffic, &lengths);
        within(&gpu, &got, sizes, &traffic);
    }
}

/// All SMs ask one slice for everything at once, through queues of one or two places.
#[test]
fn one_slice_serves_all_sms_through_the_smallest_queues() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let larger = Sizes {
        requests: 2,
        replies: 2,
        merges: 2,
        back: 1,
        ..LEAST
    };
    for name in ["rtx-a6000", "rtx-4090", "h100-pcie"] {
        for sizes in [LEAST, larger, Sizes { rate: 2, ..larger }] {
            let gpu = machine(name, sizes);
            let lines = of_one_slice(&gpu, 300);
            let sms = sms(&gpu);
            let strategy = traffic(sms, sms as u16, Some(lines));
            let mut traffic: Vec<Vec<Request>> = vec![Vec::new(); sms];
            // As much as there may be, in bursts.
            for burst in 0..8_u64 {
                let tree = strategy.new_tree(&mut runner).expect("traffic");
                for (all, requests) in traffic.iter_mut().zip(tree.current()) {
                    let start = all.last().map_or(0, |last: &Request| last.cycle.0);
                    all.extend(requests.into_iter().map(|mut request| {
                        request.cycle.0 = start + request.cycle.0 % 50 * (burst % 2);
                        request.id.0 += 1000 * burst as u32;
                        if let Some(deferred) = &mut request.deferred {
                            deferred.token.0 = request.id.0;
                        }
                        request
                    }));
                    all.sort_by_key(|request| request.cycle);
                }
            }
            let got = play(&gpu, &traffic, &[1, 7, 150, 3]);
            within(&gpu, &got, sizes, &traffic);
            let s = &got.statistics;
            assert_eq!(s.l2_queue_most, sizes.requests, "{name}: full");
            assert_eq!(s.l2_reply_queue_most, sizes.replies, "{name}: full");
            assert!(s.crossbar_queue_most > 50, "{name}: the network waits");
            assert!(s.l2_blocked > 0);
        }
    }
}
