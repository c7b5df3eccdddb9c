//! `warpath walk`: the life of one memory instruction of a launch file.

use std::io::Write;
use std::path::Path;

use device::launch::Workload;
use device::{Files, RunOptions, Session, WalkRequest};
use report::walk::Title;

use super::run::DEFAULT_GPU;
use crate::cli::{ListFormat, Switch, WalkArguments};
use crate::failure::{Failure, Problem};
use crate::input::{load_gpu, read_launch_file};

/// Runs the launch file and tells the walk.
pub fn run(arguments: &WalkArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let text = read_launch_file(&arguments.file)?;
    let workload = Workload::parse(&arguments.file.to_string_lossy(), &text)
        .map_err(|error| Failure::from(device::RunError::from(error)))?;
    let folder = arguments.file.parent().unwrap_or(Path::new("")).to_owned();
    let files = Files::Folder(folder);
    let gpu = arguments.gpu.as_deref().or(workload.gpu.as_deref());
    let gpu = load_gpu(gpu.unwrap_or(DEFAULT_GPU), &arguments.set)?;
    let warm_l2 = match arguments.warm_l2 {
        Some(switch) => switch == Switch::On,
        None => workload.warm_l2.unwrap_or(false),
    };
    let options = RunOptions {
        warm_l2,
        threads: arguments.threads,
        walk: Some(WalkRequest {
            launch: arguments.launch,
            pc: arguments.pc,
            nth: arguments.nth,
            warp: arguments.warp,
        }),
        ..RunOptions::default()
    };
    let mut session = Session::new(&workload, &files, gpu, &options)?;
    let report = session.run(&options, &mut |_| {})?;
    let followed = report.launches.iter().find_map(|launch| {
        let timing = launch.timing.as_ref()?;
        Some((launch, timing, timing.walk.as_deref()?))
    });
    let Some((launch, timing, walk)) = followed else {
        return Err(Problem::new("nothing was followed").run());
    };
    let title = Title {
        gpu: launch.gpu.clone(),
        kernel: launch.kernel.clone(),
        clock: timing.clock,
        warm_l2,
    };
    if let Some(path) = &arguments.svg {
        std::fs::write(path, report::walk::svg(walk, &title)).map_err(|error| {
            Problem::new(format!("{}: cannot be written: {error}", path.display())).input()
        })?;
    }
    match arguments.format {
        ListFormat::Json => super::write_json(&report::walk::json(walk, &title), out),
        ListFormat::Text => Ok(write!(out, "{}", report::walk::text(walk, &title))?),
    }
}
