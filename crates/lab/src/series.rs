//! Rows whose keys are values of a `sub` key, or spans of them, and hold lists of windows:
//!
//! * `N06 = [38, 38, 34, 34]`: the window of each warp with {N} = 6; `N00_to_N05 = [29, 28]`: the same with
//!   each of 0 to 5.
//! * `N07_to_N10 = [33, 34, 35, 36]`, as many as the span has values: the shortest window with each.
//! * `N00_to_N05_range = [28, 35]`: the shortest and the longest window with any of them.
//! * `step = 3`: by how much the shortest window grows per value, over the three behind the first of the
//!   last list.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Values behind the first of the last list over which `step` is looked at.
const STEPS: u32 = 3;

/// What a list's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Windows of the warps, with each value.
    Warps,
    /// The shortest window with each value.
    Shortest,
    /// The shortest and the longest window with any value.
    Range,
    /// Growth per value.
    Step,
}

/// One list of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List {
    /// Its key in the row.
    pub(crate) key: String,
    /// The key of `sub` that it gives values of.
    pub(crate) name: String,
    values: RangeInclusive<u32>,
    kind: Kind,
    /// The numbers.
    pub(crate) expected: Vec<f64>,
}

/// The lists of a row.
pub(crate) fn lists(row: &toml::Table) -> Vec<List> {
    let mut lists: Vec<List> = Vec::new();
    for (key, value) in row {
        let (Some((name, values, range)), Some(expected)) = (span(key), numbers(value)) else {
            continue;
        };
        let count = values.clone().count();
        let kind = match range {
            true => Kind::Range,
            false if count > 1 && count == expected.len() => Kind::Shortest,
            false => Kind::Warps,
        };
        lists.push(List {
            key: key.clone(),
            name,
            values,
            kind,
            expected,
        });
    }
    lists.sort_by_key(|list| *list.values.start());
    let step = row.get("step").and_then(number);
    if let (Some(step), Some(last)) = (step, lists.last()) {
        let first = *last.values.start();
        let list = List {
            key: "step".to_owned(),
            name: last.name.clone(),
            values: first..=first + STEPS,
            kind: Kind::Step,
            expected: vec![step],
        };
        lists.push(list);
    }
    lists
}

/// Whether a row's key is that of a list.
pub(crate) fn is_list(key: &str) -> bool {
    span(key).is_some()
}

/// `N00_to_N05_range`: the name, the values, and whether it is a range.
fn span(key: &str) -> Option<(String, RangeInclusive<u32>, bool)> {
    let (key, range) = match key.strip_suffix("_range") {
        Some(rest) => (rest, true),
        None => (key, false),
    };
    let one = |text: &str| {
        let digits = text.find(|c: char| c.is_ascii_digit())?;
        let (name, value) = text.split_at(digits);
        let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase());
        named.then_some(())?;
        Some((name.to_owned(), value.parse::<u32>().ok()?))
    };
    match key.split_once("_to_") {
        Some((from, to)) => {
            let ((name, first), (other, last)) = (one(from)?, one(to)?);
            (name == other && first <= last).then_some((name, first..=last, range))
        }
        None => one(key).map(|(name, value)| (name, value..=value, range)),
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|number| number as f64))
}

fn numbers(value: &toml::Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(number).collect()
}

impl List {
    /// The values that it needs runs with.
    pub(crate) fn values(&self) -> RangeInclusive<u32> {
        self.values.clone()
    }

    /// What was measured in place of its numbers; `runs` holds the windows of all warps by value. Of a
    /// list of windows with each of several values those that differ most.
    pub(crate) fn measured(&self, runs: &BTreeMap<u32, Vec<f64>>) -> Option<Vec<f64>> {
        let of = |value: u32| runs.get(&value).filter(|windows| !windows.is_empty());
        let shortest = |value: u32| of(value).map(|windows| least(windows));
        match self.kind {
            Kind::Warps => {
                let mut worst: Option<Vec<f64>> = None;
                for value in self.values() {
                    let windows = of(value)?;
                    let is_worse = |worst: &Vec<f64>| {
                        difference(&self.expected, windows) > difference(&self.expected, worst)
                    };
                    if worst.as_ref().is_none_or(is_worse) {
                        worst = Some(windows.clone());
                    }
                }
                worst
            }
            Kind::Shortest => self.values().map(shortest).collect(),
            Kind::Range => {
                let all: Option<Vec<&Vec<f64>>> = self.values().map(of).collect();
                let all: Vec<f64> = all?.into_iter().flatten().copied().collect();
                let most = all.iter().copied().fold(f64::MIN, f64::max);
                Some(vec![least(&all), most])
            }
            Kind::Step => {
                let growth = shortest(*self.values.end())? - shortest(*self.values.start())?;
                Some(vec![growth / f64::from(STEPS)])
            }
        }
    }

    /// Whether `measured` is as expected up to a share of `tolerance`.
    pub(crate) fn agrees(&self, measured: &[f64], tolerance: f64) -> bool {
        if measured.len() != self.expected.len() {
            return false;
        }
        match (self.kind, self.expected.as_slice(), measured) {
            (Kind::Range, [from, to], [least, most]) => {
                *least >= from * (1.0 - tolerance) && *most <= to * (1.0 + tolerance)
            }
            (Kind::Step, [step], [growth]) => growth.round() == *step,
            _ => difference(&self.expected, measured) <= tolerance,
        }
    }
}

fn least(windows: &[f64]) -> f64 {
    windows.iter().copied().fold(f64::MAX, f64::min)
}

/// The largest share by which one of `measured` differs from what is expected.
fn difference(expected: &[f64], measured: &[f64]) -> f64 {
    if expected.len() != measured.len() {
        return f64::MAX;
    }
    let pairs = expected.iter().zip(measured);
    pairs
        .map(|(expected, measured)| (measured - expected).abs() / expected.abs().max(1.0))
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn lists_are_told_apart_and_compared() {
        let row: toml::Table = toml::from_str(
            "N00_to_N02 = [29, 28]\nN06 = [32, 32]\nN07_to_N10 = [33, 34, 35, 36]\n\
             N00_to_N05_range = [28, 35]\nstep = 1\nsamples = 3\nother = [1]",
        )
        .unwrap();
        let lists = lists(&row);
        let kinds: Vec<_> = lists.iter().map(|l| (l.key.as_str(), l.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("N00_to_N02", Kind::Warps),
                ("N00_to_N05_range", Kind::Range),
                ("N06", Kind::Warps),
                ("N07_to_N10", Kind::Shortest),
                ("step", Kind::Step),
            ]
        );
        let mut runs: BTreeMap<u32, Vec<f64>> = (0..6).map(|n| (n, vec![29.0, 28.0])).collect();
        runs.insert(6, vec![32.0, 32.0]);
        for n in 7..=10 {
            runs.insert(n, vec![40.0, f64::from(26 + n)]);
        }
        for list in &lists {
            let measured = list.measured(&runs).unwrap();
            assert!(list.agrees(&measured, 0.0), "{} {measured:?}", list.key);
        }
        runs.insert(1, vec![29.0, 36.0]);
        runs.insert(10, vec![40.0, 39.0]);
        for list in &lists {
            let measured = list.measured(&runs).unwrap();
            let is_met = list.agrees(&measured, 0.0);
            assert_eq!(is_met, list.key == "N06", "{} {measured:?}", list.key);
        }
        assert_eq!(lists[3].measured(&BTreeMap::new()), None);
    }
}
