//! Loading: addresses of code, globals and external functions, and what the relocations write.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FEATURES, fixture, put_u32, section_content, u64_at};
use cubin::{Cubin, CubinError, LoadBases, Loaded, RelocationKind};

const BASES: LoadBases = LoadBases {
    global: 0x7fab_1234_5600,
    code: 0x7e00_0000_0080,
    externs: 0x2345_6780_0000,
};

fn load(name: &str) -> (Cubin, Loaded) {
    let cubin = Cubin::parse(&fixture(name)).unwrap();
    let loaded = cubin.load(&BASES).unwrap_or_else(|f| panic!("{name}: {f}"));
    (cubin, loaded)
}

fn address_of_global(cubin: &Cubin, name: &str) -> u64 {
    BASES.global
        + cubin
            .globals()
            .iter()
            .find(|g| g.name == name)
            .unwrap()
            .offset
}

fn address_of_extern(loaded: &Loaded, name: &str) -> u64 {
    loaded
        .externs
        .iter()
        .find(|e| e.name == name)
        .unwrap()
        .address
}

fn code<'a>(cubin: &Cubin, loaded: &'a Loaded, kernel: &str) -> &'a [u8] {
    let section = cubin.kernel(kernel).unwrap().section;
    &loaded.function(section).unwrap().code
}

/// Bits 32–63 of the instruction at that offset.
fn immediate(code: &[u8], offset: usize) -> u32 {
    common::u32_at(code, offset + 4)
}

#[test]
fn code_ranges_are_aligned_disjoint_and_found_by_address() {
    for name in common::ALL {
        let cubin = Cubin::parse(&fixture(name)).unwrap();
        let Ok(loaded) = cubin.load(&BASES) else {
            assert!(cubin.is_relocatable());
            continue;
        };
        let mut end = BASES.code;
        for function in &loaded.functions {
            assert!(
                function.address >= end && function.address % 128 == 0,
                "{name}"
            );
            end = function.address + function.code.len() as u64;
            for at in [function.address, end - 16] {
                assert_eq!(loaded.function_at(at).unwrap().section, function.section);
            }
        }
        assert_eq!(loaded.code_end, end);
        assert!(end - BASES.code <= cubin.code_size());
        assert!(loaded.function_at(BASES.code - 1).is_none());
        assert!(loaded.function_at(end).is_none());
    }
}

#[test]
fn bank_4_holds_addresses_from_cuda_12_on() {
    for name in [
        "features_sm86_cuda12.cubin",
        "features_sm86_cuda13.cubin",
        "features_sm120_cuda13.cubin",
    ] {
        let (cubin, loaded) = load(name);
        let bank = loaded.constant_bank(4, None).unwrap();
        let expected = [
            address_of_global(&cubin, "gcount"),
            address_of_global(&cubin, "ginit"),
            address_of_global(&cubin, "gptr"),
            address_of_global(&cubin, "table"),
        ];
        for (slot, address) in expected.into_iter().enumerate() {
            assert_eq!(u64_at(bank, slot * 8), address, "{name} slot {slot}");
        }
        let externs: Vec<u64> = (8..12).map(|slot| u64_at(bank, slot * 8)).collect();
        let wanted = ["vprintf", "malloc", "free", "__assertfail"];
        assert_eq!(
            externs,
            wanted.map(|e| address_of_extern(&loaded, e)),
            "{name}"
        );
        let vprintf = loaded.extern_at(externs[0]).unwrap();
        assert_eq!(vprintf.name, "vprintf");
    }
}

#[test]
fn cuda_11_and_nvlink_patch_addresses_into_instructions() {
    // UMOV UR4, 32@lo(table) and UMOV UR5, 32@hi(table)
    for (name, low, high) in [
        ("features_sm86_cuda11.cubin", 0x10, 0x30),
        ("linked_sm86_cuda13.cubin", 0x20, 0x40),
    ] {
        let (cubin, loaded) = load(name);
        let indirect = code(&cubin, &loaded, "indirect");
        let table = address_of_global(&cubin, "table");
        assert_eq!(immediate(indirect, low), table as u32, "{name}");
        assert_eq!(immediate(indirect, high), (table >> 32) as u32, "{name}");
        // The rest of the instruction is untouched.
        let before = &cubin.kernel("indirect").unwrap().code;
        assert_eq!(before[low..low + 4], indirect[low..low + 4]);
        assert_eq!(before[low + 8..low + 16], indirect[low + 8..low + 16]);
    }
}

#[test]
fn cuda_11_patches_return_addresses_and_call_targets() {
    let (cubin, loaded) = load("features_sm86_cuda11.cubin");
    let section = cubin.kernel("printer").unwrap().section;
    let printer = loaded.function(section).unwrap();
    // MOV R20, 32@lo((printer + 0x100)); MOV R21, 32@hi(...); CALL.ABS.NOINC `(vprintf)
    let back = printer.address + 0x100;
    assert_eq!(immediate(&printer.code, 0x80), back as u32);
    assert_eq!(immediate(&printer.code, 0xc0), (back >> 32) as u32);
    let call = u128::from_le_bytes(printer.code[0xf0..0x100].try_into().unwrap());
    let target = ((call >> 34) & ((1 << 47) - 1)) << 2;
    assert_eq!(target as u64, address_of_extern(&loaded, "vprintf"));
    // The control word and the opcode are untouched.
    let before = &cubin.kernel("printer").unwrap().code;
    assert_eq!(before[0xf0..0xf4], printer.code[0xf0..0xf4]);
    assert_eq!(before[0xfb..0x100], printer.code[0xfb..0x100]);
}

#[test]
fn pointers_in_initialised_globals_are_patched() {
    for name in FEATURES {
        let (cubin, loaded) = load(name);
        let gptr = cubin.globals().iter().find(|g| g.name == "gptr").unwrap();
        let (start, bytes) = &loaded.global.initial[0];
        let stored = u64_at(bytes, (gptr.offset - start) as usize);
        assert_eq!(stored, address_of_global(&cubin, "ginit") + 8, "{name}");
        assert_eq!(loaded.global.size, cubin.global_size());
    }
    // After nvlink the table of function pointers holds code addresses.
    let (cubin, loaded) = load("linked_sm86_cuda13.cubin");
    let table = cubin.globals().iter().find(|g| g.name == "table").unwrap();
    let (start, bytes) = &loaded.global.initial[0];
    for (slot, helper) in ["_Z6helperfi", "_Z7helper2fi"].iter().enumerate() {
        let stored = u64_at(bytes, (table.offset - start) as usize + slot * 8);
        let function = loaded.function_at(stored).unwrap();
        assert_eq!(
            (function.name.as_str(), function.address),
            (*helper, stored)
        );
    }
}

#[test]
fn relocations_are_exposed_as_data() {
    let cubin = Cubin::parse(&fixture("features_sm86_cuda11.cubin")).unwrap();
    let count = |kind: RelocationKind| {
        cubin
            .relocations()
            .iter()
            .filter(|r| r.kind == kind)
            .count()
    };
    // As counted in the output of cuobjdump -elf.
    assert_eq!(count(RelocationKind::Low32), 12);
    assert_eq!(count(RelocationKind::High32), 12);
    assert_eq!(count(RelocationKind::Target47), 4);
    assert_eq!(count(RelocationKind::Generic64), 1);
    assert_eq!(cubin.relocations().len(), 29);
}

#[test]
fn an_unknown_relocation_is_refused_by_name() {
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    let (at, _) = section_content(&bytes, ".rel.nv.constant4");
    put_u32(&mut bytes, at + 8, 66);
    let cubin = Cubin::parse(&bytes).unwrap();
    let fault = cubin.load(&BASES).unwrap_err();
    assert!(matches!(
        fault,
        CubinError::UnsupportedRelocation { kind: 66, .. }
    ));
    let text = fault.to_string();
    for part in [
        ".nv.constant4",
        "R_CUDA_CONST_FIELD21_38",
        "0x58",
        "__assertfail",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_unknown_relocation_of_code_refuses_that_code_alone() {
    let mut bytes = fixture("features_sm86_cuda11.cubin");
    let (at, _) = section_content(&bytes, ".rel.text.printer");
    put_u32(&mut bytes, at + 8, 75);
    let cubin = Cubin::parse(&bytes).unwrap();
    let loaded = cubin.load(&BASES).unwrap();
    let [(section, fault)] = loaded.refused.as_slice() else {
        panic!("{:?}", loaded.refused);
    };
    assert_eq!(loaded.function(*section).unwrap().name, "printer");
    let text = fault.to_string();
    for part in [".text.printer", "R_CUDA_ABS55_16_34"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn references_to_textures_and_surfaces_are_places_in_a_constant_bank() {
    for (architecture, first) in [
        (75, 0x16c),
        (80, 0x16c),
        (86, 0x16c),
        (89, 0x16c),
        (90, 0x21c),
    ] {
        let path = format!("../../kernels/texture/references.sm_{architecture}.cubin");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let cubin = Cubin::parse(&std::fs::read(path).unwrap()).unwrap();
        let mut places: Vec<(u64, String, bool)> = Vec::new();
        for reference in cubin.load(&BASES).unwrap().references {
            let mut banks = cubin.constant_banks().iter();
            let bank = banks.find(|bank| bank.section == reference.section);
            assert_eq!(bank.unwrap().bank, 0);
            places.push((reference.offset, reference.name, reference.is_surface));
        }
        places.sort();
        // Behind the parameters: 12 bytes.
        let colours = (first, "colours".to_owned(), false);
        let words = (first + 4, "words".to_owned(), true);
        assert_eq!(places, [colours, words], "sm_{architecture}");
    }
}

#[test]
fn a_relocatable_object_has_to_be_linked_first() {
    let cubin = Cubin::parse(&fixture("relocatable_sm86_cuda13.cubin")).unwrap();
    assert_eq!(cubin.kernels().len(), 12);
    assert_eq!(cubin.load(&BASES), Err(CubinError::Relocatable));
}

#[test]
fn addresses_that_do_not_fit_are_refused() {
    let cubin = Cubin::parse(&fixture("features_sm86_cuda13.cubin")).unwrap();
    for bases in [
        LoadBases { global: 8, ..BASES },
        LoadBases { code: 64, ..BASES },
        LoadBases {
            externs: 4,
            ..BASES
        },
        LoadBases {
            code: u64::MAX - 127,
            ..BASES
        },
        LoadBases {
            global: u64::MAX - 255,
            ..BASES
        },
    ] {
        let fault = cubin.load(&bases).unwrap_err();
        assert!(matches!(fault, CubinError::Address { .. }), "{fault}");
    }
}
