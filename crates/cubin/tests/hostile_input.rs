//! Whatever the bytes, parsing gives a cubin or one error that names the place: no panic, no
//! memory beyond a small multiple of the file.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ALL, fixture, put_u32, put_u64, section_content, section_header, symbol};
use cubin::{Cubin, CubinError, LoadBases};
use proptest::prelude::*;

const BASES: LoadBases = LoadBases {
    global: 0x7f00_0000_0000,
    code: 0x7e00_0000_0000,
    externs: 0x7d00_0000_0000,
};

/// Parses, loads and looks at everything; gives the bytes handed out.
fn exercise(bytes: &[u8]) -> Result<usize, CubinError> {
    let cubin = Cubin::parse(bytes).inspect_err(|fault| assert!(!fault.to_string().is_empty()))?;
    let mut total = cubin.symbols().iter().map(|s| s.name.len()).sum::<usize>();
    for kernel in cubin.kernels() {
        total += kernel.code.len() + kernel.name.len();
        let _ = cubin.kernel(&kernel.name);
        let _ = cubin.constant_bank(2, Some(kernel.section));
    }
    for variable in cubin.globals() {
        total += variable.initial.as_ref().map_or(0, Vec::len);
    }
    let _ = cubin
        .kernel("no such kernel")
        .map_err(|fault| fault.to_string());
    if let Ok(loaded) = cubin.load(&BASES) {
        total += loaded.functions.iter().map(|f| f.code.len()).sum::<usize>();
        total += loaded.constants.iter().map(|c| c.data.len()).sum::<usize>();
        total += loaded
            .global
            .initial
            .iter()
            .map(|(_, b)| b.len())
            .sum::<usize>();
    }
    assert!(total <= 64 * bytes.len() + (1 << 17), "{total} bytes");
    Ok(total)
}

#[test]
fn every_truncation_is_an_error() {
    for name in ALL {
        let bytes = fixture(name);
        for length in 0..bytes.len() {
            // The program headers at the end of the file are not read: the driver's business.
            let result = exercise(&bytes[..length]);
            let headers_end =
                common::u64_at(&bytes, 40) as usize + 64 * usize::from(common::u16_at(&bytes, 60));
            assert!(
                result.is_err() || length >= headers_end,
                "{name} cut to {length}"
            );
        }
    }
}

#[test]
fn every_byte_can_be_anything() {
    for name in ["features_sm86_cuda11.cubin", "features_sm86_cuda13.cubin"] {
        let mut bytes = fixture(name);
        // Code is opaque here: one byte of each instruction is enough.
        let (code, _) = section_content(&bytes, ".text.indirect");
        let headers = common::u64_at(&bytes, 40) as usize;
        for at in 0..bytes.len() {
            if (code..headers).contains(&at) && !at.is_multiple_of(16) {
                continue;
            }
            let original = bytes[at];
            for value in [original ^ 0x01, original ^ 0x80, 0, 0xff] {
                bytes[at] = value;
                let _ = exercise(&bytes);
            }
            bytes[at] = original;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scattered_damage_never_panics(
        file in 0..ALL.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..=8), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = fixture(ALL[file]);
        for (place, value, width) in damage {
            let at = place.index(bytes.len());
            let value = match value % 4 {
                0 => u64::MAX,
                1 => 0,
                2 => value >> 32,
                _ => value,
            };
            let end = (at + width).min(bytes.len());
            let length = end - at;
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..length]);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = exercise(&bytes);
    }

    #[test]
    fn damaged_headers_and_tables_never_panic(
        file in 0..ALL.len(),
        damage in prop::collection::vec((0usize..6, any::<prop::sample::Index>(), any::<u64>()), 1..6),
    ) {
        let mut bytes = fixture(ALL[file]);
        for (kind, place, value) in damage {
            let headers = common::u64_at(&fixture(ALL[file]), 40) as usize;
            let (start, length) = match kind {
                0 => (16, 48),
                1 | 2 => (headers, 64 * 20),
                3 => section_content(&fixture(ALL[file]), ".symtab"),
                4 => section_content(&fixture(ALL[file]), ".nv.info"),
                _ => section_content(&fixture(ALL[file]), ".strtab"),
            };
            if length < 8 {
                continue;
            }
            let at = start + place.index(length - 7);
            let value = match value % 3 {
                0 => value >> 40,
                1 => u64::MAX - (value >> 56),
                _ => value,
            };
            put_u32(&mut bytes, at, value as u32);
            if value & 8 != 0 {
                put_u64(&mut bytes, at, value);
            }
        }
        let _ = exercise(&bytes);
    }

    #[test]
    fn random_bytes_behind_a_header_never_panic(
        tail in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut bytes = fixture(ALL[2])[..64].to_vec();
        put_u64(&mut bytes, 40, 64);
        bytes.extend(tail);
        let _ = exercise(&bytes);
    }
}

/// The text of the error for an edited cubin.
fn fault(edit: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    edit(&mut bytes);
    Cubin::parse(&bytes).unwrap_err().to_string()
}

#[test]
fn each_kind_of_wrong_file_is_named() {
    let cases: [(&str, String); 11] = [
        ("not an ELF file: it starts with nothing", fault(Vec::clear)),
        (
            "fatbin",
            fault(|b| b[..4].copy_from_slice(&[0x50, 0xed, 0x55, 0xba])),
        ),
        ("PTX", fault(|b| *b = b".version 8.0".to_vec())),
        ("byte 4: ELF class 1 (32-bit)", fault(|b| b[4] = 1)),
        (
            "byte 5: ELF data encoding 2 (big-endian)",
            fault(|b| b[5] = 2),
        ),
        ("byte 18: ELF machine 62 (x86-64", fault(|b| b[18] = 62)),
        (
            "byte 7: OS/ABI 0x00 with ABI version 8",
            fault(|b| b[7] = 0),
        ),
        ("byte 16: ELF type 3", fault(|b| b[16] = 3)),
        ("the ELF class at byte 4", fault(|b| b.truncate(4))),
        (
            "the ELF header at byte 0 needs 64 bytes, but the file ends at byte 40",
            fault(|b| b.truncate(40)),
        ),
        (
            "section headers of 63 bytes, expected 64",
            fault(|b| b[58] = 63),
        ),
    ];
    for (expected, text) in cases {
        assert!(text.contains(expected), "`{expected}` is not in `{text}`");
    }
}

#[test]
fn each_wrong_length_is_named_with_its_section() {
    let header = |name: &'static str| move |b: &Vec<u8>| section_header(b, name);
    let text_header = header(".text.simple");
    let info = |b: &Vec<u8>| section_content(b, ".nv.info.simple").0;
    let module_info = |b: &Vec<u8>| section_content(b, ".nv.info").0;
    let relocations = |b: &Vec<u8>| section_content(b, ".rel.nv.constant4").0;
    type Edit<'a> = Box<dyn FnOnce(&mut Vec<u8>) + 'a>;
    let cases: Vec<(&str, Edit)> = vec![
        // A section beyond the file, one that overlaps all others, one that is no whole number
        // of instructions.
        (
            "needs 18446744073709551615 bytes",
            Box::new(|b| {
                let at = text_header(b);
                put_u64(b, at + 32, u64::MAX)
            }),
        ),
        (
            "they overlap",
            Box::new(|b| {
                let at = text_header(b);
                put_u64(b, at + 24, 0);
                put_u64(b, at + 32, 30000)
            }),
        ),
        (
            "expected a multiple of 16",
            Box::new(|b| {
                let at = text_header(b);
                put_u64(b, at + 32, 0x17c)
            }),
        ),
        (
            "an alignment of 3",
            Box::new(|b| {
                let at = text_header(b);
                put_u64(b, at + 48, 3)
            }),
        ),
        (
            "at most 1 TiB",
            Box::new(|b| {
                let at = section_header(b, ".nv.global");
                put_u64(b, at + 32, 1 << 41)
            }),
        ),
        (
            ".nv.info.simple), byte",
            Box::new(|b| {
                let at = info(b);
                b[at] = 9
            }),
        ),
        (
            "attribute format 9, expected 1 (no value)",
            Box::new(|b| {
                let at = info(b);
                b[at] = 9
            }),
        ),
        (
            "attribute 0x66 with 65535 bytes",
            Box::new(|b| {
                let at = info(b);
                b[at + 2] = 0xff;
                b[at + 3] = 0xff
            }),
        ),
        (
            "70000 registers",
            Box::new(|b| {
                let at = module_info(b);
                put_u32(b, at + 8, 70000)
            }),
        ),
        (
            "a place in the 0x60 bytes of section 26 (.nv.constant4)",
            Box::new(|b| {
                let at = relocations(b);
                put_u64(b, at, 0x59)
            }),
        ),
        (
            "symbol 65535, expected less than 65",
            Box::new(|b| {
                let at = relocations(b);
                put_u32(b, at + 12, 65535)
            }),
        ),
        (
            "section 200, expected at most 66",
            Box::new(|b| {
                let at = symbol(b, "simple");
                b[at + 6] = 200
            }),
        ),
        (
            "a name at offset 0xffffff of the string table",
            Box::new(|b| {
                let at = symbol(b, "simple");
                put_u32(b, at, 0x00ff_ffff)
            }),
        ),
        (
            "expected a variable that lies in the 87 bytes",
            Box::new(|b| {
                let at = symbol(b, "ginit");
                put_u64(b, at + 16, 1 << 40)
            }),
        ),
    ];
    for (expected, edit) in cases {
        let text = fault(edit);
        assert!(text.contains(expected), "`{expected}` is not in `{text}`");
    }
}

#[test]
fn a_huge_global_segment_takes_no_memory() {
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    let at = section_header(&bytes, ".nv.global");
    put_u64(&mut bytes, at + 32, 1 << 39);
    let cubin = Cubin::parse(&bytes).unwrap();
    assert!(cubin.global_size() >= 1 << 39);
    assert!(exercise(&bytes).is_ok());
}
