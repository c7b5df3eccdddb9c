//! Shared memory that the system reserves in every CTA.

#![allow(clippy::unwrap_used)]

mod common;

use common::warpath;
use serde_json::Value;

/// From sm_90 on a kernel's static shared memory includes what the system reserves in every CTA, which
/// limits how many fit an SM only once.
#[test]
fn reserved_shared_memory_is_counted_once() {
    let file = common::kernel("reduction/reduction.sm_90.cubin");
    let mut arguments = vec!["run", &file, "--gpu", "h100-pcie", "--kernel", "reduce_sum"];
    arguments.extend([
        "--grid", "1", "--block", "32", "--shared", "115328", "--format", "json",
    ]);
    for argument in ["f32:32:zero", "f32:32:zero", "i32:32"] {
        arguments.extend(["--arg", argument]);
    }
    // 228 KiB an SM: two CTAs of 1,024 reserved, 128 static and 115,328 dynamic bytes (113.75 KiB).
    let output = warpath().args(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report[0]["occupancy"]["ctas_per_sm"], 2, "{text}");
}
