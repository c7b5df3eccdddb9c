//! What the tests of laws and of hazard sharpness share: committed launch files, changed and run
//! through the library.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use device::launch::{Argument, KernelLaunch, Workload};
use device::{Files, LaunchReport, RunOptions, RunReport, Session, Timing};
use hardware::{Gpu, Value};
use reference::{ElementType, Number};

/// The folder of the committed kernels.
pub fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// Reads a launch file of the project, by its path below `kernels/`.
pub fn workload(file: &str) -> Workload {
    let text = std::fs::read_to_string(kernels().join(file)).expect(file);
    Workload::parse(file, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A GPU that is built in.
pub fn gpu(name: &str) -> Gpu {
    let mut gpu = Gpu::load(name).unwrap_or_else(|error| panic!("{error}"));
    // Between two clocks the first instructions and the last store take a cycle more or less.
    if gpu.value("l2.clock").is_ok() {
        let core = number(&gpu, "card.core_clock");
        gpu.set(&format!("l2.clock={core}"))
            .unwrap_or_else(|error| panic!("{error}"));
    }
    gpu.check(&device::declarations())
        .unwrap_or_else(|error| panic!("{error}"));
    gpu
}

/// A number of a GPU document.
pub fn number(gpu: &Gpu, key: &str) -> f64 {
    match gpu.value(key) {
        Ok(Value::Float(value)) => *value,
        Ok(Value::Integer(value)) => *value as f64,
        other => panic!("{key}: {other:?}"),
    }
}

/// Runs `workload`, whose files lie in the folder of the launch file `file`. Its checks must pass, its
/// issue slots add up, and its code give no hazard.
pub fn run(file: &str, workload: &Workload, gpu: Gpu) -> RunReport {
    let name = gpu.name().to_owned();
    let folder = kernels().join(file).parent().map(Path::to_path_buf);
    let files = Files::Folder(folder.unwrap_or_default());
    let options = RunOptions::default();
    let report = Session::new(workload, &files, gpu, &options)
        .and_then(|mut session| session.run(&options, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{file} on {name}: {error}"));
    assert!(report.passed(), "{file} on {name}: {:?}", report.checks);
    for launch in &report.launches {
        let timing = timing(launch);
        assert_eq!(
            issue_slots(timing),
            timing.cycles * u64::from(timing.schedulers),
            "{file} on {name}: issue slots"
        );
        let hazards = timing.hazards.as_deref().unwrap_or_default();
        assert!(hazards.is_empty(), "{file} on {name}: {hazards:?}");
    }
    report
}

/// What the timing model found.
pub fn timing(launch: &LaunchReport) -> &Timing {
    launch.timing.as_ref().expect("a run in timing mode")
}

/// All issue slots of a launch.
pub fn issue_slots(timing: &Timing) -> u64 {
    timing.issue_slots.iter().map(|(_, count)| count).sum()
}

/// Cycles of launches of `kernel` with one CTA of `warps` warps that differ in nothing but their
/// trips, the last argument.
pub fn cycles<const N: usize>(
    file: &str,
    kernel: &str,
    warps: u32,
    trips: [u32; N],
    gpu: Gpu,
) -> [u64; N] {
    let mut workload = workload(file);
    let mut template = workload.launches[0].clone();
    template.kernel = kernel.to_owned();
    template.block = [warps * 32, 1, 1];
    workload.launches = trips.map(|trips| with_trips(&template, trips)).into();
    // The launch file's checks speak of its own trips.
    workload.checks.clear();
    let report = run(file, &workload, gpu);
    let mut launches = report.launches.iter();
    trips.map(|_| launches.next().map_or(0, |launch| timing(launch).cycles))
}

/// Cycles of one trip of the loop of `kernel`, free of the kernel's start and end.
pub fn cycles_per_trip(file: &str, kernel: &str, warps: u32, gpu: Gpu) -> f64 {
    let [few, many] = cycles(file, kernel, warps, [8, 24], gpu);
    (many - few) as f64 / 16.0
}

/// The launch file's workload with a grid of `ctas`, unchecked.
pub fn resized(file: &str, ctas: u32) -> Workload {
    let mut workload = workload(file);
    for launch in &mut workload.launches {
        launch.grid = [ctas, 1, 1];
    }
    workload.checks.clear();
    workload
}

/// The same launch with its last argument replaced.
pub fn with_trips(launch: &KernelLaunch, trips: u32) -> KernelLaunch {
    let mut launch = launch.clone();
    let last = launch.arguments.last_mut().expect("arguments");
    *last = Argument::Scalar {
        element: ElementType::I32,
        value: Number::Integer(trips.into()),
    };
    launch
}
