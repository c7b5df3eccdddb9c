//! The built-in GPUs: complete, consistent with their data sheets, explained.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use hardware::{
    CardParameters, Gpu, LaunchParameters, MemoryParameters, PeakParameters, TensorParameters,
};

fn gpus() -> impl Iterator<Item = Gpu> {
    hardware::names()
        .into_iter()
        .map(|name| Gpu::load(name).unwrap())
}

fn near(gpu: &Gpu, what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{}: {what} is {found}, the data sheet says {expected}",
        gpu.name()
    );
}

#[test]
fn the_gpus_that_must_be_there_are() {
    let names = hardware::names();
    assert_eq!(
        names,
        [
            "rtx-a6000",
            "rtx-3080",
            "rtx-3080-ti",
            "rtx-3090",
            "rtx-3060",
            "a100-sxm4-40gb",
            "rtx-4090",
            "l40s",
            "rtx-2080-ti",
            "rtx-2070-super",
            "rtx-2070",
            "h100-pcie"
        ]
    );
    let architectures: Vec<u32> = gpus().map(|gpu| gpu.architecture()).collect();
    assert_eq!(
        architectures,
        [86, 86, 86, 86, 86, 80, 89, 89, 75, 75, 75, 90]
    );
    assert_eq!(
        Gpu::load("rtx-3090").unwrap().title(),
        "NVIDIA GeForce RTX 3090"
    );
}

/// Every document of the folder is embedded, and none other is.
#[test]
fn every_document_is_embedded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gpus");
    let documents = |folder: &str| -> BTreeSet<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".toml"))
            .collect()
    };
    let used: BTreeSet<String> = gpus()
        .flat_map(|gpu| gpu.files().to_vec())
        .map(|file| file.replace("gpus/", ""))
        .filter(|file| !file.starts_with("dram/"))
        .collect();
    assert_eq!(documents(folder), used);
    let kinds: BTreeSet<String> = hardware::dram_kinds()
        .iter()
        .map(|kind| format!("{kind}.toml"))
        .collect();
    assert_eq!(documents(&format!("{folder}/dram")), kinds);
}

/// What this crate declares is there and in range; every key has a source that SOURCES.md names.
#[test]
fn every_key_is_explained() {
    let sources = include_str!("../../../gpus/SOURCES.md");
    let known: Vec<&str> = sources
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert!(known.len() > 5);
    for gpu in gpus() {
        for declaration in hardware::DECLARED.iter().copied().flatten() {
            if declaration.optional && !gpu.has(declaration.key) {
                continue;
            }
            let explained = gpu.explain(declaration.key).unwrap();
            assert_eq!(
                (declaration.check)(&explained.value),
                Ok(()),
                "{}",
                declaration.key
            );
            assert!(!explained.doc.is_empty());
            assert_eq!(explained.unit, declaration.unit);
            assert!(explained.overridden.is_none());
        }
        for (key, _) in gpu.keys() {
            let explained = gpu.explain(key).unwrap();
            assert!(explained.defined_in.line > 0);
            assert!(!explained.source.is_empty());
            assert!(
                known.iter().any(|name| explained.source.contains(name)),
                "{}: `{key}`: no source of SOURCES.md in `{}`",
                explained.defined_in,
                explained.source
            );
        }
    }
}

/// Bytes per clock against the data sheet: a change of clock domain must not change bandwidth.
#[test]
fn bus_width_and_clocks_give_the_bandwidth_of_the_data_sheet() {
    for gpu in gpus() {
        let card = CardParameters::load(&gpu).unwrap();
        let memory = MemoryParameters::load(&gpu).unwrap();
        near(
            &gpu,
            "bandwidth",
            memory.bus_bandwidth(),
            memory.bandwidth,
            0.01,
        );
        let by_command_clock = memory.command_clock
            * f64::from(memory.bits_per_command_cycle)
            * f64::from(memory.bus_width)
            / 8000.0;
        near(
            &gpu,
            "bandwidth by command clock",
            by_command_clock,
            memory.bandwidth,
            0.01,
        );
        let by_memory_clock = card.memory_clock * 2.0 * f64::from(memory.bus_width) / 8000.0;
        near(
            &gpu,
            "bandwidth by memory clock",
            by_memory_clock,
            memory.bandwidth,
            0.01,
        );
    }
}

#[test]
fn rates_and_clocks_give_the_peak_figures_of_the_data_sheet() {
    for gpu in gpus() {
        let card = CardParameters::load(&gpu).unwrap();
        let tensor = TensorParameters::load(&gpu).unwrap();
        let peak = PeakParameters::load(&gpu).unwrap();
        let sub_cores = f64::from(card.sms * card.sub_cores_per_sm);
        // Two operations per multiply-add, MHz to tera.
        let at = |clock: f64, rate: f64| rate * sub_cores * clock * 2e-6;
        let tera = |rate: f64| at(card.boost_clock, rate);
        // Lanes of a sub-core for FP32 and FP64.
        let (single, double) = match card.architecture {
            75 => (16.0, 0.5),
            80 => (16.0, 8.0),
            90 => (32.0, 16.0),
            _ => (32.0, 0.5),
        };
        near(&gpu, "fp32", tera(single), peak.fp32, 0.01);
        near(&gpu, "fp64", tera(double), peak.fp64, 0.01);
        let clock = peak.tensor_clock.unwrap_or(card.boost_clock);
        let tensors = [
            ("f16_f16", tensor.f16_f16, peak.tensor_f16_f16),
            ("f16_f32", tensor.f16_f32, peak.tensor_f16_f32),
            ("int8", tensor.int8, peak.tensor_int8),
        ];
        for (name, rate, expected) in tensors {
            near(&gpu, name, at(clock, rate.into()), expected, 0.01);
        }
        assert_eq!(tensor.tf32.is_some(), peak.tensor_tf32.is_some());
        if let (Some(rate), Some(expected)) = (tensor.tf32, peak.tensor_tf32) {
            near(&gpu, "tf32", at(clock, rate.into()), expected, 0.01);
        }
        // Turing's tensor cores know halves and integers alone.
        assert_eq!(tensor.tf32.is_none(), card.architecture == 75);
        assert_eq!(tensor.bf16.is_none(), card.architecture == 75);
        assert_eq!(tensor.double.is_none(), card.architecture == 75);
    }
}

#[test]
fn intervals_of_hmma_follow_the_dense_rates() {
    let interval = |gpu: &str, rate: fn(&TensorParameters) -> u32| {
        let tensor = TensorParameters::load(&Gpu::load(gpu).unwrap()).unwrap();
        TensorParameters::interval(16 * 8 * 16, rate(&tensor))
    };
    assert_eq!(interval("rtx-a6000", |t| t.f16_f16), 16);
    assert_eq!(interval("rtx-a6000", |t| t.f16_f32), 16);
    assert_eq!(interval("rtx-3090", |t| t.f16_f16), 16);
    assert_eq!(interval("rtx-3090", |t| t.f16_f32), 32);
    assert_eq!(interval("a100-sxm4-40gb", |t| t.f16_f32), 8);
    assert_eq!(interval("h100-pcie", |t| t.f16_f32), 4);
    // m16n8k8, Turing's largest (MODEL 6: 8 cycles more with single accumulators).
    let turing = TensorParameters::load(&Gpu::load("rtx-2080-ti").unwrap()).unwrap();
    assert_eq!(TensorParameters::interval(16 * 8 * 8, turing.f16_f16), 8);
    assert_eq!(TensorParameters::interval(16 * 8 * 8, turing.f16_f32), 16);
}

/// What a GPU does not have is absent, not 0.
#[test]
fn a_rate_that_a_gpu_lacks_has_no_key() {
    let turing = Gpu::load("rtx-2080-ti").unwrap();
    assert!(!turing.has("tensor.tf32") && turing.has("tensor.f16_f16"));
    assert!(turing.explain("tensor.tf32").is_err());
    let mut turing = turing;
    assert!(
        turing.check(hardware::DECLARED).is_err(),
        "other crates declare keys"
    );
    let told = turing.set("tensor.tf32=1").unwrap_err().to_string();
    assert!(told.contains("tensor.tf32"), "{told}");
}

#[test]
fn impossible_launches_are_refused() {
    let launch = LaunchParameters::load(&Gpu::load("rtx-a6000").unwrap()).unwrap();
    let refused = |grid, block, parameters| {
        launch
            .accept(grid, block, parameters)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        launch.accept([i32::MAX as u32, 65_535, 65_535], [1024, 1, 1], 32_764),
        Ok(())
    );
    assert_eq!(
        refused([0, 1, 1], [32, 1, 1], 0),
        "the grid is 0 in x; it must be 1 to 2147483647"
    );
    assert_eq!(
        refused([1, 65_536, 1], [32, 1, 1], 0),
        "the grid is 65536 in y; it must be 1 to 65535"
    );
    assert_eq!(
        refused([1, 1, 1], [1, 1, 65], 0),
        "the block is 65 in z; it must be 1 to 64"
    );
    assert_eq!(
        refused([1, 1, 1], [1024, 1024, 64], 0),
        "the block has 67108864 threads; the most is 1024"
    );
    assert_eq!(
        refused([1, 1, 1], [32, 1, 1], 40_000),
        "the kernel takes 40000 bytes of parameters; the most is 32764"
    );
}
