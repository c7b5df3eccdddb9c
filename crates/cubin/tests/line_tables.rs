//! Line tables against what `nvdisasm -gi` prints of the fixture.

#![allow(clippy::unwrap_used)]

mod common;

use common::fixture;
use cubin::Cubin;
use proptest::prelude::*;

fn lines_of(cubin: &Cubin, kernel: &str, offset: u64) -> Vec<(String, u64)> {
    let table = cubin.line_table().unwrap();
    let section = cubin.kernel(kernel).unwrap().section;
    table
        .chain(section, offset)
        .iter()
        .map(|line| (table.files()[line.file].clone(), line.line))
        .collect()
}

#[test]
fn instructions_have_their_lines() {
    let cubin = Cubin::parse(&fixture("lines_sm86_cuda13.cubin")).unwrap();
    let numbers = |kernel, offset| -> Vec<u64> {
        let lines = lines_of(&cubin, kernel, offset);
        assert!(lines.iter().all(|(file, _)| file == "source/lines.cu"));
        lines.into_iter().map(|(_, line)| line).collect()
    };
    for (kernel, offset, expected) in [
        ("second", 0x00, 17),
        ("second", 0x10, 19),
        ("second", 0x70, 19),
        ("second", 0x80, 20),
        ("first", 0x00, 11),
        ("first", 0x20, 14),
        ("first", 0x30, 14),
        ("first", 0x40, 15),
        ("first", 0xa0, 15),
        ("first", 0xb0, 16),
    ] {
        assert_eq!(numbers(kernel, offset), [expected], "{kernel} {offset:#x}");
    }
    // Inlined: the innermost line first, then where it was called from.
    assert_eq!(numbers("first", 0x80), [4, 8, 15]);
    assert_eq!(numbers("first", 0x90), [9, 15]);
}

#[test]
fn inlined_functions_are_named() {
    let cubin = Cubin::parse(&fixture("lines_sm86_cuda13.cubin")).unwrap();
    let table = cubin.line_table().unwrap();
    let section = cubin.kernel("first").unwrap().section;
    let names: Vec<_> = table
        .chain(section, 0x80)
        .iter()
        .map(|line| line.function.clone())
        .collect();
    let names: Vec<_> = names.iter().map(|name| name.as_deref()).collect();
    assert_eq!(names, [Some("_Z5innerf"), Some("_Z5outerf"), None]);
}

#[test]
fn code_without_debug_information_has_no_lines() {
    let cubin = Cubin::parse(&fixture("features_sm86_cuda13.cubin")).unwrap();
    assert!(cubin.line_table().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Broken debug information never keeps a cubin from being read, and never panics.
    #[test]
    fn flipped_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = fixture("lines_sm86_cuda13.cubin");
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(cubin) = Cubin::parse(&bytes)
            && let Ok(table) = cubin.line_table()
        {
            for function in cubin.functions() {
                for offset in (0..0x200).step_by(16) {
                    prop_assert!(table.chain(function.section, offset).len() <= 64);
                }
            }
        }
    }
}
