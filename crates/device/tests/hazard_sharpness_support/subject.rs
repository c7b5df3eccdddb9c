//! A cubin with the launches that run it, small.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cubin::{Cubin, LoadBases};
use device::launch::{KernelLaunch, Workload};
use sass::{Architecture, Decoded, Instruction, Word};

use super::bench::{Bench, Image, image};

/// Buffers larger than this make a launch too slow to be run thousands of times.
const MOST_BYTES: u64 = 16 << 20;
/// Warp instructions of a launch that is still run for each mutation.
const MOST_ISSUES: usize = 120_000;

/// A launch that runs in the baseline without a hazard.
pub struct Run {
    /// What it is, for messages.
    pub name: String,
    /// The launch.
    pub launch: KernelLaunch,
    /// Its buffers.
    pub image: Image,
    /// Places in the code image that it executes.
    pub executed: BTreeSet<u32>,
    /// Warp instructions.
    pub issues: usize,
}

/// A code section.
pub struct Section {
    /// Its function.
    pub name: String,
    /// Where its code lies in the file.
    pub offset: usize,
    /// Position of its first instruction in the code image.
    pub first: u32,
    /// Its code.
    pub code: Vec<Option<Instruction>>,
}

/// A cubin with its sections and runs.
pub struct Subject {
    /// File name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its architecture.
    pub architecture: Architecture,
    /// Its code sections.
    pub sections: Vec<Section>,
    /// The launches, the smallest first.
    pub runs: Vec<Run>,
    /// Launches that are left out, with the reason.
    pub left_out: Vec<String>,
    /// Hazards reported in code as the compiler made it.
    pub reports: Vec<String>,
}

/// Every launch file below `kernels`, sorted.
fn launch_files(kernels: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(kernels).expect("kernels");
    let mut files: Vec<PathBuf> = folders
        .flatten()
        .flat_map(|folder| {
            std::fs::read_dir(folder.path())
                .into_iter()
                .flatten()
                .flatten()
        })
        .map(|file| file.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files
}

/// Cubins of the committed kernels for an architecture, each with its launch files, sorted.
pub fn cubins(kernels: &Path, sm: u32) -> BTreeMap<PathBuf, Vec<(PathBuf, Workload)>> {
    let mut by_cubin: BTreeMap<PathBuf, Vec<(PathBuf, Workload)>> = BTreeMap::new();
    for file in launch_files(kernels) {
        let text = std::fs::read_to_string(&file).expect("a launch file");
        let workload = Workload::parse(&file.to_string_lossy(), &text).expect("a launch file");
        let architectures = workload.architectures.as_ref();
        if architectures.is_some_and(|architectures| !architectures.contains(&sm)) {
            continue;
        }
        let name = workload.cubin.to_string_lossy();
        let name = name.replace("{arch}", &format!("sm_{sm}"));
        let cubin = file.with_file_name(name);
        by_cubin.entry(cubin).or_default().push((file, workload));
    }
    by_cubin
}

/// The cubin in `file` with what of its launches `bench` can run thousands of times.
pub fn subject(file: &Path, workloads: &[(PathBuf, Workload)], bench: &mut Bench) -> Subject {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let bytes = std::fs::read(file).expect(&name);
    let cubin = Cubin::parse(&bytes).expect(&name);
    let architecture = Architecture::from_number(cubin.sm()).expect(&name);
    let mut subject = Subject {
        sections: sections(&cubin, &bytes, architecture),
        name,
        bytes,
        architecture,
        runs: Vec::new(),
        left_out: Vec::new(),
        reports: Vec::new(),
    };
    let mut known: Vec<(KernelLaunch, Image)> = Vec::new();
    for (file, workload) in workloads {
        let size: u64 = workload.buffers.iter().map(|buffer| buffer.bytes()).sum();
        let title = file.file_name().unwrap_or_default().to_string_lossy();
        if size > MOST_BYTES {
            subject.left_out.push(format!("{title}: {size} bytes"));
            continue;
        }
        let image = image(workload, file.parent().unwrap_or(file));
        for launch in &workload.launches {
            for launch in shrunk(launch) {
                let same = |(l, i): &(KernelLaunch, Image)| *l == launch && *i == image;
                if known.iter().any(same) {
                    continue;
                }
                known.push((launch.clone(), image.clone()));
                add(&mut subject, &title, launch, &image, bench);
            }
        }
    }
    subject.runs.sort_by_key(|run| run.issues);
    // Of each kernel the two smallest, and what goes ways of its own.
    let mut kept: BTreeMap<String, (usize, BTreeSet<u32>)> = BTreeMap::new();
    subject.runs.retain(|run| {
        let (count, seen) = kept.entry(run.launch.kernel.clone()).or_default();
        let new = !run.executed.is_subset(seen);
        seen.extend(&run.executed);
        *count += 1;
        new || *count <= 2
    });
    subject
}

/// The launch with one CTA, with one warp first.
fn shrunk(launch: &KernelLaunch) -> Vec<KernelLaunch> {
    let mut one_cta = launch.clone();
    one_cta.grid = [1; 3];
    let mut one_warp = one_cta.clone();
    one_warp.block[0] = launch.block[0].min(32);
    one_warp.block[1] = (32 / one_warp.block[0]).clamp(1, launch.block[1]);
    one_warp.block[2] = 1;
    if one_warp == one_cta {
        vec![one_cta]
    } else {
        vec![one_warp, one_cta]
    }
}

fn add(subject: &mut Subject, title: &str, launch: KernelLaunch, image: &Image, bench: &mut Bench) {
    let name = format!("{title} {} {:?}", launch.kernel, launch.block);
    match bench.run(&subject.bytes, &launch, image) {
        Err(reason) => subject.left_out.push(format!("{name}: {reason}")),
        Ok(outcome) => {
            if !outcome.hazards.is_empty() {
                subject
                    .reports
                    .push(format!("{name}: {:?}", outcome.hazards));
                return;
            }
            let issues = outcome.warps.iter().map(Vec::len).sum();
            if issues > MOST_ISSUES {
                subject
                    .left_out
                    .push(format!("{name}: {issues} warp instructions"));
                return;
            }
            let issued = outcome.warps.iter().flatten();
            subject.runs.push(Run {
                executed: issued.map(|issue| issue.pc).collect(),
                name,
                launch,
                image: image.clone(),
                issues,
            });
        }
    }
}

fn sections(cubin: &Cubin, bytes: &[u8], architecture: Architecture) -> Vec<Section> {
    let bases = LoadBases {
        global: 1 << 32,
        code: exec::CODE_BASE,
        externs: 0x20_0000_0000,
    };
    let loaded = cubin.load(&bases).expect("a cubin that can be loaded");
    let decode = |chunk: &[u8; 16]| match sass::decode(Word::from_bytes(*chunk), architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    };
    cubin
        .functions()
        .iter()
        .map(|function| {
            let placed = loaded
                .functions
                .iter()
                .find(|placed| placed.section == function.section)
                .expect("every function is loaded");
            Section {
                name: function.name.clone(),
                offset: section_offset(bytes, function.section.0),
                first: ((placed.address - exec::CODE_BASE) / 16) as u32,
                code: function.code.as_chunks().0.iter().map(decode).collect(),
            }
        })
        .collect()
}

/// Where section number `section` of an ELF file of 64 bits lies.
fn section_offset(bytes: &[u8], section: u32) -> usize {
    let word = |at: usize| {
        let field: [u8; 8] = bytes[at..at + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(field) as usize
    };
    let headers = word(40);
    word(headers + 64 * section as usize + 24)
}
