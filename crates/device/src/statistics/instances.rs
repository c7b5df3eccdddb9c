//! Counters of each SM, each L2 slice, each DRAM channel, for who asks for them, and their roll-ups as
//! Nsight Compute has them: sum, average, smallest, largest.

use ::memory::{InstanceCounts, MemorySystem, RollUp};
use ::sm::SmStatistics;

use super::{Measured, MetricValue, declared};

/// What there are several of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceKind {
    /// Streaming multiprocessors.
    Sm,
    /// L2 slices, by memory partition.
    Slice,
    /// DRAM channels, by memory partition.
    Channel,
}

impl InstanceKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            InstanceKind::Sm => "sm",
            InstanceKind::Slice => "slice",
            InstanceKind::Channel => "channel",
        }
    }
}

/// Counters of all instances of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instances {
    /// Of what.
    pub kind: InstanceKind,
    /// The counters.
    pub counters: Vec<InstanceCounter>,
}

impl Instances {
    /// How many there are.
    pub fn count(&self) -> usize {
        let first = self.counters.first();
        first.map_or(0, |counter| counter.values.len())
    }

    /// The counter of that name.
    pub fn counter(&self, name: &str) -> Option<&InstanceCounter> {
        self.counters.iter().find(|counter| counter.name == name)
    }
}

/// One counter of all instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceCounter {
    /// Its name, without a roll-up.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether the values add up to something; high-water marks do not.
    pub adds_up: bool,
    /// One value for each, in the order of their numbers.
    pub values: Vec<u64>,
}

impl InstanceCounter {
    /// All together; nothing for a high-water mark.
    pub fn sum(&self) -> Option<u64> {
        self.adds_up.then(|| self.values.iter().sum())
    }

    /// Of one on average; nothing where there is none.
    pub fn average(&self) -> Option<f64> {
        let sum = self.values.iter().sum::<u64>() as f64;
        (!self.values.is_empty()).then(|| sum / self.values.len() as f64)
    }

    /// The smallest.
    pub fn smallest(&self) -> Option<u64> {
        self.values.iter().copied().min()
    }

    /// The largest.
    pub fn largest(&self) -> Option<u64> {
        self.values.iter().copied().max()
    }
}

/// The counters of each SM: every metric that is a sum over the SMs. `whole` tells what is the same for
/// all of them.
pub(crate) fn sms<'a>(
    statistics: impl Iterator<Item = &'a SmStatistics>,
    whole: &Measured<'_>,
) -> Instances {
    let summed = declared().filter_map(|metric| Some((metric, metric.name.strip_suffix(".sum")?)));
    let summed: Vec<_> = summed.collect();
    let mut counters: Vec<InstanceCounter> = summed
        .iter()
        .map(|(metric, name)| InstanceCounter {
            name,
            unit: metric.unit,
            adds_up: true,
            values: Vec::new(),
        })
        .collect();
    for sm in statistics {
        let one = Measured {
            sm,
            sms: 1,
            ..*whole
        };
        for ((metric, _), counter) in summed.iter().zip(&mut counters) {
            if let Some(MetricValue::Count(count)) = (metric.compute)(&one) {
                counter.values.push(count);
            }
        }
    }
    Instances {
        kind: InstanceKind::Sm,
        counters,
    }
}

/// The counters of each L2 slice.
pub(crate) fn slices(memory: &MemorySystem) -> Instances {
    beyond(InstanceKind::Slice, memory.slice_counts())
}

/// The counters of each DRAM channel.
pub(crate) fn channels(memory: &MemorySystem) -> Instances {
    beyond(InstanceKind::Channel, memory.channel_counts())
}

fn beyond(kind: InstanceKind, counts: Vec<InstanceCounts>) -> Instances {
    let counters = counts.into_iter().map(|counts| InstanceCounter {
        name: counts.name,
        unit: counts.unit.name(),
        adds_up: counts.rolled_up == RollUp::Sum,
        values: counts.values,
    });
    Instances {
        kind,
        counters: counters.collect(),
    }
}
