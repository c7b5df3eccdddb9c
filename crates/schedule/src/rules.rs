//! What the control field means on a GPU: the distances that a section's code asks for.

use hardware::latency::LatencyTable;
use hardware::{Gpu, HardwareError, Value};
use sass::{Class, Control};

/// Cycles from an instruction's issue until a wait mask sees its counters raised (MODEL.md §1.5): the
/// Control stage raises them one cycle after issue.
pub const COUNTER_VISIBLE: u16 = 2;
/// Least distance from a taken branch to its target (MODEL.md §4.2): the target is fetched anew.
pub const REDIRECT: u16 = 3;
/// Stall counts from here on mean what they say only with yield (MODEL.md §1.3).
pub const FIRST_COLLAPSED: u8 = 12;

/// Latencies of an architecture and the meaning of its control fields.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Distances and units.
    pub table: LatencyTable,
    /// Cycles from the issue of DEPBAR until it holds back younger instructions.
    pub depbar_hold: u16,
    /// Cycles from the issue of BAR until it holds back younger instructions.
    pub barrier_hold: u16,
    /// Distance to the next instruction after stall 0 with yield.
    pub stall_zero_yield: u16,
    /// Distances after stall counts 12 to 15 without yield; empty where they mean what they say.
    pub collapsed_stalls: Vec<u16>,
}

/// Why a GPU has no rules.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// No latency table.
    #[error(transparent)]
    Latency(#[from] hardware::latency::LatencyError),
    /// A parameter is missing.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    /// A parameter is no number of cycles.
    #[error("{gpu}: `{key}` must be {expected}")]
    Value {
        /// The GPU.
        gpu: String,
        /// The parameter.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

impl Rules {
    /// The rules of a GPU: the latency tables of its architecture and its `issue` and `barrier` parameters.
    ///
    /// # Errors
    /// An architecture without latency tables, a parameter that the GPU's documents do not give.
    pub fn of(gpu: &Gpu) -> Result<Rules, RulesError> {
        let table = LatencyTable::load(gpu.architecture(), Class::NAMES)?;
        let wrong = |key, expected| RulesError::Value {
            gpu: gpu.name().to_owned(),
            key,
            expected,
        };
        let cycles = |key: &'static str| match gpu.value(key)? {
            Value::Integer(cycles) => {
                u16::try_from(*cycles).map_err(|_| wrong(key, "a number of cycles"))
            }
            _ => Err(wrong(key, "a number of cycles")),
        };
        const COLLAPSED: &str = "issue.collapsed_stalls";
        let collapsed_stalls = if gpu.has(COLLAPSED) {
            let Value::List(list) = gpu.value(COLLAPSED)? else {
                return Err(wrong(COLLAPSED, "a list of cycles"));
            };
            let distances = list.iter().map(|&distance| u16::try_from(distance));
            distances
                .collect::<Result<_, _>>()
                .map_err(|_| wrong(COLLAPSED, "a list of cycles"))?
        } else {
            Vec::new()
        };
        Ok(Rules {
            table,
            depbar_hold: cycles("issue.depbar_hold")?,
            barrier_hold: cycles("barrier.hold")?,
            stall_zero_yield: cycles("issue.stall_zero_yield")?,
            collapsed_stalls,
        })
    }

    /// Cycles from an instruction's issue to the warp's next one, at least.
    pub fn distance(&self, control: Control) -> u16 {
        let stall = u16::from(control.stall);
        match (control.stall, control.yields) {
            (0, true) => self.stall_zero_yield,
            (_, true) => stall.max(2),
            (_, false) => self.collapsed(control).unwrap_or(stall.max(1)),
        }
    }

    /// The distance after a stall count that collapses; `None` if it means what it says.
    pub fn collapsed(&self, control: Control) -> Option<u16> {
        let place = control.stall.checked_sub(FIRST_COLLAPSED)?;
        let distance = self.collapsed_stalls.get(usize::from(place));
        distance
            .filter(|_| !control.yields)
            .map(|&distance| distance.max(1))
    }

    /// Whether instructions of a class have variable latency.
    pub fn variable(&self, class: Class) -> bool {
        self.table.unit(class.index()).variable
    }
}
