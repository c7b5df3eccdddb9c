//! What an issued warp instruction did, as far as time depends on it. The timing model owns one
//! [`Effect`] per SM and hands it to the source to fill; nothing is allocated per instruction.

use crate::id::{LaneMask, Pc, Token, WarpMask};

/// Outcome of one issued warp instruction.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Pc of the warp's next instruction. Meaningless if `ended` or `blocked`.
    pub next: Pc,
    /// Lanes in which the instruction took effect (active and guard true).
    pub lanes: LaneMask,
    /// Lanes that were active before the guard was looked at (their guard was read).
    pub active: LaneMask,
    /// The warp has no lane left to run: all have exited.
    pub ended: bool,
    /// The warp has no runnable lane until a CTA barrier releases it.
    pub blocked: bool,
    /// Set with `blocked`: all its lanes wait at one CTA barrier, behind which they stand together. The
    /// barrier takes hold some cycles later, and until then the warp may be issued as if it did not wait.
    pub slips: bool,
    /// Warps of this SM whose CTA barrier this instruction completed (itself included if it waited):
    /// as far as values go they may run on. The timing model adds the hardware's delays.
    pub released: WarpMask,
    /// The instruction arrived at a CTA barrier (waiting or not).
    pub arrived: bool,
    /// Cycles this warp sleeps from now on (NANOSLEEP); 0 otherwise.
    pub sleep: u64,
    /// Whether `access` was filled: the instruction goes to the memory unit with addresses.
    pub accesses: bool,
    /// Its addresses.
    pub access: Access,
}

impl Effect {
    /// An effect without content, to be reused.
    pub fn new() -> Effect {
        Effect {
            next: Pc(0),
            lanes: 0,
            active: 0,
            ended: false,
            blocked: false,
            slips: false,
            released: 0,
            arrived: false,
            sleep: 0,
            accesses: false,
            access: Access {
                space: Space::Global,
                operation: Operation::Load,
                lanes: 0,
                bytes: 4,
                bypass: false,
                deferred: None,
                addresses: [0; 32],
                texels: Vec::new(),
                shared: [0; 32],
            },
        }
    }
}

impl Default for Effect {
    fn default() -> Effect {
        Effect::new()
    }
}

/// Addresses of one memory instruction.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where it goes. Generic accesses are resolved; if their lanes are mixed, the space is
    /// `Global` and shared lanes are left out of `lanes`.
    pub space: Space,
    /// What it does there.
    pub operation: Operation,
    /// Lanes that take part.
    pub lanes: LaneMask,
    /// Bytes per lane: 1, 2, 4, 8 or 16. LDSM: 16 bytes per row address.
    pub bytes: u8,
    /// Goes past L1 to L2 (STRONG.GPU/.SYS, LDGSTS.BYPASS, global atomics).
    pub bypass: bool,
    /// Set for deferred operations (DESIGN.md V1, V2): performed beyond the SM, values pending.
    pub deferred: Option<Token>,
    /// Per lane: device byte address (`Global`; `Local` already interleaved across the threads of
    /// the warp into device addresses of 4-byte words), byte offset in the CTA's shared memory, or
    /// `bank << 32 | byte offset` (`Constant`).
    pub addresses: [u64; 32],
    /// Texture fetches only: the sectors of all texels, each once, in the order in which they are read.
    /// `addresses` has the first texel of each lane.
    pub texels: Vec<u64>,
    /// LDGSTS only: per lane the byte offset in shared memory that is written.
    pub shared: [u32; 32],
}

/// A memory space as the memory unit tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Device memory through L1D.
    Global,
    /// Per-thread memory, interleaved, through L1D.
    Local,
    /// Shared memory of the CTA.
    Shared,
    /// Constant banks by LDC.
    Constant,
    /// Texture and surface memory.
    Texture,
}

/// What a memory instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// Reads into registers.
    Load,
    /// Writes from registers.
    Store,
    /// Reads, modifies, writes and returns the old value.
    Atomic,
    /// Reads, modifies, writes, returns nothing.
    Reduction,
    /// LDGSTS: reads global, writes shared.
    CopyToShared,
}
