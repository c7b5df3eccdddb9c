//! C++ templates give kernels mangled names of kilobytes that differ in their last letters.

#![allow(clippy::unwrap_used)]

mod common;

use common::{append_names, fixture, put_u32, symbol};
use cubin::{Cubin, CubinError};

/// REGRESSIONS F10: nothing hangs on what a kernel is called, however long its name.
#[test]
fn long_names_are_looked_up_in_full() {
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    let stem = "_ZN7cutlass6KernelINS_4gemm6kernel4GemmI".repeat(60);
    let names: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|l| format!("{stem}{l}"))
        .collect();
    assert!(names[0].len() > 2048);
    let places: Vec<usize> = ["simple", "bars", "sw"]
        .iter()
        .map(|k| symbol(&bytes, k))
        .collect();
    let offsets = append_names(&mut bytes, ".strtab", &names);
    for (place, offset) in places.into_iter().zip(offsets) {
        put_u32(&mut bytes, place, offset);
    }
    let cubin = Cubin::parse(&bytes).unwrap();
    let parameters = |name: &str| cubin.kernel(name).unwrap().parameters.len();
    assert_eq!(
        names.iter().map(|n| parameters(n)).collect::<Vec<_>>(),
        [2, 1, 2]
    );
    assert_eq!(cubin.kernel(&names[1]).unwrap().barriers, 8);

    let fault = cubin.kernel(&format!("{stem}d")).unwrap_err();
    let CubinError::NoSuchKernel { nearest, .. } = &fault else {
        panic!("{fault:?}");
    };
    assert_eq!(nearest.as_slice(), names.as_slice());
}

#[test]
fn names_that_share_their_bytes_do_not_multiply_memory() {
    // Every symbol named by a tail of one long string: refused once they are more than a small
    // multiple of the file.
    let mut bytes = fixture("features_sm86_cuda13.cubin");
    let long = append_names(&mut bytes, ".strtab", &["x".repeat(1 << 20)])[0];
    let (table, size) = common::section_content(&bytes, ".symtab");
    for index in 1..size / 24 {
        put_u32(&mut bytes, table + 24 * index, long + index as u32);
    }
    let fault = Cubin::parse(&bytes).unwrap_err();
    assert!(fault.to_string().contains("do not share"), "{fault}");
}
