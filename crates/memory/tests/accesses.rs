//! Writes, atomics and odd requests at a slice, and documents that do not fit together.

mod driver;

use driver::{gpu, replay, request};
use memory::{MemorySystem, Unit};
use source::{ByteMask, Request, RequestKind};

/// Bytes of one sector of its line.
fn bytes(sector: u64, mask: ByteMask) -> [ByteMask; 4] {
    std::array::from_fn(|place| if place as u64 == sector % 4 { mask } else { 0 })
}

fn run(requests: Vec<Request>) -> driver::Replayed {
    let a6000 = gpu("rtx-a6000", &[]);
    let mut memory = MemorySystem::new(&a6000).expect("a complete GPU");
    let mut traffic = vec![Vec::new(); 84];
    for request in requests {
        traffic[usize::from(request.sm.0)].push(request);
    }
    replay(&mut memory, &traffic, || 200, 1)
}

/// REGRESSIONS.md M1: the lanes of a sector travel together, and a packet is one L2 atomic.
#[test]
fn atomics_of_one_word_cost_one_turn_per_packet_not_per_lane() {
    let packets = 10_240;
    let requests = (0..packets).map(|n| Request {
        lanes: 16,
        ..request(
            u64::from(n / 84),
            (n % 84) as u16,
            n,
            RequestKind::Reduction,
            99,
        )
    });
    let got = run(requests.collect());
    assert_eq!(got.statistics.l2_reductions, u64::from(packets));
    let last = got
        .replies
        .iter()
        .flatten()
        .map(|reply| reply.cycle.0)
        .max();
    let cycles = last.expect("answers");
    assert!(
        (10_240..11_500).contains(&cycles),
        "{cycles} cycles for 163840 updates"
    );
    // Packets with more lanes than travel together take more turns.
    let full = (0..1000).map(|n| Request {
        lanes: 32,
        ..request(0, 0, n, RequestKind::Reduction, 99)
    });
    let got = run(full.collect());
    let last = got.replies[0].last().expect("answers").cycle.0;
    assert!((2000..2600).contains(&last), "{last}");
}

/// REGRESSIONS.md M15: our definition: a write hits, reads nothing, and allocates its line.
#[test]
fn streaming_stores_read_nothing() {
    let n = 4096;
    let got = run((0..n)
        .map(|n| request(n * 3, 0, n as u32, RequestKind::Write, n))
        .collect());
    let s = got.statistics;
    assert_eq!((s.l2_writes, s.l2_hits, s.l2_misses), (n, n, 0));
    assert_eq!(s.l2_write_allocations, n / 4, "one per line");
    assert_eq!(s.dram_reads, 0);
}

#[test]
fn what_does_not_fit_is_written_back_once() {
    // Twice the L2, in whole sectors.
    let n = 2 * (6 << 20) / 32;
    let got = run((0..n)
        .map(|n| request(n, 0, n as u32, RequestKind::Write, n))
        .collect());
    let s = got.statistics;
    let kept = u64::from((6_u32 << 20) / 32);
    assert_eq!(s.dram_writes, n - kept);
    assert_eq!(s.dram_reads, 0);
}

#[test]
fn a_sector_written_in_part_is_fetched_when_read() {
    let part = |cycle, id, sector| Request {
        bytes: bytes(sector, 0xffff),
        ..request(cycle, 0, id, RequestKind::Write, sector)
    };
    let read = |cycle, id, sector| request(cycle, 0, id, RequestKind::Read, sector);
    let got = run(vec![part(0, 0, 8), read(1000, 1, 8), read(3000, 2, 8)]);
    let s = got.statistics;
    assert_eq!((s.l2_read_hits, s.l2_read_misses, s.dram_reads), (1, 1, 1));
    let got = run(vec![
        request(0, 0, 0, RequestKind::Write, 8),
        read(1000, 1, 8),
    ]);
    assert_eq!(
        got.statistics.dram_reads, 0,
        "a whole sector needs no fetch"
    );
}

/// A thread that fills a sector with four stores of 8 bytes leaves nothing to be fetched.
#[test]
fn stores_that_fill_a_sector_together_read_nothing() {
    let quarter = |n: u64, part: u32, sector| Request {
        bytes: bytes(sector, 0xff << (8 * part)),
        ..request(n * 10, 0, n as u32, RequestKind::Write, sector)
    };
    let read = |id| request(5000, 0, id, RequestKind::Read, 6);
    for (parts, fetched) in [
        (&[0, 1, 2, 3][..], 0),
        (&[3, 0, 2, 1], 0),
        (&[0, 1, 2], 1),
        (&[0, 1, 2, 2], 1),
        (&[0, 1, 2, 2, 3], 0),
    ] {
        let stores = (0..).zip(parts).map(|(n, &part)| quarter(n, part, 6));
        let got = run(stores.chain([read(99)]).collect());
        let s = got.statistics;
        assert_eq!(s.dram_reads, fetched, "{parts:?}");
        assert_eq!((s.l2_read_hits, s.l2_read_misses), (1 - fetched, fetched));
        assert_eq!(s.l2_dirty, 1);
    }
    // Single bytes, each by itself.
    for missing in [None, Some(0), Some(13), Some(31)] {
        let byte = |n: u64| Request {
            bytes: bytes(6, 1 << n),
            ..request(n * 10, 0, n as u32, RequestKind::Write, 6)
        };
        let stores = (0..32).filter(|&n| Some(n) != missing).map(byte);
        let got = run(stores.chain([read(99)]).collect());
        assert_eq!(got.statistics.dram_reads, u64::from(missing.is_some()));
    }
}

/// What is written back of a sector that was never read is a burst as any other; its mask spares the rest.
#[test]
fn a_sector_written_in_part_is_written_back_with_a_mask() {
    let n = 2 * (6 << 20) / 32;
    let got = run((0..n)
        .map(|n| Request {
            bytes: bytes(n, if n % 3 == 0 { 0xff0 } else { u32::MAX }),
            ..request(n, 0, n as u32, RequestKind::Write, n)
        })
        .collect());
    let s = got.statistics;
    assert_eq!(s.dram_writes, s.l2_written_back);
    assert_eq!(s.dram_writes, n / 2);
    assert_eq!(s.dram_reads, 0);
    let share = s.l2_written_back_partly as f64 / s.l2_written_back as f64;
    assert!((0.33..0.34).contains(&share), "{share}");
}

#[test]
fn an_atomic_fetches_and_dirties_its_sector() {
    let n = (6 << 20) / 32 * 2;
    let atomic = request(0, 0, 0, RequestKind::Atomic, 0);
    let reads = (1..n).map(|n| request(n * 2, 0, n as u32, RequestKind::Read, n));
    let got = run(std::iter::once(atomic).chain(reads).collect());
    let s = got.statistics;
    assert_eq!(s.l2_atomics, 1);
    assert_eq!(s.dram_reads, n);
    assert_eq!(s.dram_writes, 1, "evicted, it is written back");
}

#[test]
fn lines_of_instructions_and_constants_are_counted_apart() {
    let got = run(vec![
        request(0, 0, 0, RequestKind::Instruction, 0),
        request(1, 0, 1, RequestKind::Constant, 64),
        request(2, 0, 2, RequestKind::Read, 128),
    ]);
    let s = got.statistics;
    assert_eq!(s.l2_reads, 3);
    assert_eq!((s.l2_instruction_reads, s.l2_constant_reads), (1, 1));
}

#[test]
fn the_list_of_statistics_is_complete_and_named_once() {
    let got = run(vec![request(0, 0, 0, RequestKind::Read, 0)]);
    let list = got.statistics.list();
    let names: std::collections::HashSet<_> = list.iter().map(|s| s.name).collect();
    assert_eq!(names.len(), list.len());
    assert!(
        list.iter()
            .all(|s| !s.doc.is_empty() && s.doc.ends_with('.'))
    );
    let read = list.iter().find(|s| s.name == "dram__bytes_read.sum");
    let read = read.expect("bytes read");
    assert_eq!(
        (read.value, read.unit, read.unit.name()),
        (32, Unit::Bytes, "bytes")
    );
}

#[test]
fn hostile_addresses_are_only_addresses() {
    let far = u64::MAX / 32;
    let got = run((0..64)
        .map(|n| request(n, 0, n as u32, RequestKind::Read, far - n))
        .collect());
    assert_eq!(got.statistics.dram_reads, 64);
    let got = run((0..64)
        .map(|n| request(n, 0, n as u32, RequestKind::Write, u64::MAX - n))
        .collect());
    assert_eq!(got.statistics.l2_writes, 64);
}

#[test]
fn documents_that_do_not_fit_together_are_refused_by_key() {
    for (assignment, key) in [
        ("l2.sets=63", "l2.sets"),
        ("l2.sets=32", "memory.l2_size"),
        ("l2.partitions=23", "memory.l2_size"),
        ("dram.pins=32", "memory.bus_width"),
        ("dram.banks=12", "dram.banks"),
        ("dram.banks=8", "dram.address_map"),
        ("dram.bank_groups=3", "dram.bank_groups"),
        ("dram.write_low=4000", "dram.write_low"),
        ("dram.address_map=RRRR", "dram.address_map"),
        ("dram.ccd=0", "dram.ccd"),
    ] {
        let mut a6000 = gpu("rtx-a6000", &[]);
        let error = match a6000.set(assignment) {
            Ok(()) => MemorySystem::new(&a6000).map(|_| ()).expect_err(assignment),
            Err(error) => error,
        };
        let text = error.to_string();
        assert!(text.contains(key), "{assignment}: {text}");
    }
}

#[test]
fn every_declared_key_stands_in_every_document() {
    let declared = memory::declarations();
    for name in hardware::names() {
        let gpu = gpu(name, &[]);
        for declaration in declared.iter().copied().flatten() {
            let value = gpu.value(declaration.key);
            assert!(
                value.is_ok() || declaration.optional,
                "{name}: {}",
                declaration.key
            );
            assert!(!declaration.doc.is_empty());
        }
    }
}
