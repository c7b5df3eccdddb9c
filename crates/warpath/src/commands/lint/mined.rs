//! Mined distances as they are told.

use std::collections::BTreeMap;
use std::io::Write;

use report::number::grouped;
use report::table::{Align, Table};
use schedule::{Mined, Verdict, mine};
use serde::Serialize;

use super::Known;
use crate::cli::Format;
use crate::commands::write_json;
use crate::failure::{Failure, Problem};

/// A row of mined distances as it is told.
#[derive(Serialize)]
struct MinedRow {
    architecture: String,
    kind: &'static str,
    dependence: &'static str,
    producer: &'static str,
    consumer: &'static str,
    needed: u16,
    least: u16,
    count: u64,
    verdict: &'static str,
    /// Smallest distance of all pairs that share the table's row.
    row_least: u16,
}

/// Writes what was mined; fails if code and table contradict each other.
pub fn write(
    mined: &BTreeMap<u32, Mined>,
    rules: &Known,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut contradictions = 0;
    let mut all = Vec::new();
    for (sm, mined) in mined {
        let Some(rules) = rules.0.get(sm) else {
            continue;
        };
        let rows = mined.rows(&rules.table);
        let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
        contradictions += count(Verdict::Smaller);
        let told = rows.iter().map(|row| MinedRow {
            architecture: format!("sm_{sm}"),
            kind: row.kind.name(),
            dependence: mine::dependence(row.kind),
            producer: row.producer.name(),
            consumer: row.consumer.name(),
            needed: row.needed,
            least: row.seen.least,
            count: row.seen.count,
            verdict: row.verdict().name(),
            row_least: row.row_least,
        });
        match format {
            Format::Csv => write!(out, "{}", mined.to_csv(&rules.table))?,
            Format::Json => all.extend(told),
            Format::Text => {
                let mut table = Table::new(&[
                    ("kind", Align::Left),
                    ("", Align::Left),
                    ("producer", Align::Left),
                    ("consumer", Align::Left),
                    ("needed", Align::Right),
                    ("least", Align::Right),
                    ("count", Align::Right),
                    ("verdict", Align::Left),
                    ("row", Align::Right),
                ]);
                for row in told {
                    table.row([
                        row.kind.to_owned(),
                        row.dependence.to_owned(),
                        row.producer.to_owned(),
                        row.consumer.to_owned(),
                        row.needed.to_string(),
                        row.least.to_string(),
                        grouped(row.count),
                        row.verdict.to_owned(),
                        row.row_least.to_string(),
                    ]);
                }
                writeln!(out, "{table}")?;
                writeln!(
                    out,
                    "sm_{sm}: {} instructions, {} pairs: {} equal, {} equal in their row, {} larger, \
                     {} smaller\n",
                    grouped(mined.instructions),
                    rows.len(),
                    count(Verdict::Equal),
                    count(Verdict::RowEqual),
                    count(Verdict::Larger),
                    count(Verdict::Smaller)
                )?;
            }
        }
    }
    if format == Format::Json {
        write_json(&all, out)?;
    }
    match contradictions {
        0 => Ok(()),
        count => {
            out.flush()?;
            let text = format!("{count} pairs closer than the latency table allows");
            Err(Problem::new(text).run())
        }
    }
}
