//! What a run can choose besides workload and GPU.

use exec::{HostIsa, PageOrder, UnknownOp};
use sm::HazardMode;

use crate::statistics::InstanceKind;
use crate::walk::WalkRequest;

/// Cycles after which a launch is given up unless the user says otherwise.
pub const DEFAULT_MAX_CYCLES: u64 = 1_000_000_000;

/// How a run executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Cycle by cycle.
    #[default]
    Timing,
    /// Results only.
    Functional,
}

impl Mode {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Timing => "timing",
            Mode::Functional => "functional",
        }
    }
}

/// How pages are laid over the frames of device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pages {
    /// Neighbouring pages of an allocation lie in neighbouring frames.
    #[default]
    Contiguous,
    /// In an order that the seed picks.
    Shuffled,
}

impl Pages {
    /// All of them, by name.
    pub const ALL: [Pages; 2] = [Pages::Contiguous, Pages::Shuffled];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Pages::Contiguous => "contiguous",
            Pages::Shuffled => "shuffled",
        }
    }

    /// The order of frames, with the seed that picks it.
    pub const fn order(self, seed: u64) -> PageOrder {
        match self {
            Pages::Contiguous => PageOrder::Contiguous,
            Pages::Shuffled => PageOrder::Shuffled { seed },
        }
    }
}

/// Choices of a run. Threads, window and host instruction set never change a result.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How to execute.
    pub mode: Mode,
    /// What to do about instructions that come before the values they need; in timing mode.
    pub hazards: HazardMode,
    /// Whether the report lists every instruction that SM 0 issues; where hazards are emulated.
    pub timeline: bool,
    /// Of what the report lists the counters of each; in timing mode.
    pub instances: Vec<InstanceKind>,
    /// The memory instruction whose life is told; in timing mode.
    pub walk: Option<WalkRequest>,
    /// Host threads; 0 for as many as there are.
    pub threads: usize,
    /// Longest window in cycles; the visibility quantum by default.
    pub window: Option<u64>,
    /// Whether L2 holds, when a launch begins, what copies from the host and earlier launches left in
    /// it, as the hardware's does; otherwise it is empty.
    pub warm_l2: bool,
    /// Cycles after which a launch is given up.
    pub max_cycles: u64,
    /// What an unknown instruction does.
    pub unknown_op: UnknownOp,
    /// Bytes of the heap of device `malloc`; what the launch file says or 8 MiB by default.
    pub heap: Option<u64>,
    /// How pages lie in device memory; what the launch file says or contiguous by default. Changes
    /// cycles, never results.
    pub pages: Option<Pages>,
    /// Picks the order of shuffled pages; what the launch file says or 0 by default.
    pub page_seed: Option<u64>,
    /// Host instruction set; the best of the machine by default.
    pub host_isa: Option<HostIsa>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            mode: Mode::Timing,
            hazards: HazardMode::Check,
            timeline: false,
            instances: Vec::new(),
            walk: None,
            threads: 0,
            window: None,
            warm_l2: false,
            max_cycles: DEFAULT_MAX_CYCLES,
            unknown_op: UnknownOp::Error,
            heap: None,
            pages: None,
            page_seed: None,
            host_isa: None,
        }
    }
}
