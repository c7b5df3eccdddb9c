//! What was expected beside what came out, and whether the two agree.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::document::Experiment;
use crate::series;

/// Share of the measured cycles by which an inexact row may differ.
const TOLERANCE: f64 = 0.1;

/// A result of lane 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A 32-bit integer.
    Integer(i64),
    /// A single-precision number.
    Float(f64),
}

impl Value {
    /// Whether two results are the same, floats as single precision.
    fn same(self, other: Value) -> bool {
        match (self, other) {
            (Value::Float(one), Value::Float(other)) => one as f32 == other as f32,
            (one, other) => one == other,
        }
    }
}

/// What was seen, on a machine or in the simulator.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Observation {
    /// Cycles of the window.
    pub cycles: Option<f64>,
    /// The value.
    pub value: Option<Value>,
    /// What the launch failed with.
    pub fault: Option<String>,
    /// Per warp of one sub-core: warp, opening and closing clock, relative to the earliest of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<[i64; 3]>>,
    /// The closing clocks of all warps, relative to the earliest opening one, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closings: Option<Vec<i64>>,
    /// Windows of several warps or values of a key, by the row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<BTreeMap<String, Vec<f64>>>,
}

/// What is to be thought of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// As expected.
    Passed,
    /// Different: what and how.
    Failed(Vec<String>),
}

/// One row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The experiment.
    pub experiment: String,
    /// The variant.
    pub variant: String,
    /// The GPU that it ran on.
    pub gpu: String,
    /// Whether cycles must be equal and a difference is a failure of the run.
    pub exact: bool,
    /// Whether it is as expected.
    pub pass: bool,
    /// What the machine did.
    pub expected: Observation,
    /// What the simulator did.
    pub measured: Observation,
    /// Pairs of instructions that the hazard check reported: their values are not those of program order.
    pub hazards: usize,
    /// What differs, and why, as far as is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Reads a row's expectation. `address` gives the device address of a buffer by name.
pub fn expectation(row: &toml::Table, address: &dyn Fn(&str) -> Option<u64>) -> Observation {
    let number = |key: &str| {
        let value = row.get(key)?;
        value
            .as_float()
            .or_else(|| Some(value.as_integer()? as f64))
    };
    let value = row.get("value").and_then(|value| match value {
        toml::Value::Float(value) => Some(Value::Float(*value)),
        toml::Value::Integer(value) => Some(Value::Integer(*value)),
        toml::Value::String(text) => formula(text, address).map(Value::Integer),
        _ => None,
    });
    let trace = row
        .get("trace")
        .and_then(toml::Value::as_array)
        .map(|rows| {
            let one = |row: &toml::Value| {
                let mut three = [0; 3];
                for (place, value) in three.iter_mut().zip(row.as_array()?) {
                    *place = value.as_integer()?;
                }
                Some(three)
            };
            rows.iter().filter_map(one).collect()
        });
    let lists = series::lists(row).into_iter();
    let lists: BTreeMap<_, _> = lists.map(|list| (list.key, list.expected)).collect();
    Observation {
        lists: (!lists.is_empty()).then_some(lists),
        cycles: number("cycles").or_else(|| number("steady")),
        value,
        fault: row
            .get("fault")
            .and_then(toml::Value::as_str)
            .map(str::to_owned),
        trace,
        closings: row
            .get("closings")
            .and_then(toml::Value::as_array)
            .map(|closings| {
                closings
                    .iter()
                    .filter_map(toml::Value::as_integer)
                    .collect()
            }),
    }
}

/// `low32(&input[0]) + 1`: the lower half of an element's address, plus a number.
fn formula(text: &str, address: &dyn Fn(&str) -> Option<u64>) -> Option<i64> {
    let (place, plus) = text.split_once(')')?;
    let (name, index) = place.strip_prefix("low32(&")?.split_once('[')?;
    let index: u64 = index.strip_suffix(']')?.trim().parse().ok()?;
    let plus = match plus.trim().strip_prefix('+') {
        Some(plus) => plus.trim().parse().ok()?,
        None => 0i64,
    };
    let address = address(name)?.wrapping_add(4 * index) as u32;
    Some(i64::from(address) + plus)
}

/// Whether a row must be met to the cycle.
pub fn is_exact(experiment: &Experiment, row: &toml::Table) -> bool {
    row.get("cycle_exact")
        .and_then(toml::Value::as_bool)
        .unwrap_or(experiment.cycle_exact)
}

/// Judges what came out.
pub fn judge(
    experiment: &Experiment,
    row: &toml::Table,
    expected: &Observation,
    measured: &Observation,
) -> Judgement {
    let mut wrong = Vec::new();
    match (&expected.fault, &measured.fault) {
        (None, None) => {}
        (Some(expected), Some(measured)) if measured.contains(expected.as_str()) => {
            return Judgement::Passed;
        }
        (expected, measured) => {
            let text = |fault: &Option<String>| fault.clone().unwrap_or("no fault".to_owned());
            wrong.push(format!("{} instead of {}", text(measured), text(expected)));
            return Judgement::Failed(wrong);
        }
    }
    if let (Some(expected), Some(measured)) = (expected.value, measured.value)
        && !expected.same(measured)
    {
        wrong.push("value".to_owned());
    }
    if expected.value.is_some() && measured.value.is_none() {
        wrong.push("no value was read".to_owned());
    }
    if let Some(cycles) = expected.cycles {
        let has_value = expected.value.is_some();
        let is_close = |to: f64, cycles: f64| (cycles - to).abs() <= TOLERANCE * to;
        let least = row.get("cycles_min").and_then(toml::Value::as_integer);
        let agrees = match measured.cycles {
            None => false,
            Some(measured) if is_exact(experiment, row) => measured == cycles,
            // Words tell boundaries; their windows cannot be rebuilt.
            Some(_) if experiment.source_kind != "raw" && has_value => true,
            Some(measured) => {
                is_close(cycles, measured)
                    || least.is_some_and(|least| is_close(least as f64, measured))
            }
        };
        if !agrees {
            wrong.push("cycles".to_owned());
        }
    }
    if expected.trace.is_some() && expected.trace != measured.trace {
        wrong.push("trace".to_owned());
    }
    if let Some(closings) = &expected.closings
        && expected.closings != measured.closings
    {
        let told = measured.closings.as_deref().unwrap_or_default();
        wrong.push(format!("closings {told:?} instead of {closings:?}"));
    }
    for list in series::lists(row) {
        let all = measured.lists.as_ref();
        let told = all.and_then(|lists| lists.get(&list.key));
        if !told.is_some_and(|told| list.agrees(told, TOLERANCE)) {
            let told = told.map_or(&[][..], |told| told);
            let (key, expected) = (&list.key, &list.expected);
            wrong.push(format!("{key} {told:?} instead of {expected:?}"));
        }
    }
    if *expected == Observation::default() {
        wrong.push("nothing here that can be compared".to_owned());
    }
    if wrong.is_empty() {
        Judgement::Passed
    } else {
        Judgement::Failed(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_computed() {
        let address = |name: &str| (name == "input").then_some(0x7_0000_0100);
        assert_eq!(formula("low32(&input[2]) + 1", &address), Some(0x109));
        assert_eq!(formula("low32(&input[0])", &address), Some(0x100));
        assert_eq!(formula("low32(&other[0])", &address), None);
        assert_eq!(formula("nonsense", &address), None);
    }
}
