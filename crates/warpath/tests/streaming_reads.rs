//! A kernel that reads an array once, from an empty L2, reaches 85 to 95 % of the data sheet's DRAM
//! bandwidth (REGRESSIONS M16).

#![allow(clippy::unwrap_used)]

mod common;

use serde_json::Value;

/// Share of the data sheet's bandwidth that a sum of so many floats reads with, as many CTAs of 256
/// threads in the grid as the GPU holds.
fn share(gpu: &str, ctas: u32, floats: u32) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("read.toml");
    let cubin = common::kernel("reduction/reduction.{arch}.cubin");
    let text = format!(
        "cubin = \"{cubin}\"\n[[launch]]\nkernel = \"reduce_sum\"\ngrid = [{ctas}]\nblock = [256]\n\
         args = [\"in\", \"partial\", {{ i32 = {floats} }}]\n\
         [buffers.in]\ntype = \"f32\"\ncount = {floats}\ninit = {{ iota = [0, 1] }}\n\
         [buffers.partial]\ntype = \"f32\"\ncount = {ctas}\ninit = {{ fill = 0 }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let output = common::warpath()
        .args(["run", &file.to_string_lossy(), "--gpu", gpu])
        .args(["--warm-l2", "off", "--format", "json", "--threads", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{gpu}: {output:?}");
    let launches: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = &launches[0]["metrics"];
    let read = metrics["dram__bytes_read.sum"].as_u64().unwrap();
    assert!(read >= 4 * u64::from(floats), "{gpu}: every byte is read");
    let time = launches[0]["time_ns"].as_f64().unwrap() * 1e-9;
    let memory = hardware::MemoryParameters::load(&hardware::Gpu::load(gpu).unwrap()).unwrap();
    read as f64 / time / (memory.bandwidth * 1e9)
}

fn reaches(gpu: &str, ctas: u32, floats: u32) {
    let share = share(gpu, ctas, floats);
    println!("{gpu}: {:.1} % of the data sheet", 100.0 * share);
    assert!((0.85..=0.95).contains(&share), "{gpu}: {share:.3}");
}

#[test]
fn rtx_4090() {
    reaches("rtx-4090", 128 * 6, 8 << 20);
}

#[test]
fn rtx_a6000() {
    reaches("rtx-a6000", 84 * 6, 4 << 20);
}

#[test]
fn rtx_3080() {
    reaches("rtx-3080", 68 * 6, 4 << 20);
}

#[test]
fn rtx_2080_ti() {
    reaches("rtx-2080-ti", 68 * 4, 4 << 20);
}

#[test]
fn a100() {
    reaches("a100-sxm4-40gb", 108 * 8, 16 << 20);
}
