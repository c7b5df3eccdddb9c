//! `warpath lab`: experiments, what machines did beside what the simulator does.

use std::io::Write;

use ::lab::{Bench, Document, Experiment, LabError, Row, Value, gpu_of};
use report::table::{Align, Table};
use report::timeline::{Lane, Timeline};
use serde::Serialize;

use crate::cli::{
    LabArguments, LabCommand, LabDrawArguments, LabListArguments, LabRunArguments, ListFormat,
};
use crate::failure::{Failure, Problem};
use crate::input::read_text;

/// Lists or runs.
pub fn run(arguments: &LabArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.command {
        LabCommand::List(arguments) => list(arguments, out),
        LabCommand::Run(arguments) => run_rows(arguments, out),
        LabCommand::Draw(arguments) => draw(arguments, out),
    }
}

fn wrong(error: &LabError) -> Failure {
    Problem::new(error.to_string()).input()
}

/// The experiments of a file, or of all built-in ones.
fn experiments(
    file: Option<&std::path::PathBuf>,
    bench: &Bench,
) -> Result<Vec<Experiment>, Failure> {
    let documents: Vec<Document> = match file {
        Some(path) => {
            let text = read_text(path)?;
            let document = Document::parse(&path.display().to_string(), &text);
            vec![document.map_err(|error| wrong(&error))?]
        }
        None => bench.known().to_vec(),
    };
    Ok(documents
        .into_iter()
        .flat_map(|document| document.experiments)
        .collect())
}

/// Whether `pattern` means this variant of an experiment: a part of `experiment` or of
/// `experiment/variant`.
fn matches(pattern: Option<&String>, experiment: &str, variant: &str) -> bool {
    pattern.is_none_or(|pattern| format!("{experiment}/{variant}").contains(pattern.as_str()))
}

/// An experiment in a listing.
#[derive(Serialize)]
struct Listed {
    experiment: String,
    title: String,
    group: String,
    gpu: String,
    source: String,
    variants: Vec<String>,
    exact: usize,
}

fn list(arguments: &LabListArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let bench = Bench::new(&[]).map_err(|error| wrong(&error))?;
    let listed: Vec<Listed> = experiments(arguments.file.as_ref(), &bench)?
        .into_iter()
        .map(|experiment| {
            let rows = experiment.measured.values();
            Listed {
                exact: rows
                    .filter(|row| ::lab::compare::is_exact(&experiment, row))
                    .count(),
                variants: experiment.measured.keys().cloned().collect(),
                gpu: gpu_of(&experiment.gpu).map_or(experiment.gpu.clone(), str::to_owned),
                experiment: experiment.id,
                title: experiment.title,
                group: experiment.group,
                source: experiment.source,
            }
        })
        .collect();
    if arguments.format == ListFormat::Json {
        return super::write_json(&serde_json::json!({ "experiments": listed }), out);
    }
    let mut table = Table::new(&[
        ("experiment", Align::Left),
        ("GPU", Align::Left),
        ("rows", Align::Right),
        ("exact", Align::Right),
        ("title", Align::Left),
    ]);
    for one in &listed {
        table.row([
            one.experiment.clone(),
            one.gpu.clone(),
            one.variants.len().to_string(),
            one.exact.to_string(),
            one.title.clone(),
        ]);
    }
    write!(out, "{table}")?;
    Ok(())
}

fn run_rows(arguments: &LabRunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut bench = Bench::new(&arguments.set).map_err(|error| wrong(&error))?;
    let experiments = experiments(arguments.file.as_ref(), &bench)?;
    let mut rows: Vec<Row> = Vec::new();
    for experiment in &experiments {
        let chosen = |variant: &str| matches(arguments.pattern.as_ref(), &experiment.id, variant);
        let gpu = arguments.gpu.as_deref();
        bench
            .run(experiment, gpu, &chosen, &mut |row| rows.push(row))
            .map_err(|error| wrong(&error))?;
    }
    if let (true, Some(pattern)) = (rows.is_empty(), &arguments.pattern) {
        let problem = Problem::new(format!("no experiment has `{pattern}` in its name"));
        return Err(problem.help("`warpath lab list` shows them").input());
    }
    match arguments.format {
        ListFormat::Json => {
            super::write_json(&serde_json::json!({ "rows": rows }), out)?;
        }
        ListFormat::Text => write_rows(&rows, out)?,
    }
    let differ = rows.iter().filter(|row| row.exact && !row.pass).count();
    if differ == 0 {
        return Ok(());
    }
    out.flush()?;
    let exact = rows.iter().filter(|row| row.exact).count();
    Err(Problem::new(format!("{differ} of {exact} exact rows differ")).run())
}

fn draw(arguments: &LabDrawArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut bench = Bench::new(&arguments.set).map_err(|error| wrong(&error))?;
    let experiments = experiments(arguments.file.as_ref(), &bench)?;
    let (id, variant) = match arguments.variant.split_once('/') {
        Some((id, variant)) => (id, Some(variant)),
        None => (arguments.variant.as_str(), None),
    };
    let Some(experiment) = experiments.iter().find(|experiment| experiment.id == id) else {
        let problem = Problem::new(format!("no experiment is called `{id}`"));
        return Err(problem.help("`warpath lab list` shows them").input());
    };
    let variants: Vec<&str> = experiment.measured.keys().map(String::as_str).collect();
    let variant = match (variant, variants.as_slice()) {
        (Some(variant), known) if known.contains(&variant) => variant,
        (None, [only]) => only,
        (_, known) => {
            let problem = Problem::new(format!("which variant of `{id}`?"));
            let help = format!("it has {}", known.join(", "));
            return Err(problem.help(help).input());
        }
    };
    let watched = bench
        .watch(
            experiment,
            variant,
            arguments.gpu.as_deref(),
            arguments.sub_core,
        )
        .map_err(|error| wrong(&error))?;
    let mut lanes: Vec<(u8, Lane)> = Vec::new();
    for issue in &watched.issued {
        let place = match lanes.iter().position(|(warp, _)| *warp == issue.warp) {
            Some(place) => place,
            None => {
                let lane = Lane {
                    name: format!("W{}", issue.warp),
                    issued: Vec::new(),
                };
                lanes.push((issue.warp, lane));
                lanes.len() - 1
            }
        };
        let what = format!("{:#06x} {}", issue.offset, issue.text);
        lanes[place].1.issued.push((issue.cycle, what));
    }
    // The youngest on top.
    lanes.sort_by_key(|(warp, _)| std::cmp::Reverse(*warp));
    let timeline = Timeline {
        title: format!(
            "{id}/{variant} on {}, sub-core {}: {}",
            watched.gpu, arguments.sub_core, experiment.title
        ),
        first: watched.first,
        last: watched.last,
        lanes: lanes.into_iter().map(|(_, lane)| lane).collect(),
    };
    match &arguments.svg {
        Some(path) => std::fs::write(path, timeline.svg())
            .map_err(|error| Problem::new(format!("{}: {error}", path.display())).input()),
        None => Ok(write!(out, "{}", timeline.text())?),
    }
}

fn write_rows(rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("experiment", Align::Left),
        ("variant", Align::Left),
        ("GPU", Align::Left),
        ("expected", Align::Right),
        ("measured", Align::Right),
        ("value expected", Align::Right),
        ("value measured", Align::Right),
        ("", Align::Left),
    ]);
    for row in rows {
        let verdict = match (row.pass, row.exact) {
            (true, true) => "exact".to_owned(),
            (true, false) => "ok".to_owned(),
            (false, _) => format!("DIFFERS: {}", row.notes.join(", ")),
        };
        table.row([
            row.experiment.clone(),
            row.variant.clone(),
            row.gpu.clone(),
            cycles(row.expected.cycles, row.expected.fault.as_ref()),
            cycles(row.measured.cycles, row.measured.fault.as_ref()),
            value(row.expected.value),
            value(row.measured.value),
            verdict,
        ]);
    }
    write!(out, "{table}")?;
    let (passed, exact) = (
        rows.iter().filter(|row| row.pass).count(),
        rows.iter().filter(|row| row.exact).count(),
    );
    let exact_passed = rows.iter().filter(|row| row.pass && row.exact).count();
    writeln!(
        out,
        "\n{passed} of {} rows as measured; {exact_passed} of {exact} exact ones",
        rows.len()
    )?;
    Ok(())
}

fn cycles(cycles: Option<f64>, fault: Option<&String>) -> String {
    match (cycles, fault) {
        (_, Some(_)) => "fault".to_owned(),
        (Some(cycles), None) if cycles.fract() == 0.0 => format!("{cycles}"),
        (Some(cycles), None) => format!("{cycles:.3}"),
        (None, None) => String::new(),
    }
}

fn value(value: Option<Value>) -> String {
    match value {
        Some(Value::Integer(value)) => value.to_string(),
        Some(Value::Float(value)) => format!("{value:?}"),
        None => String::new(),
    }
}
