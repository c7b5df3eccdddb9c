//! What copies from the host and earlier launches leave in L2.

mod driver;

use driver::{gpu, replay, request};
use memory::{MemoryStatistics, MemorySystem};
use source::RequestKind;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Reads or writes every line of `bytes` bytes from `address` on once; what was counted meanwhile.
fn touch(
    memory: &mut MemorySystem,
    address: u64,
    bytes: u64,
    kind: RequestKind,
) -> MemoryStatistics {
    memory.reset_statistics();
    let mut traffic = vec![Vec::new(); 128];
    for (n, line) in (address / 128..(address + bytes) / 128).enumerate() {
        let (n, sm) = (n as u64, n % 128);
        // Each long after the one before, so that nothing waits.
        traffic[sm].push(request(n / 128 * 40, sm as u16, n as u32, kind, line * 4));
    }
    replay(memory, &traffic, || 240, 1).statistics
}

fn ada() -> MemorySystem {
    MemorySystem::new(&gpu("rtx-4090", &[])).expect("a complete GPU")
}

#[test]
fn what_the_host_copied_is_found() {
    let mut memory = ada();
    memory.warm(3 * MIB + 64, MIB);
    let s = touch(&mut memory, 3 * MIB, MIB, RequestKind::Read);
    assert_eq!((s.l2_read_misses, s.dram_reads), (0, 0));
    memory.restart();
    let s = touch(&mut memory, 4 * MIB, 2 * 128, RequestKind::Read);
    // The copy began in the middle of a line and ended in one.
    assert_eq!((s.l2_read_hits, s.l2_read_misses), (1, 1));
    memory.flush();
    let s = touch(&mut memory, 3 * MIB, MIB, RequestKind::Read);
    assert_eq!(s.l2_read_hits, 0);
}

#[test]
fn the_last_lines_stay_up_to_the_capacity() {
    let mut memory = ada();
    // Twice what fits; at an aligned base every set is filled alike.
    memory.warm(0, 144 * MIB);
    let s = touch(&mut memory, 143 * MIB, MIB, RequestKind::Read);
    assert_eq!(s.l2_read_misses, 0);
    memory.restart();
    let s = touch(&mut memory, 72 * MIB, MIB, RequestKind::Read);
    assert_eq!(s.l2_read_misses, 0);
    memory.restart();
    let s = touch(&mut memory, 70 * MIB, MIB, RequestKind::Read);
    assert_eq!(s.l2_read_hits, 0);
}

#[test]
fn a_later_copy_displaces_an_earlier_one() {
    let mut memory = ada();
    memory.warm(0, 36 * MIB);
    memory.warm(36 * MIB, 72 * MIB);
    let s = touch(&mut memory, 0, MIB, RequestKind::Read);
    assert_eq!(s.l2_read_hits, 0);
    let mut memory = ada();
    memory.warm(0, 36 * MIB);
    memory.warm(36 * MIB, 36 * MIB);
    for base in [0, 71 * MIB] {
        let s = touch(&mut memory, base, MIB, RequestKind::Read);
        assert_eq!(s.l2_read_misses, 0);
        memory.restart();
    }
}

#[test]
fn a_launch_finds_what_the_one_before_left() {
    let mut memory = ada();
    let s = touch(&mut memory, 0, 256 * KIB, RequestKind::Read);
    assert_eq!(s.l2_read_hits, 0);
    memory.restart();
    let s = touch(&mut memory, 0, 256 * KIB, RequestKind::Read);
    assert_eq!(s.l2_read_misses, 0);
    memory.restart();
    touch(&mut memory, MIB, 256 * KIB, RequestKind::Write);
    // What was written stays, unwritten to the DRAM, until it is displaced.
    memory.restart();
    let s = touch(&mut memory, MIB, 256 * KIB, RequestKind::Write);
    assert_eq!((s.dram_writes, s.l2_write_allocations), (0, 0));
    memory.reset_statistics();
    memory.restart();
    memory.warm(36 * MIB, 72 * MIB);
    let flushed = memory.statistics().l2_flushed_bytes;
    assert!(
        flushed > 0 && flushed.is_multiple_of(2048 * 32),
        "{flushed}"
    );
}
