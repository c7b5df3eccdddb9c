//! One text runs on every architecture: its control bits are filled in by each one's own tables.

#![allow(clippy::unwrap_used)]

use hardware::Gpu;
use probe::{Bench, Choice, find};

/// A GPU of each architecture, cut down to a few SMs.
const GPUS: [&str; 5] = [
    "rtx-2070",
    "a100-sxm4-40gb",
    "rtx-a6000",
    "rtx-4090",
    "h100-pcie",
];

#[test]
fn probes_run_on_every_architecture() {
    for name in GPUS {
        let mut gpu = Gpu::load(name).unwrap();
        gpu.check(&device::declarations()).unwrap();
        gpu.set("card.sms=4").unwrap();
        for probe in ["shared-banks", "atomics", "refresh", "l1-associativity"] {
            let mut bench = Bench::new(gpu.clone(), 1).unwrap().checked();
            let outcome = (find(probe).unwrap().run)(&mut bench, &Choice { sm: 3 });
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {probe}: {error}"));
            assert!(!outcome.findings.is_empty());
            if probe == "shared-banks" {
                assert_eq!(outcome.number("banks"), Some(32.0), "{name}");
            }
        }
    }
}

#[test]
fn every_text_is_assembled_for_every_architecture() {
    for name in GPUS {
        let mut gpu = Gpu::load(name).unwrap();
        gpu.check(&device::declarations()).unwrap();
        for (kernel, text, load) in probe::kernel::texts() {
            let assembled = probe::kernel::assembled(kernel, &text, load, &gpu);
            assert!(assembled.is_ok(), "{name}: {}", assembled.unwrap_err());
        }
    }
}
