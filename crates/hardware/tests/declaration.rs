//! The declaration macros, as the stages use them.

#![allow(clippy::unwrap_used)]

use hardware::{Gpu, HardwareError};

hardware::choice! {
    /// A policy.
    pub enum Policy {
        /// Greedy, then youngest.
        Cggty = "cggty",
        /// Greedy, then oldest.
        Gto = "gto",
    }
}

hardware::parameters! {
    /// Parameters of the CTA gate.
    pub struct BarrierParameters = "gate" {
        /// Cycles from the issue of BAR until it holds the warp (MODEL.md T29).
        /// A second line.
        hold: u64, "cycles", 0..=1000;
        /// Whether FP32 instructions may use the INT unit.
        shares: bool, "", false..=true;
        /// Bandwidth.
        rate: f64, "GB/s", 0.0..=1e6;
        /// Policy.
        policy: Policy, "choice", ..;
        /// A small one.
        small: u8, "", 1..=7;
        /// A size.
        size: usize, "bytes", ..;
        /// Sizes.
        sizes: Vec<u32>, "bytes", ..;
        /// Masks.
        masks: Vec<u64>, "", ..;
    }
}

/// A document of its own beside a built-in base.
fn gpu(barrier: &str) -> Result<(tempfile::TempDir, Gpu), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, format!("base = \"rtx-a6000\"\n[gate]\n{barrier}"))?;
    let gpu = Gpu::load(&path.display().to_string())?;
    Ok((folder, gpu))
}

fn barrier(hold: &str, policy: &str) -> String {
    let entry = |key: &str, value: &str| {
        format!("{key} = {{ value = {value}, source = \"test\", confidence = \"guess\" }}\n")
    };
    [
        entry("hold", hold),
        entry("shares", "true"),
        entry("rate", "768"),
        entry("policy", policy),
        entry("small", "7"),
        entry("size", "0x10"),
        entry("sizes", "[0, 1_024]"),
        entry("masks", "[0x7_0000_0000, 0x80]"),
    ]
    .concat()
}

#[test]
fn a_declared_structure_loads() {
    let (_folder, mut gpu) = gpu(&barrier("6", "\"gto\"")).unwrap();
    gpu.check(&[BarrierParameters::DECLARED]).ok();
    let parameters = BarrierParameters::load(&gpu).unwrap();
    assert_eq!(
        parameters,
        BarrierParameters {
            hold: 6,
            shares: true,
            rate: 768.0,
            policy: Policy::Gto,
            small: 7,
            size: 16,
            sizes: vec![0, 1024],
            masks: vec![0x7_0000_0000, 0x80],
        }
    );
    // Masks are told as they are written.
    let masks = gpu.value("gate.masks").unwrap().to_string();
    assert_eq!(masks, "0x700000000, 0x80");
    let hold = gpu.explain("gate.hold").unwrap();
    assert_eq!((hold.unit, hold.range), ("cycles", "0..=1000"));
    assert!(hold.doc.ends_with("(MODEL.md T29). A second line."));
    assert_eq!(hold.defined_in.line, 3);
    assert_eq!(gpu.explain("gate.policy").unwrap().range, "cggty, gto");
    assert_eq!(gpu.name(), "mine");
    assert_eq!(gpu.architecture(), 86);
}

#[test]
fn values_outside_their_range_are_refused_where_they_stand() {
    let (_folder, gpu) = gpu(&barrier("1001", "\"gto\"")).unwrap();
    let error = BarrierParameters::load(&gpu).unwrap_err();
    assert!(matches!(error, HardwareError::OutOfRange { ref place, .. } if place.line == 3));
    assert!(
        error
            .to_string()
            .ends_with("mine.toml:3: `gate.hold` is 1001, but must be in 0..=1000 cycles")
    );
}

#[test]
fn an_unknown_choice_names_the_choices() {
    let (_folder, gpu) = gpu(&barrier("6", "\"lrr\"")).unwrap();
    let error = BarrierParameters::load(&gpu).unwrap_err().to_string();
    assert!(
        error.contains("`gate.policy` is lrr, but must be in cggty, gto"),
        "{error}"
    );
}

#[test]
fn a_value_of_another_kind_is_refused() {
    let (_folder, gpu) = gpu(&barrier("6.5", "\"gto\"")).unwrap();
    let error = BarrierParameters::load(&gpu).unwrap_err().to_string();
    assert!(
        error.contains("`gate.hold` is 6.5, but must be an integer"),
        "{error}"
    );
}

#[test]
fn a_missing_key_names_the_documents() {
    let (_folder, gpu) = gpu("").unwrap();
    let error = BarrierParameters::load(&gpu).unwrap_err().to_string();
    assert!(error.contains("mine.toml, gpus/rtx-a6000.toml"), "{error}");
    assert!(
        error.contains("`gate.hold` is missing (0..=1000 cycles)"),
        "{error}"
    );
}

#[test]
fn overrides_are_checked_against_declarations() {
    let (_folder, mut gpu) = gpu(&barrier("6", "\"gto\"")).unwrap();
    gpu.check(&[BarrierParameters::DECLARED]).ok();
    gpu.set("gate.hold=9").unwrap();
    gpu.set(" gate.policy = cggty").unwrap();
    gpu.set("gate.sizes=1,2,3").unwrap();
    let parameters = BarrierParameters::load(&gpu).unwrap();
    assert_eq!((parameters.hold, parameters.policy), (9, Policy::Cggty));
    assert_eq!(parameters.sizes, [1, 2, 3]);
    gpu.set("gate.masks=0x10, 0x20").unwrap();
    assert_eq!(gpu.value("gate.masks").unwrap().to_string(), "0x10, 0x20");
    gpu.set("gate.masks=16,32").unwrap();
    assert_eq!(BarrierParameters::load(&gpu).unwrap().masks, [16, 32]);
    gpu.set("gate.masks=0x10").unwrap();
    assert_eq!(BarrierParameters::load(&gpu).unwrap().masks, [16]);
    let hold = gpu.explain("gate.hold").unwrap();
    assert_eq!(hold.overridden, Some(hardware::Value::Integer(6)));
    let message = |gpu: &mut Gpu, text: &str| gpu.set(text).unwrap_err().to_string();
    assert_eq!(
        message(&mut gpu, "gate.hold=1001"),
        "--set: `gate.hold` is 1001, but must be in 0..=1000 cycles"
    );
    assert_eq!(
        message(&mut gpu, "gate.hald=1"),
        "no parameter is called `gate.hald`, did you mean gate.hold?"
    );
    assert_eq!(
        message(&mut gpu, "hold=1"),
        "no parameter is called `hold`, did you mean barrier.hold or gate.hold?"
    );
    assert_eq!(
        message(&mut gpu, "gate.hold"),
        "`gate.hold` is not of the form key=value"
    );
    assert_eq!(
        message(&mut gpu, "gate.masks=0x10,-1"),
        "--set: `gate.masks` is 16, -1, but must be in any list of integers"
    );
    assert_eq!(
        message(&mut gpu, "gate.sizes=0x100000000,0x0"),
        "--set: `gate.sizes` is 0x100000000, 0x0, but must be in any list of integers bytes"
    );
    assert_eq!(
        message(&mut gpu, "gate.shares=1"),
        "--set: `gate.shares` is 1, but must be true or false"
    );
    assert_eq!(BarrierParameters::load(&gpu).unwrap().hold, 9);
}
