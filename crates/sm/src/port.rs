//! The SM's door to the memory side: packets out, so many per cycle, and who waits for each answer.

use crate::memory_unit::translation::Translation;
use source::{
    ByteMask, Cycle, Deferred, Line, Request, RequestId, RequestKind, Sector, SectorMask, SmId,
};

hardware::parameters! {
    /// The SM's port into the request network.
    pub struct PortParameters = "sm_port" {
        /// Packets without an answer that an SM may have: its credits. Further ones are held back.
        outstanding: u32, "packets", 64..=65536;
        /// Packets (one line each) that leave the SM per cycle.
        lines_per_cycle: u64, "packets/cycle", 1..=8;
        /// Sectors of written data that leave the SM per cycle.
        write_rate: u64, "sectors/cycle", 1..=8;
    }
}

/// Who waits for the answer to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outstanding {
    /// Nobody: the place is free. Holds the next free place.
    Free { next: u32 },
    /// A line of the L1 instruction and constant cache.
    Level1 { miss: u16 },
    /// Sectors of a line of the L1 data cache, which stands at `place`; `waiting` records wait for them
    /// in a list from `first` to `last`.
    Data {
        line: u64,
        place: u32,
        first: u32,
        last: u32,
        waiting: u32,
    },
    /// A packet of one record that passes L1 by.
    Bypass { record: u16 },
    /// A write; the record's warp waits for its acknowledgement before it can leave.
    Write { slot: u8, order: u32 },
}

/// What leaves the SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// What it asks for.
    pub kind: RequestKind,
    /// The virtual line.
    pub line: Line,
    /// The sectors of it.
    pub sectors: SectorMask,
    /// The bytes of each that a write writes.
    pub bytes: [ByteMask; Line::SECTORS as usize],
    /// Updates that it carries, for an atomic.
    pub lanes: u8,
    /// What the side of the values needs, for a deferred operation.
    pub deferred: Option<Deferred>,
    /// Whether its way is noted.
    pub traced: bool,
}

impl Packet {
    /// A packet that reads.
    #[inline]
    pub fn read(kind: RequestKind, line: Line, sectors: SectorMask) -> Packet {
        Packet {
            kind,
            line,
            sectors,
            bytes: [0; Line::SECTORS as usize],
            lanes: 1,
            deferred: None,
            traced: false,
        }
    }
}

/// Packets of the present window and the table of unanswered ones.
pub struct Port {
    sm: SmId,
    /// From the virtual lines that come to the physical ones that leave.
    pub translation: Translation,
    limit: u32,
    /// Turns of a cycle; a packet takes one at least.
    rate: u64,
    /// The first cycle with a turn left, and how many of its turns are taken.
    cycle: u64,
    taken: u64,
    /// Turns that the written data of so many sectors take.
    data_turns: [u64; Line::SECTORS as usize + 1],
    /// A free place is used before a new one is made.
    table: Vec<Outstanding>,
    /// By place in the table: sectors without an answer.
    left: Vec<SectorMask>,
    free: u32,
    in_flight: u32,
    /// Packets sent, drained by the memory side.
    pub requests: Vec<Request>,
    /// Packets that were sent.
    pub sent: u64,
    /// Cycles in which one was on its way out.
    pub busy_cycles: u64,
}

const NONE: u32 = u32::MAX;

impl Port {
    /// A quiet port.
    pub fn new(sm: SmId, parameters: &PortParameters, translation: Translation) -> Port {
        Port {
            sm,
            translation,
            limit: parameters.outstanding,
            rate: parameters.lines_per_cycle,
            cycle: 0,
            taken: 0,
            data_turns: std::array::from_fn(|sectors| {
                let turns = sectors as u64 * parameters.lines_per_cycle;
                turns.div_ceil(parameters.write_rate).max(1)
            }),
            table: Vec::with_capacity(256),
            left: Vec::with_capacity(256),
            free: NONE,
            in_flight: 0,
            requests: Vec::with_capacity(256),
            sent: 0,
            busy_cycles: 0,
        }
    }

    /// Whether `packets` more packets may be sent.
    #[inline]
    pub fn has_room(&self, packets: u32) -> bool {
        self.in_flight + packets <= self.limit
    }

    /// Most packets that were without an answer at once.
    pub fn most(&self) -> u64 {
        self.table.len() as u64
    }

    /// Packets without an answer.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Sends a packet, virtually addressed, that leaves in cycle `now` or as soon as its translation is
    /// at hand and the port is free.
    pub fn send(&mut self, now: u64, packet: Packet, waits: Outstanding) -> RequestId {
        let index = if self.free == NONE {
            self.table.push(waits);
            self.left.push(packet.sectors);
            self.table.len() as u32 - 1
        } else {
            let index = self.free;
            if let Outstanding::Free { next } = self.table[index as usize] {
                self.free = next;
            }
            self.table[index as usize] = waits;
            self.left[index as usize] = packet.sectors;
            index
        };
        self.in_flight += 1;
        debug_assert!(self.in_flight <= self.limit, "a packet without a credit");
        self.sent += 1;
        let (line, now) = match packet.kind {
            RequestKind::Instruction | RequestKind::Constant => {
                (self.translation.untimed(packet.line), now)
            }
            _ => self.translation.translate(packet.line, now),
        };
        if self.cycle < now {
            self.cycle = now;
            self.taken = 0;
        }
        let cycle = self.cycle;
        self.busy_cycles += u64::from(self.taken == 0);
        self.taken += match packet.kind {
            RequestKind::Write => self.data_turns[packet.sectors.count_ones() as usize],
            _ => 1,
        };
        while self.taken >= self.rate {
            self.taken -= self.rate;
            self.cycle += 1;
            self.busy_cycles += u64::from(self.taken > 0);
        }
        self.requests.push(Request {
            cycle: Cycle(cycle),
            sm: self.sm,
            id: RequestId(index),
            kind: packet.kind,
            line,
            sectors: packet.sectors,
            bytes: packet.bytes,
            lanes: packet.lanes,
            deferred: packet.deferred,
            traced: packet.traced,
        });
        RequestId(index)
    }

    /// Sends packets that read `sectors` sectors from `first` on, one for each line.
    pub fn send_run(
        &mut self,
        now: u64,
        kind: RequestKind,
        first: Sector,
        sectors: u64,
        waits: Outstanding,
    ) {
        let end = first.0 + sectors;
        let mut next = first;
        while next.0 < end {
            let line = next.line();
            let mut mask = 0;
            while next.0 < end && next.line() == line {
                mask |= next.mask();
                next.0 += 1;
            }
            self.send(now, Packet::read(kind, line, mask), waits);
        }
    }

    /// Who waits for `id`.
    #[inline]
    pub fn waiting(&mut self, id: RequestId) -> &mut Outstanding {
        &mut self.table[id.0 as usize]
    }

    /// Sectors `sectors` of `id` have been answered: whether those were the last, which frees its place.
    #[inline]
    pub fn answered(&mut self, id: RequestId, sectors: SectorMask) -> bool {
        let left = &mut self.left[id.0 as usize];
        *left &= !sectors;
        let last = *left == 0;
        if last {
            self.table[id.0 as usize] = Outstanding::Free { next: self.free };
            self.free = id.0;
            self.in_flight -= 1;
        }
        last
    }
}
