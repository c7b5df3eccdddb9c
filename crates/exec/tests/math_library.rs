//! CUDA's math library on every architecture against tables of correctly rounded results: no result
//! is further from its table than the CUDA programming guide states. The tables lie beside the
//! kernels (`kernels/mathlib/make_tables.py`).
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Loaded, Parameters, kernel_file};
use exec::{LaunchOptions, functional};

/// Kernels with their bound in units in the last place.
const SINGLE: [(&str, u64); 5] = [
    ("single_exact", 0),
    ("single_1_ulp", 1),
    ("single_2_ulps", 2),
    ("single_4_ulps", 4),
    ("single_6_ulps", 6),
];
const DOUBLE: [(&str, u64); 5] = [
    ("double_exact", 0),
    ("double_1_ulp", 1),
    ("double_2_ulps", 2),
    ("double_5_ulps", 5),
    ("double_10_ulps", 10),
];

/// Place of a number among those of its type; `None` for NaN.
fn place(bytes: &[u8]) -> Option<i128> {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    let top = 8 * bytes.len() as u32 - 1;
    let magnitude = bits & ((1 << top) - 1);
    let infinity = if bytes.len() == 4 {
        0x7f80_0000
    } else {
        0x7ff0_0000_0000_0000
    };
    let signed = if bits >> top == 1 {
        -i128::from(magnitude)
    } else {
        i128::from(magnitude)
    };
    (magnitude <= infinity).then_some(signed)
}

fn check(loaded: &mut Loaded, architecture: &str, kernel: &str, bytes: usize, bound: u64) {
    let file = |part: &str| kernel_file(&format!("mathlib/{kernel}.{part}.bin"));
    let (x, y, expected) = (file("x"), file("y"), file("expected"));
    let n = x.len() / bytes;
    let addresses: Vec<u64> = [&x, &y, &expected]
        .into_iter()
        .map(|data| {
            let address = loaded.memory.allocate(data.len() as u64, "buffer").unwrap();
            loaded.memory.write(address, data).unwrap();
            address
        })
        .collect();
    // The results overwrite a copy of the table, cleared first.
    let out = addresses[2];
    loaded
        .memory
        .write(out, &vec![0xa5; expected.len()])
        .unwrap();
    let parameters = Parameters::default()
        .wide(addresses[0])
        .wide(addresses[1])
        .wide(out)
        .word(n as u32);
    let launch = loaded.launch(
        kernel,
        [n.div_ceil(128) as u32, 1, 1],
        [128, 1, 1],
        &parameters.0,
        LaunchOptions::default(),
    );
    functional::run(&launch, &mut loaded.memory, 1 << 32).unwrap();
    let mut found = vec![0; expected.len()];
    loaded.memory.read(out, &mut found).unwrap();
    let pairs = found.chunks_exact(bytes).zip(expected.chunks_exact(bytes));
    for (index, (found, expected)) in pairs.enumerate() {
        let near = match (place(found), place(expected)) {
            (Some(found), Some(expected)) => found.abs_diff(expected) <= u128::from(bound),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        let (row, at) = (index / n, index % n);
        assert!(
            near,
            "{architecture} {kernel}, function {row} of argument {at} ({:x?}): {found:x?}, table {expected:x?}",
            &x[at * bytes..][..bytes]
        );
    }
}

fn on(architecture: &str) {
    for (file, kernels, bytes) in [("single", SINGLE, 4), ("double", DOUBLE, 8)] {
        let mut loaded = Loaded::new(&format!("mathlib/{file}.{architecture}.cubin"));
        for (kernel, bound) in kernels {
            check(&mut loaded, architecture, kernel, bytes, bound);
        }
    }
}

#[test]
fn on_sm_75() {
    on("sm_75");
}

#[test]
fn on_sm_80() {
    on("sm_80");
}

#[test]
fn on_sm_86() {
    on("sm_86");
}

#[test]
fn on_sm_89() {
    on("sm_89");
}

#[test]
fn on_sm_90() {
    on("sm_90");
}
