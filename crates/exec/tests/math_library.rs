//! CUDA's math library on every architecture against tables of correctly rounded results: no result
//! is further from its table than the CUDA C++ Programming Guide states (release 13.0, chapter
//! "Mathematical Functions", section "Standard Functions", tables 17 and 18: "maximum ulp error"
//! against the result rounded to nearest even). The tables lie beside the kernels
//! (`kernels/mathlib/make_tables.py`, which says how they are made and where they are weak).
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Loaded, Parameters, kernel_file};
use exec::{LaunchOptions, functional};

/// The guide's bounds in units in the last place: in single and in double precision. Those of lgamma
/// hold outside an interval of negative numbers, those of the Bessel functions j and y below 8.
#[rustfmt::skip]
const GUIDE: [(&str, u64, u64); 51] = [
    ("/", 0, 0), ("sqrt", 0, 0), ("fma", 0, 0), ("fmod", 0, 0), ("remainder", 0, 0), ("rint", 0, 0),
    ("round", 0, 0), ("rsqrt", 2, 1), ("cbrt", 1, 1), ("rcbrt", 1, 1), ("hypot", 3, 2),
    ("rhypot", 2, 1), ("exp", 2, 1), ("exp2", 2, 1), ("exp10", 2, 1), ("expm1", 1, 1), ("log", 1, 1),
    ("log2", 1, 1), ("log10", 2, 1), ("log1p", 1, 1), ("sin", 2, 2), ("cos", 2, 2), ("tan", 4, 2),
    ("sinpi", 1, 2), ("cospi", 1, 2), ("asin", 2, 2), ("acos", 2, 2), ("atan", 2, 2), ("atan2", 3, 2),
    ("sinh", 3, 2), ("cosh", 2, 1), ("tanh", 2, 1), ("asinh", 3, 3), ("acosh", 4, 3), ("atanh", 3, 2),
    ("pow", 4, 2), ("erf", 2, 2), ("erfc", 4, 5), ("erfinv", 2, 5), ("erfcinv", 4, 6), ("erfcx", 4, 4),
    ("normcdf", 5, 5), ("normcdfinv", 5, 8), ("lgamma", 6, 4), ("tgamma", 5, 10), ("j0", 9, 7),
    ("j1", 9, 7), ("y0", 9, 7), ("y1", 9, 7), ("cyl_bessel_i0", 6, 6), ("cyl_bessel_i1", 6, 6),
];

/// A kernel of the library's functions.
struct Kernel {
    name: String,
    /// What its rows hold.
    rows: Vec<String>,
    /// Units in the last place, by its name.
    bound: u64,
}

/// The kernels of a source file.
fn kernels(file: &str) -> Vec<Kernel> {
    let source = String::from_utf8(kernel_file(&format!("mathlib/{file}.cu"))).unwrap();
    let mut kernels: Vec<Kernel> = Vec::new();
    for line in source.lines() {
        if let Some(name) = line
            .strip_prefix("KERNEL(")
            .and_then(|rest| rest.strip_suffix(") {"))
        {
            let bound = name.strip_prefix(file).unwrap().trim_start_matches('_');
            let bound = match bound.split_once('_') {
                Some((number, _)) => number.parse().unwrap(),
                None => 0,
            };
            kernels.push(Kernel {
                name: name.to_owned(),
                rows: Vec::new(),
                bound,
            });
        } else if let Some(row) = line
            .trim()
            .strip_prefix("ROW(")
            .and_then(|rest| rest.strip_suffix(");"))
        {
            kernels.last_mut().unwrap().rows.push(row.to_owned());
        }
    }
    kernels
}

/// The guide's name for what a row holds.
fn function(row: &str, single: bool) -> &str {
    match row.split_once('(') {
        Some((name, _)) if single => name.strip_suffix('f').unwrap(),
        Some((name, _)) => name,
        None => "/",
    }
}

#[test]
fn every_function_is_held_to_the_guides_bound() {
    for (file, single) in [("single", true), ("double", false)] {
        let mut held = 0;
        for kernel in kernels(file) {
            for row in &kernel.rows {
                let name = function(row, single);
                let (_, of_single, of_double) = GUIDE
                    .iter()
                    .find(|(known, ..)| *known == name)
                    .unwrap_or_else(|| panic!("{row} has no bound"));
                let bound = if single { of_single } else { of_double };
                assert_eq!(kernel.bound, *bound, "{} {row}", kernel.name);
                held += 1;
            }
        }
        // `1 / x` beside `x / y`; each function once.
        assert_eq!(held, GUIDE.len() + 1, "{file}");
    }
}

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

fn check(loaded: &mut Loaded, architecture: &str, kernel: &Kernel, bytes: usize) {
    let Kernel {
        name: kernel,
        rows,
        bound,
    } = kernel;
    let file = |part: &str| kernel_file(&format!("mathlib/{kernel}.{part}.bin"));
    let (x, y, expected) = (file("x"), file("y"), file("expected"));
    let n = x.len() / bytes;
    assert_eq!(
        expected.len(),
        rows.len() * x.len(),
        "{kernel}: remake the tables"
    );
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
            (Some(found), Some(expected)) => found.abs_diff(expected) <= u128::from(*bound),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        let (row, at) = (index / n, index % n);
        assert!(
            near,
            "{architecture} {kernel}, {} of argument {at} ({:x?}): {found:x?}, table {expected:x?}",
            rows[row],
            &x[at * bytes..][..bytes]
        );
    }
}

fn on(architecture: &str) {
    for (file, bytes) in [("single", 4), ("double", 8)] {
        let mut loaded = Loaded::new(&format!("mathlib/{file}.{architecture}.cubin"));
        for kernel in &kernels(file) {
            check(&mut loaded, architecture, kernel, bytes);
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
