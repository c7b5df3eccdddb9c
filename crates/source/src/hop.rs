//! One step of a memory access on its way to the DRAM and back: which structure, from when to when, what
//! it chose there, and what it waited for. Steps are noted for accesses that are traced, and change
//! nothing.

use crate::id::{Cycle, SectorMask, SmId};
use crate::port::RequestId;

macro_rules! list {
    ($(#[$attribute:meta])* $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $text:literal;)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $name {
            /// All, in the order of the list.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// What it means.
            pub const fn description(self) -> &'static str {
                match self {
                    $($name::$variant => concat!($($doc,)*).trim_ascii(),)*
                }
            }
        }
    };
}

list! {
    /// A structure, in the order in which a load meets them.
    Structure {
        /// Control and the sub-core's memory queue.
        Queue = "queue";
        /// The sub-core's address stages.
        AddressStages = "address stages";
        /// The turn at the unit that the sub-cores share.
        HandOver = "hand-over";
        /// The generator that makes accesses to lines of the lanes' addresses.
        Coalescer = "coalescer";
        /// Shared memory: its passes, then its pipeline.
        SharedMemory = "shared memory";
        /// The memory unit's constant cache.
        ConstantCache = "constant cache";
        /// The link to the L1.5 constant cache, with the wait for a turn on it.
        ConstantLink = "constant link";
        /// The L1.5 constant cache, and the larger one behind it where there is one.
        Level15 = "L1.5 constant cache";
        /// The L1 data cache.
        L1d = "L1D";
        /// The SM's translation buffer.
        Translation = "TLB";
        /// The SM's port into the request network.
        Port = "port";
        /// The request network.
        RequestNetwork = "request network";
        /// The slice's port.
        SlicePort = "slice port";
        /// The slice's queue.
        SliceQueue = "slice queue";
        /// The lookup in the slice.
        L2 = "L2";
        /// The slice's queue of misses.
        MissQueue = "miss queue";
        /// The way to the memory controller.
        ToController = "to controller";
        /// The controller's queue.
        ControllerQueue = "controller queue";
        /// The bank's row being opened.
        Row = "DRAM row";
        /// The column being read and its burst.
        Column = "DRAM column";
        /// The way back to the slice.
        FromController = "from controller";
        /// The slice being filled.
        L2Fill = "L2 fill";
        /// The slice's port into the reply network.
        ReplyPort = "reply port";
        /// The reply network.
        ReplyNetwork = "reply network";
        /// The SM's port at the reply network.
        SmPort = "SM port";
        /// The L1 data cache being filled.
        L1Fill = "L1 fill";
        /// The L1.5 constant cache being filled.
        Level15Fill = "L1.5 fill";
        /// The link back from the L1.5 constant cache.
        ConstantReturn = "constant return";
        /// The constant cache being filled and read.
        ConstantFill = "constant fill";
        /// The way from the SM's memory unit to the sub-core.
        Transfer = "transfer";
        /// The register file's write port; then the dependence counter falls.
        WriteBack = "write-back";
    }
}

list! {
    /// What an access waited for.
    Wait {
        /// Instructions ahead of it.
        Ahead = "instructions ahead";
        /// Instructions of other sub-cores that were handed over.
        OtherSubCores = "other sub-cores";
        /// The access generators were busy.
        Generators = "generators busy";
        /// Passes of other instructions through shared memory.
        Passes = "passes ahead";
        /// No further sector may be missing, or no credit was left.
        Room = "no room or credit";
        /// The refill of the translation buffer.
        Refill = "refill";
        /// Packets ahead of it.
        Packets = "packets ahead";
        /// The lookups of packets ahead of it.
        Lookups = "lookups ahead";
        /// A packet ahead of it in the queue found no room in the slice.
        SliceRoom = "packet ahead had no room";
        /// The queue of misses had no room for its own.
        MissQueueFull = "miss queue full";
        /// No entry was left for a further sector that is awaited.
        EntriesFull = "no MSHR left";
        /// As many requests as may be wait for its sector already.
        MergesFull = "no merge left";
        /// Every way of its set awaits sectors.
        NoWay = "no way free";
        /// The slice's queue of replies had no place for its own.
        ReplyRoom = "reply queue full";
        /// Misses ahead of it.
        Misses = "misses ahead";
        /// The controller had no room for a further request of the slice.
        ControllerRoom = "controller had no room";
        /// The row that was open had to be closed.
        RowConflict = "another row was open";
        /// Commands for other requests.
        Commands = "other commands";
        /// The channel refreshed.
        Refresh = "refresh";
        /// A miss of the same sector that was under way.
        UnderWay = "miss under way";
        /// Replies ahead of it.
        Replies = "replies ahead";
        /// The path or the write port was taken.
        WritePort = "write port taken";
    }
}

list! {
    /// What a lookup found.
    Found {
        /// All that was wanted.
        Hit = "hit";
        /// Nothing of it, or not all.
        Miss = "miss";
        /// A miss of it was under way already.
        Merged = "merged";
        /// Not looked up here.
        Passed = "passed by";
        /// Written.
        Written = "written";
    }
}

/// How a DRAM access found its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowState {
    /// It was opened for this access.
    Opened,
    /// While it waited, it was opened for an older access to the same row.
    OpenedForAnother,
    /// It was open when the access came.
    Open {
        /// When it was opened.
        since: Cycle,
    },
}

/// What was chosen in a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// Nothing to choose.
    Nothing,
    /// So many lines and sectors of the lanes' addresses.
    Lines {
        /// Lines.
        lines: u16,
        /// Sectors of all of them.
        sectors: u16,
    },
    /// Passes through shared memory: one more for each conflict.
    Passes {
        /// How many.
        passes: u32,
    },
    /// Lines of a constant cache.
    Constants {
        /// How many were looked up, one after the other.
        lines: u16,
        /// What was found of them.
        found: Found,
    },
    /// A set and way.
    Line {
        /// The set.
        set: u32,
        /// The way, if the line has one.
        way: Option<u32>,
        /// What was found there.
        found: Found,
    },
    /// A page's translation.
    Page {
        /// What was found in the translation buffer.
        found: Found,
    },
    /// A slice, counted over all partitions.
    Slice {
        /// Its number.
        slice: u32,
    },
    /// A place in the DRAM.
    Bank {
        /// The controller: its memory partition.
        controller: u32,
        /// The channel of it.
        channel: u32,
        /// The bank.
        bank: u8,
        /// The row.
        row: u32,
        /// The column: a burst of the row.
        column: u32,
        /// How the row was found.
        state: RowState,
    },
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Where.
    pub structure: Structure,
    /// When it began.
    pub start: Cycle,
    /// When it ended: where the next step begins.
    pub end: Cycle,
    /// The packet; nothing while the access is one thing inside its SM.
    pub packet: Option<RequestId>,
    /// The SM that sent the packet, whose name it is.
    pub sm: SmId,
    /// The sectors of the packet's line that this step was for.
    pub sectors: SectorMask,
    /// What was chosen.
    pub chosen: Chosen,
    /// What it waited for, if it did.
    pub wait: Option<Wait>,
}

impl Hop {
    /// A step of a packet without a choice.
    pub fn of(
        structure: Structure,
        (start, end): (u64, u64),
        (sm, packet): (SmId, RequestId),
        sectors: SectorMask,
    ) -> Hop {
        Hop {
            structure,
            start: Cycle(start),
            end: Cycle(end),
            packet: Some(packet),
            sm,
            sectors,
            chosen: Chosen::Nothing,
            wait: None,
        }
    }

    /// A step of the whole access, inside its SM.
    pub fn whole(structure: Structure, start: u64, end: u64) -> Hop {
        Hop {
            packet: None,
            ..Hop::of(structure, (start, end), (SmId(0), RequestId(0)), 0)
        }
    }

    /// With what was chosen.
    pub fn chosen(self, chosen: Chosen) -> Hop {
        Hop { chosen, ..self }
    }

    /// With what it waited for, if it took any time.
    pub fn waited(self, wait: Wait) -> Hop {
        Hop {
            wait: (self.end > self.start).then_some(wait),
            ..self
        }
    }

    /// Cycles that it took.
    pub fn cycles(&self) -> u64 {
        self.end.0 - self.start.0
    }
}
