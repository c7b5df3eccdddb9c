//! Steps of traced packets beyond the SM, written down beside the simulation. Each begins where the step
//! before it ended, so only ends are told.

use source::{Chosen, Cycle, Found, Hop, RequestId, RowState, SectorMask, SmId, Structure, Wait};

use crate::clock::Clocks;
use crate::dram::Note;

/// The way of some sectors of a packet, to which steps are added.
pub struct Way<'a> {
    hops: &'a mut Vec<Hop>,
    packet: (SmId, RequestId),
    sectors: SectorMask,
}

impl<'a> Way<'a> {
    /// The way of `sectors` of packet `id` of SM `sm`.
    #[cold]
    pub fn of(hops: &'a mut Vec<Hop>, (sm, id): (u16, u32), sectors: SectorMask) -> Way<'a> {
        Way {
            hops,
            packet: (SmId(sm), RequestId(id)),
            sectors,
        }
    }

    fn is_own(&self, hop: &Hop) -> bool {
        (hop.sm, hop.packet) == (self.packet.0, Some(self.packet.1))
            && hop.sectors & self.sectors != 0
    }

    /// When the last step of these sectors ended; `or` if there is none.
    fn so_far(&self, or: u64) -> u64 {
        let own = |hop: &&Hop| self.is_own(hop);
        self.hops.iter().rev().find(own).map_or(or, |hop| hop.end.0)
    }

    fn add(&mut self, structure: Structure, end: u64, wait: Option<Wait>, chosen: Chosen) {
        let hop = Hop::of(
            structure,
            (self.so_far(end).min(end), end),
            self.packet,
            self.sectors,
        );
        let hop = hop.chosen(chosen);
        self.hops.push(match wait {
            Some(wait) => hop.waited(wait),
            None => hop,
        });
    }

    /// From the SM, which it left in cycle `left`, to the slice's port, which it reached in `reached`.
    pub fn request_network(&mut self, slice: u32, left: u64, reached: u64) {
        let slice = Chosen::Slice { slice };
        let hop = Hop::of(
            Structure::RequestNetwork,
            (left, reached),
            self.packet,
            self.sectors,
        );
        self.hops.push(hop.chosen(slice));
    }

    /// Through the port of the slice, the `sub`th of its partition: reached in cycle `reached`, passed by
    /// cycle `passed`.
    pub fn slice_port(&mut self, sub: u32, reached: u64, passed: u64) {
        let hop = Hop::of(
            Structure::SlicePort,
            (reached, passed),
            self.packet,
            self.sectors,
        );
        // The system knows the partition.
        let hop = hop.chosen(Chosen::Slice { slice: sub });
        self.hops.push(hop.waited(Wait::Packets));
    }

    /// In the slice's queue, which it reached in cycle `arrival`, until a lookup was tried in cycle
    /// `now`.
    pub fn slice_queue(&mut self, arrival: u64, now: u64, wait: Wait) {
        let start = self.so_far(arrival).max(arrival).min(now);
        let hop = Hop::of(
            Structure::SliceQueue,
            (start, now),
            self.packet,
            self.sectors,
        );
        self.hops.push(hop.waited(wait));
    }

    /// Looked up in cycle `now`.
    pub fn lookup(&mut self, now: u64, set: u32, way: u32, found: Found) {
        let way = Some(way);
        self.add(Structure::L2, now, None, Chosen::Line { set, way, found });
    }

    /// Found: the data are at hand in cycle `ready`.
    pub fn found_in_l2(&mut self, ready: u64) {
        let lookup = self
            .hops
            .iter()
            .rposition(|hop| hop.structure == Structure::L2 && self.is_own(hop));
        // The lookup itself is what takes that time.
        match lookup {
            Some(lookup) => self.hops[lookup].end = Cycle(ready),
            None => self.add(Structure::L2, ready, None, Chosen::Nothing),
        }
    }

    /// To the DRAM and back: at the slice again in cycle `back`. Without a note the sector was under way
    /// for another packet.
    pub fn dram(&mut self, note: Option<&Note>, channel: u32, clocks: Clocks, back: u64) {
        let Some(note) = note else {
            let wait = Some(Wait::UnderWay);
            self.add(Structure::FromController, back, wait, Chosen::Nothing);
            return;
        };
        let core = |command: u64| clocks.core_at_or_after(command);
        self.add(
            Structure::MissQueue,
            note.left,
            Some(match note.waited_for_room {
                true => Wait::ControllerRoom,
                false => Wait::Misses,
            }),
            Chosen::Nothing,
        );
        self.add(
            Structure::ToController,
            core(note.arrived),
            None,
            Chosen::Nothing,
        );
        let place = Chosen::Bank {
            // Told by the system, which knows the partitions.
            controller: 0,
            channel,
            bank: note.bank,
            row: note.row,
            column: u32::from(note.burst),
            state: match note.opened {
                Some(_) if note.oldest => RowState::Opened,
                Some(_) => RowState::OpenedForAnother,
                None => RowState::Open {
                    since: Cycle(core(note.open_since)),
                },
            },
        };
        let wait = match note {
            note if note.refreshed => Wait::Refresh,
            note if note.closed_another => Wait::RowConflict,
            _ => Wait::Commands,
        };
        let first = note.opened.unwrap_or(note.column);
        self.add(Structure::ControllerQueue, core(first), Some(wait), place);
        if note.opened.is_some() {
            self.add(Structure::Row, core(note.column), None, place);
        }
        let data = core(note.column + note.data).min(back);
        self.add(Structure::Column, data, None, place);
        self.add(Structure::FromController, back, None, Chosen::Nothing);
    }

    /// Put into the slice from cycle `now` on, at hand in cycle `ready`.
    pub fn fill(&mut self, now: u64, ready: u64) {
        let wait = (self.so_far(now) < now).then_some(Wait::Replies);
        self.add(Structure::L2Fill, ready, wait, Chosen::Nothing);
    }

    /// Into the reply network in cycle `cycle`.
    pub fn reply_port(&mut self, cycle: u64) {
        let wait = Some(Wait::Replies);
        self.add(Structure::ReplyPort, cycle, wait, Chosen::Nothing);
    }

    /// Across the reply network to the SM's port, and through it.
    pub fn reply_network(&mut self, left: u64, reached: u64, through: u64) {
        let hop = Hop::of(
            Structure::ReplyNetwork,
            (left, reached),
            self.packet,
            self.sectors,
        );
        self.hops.push(hop);
        self.add(
            Structure::SmPort,
            through,
            Some(Wait::Replies),
            Chosen::Nothing,
        );
    }
}
