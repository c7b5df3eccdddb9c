//! Kernels, their resources and parameters, for each CUDA release. The expected numbers are those
//! of `cuobjdump -elf`, `cuobjdump -res-usage` and `nvdisasm` for the fixtures.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FEATURES, all_cubins, fixture};
use cubin::{Cubin, Kernel, Space};

fn parse(name: &str) -> Cubin {
    Cubin::parse(&fixture(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

/// (name, registers, barriers, static shared, local, constant bank 0, constant bank 2)
type Row = (&'static str, u32, u32, u32, u32, u32, Option<usize>);

const SM86: [Row; 12] = [
    ("indirect", 24, 0, 0, 16, 364, Some(24)),
    ("bars", 10, 8, 0, 0, 360, None),
    ("shared_one", 12, 1, 1024, 0, 377, None),
    ("noparam", 4, 0, 0, 0, 352, None),
    ("locals", 38, 0, 0, 256, 364, None),
    ("printer", 24, 0, 0, 8, 360, None),
    ("emptydyn", 10, 1, 0, 0, 360, None),
    ("simple", 8, 0, 0, 0, 364, None),
    ("structp", 14, 0, 0, 40, 440, None),
    ("sw", 16, 0, 0, 0, 364, Some(64)),
    ("bounded", 12, 0, 0, 0, 360, None),
    ("_Z4tmplILi3EEvPi", 8, 0, 0, 0, 360, None),
];

#[test]
fn resources_are_those_that_the_vendor_tools_print() {
    for name in FEATURES {
        let cubin = parse(name);
        assert_eq!(cubin.sm(), 86, "{name}");
        let rows: Vec<Row> = cubin
            .kernels()
            .iter()
            .zip(SM86)
            .map(|(k, row)| {
                assert_eq!(k.name, row.0, "{name}");
                assert_eq!(k.code.len() % 16, 0);
                assert!(!k.stack_is_unbounded);
                (
                    row.0,
                    k.registers,
                    k.barriers,
                    k.static_shared,
                    k.local_per_thread,
                    k.constant0_size,
                    k.constant2.as_ref().map(Vec::len),
                )
            })
            .collect();
        let mut expected = SM86;
        if name.contains("cuda11") {
            expected[0].4 = 8; // its helper functions have no frame of their own
        }
        assert_eq!(rows, expected, "{name}");
        assert_eq!(cubin.kernels().len(), SM86.len());
        assert!(
            cubin.not_loaded().is_empty(),
            "{name}: {:?}",
            cubin.not_loaded()
        );
    }
}

fn layout(kernel: &Kernel) -> Vec<(u32, u32)> {
    kernel
        .parameters
        .iter()
        .map(|p| (p.offset, p.size))
        .collect()
}

#[test]
fn parameters_and_launch_bounds() {
    for name in FEATURES {
        let cubin = parse(name);
        let kernel = |k: &str| cubin.kernel(k).unwrap();
        assert_eq!(layout(kernel("simple")), [(0, 8), (8, 4)]);
        assert_eq!(
            layout(kernel("shared_one")),
            [(0, 8), (8, 2), (16, 8), (24, 1)]
        );
        assert_eq!(layout(kernel("structp")), [(0, 40), (40, 1), (48, 40)]);
        assert_eq!(kernel("structp").parameter_size, 0x58);
        assert_eq!(layout(kernel("noparam")), []);
        assert_eq!(kernel("noparam").parameter_size, 0);
        for k in cubin.kernels() {
            assert_eq!(k.parameter_base, 0x160, "{name} {}", k.name);
        }
        assert_eq!(kernel("bounded").max_threads, Some([128, 1, 1]));
        assert_eq!(kernel("bounded").required_threads, None);
        assert_eq!(kernel("simple").max_threads, None);
    }
}

#[test]
fn abi_version_and_architecture_come_from_the_right_bits() {
    assert_eq!(parse("features_sm86_cuda11.cubin").abi_version(), 7);
    assert_eq!(parse("features_sm86_cuda12.cubin").abi_version(), 7);
    assert_eq!(parse("features_sm86_cuda13.cubin").abi_version(), 8);
    assert_eq!(parse("features_sm120_cuda13.cubin").sm(), 120);
}

/// CUDA 13 places the section headers of sm_120 cubins at an odd offset.
#[test]
fn section_headers_need_not_be_aligned() {
    let bytes = fixture("features_sm120_cuda13.cubin");
    assert_ne!(common::u64_at(&bytes, 40) % 8, 0);
    let cubin = Cubin::parse(&bytes).unwrap();
    let kernel = cubin.kernel("shared_one").unwrap();
    assert_eq!((kernel.registers, kernel.static_shared), (14, 2048));
    assert_eq!(kernel.parameter_base, 0x380);
    assert_eq!(cubin.kernel("indirect").unwrap().registers, 25);
}

#[test]
fn parameters_beyond_16_kib_recursion_managed_memory_and_required_blocks() {
    let cubin = parse("limits_sm86_cuda13.cubin");
    let big = cubin.kernel("big_parameters").unwrap();
    assert_eq!(layout(big), [(0, 20000), (20000, 8), (20008, 4)]);
    assert_eq!((big.parameter_base, big.parameter_size), (0x1a80, 20012));
    let recurse = cubin.kernel("recurse").unwrap();
    assert!(recurse.stack_is_unbounded);
    assert!(recurse.local_per_thread > 0 && recurse.local_per_thread < 1024);
    let required = cubin.kernel("required_block").unwrap();
    assert_eq!(required.required_threads, Some([32, 2, 1]));
    let managed: Vec<&str> = cubin
        .globals()
        .iter()
        .filter(|g| g.space == Space::Managed)
        .map(|g| g.name.as_str())
        .collect();
    assert_eq!(managed, ["shared_with_host"]);
}

#[test]
fn device_functions_are_functions_but_not_kernels() {
    let cubin = parse("linked_sm86_cuda13.cubin");
    let device: Vec<&str> = cubin
        .functions()
        .iter()
        .filter(|f| !f.is_entry)
        .map(|f| f.name.as_str())
        .collect();
    assert_eq!(device, ["_Z6helperfi", "_Z7helper2fi"]);
    assert_eq!(cubin.functions().len(), cubin.kernels().len() + 2);
    assert!(cubin.kernel("_Z6helperfi").is_err());

    // Unlinked code has them inside the kernel's section instead.
    let cubin = parse("features_sm86_cuda13.cubin");
    let indirect = cubin.functions().iter().find(|f| f.name == "indirect");
    let inside: Vec<(&str, u64)> = indirect
        .unwrap()
        .symbols
        .iter()
        .map(|s| (s.name.as_str(), s.offset))
        .collect();
    assert_eq!(
        inside,
        [
            ("$indirect$_Z6helperfi", 0x1a0),
            ("$indirect$_Z7helper2fi", 0x4c0),
            ("indirect", 0)
        ]
    );
}

#[test]
fn variables_and_constant_banks() {
    for name in FEATURES {
        let cubin = parse(name);
        let global = |n: &str| cubin.globals().iter().find(|g| g.name == n).unwrap();
        let ginit = global("ginit");
        assert_eq!((ginit.size, ginit.space), (16, Space::Global));
        let words: Vec<u8> = [1u32, 2, 3, 4]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        assert_eq!(ginit.initial.as_deref(), Some(words.as_slice()));
        let gcount = global("gcount");
        assert_eq!((gcount.size, gcount.initial.as_deref()), (4, None));
        assert!(gcount.offset + gcount.size <= cubin.global_size());

        let coef = cubin.constants().iter().find(|c| c.name == "coef").unwrap();
        assert_eq!((coef.size, coef.space), (64, Space::Constant { bank: 3 }));
        let bank = cubin.constant_bank(3, None).unwrap();
        assert_eq!(&bank[..4], 1f32.to_le_bytes());
        let sw = cubin.kernel("sw").unwrap();
        assert_eq!(cubin.constant_bank(3, Some(sw.section)), Some(bank));
        assert_eq!(cubin.constant_bank(2, Some(sw.section)).unwrap().len(), 64);
        assert_eq!(cubin.constant_bank(2, None), None);
        let externs: Vec<&str> = cubin.externs().iter().map(|e| e.name.as_str()).collect();
        assert_eq!(externs, ["vprintf", "malloc", "free", "__assertfail"]);
    }
}

#[test]
fn attribute_records_are_kept_raw_with_their_names() {
    let cubin = parse("features_sm86_cuda13.cubin");
    let bars = cubin.kernel("bars").unwrap();
    let named: Vec<(u8, u8, Option<&str>)> = bars
        .info
        .iter()
        .map(|r| (r.attribute, r.format(), r.name()))
        .collect();
    assert!(named.contains(&(0x4c, 2, Some("EIATTR_NUM_BARRIERS"))));
    assert!(named.contains(&(0x17, 4, Some("EIATTR_KPARAM_INFO"))));
    assert!(named.contains(&(0x35, 1, Some("EIATTR_SW2861232_WAR"))));
    assert!(
        cubin
            .module_info()
            .iter()
            .any(|r| r.name() == Some("EIATTR_REGCOUNT"))
    );
}

#[test]
fn a_missing_kernel_is_told_with_the_nearest_names() {
    let cubin = parse("features_sm86_cuda13.cubin");
    let fault = cubin.kernel("simpel").unwrap_err();
    let cubin::CubinError::NoSuchKernel { nearest, all, .. } = &fault else {
        panic!("{fault:?}");
    };
    assert_eq!(nearest[0], "simple");
    assert_eq!(all.len(), 12);
    assert!(
        fault.to_string().contains("nearest of 12: `simple`"),
        "{fault}"
    );
    // A C++ kernel asked for by its plain name.
    let fault = cubin.kernel("tmpl").unwrap_err();
    let cubin::CubinError::NoSuchKernel { nearest, .. } = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(nearest[0], "_Z4tmplILi3EEvPi");
}

#[test]
fn every_committed_cubin_parses_and_loads() {
    let cubins = all_cubins();
    assert!(cubins.len() >= common::ALL.len());
    let bases = cubin::LoadBases {
        global: 0x7f00_0000_0000,
        code: 0x7e00_0000_0000,
        externs: 0x7d00_0000_0000,
    };
    for path in cubins {
        let bytes = std::fs::read(&path).unwrap();
        let cubin =
            Cubin::parse(&bytes).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        assert!(!cubin.kernels().is_empty(), "{}", path.display());
        if !cubin.is_relocatable() {
            cubin
                .load(&bases)
                .unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        }
    }
}
