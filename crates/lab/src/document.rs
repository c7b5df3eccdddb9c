//! A lab file: experiments as data, what a machine was seen to do beside what is run.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::LabError;
use crate::series;

/// The schema of lab files that is read.
const SCHEMA: i64 = 1;

/// A lab file. Tables other than these (`meta`, `conventions`) are for people.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// Version of the format.
    pub schema: i64,
    /// The experiments, in the order of the file.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Experiment>,
}

/// One experiment: code, launch and what was measured, a row for each variant.
#[derive(Debug, Clone, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub id: String,
    /// What it asks.
    #[serde(default)]
    pub title: String,
    /// Which part of the machine it is about.
    #[serde(default)]
    pub group: String,
    /// The machine that was measured, in words.
    #[serde(default)]
    pub gpu: String,
    /// Where the measurements come from.
    #[serde(default)]
    pub source: String,
    /// `raw` for files of measurements, `readme` for numbers in words.
    #[serde(default)]
    pub source_kind: String,
    /// CTAs.
    #[serde(default = "one")]
    pub grid: u32,
    /// Threads of a CTA.
    #[serde(default = "warp")]
    pub block: u32,
    /// Registers that the kernel declares.
    pub declared_registers: Option<u32>,
    /// Whether cycles are exact unless a row says otherwise.
    #[serde(default)]
    pub cycle_exact: bool,
    /// What is known about it.
    #[serde(default)]
    pub note: String,
    /// The code, with `{KEY}` where variants differ.
    pub sass: String,
    /// What stands around the code.
    pub frame: Option<Frame>,
    /// Rows by variant.
    pub measured: BTreeMap<String, toml::Table>,
}

const fn one() -> u32 {
    1
}

const fn warp() -> u32 {
    32
}

/// What a fragment needs around it to run: where its registers come from and which of them hold the
/// result. Experiments of the same id share it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Code in front of the fragment.
    #[serde(default)]
    pub before: String,
    /// Code behind the fragment, in place of its last EXIT.
    #[serde(default)]
    pub after: String,
    /// Buffers by name, in the order of the parameters: 32-bit words `start + step · index`.
    #[serde(default)]
    pub buffers: BTreeMap<String, Words>,
    /// Bytes of shared memory.
    #[serde(default)]
    pub shared: u32,
    /// The window: closing and opening clock register.
    pub window: Option<[u8; 2]>,
    /// The register with the value; lane 0 of warp 0 counts.
    pub value: Option<u8>,
    /// The window of all warps of the grid together, divided by this number, in place of warp 0's.
    pub span_of: Option<f64>,
    /// CTAs to launch in place of the experiment's.
    pub grid: Option<u32>,
    /// Threads of a CTA in place of the experiment's.
    pub block: Option<u32>,
    /// The key of `sub` that says how many warps a CTA has.
    pub warps_of: Option<String>,
    /// Settings of the GPU, as a row's.
    #[serde(default)]
    pub set: Vec<String>,
    /// Values of keys that no row gives.
    #[serde(default, rename = "let")]
    pub bindings: BTreeMap<String, String>,
}

/// Contents of a buffer.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Number of 32-bit words.
    pub count: u32,
    /// The first.
    pub start: u32,
    /// What each adds to the one before.
    pub step: u32,
}

impl Document {
    /// Reads the text of a lab file; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is no TOML or no lab file.
    pub fn parse(file: &str, text: &str) -> Result<Document, LabError> {
        let wrong = |reason: String| LabError::Document {
            file: file.to_owned(),
            reason,
        };
        let document: Document =
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        if document.schema != SCHEMA {
            return Err(wrong(format!(
                "schema {}: {SCHEMA} is read",
                document.schema
            )));
        }
        let mut known: Vec<&str> = Vec::new();
        for experiment in &document.experiments {
            if known.contains(&experiment.id.as_str()) {
                return Err(wrong(format!(
                    "experiment `{}` stands twice",
                    experiment.id
                )));
            }
            known.push(&experiment.id);
            for (variant, row) in &experiment.measured {
                check(row).map_err(|reason| {
                    wrong(format!(
                        "experiment `{}`, `{variant}`: {reason}",
                        experiment.id
                    ))
                })?;
            }
        }
        Ok(document)
    }
}

/// Whether the keys of a row that are read hold what they should; others are for people.
fn check(row: &toml::Table) -> Result<(), String> {
    let count = |value: &toml::Value| {
        value
            .as_integer()
            .is_some_and(|n| (1..1 << 31).contains(&n))
    };
    let number = |value: &toml::Value| value.is_integer() || value.is_float();
    let integers = |value: &toml::Value, length: Option<usize>| {
        let list = value.as_array();
        list.is_some_and(|list| {
            list.iter().all(toml::Value::is_integer) && length.is_none_or(|n| list.len() == n)
        })
    };
    let all = |value: &toml::Value, holds: &dyn Fn(&toml::Value) -> bool| {
        value.as_array().is_some_and(|list| list.iter().all(holds))
    };
    for (key, value) in row {
        let (holds, right) = match key.as_str() {
            "grid" | "block" => (count(value), "a number from 1 on"),
            "subcore" => (
                value.as_integer().is_some_and(|n| (0..4).contains(&n)),
                "0 to 3",
            ),
            "cycles" | "steady" => (number(value), "a number"),
            "cycles_min" => (value.is_integer(), "an integer"),
            "cycle_exact" => (value.is_bool(), "true or false"),
            "fault" => (value.is_str(), "text"),
            "value" => (number(value) || value.is_str(), "a number or a formula"),
            "closings" => (integers(value, None), "a list of cycles"),
            "trace" => (
                all(value, &|row| integers(row, Some(3))),
                "a list of [warp, opening clock, closing clock]",
            ),
            "set" => (all(value, &toml::Value::is_str), "a list of \"key=value\""),
            "sub" => (value.is_table(), "a table"),
            "step" => (number(value), "a number"),
            key if series::is_list(key) => (all(value, &number), "a list of windows"),
            _ => continue,
        };
        if !holds {
            return Err(format!("`{key}` must be {right}"));
        }
    }
    Ok(())
}
