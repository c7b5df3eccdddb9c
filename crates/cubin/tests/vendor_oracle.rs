//! Every committed cubin against what the vendor's `cuobjdump` and `nvdisasm` say of it. The
//! tools are looked for in `$WARPATH_CUDA_BIN` and in the workspace's `.toolchain/bin`; without
//! them the test is skipped and says so.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::all_cubins;
use cubin::{Cubin, Function, Kernel, RelocationKind};

fn tool(name: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.toolchain/bin");
    let folder = std::env::var_os("WARPATH_CUDA_BIN").map_or(default, PathBuf::from);
    let path = folder.join(name);
    path.exists().then_some(path)
}

fn output(tool: &Path, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap_or_else(|fault| panic!("{}: {fault}", tool.display()));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `REG:24` and the like of a line of `cuobjdump -res-usage`.
fn field(line: &str, key: &str) -> Option<u32> {
    line.split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix(':')?.parse().ok())
}

/// Per function, the line behind `Function NAME:`.
fn resource_usage(text: &str) -> HashMap<String, String> {
    let mut lines = text.lines();
    let mut usage = HashMap::new();
    while let Some(line) = lines.next() {
        if let Some(name) = line.trim().strip_prefix("Function ") {
            let next = lines.next().unwrap_or_default().to_owned();
            usage.insert(name.trim_end_matches(':').to_owned(), next);
        }
    }
    usage
}

/// Hexadecimal number behind `key` in a line.
fn hexadecimal(line: &str, key: &str) -> Option<u32> {
    let rest = &line[line.find(key)? + key.len()..];
    let digits: String = rest
        .trim_start_matches([' ', ':', '\t'])
        .strip_prefix("0x")?
        .chars()
        .take_while(char::is_ascii_hexdigit)
        .collect();
    u32::from_str_radix(&digits, 16).ok()
}

/// Per kernel: parameters (ordinal, offset, size) and NUM_BARRIERS, as `cuobjdump -elf` prints
/// the `.nv.info.<fn>` sections.
type Attributes = (Vec<(u32, u32, u32)>, Option<u32>);

fn attributes(text: &str) -> HashMap<String, Attributes> {
    let mut found: HashMap<String, Attributes> = HashMap::new();
    let mut current: Option<String> = None;
    let mut in_barriers = false;
    for line in text.lines() {
        if line.starts_with('.') {
            current = line.strip_prefix(".nv.info.").map(str::to_owned);
            if let Some(name) = &current {
                found.entry(name.clone()).or_default();
            }
        }
        let Some(entry) = current.as_ref().and_then(|name| found.get_mut(name)) else {
            continue;
        };
        if line.contains("Attribute:") {
            in_barriers = line.contains("EIATTR_NUM_BARRIERS");
        } else if line.contains("Ordinal :") {
            let number = |key: &str| hexadecimal(line, key).unwrap();
            entry
                .0
                .push((number("Ordinal "), number("Offset "), number("Size ")));
        } else if in_barriers && line.contains("Value:") {
            entry.1 = hexadecimal(line, "Value:");
        }
    }
    for (parameters, _) in found.values_mut() {
        parameters.sort_unstable();
    }
    found
}

/// Per function: barriers of `SHF_BARRIERS=n` in the output of `nvdisasm` (CUDA before 13).
fn section_barriers(text: &str) -> HashMap<String, u32> {
    let mut found = HashMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.trim().strip_prefix(".section\t.text.") {
            current = rest.split(',').next().unwrap_or_default().to_owned();
            found.insert(current.clone(), 0);
        } else if let Some((_, count)) = line.split_once("SHF_BARRIERS=") {
            let count = count.trim_end_matches('"').parse().unwrap();
            found.insert(current.clone(), count);
        }
    }
    found
}

fn compare_function(place: &str, function: &Function, usage: &HashMap<String, String>) {
    let line = &usage[&function.name];
    assert_eq!(field(line, "REG"), Some(function.registers), "{place}");
    assert_eq!(
        field(line, "SHARED"),
        Some(function.static_shared),
        "{place}"
    );
}

fn compare_kernel(place: &str, kernel: &Kernel, usage: &HashMap<String, String>) {
    let line = &usage[&kernel.name];
    let bank = |key: &str| field(line, key).unwrap_or(0);
    assert_eq!(bank("CONSTANT[0]"), kernel.constant0_size, "{place}");
    let own = kernel.constant2.as_ref().map_or(0, Vec::len) as u32;
    assert_eq!(bank("CONSTANT[2]"), own, "{place}");
    match field(line, "STACK") {
        Some(stack) => assert!(kernel.local_per_thread >= stack, "{place}"),
        None => assert!(kernel.stack_is_unbounded, "{place}: {line}"),
    }
}

#[test]
fn resources_parameters_and_barriers_equal_the_vendor_tools() {
    let (Some(cuobjdump), Some(nvdisasm)) = (tool("cuobjdump"), tool("nvdisasm")) else {
        println!("skipped: no cuobjdump and nvdisasm found");
        return;
    };
    let (mut files, mut kernels) = (0, 0);
    for path in all_cubins() {
        let cubin = Cubin::parse(&std::fs::read(&path).unwrap()).unwrap();
        if cubin.is_relocatable() {
            continue;
        }
        let usage = resource_usage(&output(&cuobjdump, &["-res-usage"], &path));
        if usage.is_empty() {
            // The tool gives up at references to textures.
            let handle = |kind| matches!(kind, RelocationKind::TextureHandle);
            let mut relocations = cubin.relocations().iter();
            assert!(
                relocations.any(|one| handle(one.kind)),
                "{}",
                path.display()
            );
            continue;
        }
        let attributes = attributes(&output(&cuobjdump, &["-elf"], &path));
        let barriers = if cubin.abi_version() == 7 {
            section_barriers(&output(&nvdisasm, &["-c"], &path))
        } else {
            HashMap::new()
        };
        for function in cubin.functions() {
            let place = format!("{} {}", path.display(), function.name);
            compare_function(&place, function, &usage);
        }
        for kernel in cubin.kernels() {
            let place = format!("{} {}", path.display(), kernel.name);
            compare_kernel(&place, kernel, &usage);
            let (parameters, stated) = &attributes[&kernel.name];
            let ours: Vec<(u32, u32, u32)> = kernel
                .parameters
                .iter()
                .map(|p| (p.index, p.offset, p.size))
                .collect();
            assert_eq!(&ours, parameters, "{place}");
            let expected = match cubin.abi_version() {
                7 => barriers[&kernel.name],
                _ => stated.unwrap_or(0),
            };
            assert_eq!(kernel.barriers, expected, "{place}");
            kernels += 1;
        }
        files += 1;
    }
    println!("{kernels} kernels of {files} cubins compared");
    assert!(kernels > 0);
}
