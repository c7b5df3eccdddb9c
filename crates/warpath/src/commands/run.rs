//! `warpath run`: a launch file, or one kernel of a cubin, from start to report.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cubin::Cubin;
use device::launch::{KernelLaunch, Workload, parse_argument};
use device::statistics::InstanceKind;
use device::{Files, HazardMode, RunOptions, RunProgress, Session};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Style;

use crate::cli::{Format, Hazards, HostIsa, Mode, Pages, Per, RunArguments, Switch, UnknownOp};
use crate::failure::{Failure, Problem};
use crate::input::{load_cubins_for, load_gpu, read_launch_file};

/// The GPU that a cubin runs on unless the user names one.
pub const DEFAULT_GPU: &str = "rtx-a6000";

/// Runs what the arguments say and prints the report.
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let launch_file = arguments
        .file
        .extension()
        .is_some_and(|extension| extension == "toml");
    let (workload, files, gpu) = if launch_file {
        refuse_launch_options(arguments)?;
        let text = read_launch_file(&arguments.file)?;
        let workload = Workload::parse(&arguments.file.to_string_lossy(), &text)
            .map_err(|error| Failure::from(device::RunError::from(error)))?;
        let folder = arguments.file.parent().unwrap_or(Path::new("")).to_owned();
        let gpu = workload
            .gpu
            .clone()
            .unwrap_or_else(|| DEFAULT_GPU.to_owned());
        (workload, Files::Folder(folder), gpu)
    } else {
        let (cubins, gpu) = load_cubins_for(&arguments.file, arguments.gpu.as_deref(), gpu_of)?;
        (
            workload_of(arguments, &cubins)?,
            Files::Folder(PathBuf::new()),
            gpu,
        )
    };
    if arguments.hazards == Hazards::Emulate && arguments.mode == Mode::Functional {
        return Err(Problem::new(
            "--hazards emulate needs --mode timing: what an instruction sees depends on time",
        )
        .input());
    }
    let gpu = load_gpu(arguments.gpu.as_deref().unwrap_or(&gpu), &arguments.set)?;
    let dumps = Dump::all(&arguments.dump, &workload)?;

    let options = options(arguments, &workload);
    let mut session = Session::new(&workload, &files, gpu, &options)?;
    let mut bar = Bar::new();
    let result = session.run(&options, &mut |progress| bar.tell(progress));
    bar.clear();
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            if let Format::Text = arguments.format {
                out.write_all(session.take_printed().as_bytes())?;
                out.flush()?;
            }
            return Err(error.into());
        }
    };

    let text = match arguments.format {
        Format::Text => {
            let colour = std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            report::text::run(&report, Style { colour })
        }
        Format::Json => {
            super::write_json(&report::json::run(&report), out)?;
            String::new()
        }
        Format::Csv => report::csv::run(&report),
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Dump::write(&dumps, &session)?;
    if report.passed() {
        return Ok(());
    }
    let failed = report.checks.iter().filter(|check| !check.passed());
    let names: Vec<String> = failed.map(|check| format!("`{}`", check.buffer)).collect();
    Err(Problem::new(format!(
        "the result is wrong: check of {} failed",
        names.join(", ")
    ))
    .run())
}

fn options(arguments: &RunArguments, workload: &Workload) -> RunOptions {
    RunOptions {
        mode: mode(arguments.mode),
        hazards: match arguments.hazards {
            Hazards::Off => HazardMode::Off,
            Hazards::Check => HazardMode::Check,
            Hazards::Emulate => HazardMode::Emulate,
        },
        timeline: false,
        instances: instances(&arguments.per),
        walk: None,
        threads: arguments.threads,
        window: arguments.window,
        // As the hardware does, unless someone says otherwise.
        warm_l2: match arguments.warm_l2 {
            Some(switch) => switch == Switch::On,
            None => workload.warm_l2.unwrap_or(true),
        },
        max_cycles: arguments.max_cycles,
        unknown_op: match arguments.unknown_op {
            UnknownOp::Error => device::UnknownOp::Error,
            UnknownOp::Nop => device::UnknownOp::Nop,
        },
        heap: arguments.heap,
        pages: arguments.pages.map(|pages| match pages {
            Pages::Contiguous => device::Pages::Contiguous,
            Pages::Shuffled => device::Pages::Shuffled,
        }),
        page_seed: arguments.page_seed,
        host_isa: arguments.host_isa.map(|isa| match isa {
            HostIsa::Baseline => device::HostIsa::Baseline,
            HostIsa::Avx2 => device::HostIsa::Avx2,
            HostIsa::Avx512 => device::HostIsa::Avx512,
        }),
    }
}

/// What is told apart, each once.
fn instances(per: &[Per]) -> Vec<InstanceKind> {
    let mut kinds: Vec<InstanceKind> = per
        .iter()
        .map(|per| match per {
            Per::Sm => InstanceKind::Sm,
            Per::Slice => InstanceKind::Slice,
            Per::Channel => InstanceKind::Channel,
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The mode of a run.
pub fn mode(mode: Mode) -> device::Mode {
    match mode {
        Mode::Timing => device::Mode::Timing,
        Mode::Functional => device::Mode::Functional,
    }
}

/// Options that say what a launch file says itself.
fn refuse_launch_options(arguments: &RunArguments) -> Result<(), Failure> {
    let given = [
        ("--kernel", arguments.kernel.is_some()),
        ("--grid", arguments.grid.is_some()),
        ("--block", arguments.block.is_some()),
        ("--arg", !arguments.arguments.is_empty()),
        ("--shared", arguments.shared.is_some()),
        ("--cooperative", arguments.cooperative),
        ("--stack", arguments.stack.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Problem::new(format!(
            "{name} is for cubins; {} is a launch file, which says it itself",
            arguments.file.display()
        ))
        .input()),
    }
}

/// The default GPU if there is code for its architecture, else the first that there is code for.
pub fn gpu_of(architectures: &[u32]) -> &'static str {
    let architecture = |name: &&str| {
        hardware::Gpu::load(name)
            .map(|gpu| gpu.architecture())
            .unwrap_or(0)
    };
    std::iter::once(DEFAULT_GPU)
        .chain(hardware::names())
        .find(|name| architectures.contains(&architecture(name)))
        .unwrap_or(DEFAULT_GPU)
}

/// The launch that the options describe.
fn workload_of(arguments: &RunArguments, cubins: &[Cubin]) -> Result<Workload, Failure> {
    let file = arguments.file.display();
    let kernels: Vec<&str> = cubins
        .iter()
        .flat_map(|cubin| cubin.kernels())
        .map(|kernel| kernel.name.as_str())
        .collect();
    let kernel = match (&arguments.kernel, kernels.as_slice()) {
        (Some(name), _) => {
            let holder = cubin::find_kernel(cubins, name);
            holder
                .and_then(|holder| cubins[holder].kernel(name))
                .map_err(|error| Problem::new(format!("{file}: {error}")).input())?;
            name.as_str()
        }
        (None, [only]) => *only,
        (None, _) => {
            let names = if kernels.is_empty() {
                "none".to_owned()
            } else {
                kernels.join(", ")
            };
            return Err(
                Problem::new(format!("{file}: which kernel? Name one with --kernel"))
                    .help(format!("kernels of the file: {names}"))
                    .input(),
            );
        }
    };
    let required = |value: &Option<String>, name: &str| {
        let missing = || Problem::new(format!("{name} is missing: X, X,Y or X,Y,Z")).input();
        parse_extent(value.as_deref().ok_or_else(missing)?, name)
    };
    let grid = required(&arguments.grid, "--grid")?;
    let block = required(&arguments.block, "--block")?;
    let mut buffers = Vec::new();
    let mut parsed = Vec::new();
    for (position, text) in arguments.arguments.iter().enumerate() {
        let argument = parse_argument(text, position, &mut buffers)
            .map_err(|error| Problem::new(format!("--arg: {error}")).input())?;
        parsed.push(argument);
    }
    Ok(Workload {
        title: None,
        cubin: arguments.file.clone(),
        architectures: None,
        gpu: None,
        heap: None,
        pages: None,
        page_seed: None,
        warm_l2: None,
        launches: vec![KernelLaunch {
            kernel: kernel.to_owned(),
            grid,
            block,
            shared: arguments.shared.unwrap_or(0),
            cooperative: arguments.cooperative,
            stack: arguments.stack.unwrap_or(device::launch::DEFAULT_STACK),
            arguments: parsed,
        }],
        buffers,
        objects: Vec::new(),
        parameters: Default::default(),
        checks: Vec::new(),
    })
}

fn parse_extent(text: &str, name: &str) -> Result<[u32; 3], Failure> {
    let wrong = || {
        Problem::new(format!(
            "{name} {text}: expected one to three numbers from 1 to 2147483647, as in 16,16"
        ))
        .input()
    };
    let mut extent = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (place, part) in extent.iter_mut().zip(parts) {
        *place = part
            .trim()
            .parse::<u32>()
            .ok()
            .filter(|value| (1..=i32::MAX as u32).contains(value))
            .ok_or_else(wrong)?;
    }
    Ok(extent)
}

/// A buffer that is written to a file after the run.
struct Dump {
    buffer: usize,
    file: PathBuf,
}

impl Dump {
    /// Reads every `--dump` before anything runs.
    fn all(texts: &[String], workload: &Workload) -> Result<Vec<Dump>, Failure> {
        texts
            .iter()
            .map(|text| Dump::parse(text, workload))
            .collect()
    }

    fn parse(text: &str, workload: &Workload) -> Result<Dump, Failure> {
        let wrong = |reason: String| Problem::new(format!("--dump {text}: {reason}")).input();
        let (name, file) = text
            .split_once('=')
            .filter(|(name, file)| !name.is_empty() && !file.is_empty())
            .ok_or_else(|| wrong("expected ARG=FILE, as in c=result.bin or 2=result.bin".into()))?;
        let named = workload
            .buffers
            .iter()
            .position(|buffer| buffer.name == name);
        let by_position = || {
            let position: usize = name.parse().ok()?;
            let arguments = &workload.launches.last()?.arguments;
            match arguments.get(position)? {
                device::launch::Argument::Buffer { buffer, .. } => Some(*buffer),
                _ => None,
            }
        };
        let buffer = named.or_else(by_position).ok_or_else(|| {
            let names: Vec<&str> = workload
                .buffers
                .iter()
                .map(|buffer| buffer.name.as_str())
                .collect();
            wrong(format!(
                "`{name}` is neither a buffer nor the position (from 0) of one among the \
                 arguments; buffers: {}",
                names.join(", ")
            ))
        })?;
        let file = PathBuf::from(file);
        let folder = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(wrong(format!("there is no folder {}", folder.display())));
        }
        if file.is_dir() {
            return Err(wrong(format!("{} is a folder", file.display())));
        }
        Ok(Dump { buffer, file })
    }

    /// Writes all files, each beside its final place first, then moves them there.
    fn write(dumps: &[Dump], session: &Session<'_>) -> Result<(), Failure> {
        let mut written: Vec<(PathBuf, &Path)> = Vec::new();
        let undo = |written: &[(PathBuf, &Path)]| {
            for (temporary, _) in written {
                // Already failing: what cannot be removed stays.
                let _ = std::fs::remove_file(temporary);
            }
        };
        for (index, dump) in dumps.iter().enumerate() {
            let bytes = session.contents(dump.buffer)?;
            let name = dump.file.file_name().unwrap_or_default().to_string_lossy();
            let temporary = dump
                .file
                .with_file_name(format!(".{name}.{}.{index}", std::process::id()));
            written.push((temporary.clone(), &dump.file));
            if let Err(error) = std::fs::write(&temporary, bytes) {
                undo(&written);
                return Err(unwritable(&dump.file, &error));
            }
        }
        for (temporary, file) in &written {
            if let Err(error) = std::fs::rename(temporary, file) {
                undo(&written);
                return Err(unwritable(file, &error));
            }
        }
        Ok(())
    }
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Problem::new(format!("{}: cannot be written: {error}", file.display())).run()
}

/// A progress bar that appears once a run is long, and only on a terminal.
struct Bar {
    start: Instant,
    next: Instant,
    bar: Option<ProgressBar>,
    terminal: bool,
    /// Launch, and its cycles and time when it was told last.
    last: (usize, u64, Instant),
    done_cycles: u64,
}

/// A run is long from here on.
const LONG: Duration = Duration::from_millis(500);
/// Time between two updates.
const UPDATE: Duration = Duration::from_millis(100);

impl Bar {
    fn new() -> Bar {
        let start = Instant::now();
        Bar {
            start,
            next: start + LONG,
            bar: None,
            terminal: std::io::stderr().is_terminal(),
            last: (0, 0, start),
            done_cycles: 0,
        }
    }

    fn tell(&mut self, progress: RunProgress) {
        if !self.terminal {
            return;
        }
        let now = Instant::now();
        if progress.launch != self.last.0 {
            self.done_cycles += self.last.1;
        }
        self.last = (progress.launch, progress.progress.cycle, now);
        if now < self.next {
            return;
        }
        self.next = now + UPDATE;
        let cycles = self.done_cycles + progress.progress.cycle;
        let rate = cycles as f64 / (now - self.start).as_secs_f64().max(1e-9);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:30}] {msg}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(progress.progress.grid);
        bar.set_position(progress.progress.ctas);
        bar.set_message(format!(
            "launch {} of {}, {} of {} CTAs started, cycle {}, {}cycles/s",
            progress.launch + 1,
            progress.launches,
            progress.progress.ctas,
            progress.progress.grid,
            report::number::grouped(progress.progress.cycle),
            report::number::rate(rate),
        ));
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
