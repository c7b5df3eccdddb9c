//! What a run gives: one report per launch and the outcome of the checks.

use hardware::Occupancy;
use sm::StallReason;

use crate::launch::CheckOutcome;
use crate::options::Mode;
use crate::statistics::{Instances, Metric};
use crate::walk::WalkReport;

/// A workload that ran to its end.
#[derive(Debug)]
pub struct RunReport {
    /// What the launch file calls itself.
    pub title: Option<String>,
    /// One report per launch, in order.
    pub launches: Vec<LaunchReport>,
    /// What became of the checks.
    pub checks: Vec<CheckOutcome>,
}

impl RunReport {
    /// Whether every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(CheckOutcome::passed)
    }
}

/// One launch that ran to its end.
#[derive(Debug, Clone)]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// Name of the GPU.
    pub gpu: String,
    /// The product's name.
    pub gpu_title: String,
    /// Architecture number of the code.
    pub architecture: u32,
    /// How it was executed.
    pub mode: Mode,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per CTA in bytes.
    pub static_shared: u32,
    /// Dynamic shared memory per CTA in bytes.
    pub dynamic_shared: u32,
    /// How it sits on an SM.
    pub occupancy: Occupancy,
    /// Warps that an SM has room for.
    pub warps_per_sm: u32,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions: lanes in which they took effect.
    pub thread_instructions: u64,
    /// What device code printed.
    pub printed: String,
    /// What the timing model found; nothing in functional mode.
    pub timing: Option<Timing>,
    /// What the run could not model.
    pub not_modelled: Vec<String>,
    /// Host threads used.
    pub threads: usize,
    /// Time that the simulation took on the host.
    pub host_seconds: f64,
}

impl LaunchReport {
    /// Simulated warp instructions per second of host time.
    pub fn host_rate(&self) -> f64 {
        self.warp_instructions as f64 / self.host_seconds.max(1e-9)
    }
}

/// What the timing model found.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Cycles from the grant of the first CTA until the last warp has ended.
    pub cycles: u64,
    /// Cycles that the launch itself takes before that; in neither `cycles` nor the time.
    pub launch_overhead: u64,
    /// The core clock in MHz.
    pub clock: f64,
    /// SMs of the GPU.
    pub sms: u32,
    /// Schedulers of the GPU.
    pub schedulers: u32,
    /// Issue slots by what became of them; their sum is cycles x schedulers.
    pub issue_slots: Vec<(StallReason, u64)>,
    /// What was counted.
    pub metrics: Vec<Metric>,
    /// What was counted in each SM, slice or channel, if that was asked for.
    pub instances: Vec<Instances>,
    /// Bandwidth of the data sheet in GB/s.
    pub data_sheet_bandwidth: f64,
    /// Hazards, or nothing if they were not looked for.
    pub hazards: Option<Vec<HazardReport>>,
    /// What SM 0 issued, in its order, if it was asked for.
    pub timeline: Vec<Issue>,
    /// The life of one memory instruction, if it was asked for.
    pub walk: Option<Box<WalkReport>>,
}

/// An instruction that an SM issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// When.
    pub cycle: u64,
    /// The warp's slot.
    pub warp: u8,
    /// Byte offset in its function.
    pub offset: u64,
    /// What.
    pub text: String,
}

impl Timing {
    /// Time of `cycles` at the core clock, in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        self.cycles as f64 * 1000.0 / self.clock
    }

    /// The value of a metric.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics
            .iter()
            .find(|metric| metric.name == name)
            .map(|metric| metric.value.as_f64())
    }
}

/// Two instructions that the hardware does not keep apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HazardReport {
    /// Its kind: RAW, WAW, WAR, …
    pub kind: String,
    /// What was touched, as in `R4`.
    pub what: String,
    /// Byte offset and text of the older instruction.
    pub first: (u64, String),
    /// Byte offset and text of the younger one.
    pub second: (u64, String),
    /// Cycles between their issues.
    pub found: u64,
    /// Cycles that there must be; 0 if a dependence counter must be waited for.
    pub needed: u64,
    /// How often it was seen.
    pub count: u64,
    /// Where it was seen first.
    pub place: String,
}
