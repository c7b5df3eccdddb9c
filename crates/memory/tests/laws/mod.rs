//! Random traffic, and the laws that hold for any: what comes in goes out, and every count agrees with the
//! others.
#![allow(dead_code)]

use std::collections::HashSet;

use memory::{InstanceCounts, MemorySystem, RollUp};
use proptest::prelude::*;
use source::{ByteMask, Cycle, Deferred, Line, Request, RequestId, RequestKind, SmId, Token};

use crate::driver::Replayed;

fn kinds() -> impl Strategy<Value = RequestKind> {
    prop_oneof![
        4 => Just(RequestKind::Read),
        4 => Just(RequestKind::Write),
        1 => Just(RequestKind::Atomic),
        1 => Just(RequestKind::Reduction),
        1 => Just(RequestKind::Instruction),
        1 => Just(RequestKind::Constant),
    ]
}

/// Bytes that a write writes of each sector: all, a quarter, one, or any.
fn written() -> impl Strategy<Value = [ByteMask; 4]> {
    prop::array::uniform4(prop_oneof![
        3 => Just(ByteMask::MAX),
        3 => (0..4).prop_map(|quarter| 0xff_u32 << (8 * quarter)),
        1 => (0..32).prop_map(|byte| 1_u32 << byte),
        1 => 1..ByteMask::MAX,
    ])
}

prop_compose! {
    /// Requests of the first `busy` of `sms` SMs to few sectors, in bursts and with gaps; to lines of
    /// `lines` alone if there are any.
    pub fn traffic(sms: usize, busy: u16, lines: Option<Vec<u64>>)(
        spread in prop_oneof![Just(16_u64), Just(1024), Just(1 << 28)],
        items in prop::collection::vec(
            (
                0..busy,
                prop_oneof![6 => 0_u64..2, 2 => 2_u64..40, 1 => 100_u64..1500],
                kinds(), any::<u64>(), 1_u8..=15, written(), 1_u8..=32, any::<bool>(), any::<bool>(),
            ),
            1..600,
        ),
    ) -> Vec<Vec<Request>> {
        let mut all = vec![Vec::new(); sms];
        let mut now = vec![0_u64; sms];
        for (n, (sm, gap, kind, line, sectors, mut bytes, lanes, deferred, traced)) in items.into_iter().enumerate() {
            now[usize::from(sm)] += gap;
            let line = match &lines {
                Some(lines) => lines[(line % lines.len() as u64) as usize],
                None => line % spread,
            };
            for (sector, bytes) in bytes.iter_mut().enumerate() {
                if kind != RequestKind::Write || sectors >> sector & 1 == 0 {
                    *bytes = 0;
                }
            }
            all[usize::from(sm)].push(Request {
                cycle: Cycle(now[usize::from(sm)]),
                sm: SmId(sm),
                id: RequestId(n as u32),
                kind,
                line: Line(line),
                sectors,
                bytes,
                lanes,
                deferred: deferred.then_some(Deferred {
                    token: Token(n as u32),
                    virtual_line: Line(line ^ 0x7000),
                }),
                traced,
            });
        }
        all
    }
}

/// The sectors of a mask.
fn each(sectors: u8) -> impl Iterator<Item = u8> {
    (0..4).filter(move |sector| sectors >> sector & 1 == 1)
}

/// Checks what came of `traffic`, the first since the memory system was made.
pub fn check(memory: &MemorySystem, traffic: &[Vec<Request>], got: &Replayed) {
    answered_once(traffic, got);
    let all = || traffic.iter().flatten();
    let of_kind = |kinds: &[RequestKind]| {
        let some = all().filter(|request| kinds.contains(&request.kind));
        some.map(|request| u64::from(request.sectors.count_ones()))
            .sum::<u64>()
    };
    use RequestKind::{Atomic, Constant, Instruction, Read, Reduction, Write};
    let s = &got.statistics;

    // Sectors and packets, by kind.
    assert_eq!(s.l2_requests, all().count() as u64);
    assert_eq!(s.l2_requests, s.l2_tex_requests + s.l2_gcc_requests);
    assert_eq!(
        s.l2_tex_requests,
        s.l2_tex_read_requests
            + s.l2_tex_write_requests
            + s.l2_tex_atomic_requests
            + s.l2_tex_reduction_requests
    );
    assert_eq!(s.l2_reads, of_kind(&[Read, Instruction, Constant]));
    assert_eq!(s.l2_writes, of_kind(&[Write]));
    assert_eq!(s.l2_atomics, of_kind(&[Atomic]));
    assert_eq!(s.l2_reductions, of_kind(&[Reduction]));
    assert_eq!(
        s.l2_lookups,
        s.l2_reads + s.l2_writes + s.l2_atomics + s.l2_reductions
    );
    assert_eq!(s.l2_lookups, s.l2_tex_sectors + s.l2_gcc_sectors);

    // Found or not.
    assert_eq!(s.l2_lookups, s.l2_hits + s.l2_misses);
    assert_eq!(s.l2_reads, s.l2_read_hits + s.l2_read_misses);
    assert_eq!(s.l2_writes, s.l2_write_hits);
    assert_eq!(s.l2_atomics, s.l2_atomic_hits + s.l2_atomic_misses);
    assert_eq!(s.l2_reductions, s.l2_reduction_hits + s.l2_reduction_misses);
    assert_eq!(s.l2_tex_sectors, s.l2_tex_hits + s.l2_tex_misses);

    // Every miss is a read of the DRAM, unless it joined one.
    assert_eq!(s.dram_reads, s.l2_misses - s.l2_merged);
    assert_eq!(s.dram_read_bytes, 32 * s.dram_reads);
    // What became dirty was written back or is dirty still.
    assert_eq!(s.dram_writes, s.l2_written_back);
    assert_eq!(s.l2_dirtied, s.l2_written_back + s.l2_dirty);
    assert!(s.l2_written_back_partly <= s.l2_written_back);
    let changed: HashSet<(u64, u8)> = all()
        .filter(|request| matches!(request.kind, Write | Atomic | Reduction))
        .flat_map(|request| each(request.sectors).map(|sector| (request.line.0, sector)))
        .collect();
    assert!(s.l2_dirtied >= changed.len() as u64, "each at least once");
    assert!(s.l2_dirtied <= s.l2_writes + s.l2_atomics + s.l2_reductions);
    if s.l2_written_back == 0 {
        assert_eq!(s.l2_dirty, changed.len() as u64);
    }

    // A burst finds its row open, or it is opened for it.
    assert_eq!(
        s.dram_row_hits,
        (s.dram_reads + s.dram_writes).saturating_sub(s.dram_activations)
    );
    assert!(s.dram_precharges <= s.dram_activations);
    assert!(s.dram_turns <= s.dram_reads + s.dram_writes);

    totals(memory, got);
}

/// Every sector that was asked for is answered once, under the name of its request.
fn answered_once(traffic: &[Vec<Request>], got: &Replayed) {
    let mut sent: Vec<(usize, u32, u8)> = Vec::new();
    let mut answered: Vec<(usize, u32, u8)> = Vec::new();
    for (sm, requests) in traffic.iter().enumerate() {
        for request in requests {
            sent.extend(each(request.sectors).map(|sector| (sm, request.id.0, sector)));
        }
        for reply in &got.replies[sm] {
            answered.extend(each(reply.sectors).map(|sector| (sm, reply.id.0, sector)));
        }
        assert!(got.replies[sm].is_sorted(), "replies by (cycle, id)");
    }
    sent.sort_unstable();
    answered.sort_unstable();
    assert_eq!(sent, answered, "every sector is answered once");
}

/// What slices and channels count by themselves makes up the totals.
fn totals(memory: &MemorySystem, got: &Replayed) {
    let list = got.statistics.list();
    let check = |instances: &[InstanceCounts]| {
        for counts in instances {
            let (suffix, value) = match counts.rolled_up {
                RollUp::Sum => ("sum", counts.values.iter().sum()),
                RollUp::Max => ("max", counts.values.iter().copied().max().unwrap_or(0)),
            };
            let name = format!("{}.{suffix}", counts.name);
            let total = list.iter().find(|statistic| statistic.name == name);
            let total = total.unwrap_or_else(|| panic!("{name} is not listed"));
            assert_eq!(total.value, value, "{name}");
        }
        instances.len()
    };
    let counts = check(&memory.slice_counts()) + check(&memory.channel_counts());
    assert!(counts > 40, "{counts} counts of slices and channels");
}
