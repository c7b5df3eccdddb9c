//! Checks: what a launch file says the buffers hold in the end, and whether they do.

use reference::{Comparison, Initializer, Number, Tolerance};

use super::argument::find_buffer;
use super::buffer::{Buffer, read_initializer, read_values};
use super::document::{Reading, Table};

/// One thing that must hold after the last launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What is expected.
    pub expectation: Expectation,
    /// How far floating-point results may lie from it.
    pub tolerance: Tolerance,
}

/// What a check expects.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// What the CPU reference of that name computes from the first contents of the buffers.
    Reference(String),
    /// These values in a buffer.
    Values {
        /// Position of the buffer in the workload.
        buffer: usize,
        /// The values.
        values: Initializer,
    },
}

/// What became of a check of one buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOutcome {
    /// What was expected: the reference's name, or `values`.
    pub expectation: String,
    /// Name of the buffer.
    pub buffer: String,
    /// How it compares.
    pub comparison: Comparison,
}

impl CheckOutcome {
    /// Whether the buffer is as expected.
    pub fn passed(&self) -> bool {
        self.comparison.passed()
    }
}

/// Reads the entries of `check`.
pub(crate) fn read_checks(top: &Table<'_>, buffers: &[Buffer]) -> Reading<Vec<Check>> {
    let Some(value) = top.get("check") else {
        return Ok(Vec::new());
    };
    let mut checks = Vec::new();
    for entry in value.array("a list of tables, as in `[[check]]`")? {
        let table = entry.table("a table with `reference`, or `buffer` and `values`")?;
        let expectation = if let Some(reference) = table.get("reference") {
            table.only(&["reference", "tolerance"])?;
            let name = reference.string("the name of a CPU reference")?;
            Expectation::Reference(name.to_owned())
        } else {
            table.only(&["buffer", "values", "tolerance"])?;
            let name = table.require("buffer", "the name of a buffer, or `reference`")?;
            let buffer = find_buffer(&name, name.string("the name of a buffer")?, buffers)?;
            let forms = "a list of numbers, or as `init` of a buffer";
            let values = table.require("values", forms)?;
            let element = buffers[buffer].element;
            let expected = if values.is_array() {
                read_values(&values, element)?
            } else {
                read_initializer(&values, &values.table(forms)?, element)?
            };
            if let Initializer::Values(list) = &expected
                && list.len() as u64 != buffers[buffer].count
            {
                return Err(values.error(
                    format!("{} values", list.len()),
                    format!("{}, the buffer's count", buffers[buffer].count),
                ));
            }
            Expectation::Values {
                buffer,
                values: expected,
            }
        };
        checks.push(Check {
            expectation,
            tolerance: read_tolerance(&table)?,
        });
    }
    Ok(checks)
}

fn read_tolerance(table: &Table<'_>) -> Reading<Tolerance> {
    let Some(value) = table.get("tolerance") else {
        return Ok(Tolerance::EXACT);
    };
    let table = value.table("`{ absolute = …, relative = … }` or `{ ulps = … }`")?;
    table.only(&["absolute", "relative", "ulps"])?;
    let part = |key: &str| -> Reading<f64> {
        let Some(value) = table.get(key) else {
            return Ok(0.0);
        };
        let number: Number = value.number("a number from 0 on")?;
        let number = number.as_f64();
        if number >= 0.0 && number.is_finite() {
            Ok(number)
        } else {
            Err(value.error(format!("{number:?}"), "a finite number from 0 on"))
        }
    };
    let ulps = match table.get("ulps") {
        None => 0,
        Some(value) => {
            const LARGEST: i128 = 1 << 32;
            match value.number("a whole number from 0 on")? {
                Number::Integer(ulps) if (0..=LARGEST).contains(&ulps) => ulps as u64,
                other => {
                    return Err(value.error(format!("{other}"), "a whole number from 0 to 2^32"));
                }
            }
        }
    };
    Ok(Tolerance {
        absolute: part("absolute")?,
        relative: part("relative")?,
        ulps,
    })
}
