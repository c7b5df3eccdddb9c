//! Cubins of vendor libraries hold kernels with empty names, and nothing keeps names unique:
//! kernels are identified by their code section, never by name.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FEATURES, append_names, fixture, put_u32, section_header, symbol, u32_at};
use cubin::{Cubin, CubinError};

/// REGRESSIONS T28: two symbols with empty names.
#[test]
fn kernels_without_names_are_found_by_section() {
    for name in FEATURES {
        let original = Cubin::parse(&fixture(name)).unwrap();
        let mut bytes = fixture(name);
        // Two symbols with empty names, one of them with an equally nameless section.
        for kernel in ["simple", "bars"] {
            let at = symbol(&bytes, kernel);
            put_u32(&mut bytes, at, 0);
        }
        let nameless = append_names(&mut bytes, ".shstrtab", &[".text.".to_owned()]);
        for section in [".text.simple", ".text.bars"] {
            let at = section_header(&bytes, section);
            put_u32(&mut bytes, at, nameless[0]);
        }
        let cubin = Cubin::parse(&bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(cubin.kernels().len(), original.kernels().len());
        for kernel in original.kernels() {
            let found = cubin.kernel_at(kernel.section).unwrap();
            let expected = if ["simple", "bars"].contains(&kernel.name.as_str()) {
                ""
            } else {
                kernel.name.as_str()
            };
            assert_eq!(found.name, expected, "{name}");
            assert_eq!(found.code, kernel.code);
            assert_eq!(found.parameters, kernel.parameters);
            assert_eq!(found.registers, kernel.registers);
            assert_eq!(found.barriers, kernel.barriers);
        }
        assert!(matches!(
            cubin.kernel(""),
            Err(CubinError::AmbiguousKernel { .. })
        ));
    }
}

#[test]
fn a_kernel_without_a_symbol_name_takes_its_section_s() {
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    let at = symbol(&bytes, "simple");
    put_u32(&mut bytes, at, 0);
    let cubin = Cubin::parse(&bytes).unwrap();
    assert!(cubin.kernel("simple").is_ok());
}

#[test]
fn kernels_of_one_name_are_told_apart() {
    for name in FEATURES {
        let original = Cubin::parse(&fixture(name)).unwrap();
        let mut bytes = fixture(name);
        let simple = symbol(&bytes, "simple");
        let bars = symbol(&bytes, "bars");
        let shared_name = u32_at(&bytes, simple);
        put_u32(&mut bytes, bars, shared_name);
        let cubin = Cubin::parse(&bytes).unwrap();
        let fault = cubin.kernel("simple").unwrap_err();
        let CubinError::AmbiguousKernel { sections, .. } = &fault else {
            panic!("{fault:?}");
        };
        assert_eq!(sections.len(), 2);
        for &section in sections {
            let kernel = cubin.kernel_at(section).unwrap();
            assert_eq!(kernel.code, original.kernel_at(section).unwrap().code);
        }
    }
}
