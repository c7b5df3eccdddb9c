//! What a launch is measured by: one list of metrics, each with its name, unit and meaning. Names are
//! Nsight Compute's where they mean the same; names without `__` are ours. A metric that is not
//! modelled is absent, never 0. (The memory side declares its own in `memory::MemoryStatistics`.)
//!
//! In the order of the flow: `sm`, `l1tex`, `memory`; `instances` tells SMs, slices and channels apart.

use ::sm::{SmStatistics, StallReason};

mod instances;
mod l1tex;
mod memory;
mod sm;

pub use instances::{InstanceCounter, InstanceKind, Instances};
pub(crate) use instances::{channels, slices, sms};
pub use memory::memory_side;
pub(crate) use memory::{DRAM_SHARE, DRAM_THROUGHPUT, L2_HIT_RATE};

/// What the metrics are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Counters of all SMs, added up.
    pub sm: &'a SmStatistics,
    /// Cycles of the launch.
    pub cycles: u64,
    /// SMs of the GPU.
    pub sms: u64,
    /// Sub-cores of an SM.
    pub sub_cores: u64,
    /// Warps that an SM has room for.
    pub warps_per_sm: u64,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricValue {
    /// Something counted.
    Count(u64),
    /// A ratio or a rate.
    Real(f64),
}

impl MetricValue {
    /// The value as a floating-point number.
    pub fn as_f64(self) -> f64 {
        match self {
            MetricValue::Count(count) => count as f64,
            MetricValue::Real(real) => real,
        }
    }
}

impl From<u64> for MetricValue {
    fn from(count: u64) -> MetricValue {
        MetricValue::Count(count)
    }
}

impl From<f64> for MetricValue {
    fn from(real: f64) -> MetricValue {
        MetricValue::Real(real)
    }
}

/// A metric as declared.
#[derive(Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Computes it; `None` where it has no value (no accesses, so no hit rate).
    pub compute: fn(&Measured<'_>) -> Option<MetricValue>,
}

/// One metric of one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: MetricValue,
}

/// `part` of `whole` in percent, if there is a whole.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// `part` by `whole`, if there is a whole.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Declares a list of metrics: name, unit, meaning, value.
macro_rules! metrics {
    ($(#[$attribute:meta])* $list:ident: $($name:expr, $unit:literal, $doc:expr, $compute:expr;)*) => {
        $(#[$attribute])*
        pub(super) const $list: &[Declared] = &[$(Declared {
            name: $name,
            unit: $unit,
            doc: $doc,
            compute: |measured| {
                let compute: fn(&$crate::statistics::Measured<'_>) -> _ = $compute;
                $crate::statistics::Optional::optional(compute(measured))
            },
        },)*];
    };
}
use metrics;

/// Every metric of the SMs by part, in the order in which reports list them.
pub const METRICS: &[(&str, &[Declared])] = &[
    ("SM", sm::SM),
    ("L1TEX by space and operation", l1tex::TRAFFIC),
    ("Shared memory", l1tex::SHARED),
    ("L1TEX", l1tex::TOTALS),
];

fn declared() -> impl Iterator<Item = &'static Declared> {
    METRICS.iter().flat_map(|(_, list)| *list)
}

/// A value that may be missing.
trait Optional {
    fn optional(self) -> Option<MetricValue>;
}

impl Optional for u64 {
    fn optional(self) -> Option<MetricValue> {
        Some(self.into())
    }
}

impl Optional for Option<f64> {
    fn optional(self) -> Option<MetricValue> {
        self.map(MetricValue::from)
    }
}

/// The metrics of the SMs that have a value.
pub fn sm_metrics(measured: &Measured<'_>) -> Vec<Metric> {
    declared()
        .filter_map(|declared| {
            Some(Metric {
                name: declared.name.to_owned(),
                unit: declared.unit.to_owned(),
                value: (declared.compute)(measured)?,
            })
        })
        .collect()
}

/// Reasons of issue slots with their meaning.
pub fn stall_reasons() -> impl Iterator<Item = (&'static str, &'static str)> {
    StallReason::ALL
        .iter()
        .map(|reason| (reason.name(), reason.description()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_rate_of_nothing_is_absent() {
        let sm = SmStatistics::default();
        let measured = Measured {
            sm: &sm,
            cycles: 100,
            sms: 2,
            sub_cores: 4,
            warps_per_sm: 48,
        };
        let metrics = sm_metrics(&measured);
        assert!(
            !metrics
                .iter()
                .any(|metric| metric.name == "l1tex__t_sector_hit_rate.pct")
        );
        let beyond = memory_side();
        let beyond = beyond.iter().map(|(name, ..)| *name);
        let mut names: Vec<&str> = declared().map(|metric| metric.name).chain(beyond).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
