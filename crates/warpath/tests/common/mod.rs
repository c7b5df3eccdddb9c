//! What the end-to-end tests share: the program, the launch files, and runs reduced to what must not
//! change.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// A GPU of each architecture that the cubins are compiled for.
pub const GPUS: [(&str, &str); 5] = [
    ("sm_75", "rtx-2080-ti"),
    ("sm_80", "a100-sxm4-40gb"),
    ("sm_86", "rtx-a6000"),
    ("sm_89", "rtx-4090"),
    ("sm_90", "h100-pcie"),
];

/// The program.
pub fn warpath() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpath"));
    command.env("NO_COLOR", "1");
    command
}

/// The folder of kernels.
pub fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// A file of the kernels.
pub fn kernel(name: &str) -> String {
    kernels().join(name).to_string_lossy().into_owned()
}

/// Launch files of the folders that `wanted` accepts, sorted.
pub fn launch_files(wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(kernels()).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if !folder.is_dir() || !wanted(&name) {
            continue;
        }
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                files.push(file);
            }
        }
    }
    files.sort();
    files
}

/// Whether a launch file has code for an architecture, as in `sm_86`.
pub fn has_code_for(file: &Path, architecture: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    table.get("architectures").is_none_or(|named| {
        let named = named.as_array().unwrap();
        named.iter().any(|name| name.as_str() == Some(architecture))
    })
}

/// Names of a launch file's buffers.
pub fn buffers(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let buffers = table.get("buffers").and_then(toml::Value::as_table);
    buffers
        .map(|buffers| buffers.keys().cloned().collect())
        .unwrap_or_default()
}

/// What a run leaves: its report without the host's share, and the bytes of every buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub report: Value,
    pub memory: Vec<(String, Vec<u8>)>,
}

/// Runs a launch file, demands success, and gives what must not change.
pub fn run(file: &Path, arguments: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let names = buffers(file);
    let mut command = warpath();
    command
        .arg("run")
        .arg(file)
        .args(["--format", "json"])
        .args(arguments);
    for name in &names {
        command
            .arg("--dump")
            .arg(format!("{name}={}", folder.path().join(name).display()));
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{} {arguments:?}: {}\n{}",
        file.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for launch in report.as_array_mut().unwrap() {
        let launch = launch.as_object_mut().unwrap();
        launch.retain(|key, _| !key.starts_with("host_") && key != "threads");
    }
    let memory = names
        .into_iter()
        .map(|name| {
            let bytes = std::fs::read(folder.path().join(&name)).unwrap();
            (name, bytes)
        })
        .collect();
    Outcome { report, memory }
}

/// Runs the program, demands an exit code and gives what it wrote on standard error.
pub fn fails(code: i32, arguments: &[&str]) -> String {
    let output = warpath().args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    assert!(told.starts_with("error: "), "{arguments:?}: {told}");
    assert_eq!(told.matches("error: ").count(), 1, "one error: {told}");
    assert!(!told.contains("panicked"), "{told}");
    assert!(
        output.stdout.is_empty(),
        "nothing on standard output: {arguments:?}"
    );
    told
}
