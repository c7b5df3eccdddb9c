//! Why an issue slot went empty. One list; reports and metrics derive from it.

macro_rules! stall_reasons {
    ($($name:ident = $text:literal, $doc:literal;)*) => {
        /// What became of an issue slot (one sub-core, one cycle). Names follow Nsight Compute where
        /// they mean the same.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum StallReason { $(#[doc = $doc] $name),* }

        impl StallReason {
            /// All reasons, in the order in which reports list them.
            pub const ALL: &'static [StallReason] = &[$(StallReason::$name),*];

            /// The name in metrics and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(StallReason::$name => $text),* }
            }

            /// One sentence for help and documentation.
            pub const fn description(self) -> &'static str {
                match self { $(StallReason::$name => $doc),* }
            }
        }
    };
}

stall_reasons! {
    Selected = "selected", "An instruction was issued.";
    Wait = "wait", "The warp's stall count or yield flag had not run out.";
    LongScoreboard = "long_scoreboard", "A dependence counter waited for global, local or texture memory.";
    ShortScoreboard = "short_scoreboard", "A dependence counter waited for shared memory, a special function or another on-chip unit.";
    ConstantMiss = "imc_miss", "A constant operand missed the L0 constant cache.";
    NoInstruction = "no_instruction", "The instruction buffer was empty: fetch, instruction-cache miss or end of a branch.";
    MathPipe = "math_pipe_throttle", "The execution unit could not take another instruction.";
    MemoryQueue = "lg_throttle", "The sub-core's memory queue was full of global or local accesses.";
    SharedQueue = "mio_throttle", "The sub-core's memory queue was full of shared-memory or other on-chip accesses.";
    Dispatch = "dispatch_stall", "An older instruction was stuck in Control or Allocate, or the issue port was blocked.";
    Barrier = "barrier", "The warp waited at a CTA barrier.";
    Membar = "membar", "The warp waited for a memory fence.";
    Sleeping = "sleeping", "The warp slept (NANOSLEEP).";
    Drain = "drain", "All warps had ended; stores or loads were still under way.";
    Idle = "idle", "The sub-core had no warp.";
}

/// Number of reasons.
pub const REASONS: usize = StallReason::ALL.len();
