//! Fatbins in every way of packing, alone and in host files: what is found in them, and which
//! image a GPU runs. The fixtures were compiled for sm_75, 80, 86, 90 and 90a, and PTX.

#![allow(clippy::unwrap_used)]

mod common;

use common::{fixture, put_u32, put_u64};
use cubin::fatbin::{Compression, ImageKind, Portability};
use cubin::{Container, Cubin, CubinError};
use proptest::prelude::*;

const PACKED: [(&str, Compression); 4] = [
    ("fat_none.fatbin", Compression::None),
    ("fat_speed.fatbin", Compression::Lz4),
    ("fat_size.fatbin", Compression::Zstd),
    ("fat_group.fatbin", Compression::Zstd),
];
const FILES: [&str; 8] = [
    "fat_none.fatbin",
    "fat_speed.fatbin",
    "fat_size.fatbin",
    "fat_group.fatbin",
    "fat_ptx.fatbin",
    "host_object.o",
    "host_library.so",
    "host_relocatable.o",
];

#[test]
fn another_version_of_the_layout_is_named() {
    for (name, _) in PACKED {
        let mut bytes = fixture(name);
        assert_eq!(bytes[4..6], [1, 0]);
        bytes[4] = 2;
        let error = Container::parse(&bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the fatbin's header, byte 4 of the file: found version 2, expected version 1",
            "{name}"
        );
    }
}

#[test]
fn every_packing_gives_the_same_cubins() {
    let stored = fixture("fat_none.fatbin");
    let expected = Container::parse(&stored).unwrap().cubins().unwrap();
    assert_eq!(expected.len(), 5);
    for (name, compression) in PACKED {
        let bytes = fixture(name);
        let container = Container::parse(&bytes).unwrap();
        let Container::Fatbins(fatbins) = &container else {
            panic!("{name} is no fatbin");
        };
        let cubins = fatbins[0]
            .images
            .iter()
            .filter(|image| image.kind == ImageKind::Cubin);
        assert!(cubins.clone().count() == 5, "{name}");
        assert!(
            cubins.clone().all(|image| image.compression == compression),
            "{name}"
        );
        let unpacked = container.cubins().unwrap();
        let mut names: Vec<_> = unpacked.iter().map(|u| u.image.clone().unwrap()).collect();
        names.sort();
        assert_eq!(
            names,
            ["sm_75", "sm_80", "sm_86", "sm_90", "sm_90a"],
            "{name}"
        );
        for cubin in &unpacked {
            let same = expected.iter().find(|e| e.image == cubin.image).unwrap();
            let same = Cubin::parse(&same.bytes).unwrap();
            let parsed = Cubin::parse(&cubin.bytes).unwrap();
            assert_eq!(parsed.kernels()[0].name, "add");
            let (a, b) = (&same.kernels()[0].code, &parsed.kernels()[0].code);
            assert!(a == b, "{name} {:?}", cubin.image);
        }
    }
}

#[test]
fn ptx_is_unpacked_too() {
    let bytes = fixture("fat_size.fatbin");
    let Container::Fatbins(fatbins) = Container::parse(&bytes).unwrap() else {
        panic!("no fatbin");
    };
    let image = fatbins[0].images.iter().find(|i| i.kind == ImageKind::Ptx);
    let image = image.unwrap();
    assert_eq!(image.to_string(), "compute_90");
    let text = image.bytes().unwrap();
    let text = std::str::from_utf8(&text).unwrap();
    assert!(text.contains(".target sm_90"), "{text}");
}

/// CUDA C++ Programming Guide, "Binary compatibility".
#[test]
fn the_best_match_is_chosen_as_the_driver_does() {
    let bytes = fixture("fat_size.fatbin");
    let container = Container::parse(&bytes).unwrap();
    for (hardware, image) in [
        (75, "sm_75"),
        (80, "sm_80"),
        (86, "sm_86"),
        (87, "sm_86"),
        (89, "sm_86"),
        (90, "sm_90a"),
    ] {
        let chosen = container.cubins_for(hardware).unwrap();
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].image.as_deref(), Some(image), "sm_{hardware}");
    }
    for hardware in [70, 72, 100, 120] {
        let fault = container.cubins_for(hardware).unwrap_err();
        let CubinError::NoImage { holds, .. } = &fault else {
            panic!("{fault}");
        };
        assert_eq!(holds.len(), 6, "{fault}");
        assert!(fault.to_string().contains("PTX for compute_90"), "{fault}");
    }
}

/// Code for exactly one architecture runs nowhere else.
#[test]
fn architecture_specific_code_is_not_portable() {
    let mut bytes = fixture("fat_none.fatbin");
    let Container::Fatbins(fatbins) = Container::parse(&bytes).unwrap() else {
        panic!("no fatbin");
    };
    let image = fatbins[0].images.iter().find(|i| i.architecture == 80);
    let (offset, portability) = (image.unwrap().offset as usize, image.unwrap().portability);
    assert_eq!(portability, Portability::Generation);
    // Flags are at +40.
    put_u64(&mut bytes, offset + 40, 0x10_0011);
    let container = Container::parse(&bytes).unwrap();
    let image = |hardware| container.cubins_for(hardware).unwrap()[0].image.clone();
    assert_eq!(image(80).as_deref(), Some("sm_80a"));
    let Container::Fatbins(fatbins) = &container else {
        panic!("no fatbin");
    };
    // Without sm_86 code nothing is left for sm_86.
    let mut fatbin = fatbins[0].clone();
    fatbin.images.retain(|image| image.architecture != 86);
    assert_eq!(fatbin.best(86), None);
}

#[test]
fn host_files_hold_one_module_for_each_translation_unit() {
    let bytes = fixture("host_object.o");
    let chosen = Container::parse(&bytes).unwrap().cubins_for(86).unwrap();
    assert_eq!(chosen.len(), 1);

    let bytes = fixture("host_library.so");
    let chosen = Container::parse(&bytes).unwrap().cubins_for(86).unwrap();
    let cubins: Vec<Cubin> = chosen
        .iter()
        .map(|unpacked| Cubin::parse(&unpacked.bytes).unwrap())
        .collect();
    assert!(cubins.iter().all(|cubin| !cubin.is_relocatable()));
    let holder = |kernel| cubin::find_kernel(&cubins, kernel).unwrap();
    assert_ne!(holder("add"), holder("second"));
    // The linked module holds the function that came from another translation unit.
    let linked = &cubins[holder("second")];
    assert!(linked.functions().iter().any(|f| f.name == "_Z5twicei"));
    let fault = cubin::find_kernel(&cubins, "secnd").unwrap_err();
    assert!(fault.to_string().contains("`second`"), "{fault}");
}

#[test]
fn what_cannot_be_loaded_is_named() {
    for (name, words) in [
        ("fat_ptx.fatbin", "PTX for compute_90"),
        ("host_relocatable.o", "separate compilation"),
    ] {
        let bytes = fixture(name);
        let fault = match Container::parse(&bytes) {
            Ok(container) => container.cubins_for(86).unwrap_err(),
            Err(fault) => fault,
        };
        assert!(fault.to_string().contains(words), "{name}: {fault}");
    }
    // A host file without device code: the ELF header of a fixture with all sections gone.
    let mut bytes = fixture("host_object.o");
    put_u64(&mut bytes, 40, 0);
    put_u32(&mut bytes, 60, 0);
    let fault = Container::parse(&bytes).unwrap_err();
    assert!(fault.to_string().contains("no device code"), "{fault}");
}

/// Looks at everything; memory stays below what the largest fixture unpacks to.
fn exercise(bytes: &[u8]) -> Result<(), CubinError> {
    let container = Container::parse(bytes)?;
    let told = |fault: &CubinError| assert!(!fault.to_string().is_empty());
    for hardware in [75, 86, 90] {
        let _ = container.cubins_for(hardware).inspect_err(told);
    }
    if let Container::Cubin(bytes) = container {
        return Cubin::parse(bytes).inspect_err(told).map(|_| ());
    }
    for unpacked in container.cubins()? {
        assert!(unpacked.bytes.len() <= 256 * bytes.len() + (1 << 20));
        let _ = Cubin::parse(&unpacked.bytes).inspect_err(told);
    }
    Ok(())
}

#[test]
fn every_truncation_is_an_error_or_has_less_in_it() {
    for name in FILES {
        let bytes = fixture(name);
        let step = if bytes.len() > 10_000 { 13 } else { 1 };
        for length in (0..bytes.len()).step_by(step) {
            let result = exercise(&bytes[..length]);
            assert!(
                result.is_err() || name.starts_with("host"),
                "{name} cut to {length}"
            );
        }
    }
}

/// A length field that promises gigabytes is refused before they are allocated.
#[test]
fn unpacked_sizes_are_not_trusted() {
    for (name, method) in [("fat_speed.fatbin", "LZ4"), ("fat_size.fatbin", "zstd")] {
        for size in [0, 1, 1 << 30, u64::MAX] {
            let mut bytes = fixture(name);
            // The first image's unpacked size: 16 bytes of header, then +56.
            put_u64(&mut bytes, 16 + 56, size);
            let fault = Container::parse(&bytes).unwrap().cubins().unwrap_err();
            assert!(
                matches!(fault, CubinError::Compression { method: m, .. } if m == method),
                "{name}, {size}: {fault}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn flipped_bytes_never_panic(
        file in 0..FILES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = fixture(FILES[file]);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = exercise(&bytes);
    }
}
