//! `warpath probe`: measurements that take a GPU apart from outside.

use std::io::Write;

use ::probe::{Bench, Cell, Choice, Outcome, Probe, ProbeError};
use report::number::grouped;
use report::table::{Align, Table};
use serde_json::{Map, Value, json};

use crate::cli::{ListFormat, Pages, ProbeArguments};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

/// Lists, or runs one.
pub fn run(arguments: &ProbeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.name == "list" {
        return list(arguments.format, out);
    }
    let Some(probe) = ::probe::find(&arguments.name) else {
        let names: Vec<&str> = ::probe::ALL.iter().map(|probe| probe.name).collect();
        let help = format!("probes: {}", names.join(", "));
        let text = format!("no probe `{}`", arguments.name);
        return Err(Problem::new(text).help(&help).input());
    };
    let gpu = load_gpu(&arguments.gpu, &arguments.set)?;
    let pages = match arguments.pages {
        Pages::Contiguous => device::Pages::Contiguous,
        Pages::Shuffled => device::Pages::Shuffled,
    };
    let pages = pages.order(arguments.page_seed);
    let mut bench = Bench::with_pages(gpu, arguments.threads, pages).map_err(failed)?;
    let sms = bench.card().sms;
    if arguments.sm >= sms {
        return Err(failed(ProbeError::Sm {
            sm: arguments.sm,
            gpu: bench.card().name.clone(),
            sms,
        }));
    }
    let choice = Choice { sm: arguments.sm };
    let outcome = (probe.run)(&mut bench, &choice).map_err(failed)?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, outcome.plot.svg()).map_err(|error| {
            Problem::new(format!("{}: cannot be written: {error}", path.display())).run()
        })?;
    }
    match arguments.format {
        ListFormat::Text => text(probe, &outcome, out),
        ListFormat::Json => super::write_json(&json(probe, &bench.card().name, &outcome), out),
    }
}

/// What failed as the command line tells it: input at fault, or a run that did not come to an end.
fn failed(error: ProbeError) -> Failure {
    match error {
        ProbeError::Run { error, .. } => Failure::from(*error),
        ProbeError::Inconclusive { .. } => Problem::new(error.to_string()).run(),
        error => Problem::new(error.to_string()).input(),
    }
}

fn list(format: ListFormat, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        ListFormat::Text => {
            let mut table =
                Table::new(&[("probe", Align::Left), ("what it measures", Align::Left)]);
            for probe in ::probe::ALL {
                table.row([probe.name.to_owned(), probe.about.to_owned()]);
            }
            write!(out, "{table}")?;
            Ok(())
        }
        ListFormat::Json => {
            let probes = ::probe::ALL.iter();
            let probes = probes.map(|probe| json!({ "probe": probe.name, "about": probe.about }));
            super::write_json(&probes.collect::<Vec<_>>(), out)
        }
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => grouped(*count),
        Cell::Real(real) => format!("{real:.2}"),
    }
}

fn text(probe: &Probe, outcome: &Outcome, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}\n", outcome.plot.title)?;
    for rows in &outcome.tables {
        let text = |at: usize| {
            rows.rows
                .iter()
                .any(|row| matches!(row.get(at), Some(Cell::Text(_))))
        };
        let columns = rows.columns.iter().enumerate().map(|(at, name)| {
            let align = if text(at) { Align::Left } else { Align::Right };
            (name.as_str(), align)
        });
        let mut table = Table::new(&columns.collect::<Vec<_>>());
        for row in &rows.rows {
            table.row(row.iter().map(cell));
        }
        writeln!(out, "{table}")?;
    }
    let mut table = Table::new(&[
        (probe.name, Align::Left),
        ("", Align::Right),
        ("", Align::Left),
    ]);
    for finding in &outcome.findings {
        let name = finding.name.replace('_', " ");
        table.row([name, cell(&finding.value), finding.unit.to_owned()]);
    }
    write!(out, "{table}")?;
    for note in &outcome.notes {
        writeln!(out, "\nnote: {note}")?;
    }
    Ok(())
}

fn json_cell(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) => json!(text),
        Cell::Count(count) => json!(count),
        Cell::Real(real) => json!(real),
    }
}

fn json(probe: &Probe, gpu: &str, outcome: &Outcome) -> Value {
    let findings: Map<String, Value> = outcome
        .findings
        .iter()
        .map(|finding| {
            let value = json!({ "value": json_cell(&finding.value), "unit": finding.unit });
            (finding.name.to_owned(), value)
        })
        .collect();
    let tables: Map<String, Value> = outcome
        .tables
        .iter()
        .map(|rows| {
            let cells = rows.rows.iter();
            let cells: Vec<Vec<Value>> = cells
                .map(|row| row.iter().map(json_cell).collect())
                .collect();
            let value = json!({ "columns": rows.columns, "rows": cells });
            (rows.name.to_owned(), value)
        })
        .collect();
    json!({
        "probe": probe.name,
        "gpu": gpu,
        "findings": findings,
        "tables": tables,
        "notes": outcome.notes,
    })
}
