//! Properties that hold for every script: windows and the hazard check change nothing, nothing is lost,
//! nothing hangs.

mod common;

use common::Bench;
use common::random::{Outcome, Seed, Setup, script};
use proptest::prelude::*;

/// Machines: as documented, and with every limit so tight that things wait for room.
const MACHINES: &[(&str, &[&str])] = &[
    ("rtx-a6000", &[]),
    ("a100-sxm4-40gb", &[]),
    (
        "rtx-a6000",
        &[
            "sm_port.outstanding=64",
            "l1_data_cache.outstanding=4",
            "l1_data_cache.merges=1",
            "translation.entries=1",
            "memory_unit.pending=2",
            "memory_unit.generators=1",
            "memory_unit.queue=1",
            "l0_instruction_cache.outstanding=1",
            "l0_instruction_cache.sets=1",
            "l0_instruction_cache.ways=1",
            "l1_instruction_cache.sets=1",
            "l1_instruction_cache.ways=2",
            "constant_operand_cache.sets=1",
            "constant_operand_cache.ways=1",
            "stream_buffer.depth=1",
            "memory_unit.atomic_lanes=1",
        ],
    ),
    (
        "a100-sxm4-40gb",
        &[
            "fetch.buffer_entries=8",
            "fetch.to_issue=32",
            "fetch.redirect_delay=64",
            "l0_instruction_cache.line_bytes=16",
            "stream_buffer.depth=0",
            "register_file.read_ports=2",
            "register_file.reuse_cache=false",
            "issue.depbar_hold=63",
            "issue.constant_hold=0",
            "barrier.hold=63",
            "barrier.release=1",
            "memory_unit.copy_release=64",
            "memory_unit.copy_transfer=1",
        ],
    ),
    (
        "rtx-a6000",
        &[
            "dependence.mode=scoreboard_war",
            "dependence.consumers=1",
            "issue.policy=lrr",
        ],
    ),
    (
        "a100-sxm4-40gb",
        &[
            "dependence.mode=scoreboard",
            "dependence.release=bypass",
            "issue.policy=gto",
        ],
    ),
    (
        "rtx-a6000",
        &[
            "l0_instruction_cache.perfect=true",
            "constant_operand_cache.perfect=true",
            "barrier.hold=1",
            "fence.cta=0",
            "fence.gpu=0",
            "fence.system=0",
            "issue.depbar_hold=1",
            "shared_float64.queue=1",
        ],
    ),
];

fn seeds(most: usize) -> impl Strategy<Value = Vec<Seed>> {
    prop::collection::vec((any::<u8>(), any::<[u8; 3]>(), any::<u32>()), 1..most)
}

fn setups() -> impl Strategy<Value = Setup> {
    let start = prop_oneof![Just(0u64), Just((1 << 32) - 10), 0..5000u64];
    (1u32..17, 1u64..7, 1u32..5, start, any::<u64>()).prop_map(
        |(warps, ctas, resident, start, salt)| Setup {
            window: 210,
            check: true,
            warps,
            ctas,
            resident,
            start,
            salt,
        },
    )
}

/// Issued and empty slots, cache lookups and constant operands add up; nothing is left.
fn accounts(outcome: &Outcome) {
    let statistics = &outcome.statistics;
    assert_eq!(statistics.slots.iter().sum::<u64>(), 4 * outcome.end);
    assert_eq!(statistics.slots[0], statistics.warp_instructions);
    assert_eq!(statistics.warp_instructions, outcome.issued.len() as u64);
    assert_eq!(
        statistics.l1_load_hits + statistics.l1_load_misses,
        outcome.loads
    );
    assert_eq!(
        statistics.l1_store_hits + statistics.l1_store_misses,
        outcome.stores
    );
    let spaces = [
        source::Space::Global,
        source::Space::Local,
        source::Space::Texture,
    ];
    let cached = statistics.traffic.total(&spaces);
    assert_eq!(
        cached.hits,
        statistics.l1_load_hits + statistics.l1_store_hits
    );
    assert!(cached.hits + cached.misses >= outcome.loads + outcome.stores);
    assert!(cached.hits + cached.misses <= cached.sectors);
    assert!(statistics.l1_load_merges <= statistics.l1_load_misses);
    assert_eq!(
        statistics.constant_hits + statistics.constant_misses,
        outcome.constants
    );
    assert_eq!(statistics.packets, outcome.requests.len() as u64);
    assert_eq!(outcome.left, sm::UnderWay::default());
    assert_eq!(outcome.tokens, 0, "deferred operations that never complete");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_and_the_check_change_nothing(seeds in seeds(60), setup in setups(), machine in 0..MACHINES.len()) {
        let (gpu, overrides) = MACHINES[machine];
        let bench = Bench::new(gpu, overrides);
        let lines = script(&seeds);
        let first = bench.run_random(&lines, setup);
        accounts(&first);
        for window in [1, 7, 64] {
            let other = bench.run_random(&lines, Setup { window, ..setup });
            prop_assert_eq!(&first, &other, "window {}", window);
        }
        let mut off = bench.run_random(&lines, Setup { check: false, ..setup });
        off.hazards = first.hazards.clone();
        prop_assert_eq!(&first, &off, "hazard check off");
    }
}
