//! The slice and set functions of AD102 against the vectors of MODEL.md §8.2, and what they spread.

mod driver;

use driver::gpu;
use memory::{AddressMap, MemorySystem};
use source::Line;

const MIB: u64 = 1 << 20;

fn map(name: &str) -> AddressMap {
    let memory = MemorySystem::new(&gpu(name, &[])).expect("a complete GPU");
    memory.address_map().clone()
}

fn slice(map: &AddressMap, address: u64) -> u32 {
    map.slice(map.place(Line::of(address)))
}

fn set(map: &AddressMap, address: u64) -> u32 {
    map.set(address / 128, map.place(Line::of(address)).local)
}

/// Physical address, slice of 36, slice of 48, set.
const VECTORS: [(u64, u32, u32, u32); 16] = [
    (0x0, 7, 8, 0),
    (0x80, 7, 8, 687),
    (0x100, 6, 11, 540),
    (0x200, 7, 8, 308),
    (0x400, 25, 33, 99),
    (0x800, 1, 3, 231),
    (0x1000, 13, 17, 664),
    (0x2000, 16, 21, 152),
    (0x4000, 8, 9, 99),
    (0x8000, 9, 14, 132),
    (0x1_0000, 34, 46, 639),
    (0x2_0000, 13, 16, 512),
    (0x10_0000, 30, 41, 305),
    (0x20_0000, 14, 18, 603),
    (0x1_2345_6780, 26, 32, 220),
    (0x3_ffff_ff80, 27, 36, 670),
];

#[test]
fn slices_and_sets_are_those_of_the_published_vectors() {
    let (of_36, of_48) = (map("rtx-4090"), map("l40s"));
    for (address, first, second, third) in VECTORS {
        assert_eq!(slice(&of_36, address), first, "{address:#x} of 36");
        assert_eq!(slice(&of_48, address), second, "{address:#x} of 48");
        assert_eq!(set(&of_36, address), third, "set of {address:#x}");
    }
}

#[test]
fn a_block_of_72_mib_gives_every_slice_16384_lines() {
    for (map, slices) in [(map("rtx-4090"), 36_u64), (map("l40s"), 48)] {
        // Bases that are aligned to nothing but a quarter of the period of the function.
        for base in [0, 2 * MIB, 36 * MIB, 1024 * MIB + 288 * 1024, 4096 * MIB] {
            let mut counts = vec![0; slices as usize];
            for line in 0..72 * MIB / 128 {
                counts[slice(&map, base + line * 128) as usize] += 1;
            }
            let each = 72 * MIB / 128 / slices;
            assert!(counts.iter().all(|&count| count == each), "{base:#x}");
        }
    }
}

#[test]
fn aligned_blocks_of_72_mib_fill_every_set_exactly() {
    let map = map("rtx-4090");
    for base in [0, 36, 72, 144, 4104] {
        let mut counts = vec![0_u8; 36 * 1024];
        for line in 0..72 * MIB / 128 {
            let address = base * MIB + line * 128;
            counts[(slice(&map, address) * 1024 + set(&map, address)) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count == 16), "{base} MiB");
    }
    let mut counts = vec![0_u8; 36 * 1024];
    for line in 0..72 * MIB / 128 {
        let address = 2 * MIB + line * 128;
        counts[(slice(&map, address) * 1024 + set(&map, address)) as usize] += 1;
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(
        least < Some(&16) && least >= Some(&12),
        "other bases do not"
    );
    assert!(most > Some(&16) && most <= Some(&20), "other bases do not");
}

/// MODEL.md §8.2: a row of a bank is 1 KiB: 32 columns of 32 bytes.
#[test]
fn a_row_of_the_rtx_4090_is_1_kib_in_each_of_16_banks() {
    let map = map("rtx-4090");
    let mut columns = std::collections::HashMap::new();
    for line in (0..8 * MIB / Line::BYTES).map(Line) {
        let place = map.place(line);
        for sector in 0..4 {
            let at = map.coordinates(place.local, place.sub, sector);
            *columns
                .entry((place.partition, at.channel, at.bank, at.row))
                .or_insert(0) += 1;
        }
    }
    // But for rows at the end of the block, which it fills in part.
    let full = columns.values().filter(|&&count| count == 32).count();
    assert!(columns.values().all(|&count| count <= 32));
    assert!(
        full * 100 > columns.len() * 95,
        "{full} of {}",
        columns.len()
    );
    let banks: std::collections::HashSet<_> = columns.keys().map(|key| key.2).collect();
    let channels: std::collections::HashSet<_> = columns.keys().map(|key| (key.0, key.1)).collect();
    assert_eq!((banks.len(), channels.len()), (16, 24));
}

/// Lines of a controller lie in its DRAM without gap or overlap, and the sectors of a line in one
/// row.
#[test]
fn lines_of_a_controller_are_dense_in_its_dram() {
    for (map, partitions, per_controller) in [
        (map("rtx-4090"), 12_u64, 3),
        (map("l40s"), 12, 4),
        (map("rtx-a6000"), 24, 2),
        (map("rtx-2080-ti"), 22, 2),
        (map("a100-sxm4-40gb"), 80, 1),
        (map("h100-pcie"), 20, 5),
    ] {
        // A multiple of every period, so that each controller gets its share.
        let lines = 9 * partitions * per_controller * 1024;
        let mut taken = vec![false; lines as usize];
        let mut seen = std::collections::HashSet::new();
        for line in 0..lines {
            let place = map.place(Line(line));
            let number = if map.numbers_partitions() {
                u64::from(place.local)
            } else {
                u64::from(place.local) * per_controller + u64::from(place.sub)
            };
            let slot = u64::from(place.partition) * (lines / partitions) + number;
            assert!(
                !std::mem::replace(&mut taken[slot as usize], true),
                "line {line} shares its place"
            );
            let first = map.coordinates(place.local, place.sub, 0);
            for sector in 1..4 {
                assert_eq!(map.coordinates(place.local, place.sub, sector), first);
            }
            seen.insert((place.partition, first.channel, first.bank));
        }
        assert!(taken.iter().all(|&taken| taken), "no gap");
        assert_eq!(seen.len() as u64 % partitions, 0);
    }
}
