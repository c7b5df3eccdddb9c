//! Runs the variants of experiments on simulated GPUs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cubin::Cubin;
use device::launch::{Argument, DEFAULT_STACK, KernelLaunch};
use device::{Device, HazardMode, RunError, RunOptions};
use hardware::Gpu;
use sass::Architecture;

use crate::assembled::new_cubin;
use crate::built_in;
use crate::compare::{Judgement, Observation, Row, Value, expectation, is_exact, judge};
use crate::document::{Document, Experiment, Frame};
use crate::error::LabError;
use crate::kernel::{self, Variant};
use crate::series;

/// Cycles after which an experiment is given up.
const MOST_CYCLES: u64 = 20_000_000;
/// Threads of a warp.
const LANES: usize = 32;
/// Sub-cores of an SM: warp w is on sub-core w mod 4 (MODEL.md §2).
const SUB_CORES: i64 = 4;

/// Where experiments run.
pub struct Bench {
    known: Vec<Document>,
    gpus: BTreeMap<String, Gpu>,
    overrides: Vec<String>,
}

/// The name of the built-in GPU that a lab file means: the longest that its words begin with.
pub fn gpu_of(words: &str) -> Option<&'static str> {
    let title = words.split('(').next().unwrap_or("").trim().to_lowercase();
    let title = title.replace(' ', "-");
    hardware::names()
        .into_iter()
        .filter(|name| title.starts_with(name))
        .max_by_key(|name| name.len())
}

impl Bench {
    /// A bench; `overrides` are `key=value` settings of every GPU.
    ///
    /// # Errors
    /// A built-in lab file that is not as it should be.
    pub fn new(overrides: &[String]) -> Result<Bench, LabError> {
        Ok(Bench {
            known: built_in::documents()?,
            gpus: BTreeMap::new(),
            overrides: overrides.to_vec(),
        })
    }

    /// The built-in lab files.
    pub fn known(&self) -> &[Document] {
        &self.known
    }

    /// Runs every variant of an experiment on `gpu`, or on the GPU that the experiment names. A
    /// row is exact only on the GPU that was measured.
    ///
    /// # Errors
    /// An experiment that cannot be assembled or launched.
    pub fn run(
        &mut self,
        experiment: &Experiment,
        gpu: Option<&str>,
        chosen: &dyn Fn(&str) -> bool,
        told: &mut dyn FnMut(Row),
    ) -> Result<(), LabError> {
        let own = gpu_of(&experiment.gpu);
        let frame = built_in::frame(experiment, &self.known).unwrap_or_default();
        for (variant, row) in experiment.measured.iter().filter(|(name, _)| chosen(name)) {
            let exact = is_exact(experiment, row);
            let Some(name) = gpu.or(own) else {
                let note = format!(
                    "no GPU document for `{}`; name one with --gpu",
                    experiment.gpu
                );
                told(Row {
                    experiment: experiment.id.clone(),
                    variant: variant.clone(),
                    gpu: experiment.gpu.clone(),
                    exact,
                    pass: false,
                    expected: expectation(row, &|_| None),
                    measured: Observation::default(),
                    hazards: 0,
                    notes: vec![note],
                });
                continue;
            };
            let is_foreign = own.is_some_and(|own| own != name);
            let mut judged = match self.row(experiment, &frame, variant, row, name) {
                Ok(judged) => judged,
                // The GPU's document is at fault, not the row.
                Err(error @ LabError::Hardware(_)) => return Err(error),
                Err(error) => Row {
                    experiment: experiment.id.clone(),
                    variant: variant.clone(),
                    gpu: name.to_owned(),
                    exact,
                    pass: false,
                    expected: expectation(row, &|_| None),
                    measured: Observation::default(),
                    hazards: 0,
                    notes: vec![error.to_string()],
                },
            };
            if is_foreign {
                judged.exact = false;
                judged.notes.push(format!("measured on {}", experiment.gpu));
            }
            told(judged);
        }
        Ok(())
    }

    /// Runs one variant of an experiment and tells what its warps issued on one sub-core, from the first
    /// opening to the last closing clock there.
    ///
    /// # Errors
    /// An experiment that cannot be assembled or launched, or whose window was never closed.
    pub fn watch(
        &mut self,
        experiment: &Experiment,
        variant: &str,
        gpu: Option<&str>,
        sub_core: u8,
    ) -> Result<Watched, LabError> {
        let wrong = |reason: String| LabError::Variant {
            experiment: experiment.id.clone(),
            variant: variant.to_owned(),
            reason,
        };
        let frame = built_in::frame(experiment, &self.known).unwrap_or_default();
        let row = experiment.measured.get(variant);
        let row = row.ok_or_else(|| wrong("no such variant".to_owned()))?;
        let name = gpu.or(gpu_of(&experiment.gpu));
        let name = name.ok_or_else(|| {
            wrong(format!(
                "no GPU document for `{}`; name one with --gpu",
                experiment.gpu
            ))
        })?;
        let ended = self.ended(experiment, &frame, variant, row, name, true)?.1;
        let of_sub_core = |warp: usize| warp as i64 % SUB_CORES == i64::from(sub_core);
        let stamps = ended.stamps(&frame);
        let stamps = stamps
            .iter()
            .enumerate()
            .filter(|(warp, _)| of_sub_core(*warp));
        let (mut first, mut last) = (u32::MAX, 0);
        for (_, (closed, opened)) in stamps {
            first = first.min(*opened);
            last = last.max(*closed);
        }
        if first > last {
            return Err(wrong(format!("no window on sub-core {sub_core}")));
        }
        // A clock is read in the cycle after its issue.
        let cycles = (u64::from(first) - 1, u64::from(last) - 1);
        let issued = ended.timeline.into_iter().filter(|issue| {
            of_sub_core(issue.warp.into()) && (cycles.0..=cycles.1).contains(&issue.cycle)
        });
        Ok(Watched {
            gpu: name.to_owned(),
            first: cycles.0,
            last: cycles.1,
            issued: issued.collect(),
        })
    }

    fn gpu(&mut self, name: &str) -> Result<Gpu, LabError> {
        if let Some(gpu) = self.gpus.get(name) {
            return Ok(gpu.clone());
        }
        let mut gpu = Gpu::load(name)?;
        gpu.check(&device::declarations())?;
        for assignment in &self.overrides {
            gpu.set(assignment)?;
        }
        self.gpus.insert(name.to_owned(), gpu.clone());
        Ok(gpu)
    }

    /// Assembles and runs a variant.
    fn ended(
        &mut self,
        experiment: &Experiment,
        frame: &Frame,
        variant: &str,
        row: &toml::Table,
        name: &str,
        watch: bool,
    ) -> Result<(Variant, Ended), LabError> {
        let mut gpu = self.gpu(name)?;
        let place = (experiment.id.as_str(), variant);
        let wrong = |reason: String| LabError::Variant {
            experiment: experiment.id.clone(),
            variant: variant.to_owned(),
            reason,
        };
        for assignment in frame.set.iter().chain(&settings(row).map_err(wrong)?) {
            gpu.set(assignment)?;
        }
        let values = substitutions(row).map_err(wrong)?;
        let architecture = gpu.architecture();
        let Some(architecture) = Architecture::from_number(architecture) else {
            return Err(wrong(format!("no encodings for sm_{architecture}")));
        };
        let text = kernel::variant(experiment, frame, &values, architecture).map_err(wrong)?;
        let assembly = kernel::assembled(&text, architecture, place)?;
        let cubin = new_cubin(&assembly).write()?;
        let run = Run {
            experiment,
            frame,
            row,
            values: &values,
            variant: &text,
            cubin: &cubin,
        };
        let ended = run.run(gpu, watch).map_err(|error| LabError::Run {
            experiment: experiment.id.clone(),
            variant: variant.to_owned(),
            error: Box::new(error),
        })?;
        Ok((text, ended))
    }

    fn row(
        &mut self,
        experiment: &Experiment,
        frame: &Frame,
        variant: &str,
        row: &toml::Table,
        name: &str,
    ) -> Result<Row, LabError> {
        if !series::lists(row).is_empty() {
            return self.row_of_lists(experiment, frame, variant, row, name);
        }
        let (text, ended) = self.ended(experiment, frame, variant, row, name, false)?;
        let expected = expectation(row, &|name| ended.addresses.get(name).copied());
        let measured = ended.observe(frame, &text, row, &expected);
        let (pass, notes) = match judge(experiment, row, &expected, &measured) {
            Judgement::Passed => (true, Vec::new()),
            Judgement::Failed(notes) => (false, notes),
        };
        Ok(Row {
            experiment: experiment.id.clone(),
            variant: variant.to_owned(),
            gpu: name.to_owned(),
            exact: is_exact(experiment, row),
            pass,
            expected,
            measured,
            hazards: ended.hazards,
            notes,
        })
    }
}

impl Bench {
    /// A row that holds lists: a run for each value that one of them names.
    fn row_of_lists(
        &mut self,
        experiment: &Experiment,
        frame: &Frame,
        variant: &str,
        row: &toml::Table,
        name: &str,
    ) -> Result<Row, LabError> {
        let lists = series::lists(row);
        let mut runs: BTreeMap<String, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        let mut hazards = 0;
        for list in &lists {
            for value in list.values() {
                let of_name = runs.entry(list.name.clone()).or_default();
                if of_name.contains_key(&value) {
                    continue;
                }
                let mut one = row.clone();
                let sub = one
                    .entry("sub")
                    .or_insert_with(|| toml::Value::Table(toml::Table::new()));
                if let Some(sub) = sub.as_table_mut() {
                    sub.insert(list.name.clone(), toml::Value::Integer(value.into()));
                }
                let (_, ended) = self.ended(experiment, frame, variant, &one, name, false)?;
                hazards += ended.hazards;
                let windows = ended.stamps(frame).into_iter();
                let windows = windows.map(|(closed, opened)| closed.wrapping_sub(opened).into());
                of_name.insert(value, windows.collect());
            }
        }
        let expected = expectation(row, &|_| None);
        let measured = lists.iter().filter_map(|list| {
            let measured = list.measured(runs.get(&list.name)?)?;
            Some((list.key.clone(), measured))
        });
        let measured = Observation {
            lists: Some(measured.collect()),
            ..Observation::default()
        };
        let (pass, notes) = match judge(experiment, row, &expected, &measured) {
            Judgement::Passed => (true, Vec::new()),
            Judgement::Failed(notes) => (false, notes),
        };
        Ok(Row {
            experiment: experiment.id.clone(),
            variant: variant.to_owned(),
            gpu: name.to_owned(),
            exact: is_exact(experiment, row),
            pass,
            expected,
            measured,
            hazards,
            notes,
        })
    }
}

/// What the driver calls a fault, which is what measurements tell.
fn told_by_driver(kind: &str) -> &str {
    match kind {
        "out of bounds" => "illegal address: illegal memory access, out of bounds",
        "misaligned" => "misaligned address",
        _ => kind,
    }
}

/// The values of a row's `sub`.
fn substitutions(row: &toml::Table) -> Result<BTreeMap<String, String>, String> {
    let Some(table) = row.get("sub") else {
        return Ok(BTreeMap::new());
    };
    let table = table.as_table().ok_or("`sub` is no table")?;
    table
        .iter()
        .map(|(key, value)| match value {
            toml::Value::String(text) => Ok((key.clone(), text.clone())),
            toml::Value::Integer(number) => Ok((key.clone(), number.to_string())),
            _ => Err(format!("`sub.{key}` is no text")),
        })
        .collect()
}

/// The settings of the GPU that a row asks for.
fn settings(row: &toml::Table) -> Result<Vec<String>, String> {
    let Some(list) = row.get("set") else {
        return Ok(Vec::new());
    };
    let list = list.as_array().ok_or("`set` is no list")?;
    list.iter()
        .map(|one| one.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| "`set` holds what is no text".to_owned())
}

/// One run to be made.
struct Run<'a> {
    experiment: &'a Experiment,
    frame: &'a Frame,
    row: &'a toml::Table,
    values: &'a BTreeMap<String, String>,
    variant: &'a Variant,
    cubin: &'a [u8],
}

/// What a run left behind.
struct Ended {
    /// Device addresses of the buffers by name.
    addresses: BTreeMap<String, u64>,
    /// Stored registers, thread by thread.
    stored: Vec<u32>,
    /// How many of them each thread stores.
    each: usize,
    fault: Option<String>,
    hazards: usize,
    /// What was issued, if it was watched.
    timeline: Vec<device::Issue>,
}

/// What the warps of a sub-core issued in the window of an experiment.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The GPU.
    pub gpu: String,
    /// The cycle of the first opening clock.
    pub first: u64,
    /// The cycle of the last closing clock.
    pub last: u64,
    /// Instructions in the order of issue.
    pub issued: Vec<device::Issue>,
}

impl Run<'_> {
    fn run(&self, gpu: Gpu, watch: bool) -> Result<Ended, RunError> {
        let mut device = Device::new(gpu, 1)?;
        let of_row = |key: &str| u32::try_from(self.row.get(key)?.as_integer()?).ok();
        let grid = of_row("grid").or(self.frame.grid);
        let grid = grid.unwrap_or(self.experiment.grid);
        let warps = || {
            let key = self.frame.warps_of.as_ref()?;
            let warps: u32 = self.values.get(key)?.parse().ok()?;
            warps.checked_mul(LANES as u32)
        };
        let block = of_row("block").or_else(warps).or(self.frame.block);
        let block = block.unwrap_or(self.experiment.block);
        let words = grid as usize * block as usize * self.variant.stored.len();
        let memory = device.memory_mut();
        let out = memory.allocate((words * 4).max(4) as u64, "out")?;
        let mut all = vec![out];
        let mut addresses = BTreeMap::new();
        for (name, contents) in &self.frame.buffers {
            let size = (u64::from(contents.count) * 4).max(4);
            let address = memory.allocate(size, name)?;
            // Memory is zero at first.
            if (contents.start, contents.step) != (0, 0) {
                let bytes: Vec<u8> = (0..contents.count)
                    .flat_map(|i| {
                        let word = contents.start.wrapping_add(contents.step.wrapping_mul(i));
                        word.to_le_bytes()
                    })
                    .collect();
                memory.write(address, &bytes)?;
            }
            all.push(address);
            addresses.insert(name.clone(), address);
        }
        let cubin = Cubin::parse(self.cubin).map_err(|error| RunError::Cubin {
            file: PathBuf::from(kernel::NAME),
            error: Box::new(error),
        })?;
        let loaded = device.load(Path::new(kernel::NAME), &cubin)?;
        let buffer = |buffer| Argument::Buffer { buffer, offset: 0 };
        let launch = KernelLaunch {
            kernel: kernel::NAME.to_owned(),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared: 0,
            cooperative: false,
            stack: DEFAULT_STACK,
            arguments: (0..all.len()).map(buffer).collect(),
        };
        let options = RunOptions {
            threads: 1,
            // Experiments with wrong control bits measure what comes of them.
            hazards: HazardMode::Emulate,
            timeline: watch,
            max_cycles: MOST_CYCLES,
            ..RunOptions::default()
        };
        let prepared = device.prepare(&loaded, &launch, &all, &[], &options)?;
        let mut ended = Ended {
            addresses,
            stored: Vec::new(),
            each: self.variant.stored.len(),
            fault: None,
            hazards: 0,
            timeline: Vec::new(),
        };
        match device.run(&prepared, &options, &mut |_| {}) {
            Ok(report) => {
                if let Some(timing) = report.timing {
                    ended.hazards = timing.hazards.map_or(0, |hazards| hazards.len());
                    ended.timeline = timing.timeline;
                }
            }
            Err(RunError::Fault(fault)) => {
                // What it is about follows behind a colon.
                let kind = fault.what.split(':').next().unwrap_or("");
                ended.fault = Some(told_by_driver(kind).to_owned());
                return Ok(ended);
            }
            Err(error) => return Err(error),
        }
        let mut bytes = vec![0; words * 4];
        device.memory().read(out, &mut bytes)?;
        let (words, _) = bytes.as_chunks::<4>();
        ended.stored = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Ok(ended)
    }
}

impl Ended {
    /// Closing and opening clock of lane 0 of each warp, if they were stored.
    fn stamps(&self, frame: &Frame) -> Vec<(u32, u32)> {
        let each = self.each;
        if each < 2 + usize::from(frame.value.is_some()) {
            return Vec::new();
        }
        let warps = self.stored.chunks(each * LANES);
        warps.map(|warp| (warp[0], warp[1])).collect()
    }

    /// Makes an observation of the stored registers.
    fn observe(
        &self,
        frame: &Frame,
        variant: &Variant,
        row: &toml::Table,
        expected: &Observation,
    ) -> Observation {
        let mut observation = Observation {
            fault: self.fault.clone(),
            ..Observation::default()
        };
        let each = variant.stored.len();
        if each == 0 || self.stored.is_empty() {
            return observation;
        }
        let has_value = frame.value.is_some();
        if each >= 2 + usize::from(has_value) {
            let stamps = self.stamps(frame);
            observation.cycles = window(&stamps, frame, row);
            if expected.closings.is_some() {
                observation.closings = Some(closings(&stamps));
            }
            if let Some(subcore) = row.get("subcore").and_then(toml::Value::as_integer)
                && expected.trace.is_some()
            {
                observation.trace = Some(trace(&stamps, subcore));
            }
        }
        if has_value && let Some(&word) = self.stored.get(each - 1) {
            observation.value = Some(match expected.value {
                Some(Value::Float(_)) => as_float(word),
                Some(Value::Integer(value)) if value < 0 => Value::Integer(i64::from(word as i32)),
                _ => Value::Integer(word.into()),
            });
        }
        observation
    }
}

/// A word as single precision, by the shortest decimal that means it, as lab files write it.
fn as_float(word: u32) -> Value {
    let single = f32::from_bits(word);
    Value::Float(single.into())
}

fn window(stamps: &[(u32, u32)], frame: &Frame, row: &toml::Table) -> Option<f64> {
    let first = stamps.first()?;
    if frame.span_of.is_none() && !row.contains_key("trace") {
        return Some(first.0.wrapping_sub(first.1).into());
    }
    let origin = first.1;
    let opened = stamps
        .iter()
        .map(|stamp| stamp.1.wrapping_sub(origin) as i32);
    let closed = stamps
        .iter()
        .map(|stamp| stamp.0.wrapping_sub(origin) as i32);
    let span = f64::from(closed.max()?) - f64::from(opened.min()?);
    Some(span / frame.span_of.unwrap_or(1.0))
}

/// The closing clocks of all warps from the earliest opening one on, sorted.
fn closings(stamps: &[(u32, u32)]) -> Vec<i64> {
    let origin = stamps.iter().map(|stamp| stamp.1).min().unwrap_or(0);
    let mut closings: Vec<i64> = stamps
        .iter()
        .map(|stamp| stamp.0.wrapping_sub(origin).into())
        .collect();
    closings.sort_unstable();
    closings
}

/// The stamps of the warps of one sub-core, in the order of their first.
fn trace(stamps: &[(u32, u32)], subcore: i64) -> Vec<[i64; 3]> {
    let origin = stamps.iter().map(|stamp| stamp.1).min().unwrap_or(0);
    let mut rows: Vec<[i64; 3]> = stamps
        .iter()
        .enumerate()
        .map(|(warp, stamp)| {
            [
                warp as i64,
                stamp.1.wrapping_sub(origin).into(),
                stamp.0.wrapping_sub(origin).into(),
            ]
        })
        .filter(|row| row[0] % SUB_CORES == subcore)
        .collect();
    rows.sort_by_key(|row| row[1]);
    rows
}
