//! The SM's door to the memory side: packets out, one per cycle, and who waits for each answer.

use source::{Cycle, Request, RequestId, RequestKind, Sector, SmId, Token};

hardware::parameters! {
    /// The SM's port into the request network.
    pub struct PortParameters = "sm_port" {
        /// Packets without an answer that an SM may have; further ones are held back.
        outstanding: u32, "packets", 64..=65536;
    }
}

/// Who waits for the answer to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outstanding {
    /// Nobody: the place is free. Holds the next free place.
    Free { next: u32 },
    /// A sector of a line of the L1 instruction and constant cache.
    Line { miss: u16 },
    /// A sector of the L1 data cache; records wait for it in a list that starts at `waiters`.
    Sector {
        sector: u64,
        line: u32,
        waiters: u32,
    },
    /// A packet of one record that passes L1 by.
    Bypass { record: u16 },
    /// A write; the record's warp waits for its acknowledgement before it can leave.
    Write { slot: u8, order: u32 },
}

/// Packets of the present window and the table of unanswered ones.
pub struct Port {
    sm: SmId,
    limit: u32,
    free_at: u64,
    table: Vec<Outstanding>,
    free: u32,
    in_flight: u32,
    /// Packets sent, drained by the memory side.
    pub requests: Vec<Request>,
    /// Cycles in which a packet was sent.
    pub busy_cycles: u64,
}

const NONE: u32 = u32::MAX;

impl Port {
    /// A quiet port.
    pub fn new(sm: SmId, parameters: &PortParameters) -> Port {
        Port {
            sm,
            limit: parameters.outstanding,
            free_at: 0,
            table: Vec::with_capacity(256),
            free: NONE,
            in_flight: 0,
            requests: Vec::with_capacity(256),
            busy_cycles: 0,
        }
    }

    /// Whether `packets` more packets may be sent.
    #[inline]
    pub fn has_room(&self, packets: u32) -> bool {
        self.in_flight + packets <= self.limit
    }

    /// Packets without an answer.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Sends a read-like packet that leaves in cycle `now` or as soon as the port is free.
    #[inline]
    pub fn send(
        &mut self,
        now: u64,
        kind: RequestKind,
        sector: Sector,
        waits: Outstanding,
    ) -> RequestId {
        self.send_packet(now, kind, sector, 32, 1, None, waits)
    }

    /// Sends a packet that leaves in cycle `now` or as soon as the port is free.
    #[allow(clippy::too_many_arguments)]
    pub fn send_packet(
        &mut self,
        now: u64,
        kind: RequestKind,
        sector: Sector,
        bytes: u8,
        lanes: u8,
        deferred: Option<Token>,
        waits: Outstanding,
    ) -> RequestId {
        let index = if self.free == NONE {
            self.table.push(waits);
            self.table.len() as u32 - 1
        } else {
            let index = self.free;
            if let Outstanding::Free { next } = self.table[index as usize] {
                self.free = next;
            }
            self.table[index as usize] = waits;
            index
        };
        self.in_flight += 1;
        self.busy_cycles += 1;
        let cycle = now.max(self.free_at);
        self.free_at = cycle + 1;
        self.requests.push(Request {
            cycle: Cycle(cycle),
            sm: self.sm,
            id: RequestId(index),
            kind,
            sector,
            bytes,
            lanes,
            deferred,
        });
        RequestId(index)
    }

    /// Who waits for `id`.
    #[inline]
    pub fn waiting(&mut self, id: RequestId) -> &mut Outstanding {
        &mut self.table[id.0 as usize]
    }

    /// The answer to `id` has come: returns who waited and frees its place.
    #[inline]
    pub fn answered(&mut self, id: RequestId) -> Outstanding {
        let waits = self.table[id.0 as usize];
        self.table[id.0 as usize] = Outstanding::Free { next: self.free };
        self.free = id.0;
        self.in_flight -= 1;
        waits
    }
}
