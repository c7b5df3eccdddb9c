//! What the control field means on a GPU: the distances that a section's code asks for.

use hardware::control::{ControlParameters, StallParameters};
use hardware::latency::LatencyTable;
use hardware::{Gpu, HardwareError, Value};
use sass::{Class, Control};

/// Latencies of an architecture and the meaning of its control fields.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Distances and units.
    pub table: LatencyTable,
    /// Cycles from the issue of DEPBAR until it holds back younger instructions.
    pub depbar_hold: u16,
    /// Cycles from the issue of BAR until it holds back younger instructions.
    pub barrier_hold: u16,
    /// The same of BAR.DEFER_BLOCKING.
    pub barrier_deferred_hold: u16,
    /// What stall counts mean.
    pub stalls: StallParameters,
    /// When counters are seen raised, and taken branches reach their targets.
    pub control: ControlParameters,
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
    /// Cycles from the issue of BAR until it holds back younger instructions, those of fixed latency too.
    pub fn hold(&self, deferred: bool) -> u16 {
        match deferred {
            true => self.barrier_deferred_hold,
            false => self.barrier_hold,
        }
    }

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
        Ok(Rules {
            table,
            depbar_hold: cycles("issue.depbar_hold")?,
            barrier_hold: cycles("barrier.hold")?,
            barrier_deferred_hold: cycles("barrier.deferred_hold")?,
            stalls: StallParameters::load(gpu)?,
            control: ControlParameters::load(gpu)?,
        })
    }

    /// Cycles from an instruction's issue to the warp's next one, at least.
    pub fn distance(&self, control: Control) -> u16 {
        self.stalls.distance(control.stall, control.yields).into()
    }

    /// The distance after a stall count that collapses; `None` if it means what it says.
    pub fn collapsed(&self, control: Control) -> Option<u16> {
        let distance = self.stalls.collapsed(control.stall, control.yields);
        distance.map(u16::from)
    }

    /// Whether instructions of a class have variable latency.
    pub fn variable(&self, class: Class) -> bool {
        self.table.unit(class.index()).variable
    }
}
