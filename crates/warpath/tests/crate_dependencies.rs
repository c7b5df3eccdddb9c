//! The arrows between the crates point one way (ARCHITECTURE.md): who may use whom.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

/// Each crate with the crates of the workspace that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("sass", &[]),
    ("cubin", &[]),
    ("reference", &[]),
    ("hardware", &["sass"]),
    ("source", &["sass"]),
    ("schedule", &["sass", "source", "hardware"]),
    ("exec", &["sass", "cubin", "source"]),
    ("sm", &["sass", "source", "hardware"]),
    ("memory", &["source", "hardware"]),
    (
        "device",
        &[
            "sass",
            "cubin",
            "source",
            "hardware",
            "exec",
            "sm",
            "memory",
            "reference",
        ],
    ),
    ("lab", &["sass", "cubin", "hardware", "device"]),
    ("report", &["device"]),
    (
        "probe",
        &[
            "sass", "cubin", "hardware", "schedule", "device", "lab", "report",
        ],
    ),
    (
        "warpath",
        &[
            "sass", "cubin", "source", "hardware", "schedule", "device", "lab", "probe", "report",
        ],
    ),
];

#[test]
fn arrows_point_one_way() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for folder in std::fs::read_dir(&crates).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("Cargo.toml").is_file() {
            names.insert(folder.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    for name in &names {
        let (_, may_use) = MAY_USE
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("crate {name} has no row here"));
        let text = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&text).unwrap();
        let used = manifest.get("dependencies").and_then(toml::Value::as_table);
        for other in used.into_iter().flat_map(|used| used.keys()) {
            if names.contains(other) {
                assert!(
                    may_use.contains(&other.as_str()),
                    "{name} must not use {other}"
                );
            }
        }
    }
}

#[test]
fn values_and_time_stay_apart() {
    for (name, never) in [("sm", "exec"), ("exec", "sm"), ("memory", "exec")] {
        let row = MAY_USE.iter().find(|(known, _)| *known == name);
        assert!(row.is_some_and(|(_, may_use)| !may_use.contains(&never)));
    }
}
