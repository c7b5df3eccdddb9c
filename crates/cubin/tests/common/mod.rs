//! What the cubin tests share: the fixtures, and edits of an ELF file by section and symbol.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub const FEATURES: [&str; 3] = [
    "features_sm86_cuda11.cubin",
    "features_sm86_cuda12.cubin",
    "features_sm86_cuda13.cubin",
];
pub const ALL: [&str; 7] = [
    "features_sm86_cuda11.cubin",
    "features_sm86_cuda12.cubin",
    "features_sm86_cuda13.cubin",
    "features_sm120_cuda13.cubin",
    "limits_sm86_cuda13.cubin",
    "linked_sm86_cuda13.cubin",
    "relocatable_sm86_cuda13.cubin",
];

pub fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

pub fn fixture(name: &str) -> Vec<u8> {
    let path = fixture_path(name);
    std::fs::read(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Every cubin under the workspace's kernels/ and every fixture.
pub fn all_cubins() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "cubin") {
                found.push(path);
            }
        }
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk(&crate_folder.join("tests/fixtures"), &mut found);
    walk(&crate_folder.join("../../kernels"), &mut found);
    found.sort();
    found
}

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn name_at(bytes: &[u8], table: usize, offset: u32) -> String {
    let start = table + offset as usize;
    let length = bytes[start..].iter().position(|&b| b == 0).unwrap();
    String::from_utf8_lossy(&bytes[start..start + length]).into_owned()
}

/// File offset of the header of the section of that name.
pub fn section_header(bytes: &[u8], name: &str) -> usize {
    let table = u64_at(bytes, 40) as usize;
    let count = usize::from(u16_at(bytes, 60));
    let names = table + 64 * usize::from(u16_at(bytes, 62));
    let strings = u64_at(bytes, names + 24) as usize;
    (0..count)
        .map(|index| table + 64 * index)
        .find(|&at| name_at(bytes, strings, u32_at(bytes, at)) == name)
        .unwrap_or_else(|| panic!("no section {name}"))
}

/// File offset and size of the content of the section of that name.
pub fn section_content(bytes: &[u8], name: &str) -> (usize, usize) {
    let at = section_header(bytes, name);
    (
        u64_at(bytes, at + 24) as usize,
        u64_at(bytes, at + 32) as usize,
    )
}

/// File offset of the symbol of that name.
pub fn symbol(bytes: &[u8], name: &str) -> usize {
    let (table, size) = section_content(bytes, ".symtab");
    let (strings, _) = section_content(bytes, ".strtab");
    (0..size / 24)
        .map(|index| table + 24 * index)
        .find(|&at| name_at(bytes, strings, u32_at(bytes, at)) == name)
        .unwrap_or_else(|| panic!("no symbol {name}"))
}

/// Moves a string table to the end of the file and appends names; gives their offsets.
pub fn append_names(bytes: &mut Vec<u8>, table: &str, names: &[String]) -> Vec<u32> {
    let header = section_header(bytes, table);
    let (start, size) = section_content(bytes, table);
    let moved = bytes.len();
    bytes.extend_from_within(start..start + size);
    let mut offsets = Vec::new();
    for name in names {
        offsets.push((bytes.len() - moved) as u32);
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
    }
    let length = bytes.len() - moved;
    put_u64(bytes, header + 24, moved as u64);
    put_u64(bytes, header + 32, length as u64);
    offsets
}
