//! Operations on device memory with all that they need to take effect later, at their slice
//! (DESIGN.md V1): addresses, operand values, where the result goes. In functional mode the same
//! operations take effect at once.

use source::{ResultId, Sector, Token};

use crate::family::atomic_value::{Arithmetic, combine};
use crate::lanes::{Lanes, lanes_of};
use crate::memory::global::GlobalMemory;
use crate::memory::port::{from_words, to_words};
use crate::memory::sectors::SectorCounts;

/// What an operation does to each lane's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Reads; narrow values are extended by their sign.
    Load { signed: bool },
    /// Writes the first operand.
    Store,
    /// Reads, combines with the operands, writes; the old value is the result.
    Atomic(Arithmetic),
    /// Reads; the bytes go to shared memory.
    CopyToShared,
}

/// One operation on device memory.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) lanes: u32,
    pub(crate) bytes: u32,
    pub(crate) addresses: [u64; 32],
    /// Store data; or operand (words 0 to 3) and second operand (words 4 to 7) of an atomic.
    pub(crate) operands: [Lanes; 8],
    /// First row of the result, if it is wanted.
    pub(crate) row: Option<u16>,
    /// Shared offsets of a copy.
    pub(crate) shared: [u32; 32],
}

impl Operation {
    /// An operation without lanes, to be filled.
    pub(crate) fn empty() -> Operation {
        Operation {
            kind: Kind::Store,
            lanes: 0,
            bytes: 4,
            addresses: [0; 32],
            operands: [Lanes::ZERO; 8],
            row: None,
            shared: [0; 32],
        }
    }

    /// Applies `lanes` in rising order; what each of them read.
    pub(crate) fn perform(&self, memory: &mut GlobalMemory, lanes: u32) -> [Lanes; 4] {
        match self.bytes {
            1 => self.perform_sized::<1>(memory, lanes),
            2 => self.perform_sized::<2>(memory, lanes),
            4 => self.perform_sized::<4>(memory, lanes),
            8 => self.perform_sized::<8>(memory, lanes),
            _ => self.perform_sized::<16>(memory, lanes),
        }
    }

    fn perform_sized<const N: usize>(&self, memory: &mut GlobalMemory, lanes: u32) -> [Lanes; 4] {
        let mut results = [Lanes::ZERO; 4];
        let mut hint = 0;
        for lane in lanes_of(lanes & self.lanes) {
            // Addresses were checked at issue; a free in between drops the access.
            let Some(place) = memory.find(self.addresses[lane], N as u64, hint) else {
                continue;
            };
            hint = place.allocation();
            let operand: [u32; 4] = std::array::from_fn(|index| self.operands[index][lane]);
            if self.kind == Kind::Store {
                memory.write_aligned(place, &from_words::<N>(operand));
                continue;
            }
            let old = to_words(&memory.read_aligned::<N>(place));
            for (result, word) in results.iter_mut().zip(old) {
                result[lane] = word;
            }
            if let Kind::Atomic(arithmetic) = self.kind {
                let second = std::array::from_fn(|index| self.operands[4 + index][lane]);
                let new = combine(arithmetic, old, operand, second);
                memory.write_aligned(place, &from_words::<N>(new));
            }
        }
        results
    }

    /// The lanes whose address lies in a sector.
    pub(crate) fn lanes_in(&self, sector: Sector) -> u32 {
        let mut lanes = 0;
        for lane in lanes_of(self.lanes) {
            if Sector::of(self.addresses[lane]) == sector {
                lanes |= 1 << lane;
            }
        }
        lanes
    }
}

/// Extends the low bytes of a result by their sign.
pub(crate) fn extend(words: &mut Lanes, bytes: u32, signed: bool) {
    if !signed {
        return;
    }
    let unused = 32 - 8 * bytes.min(4);
    for lane in 0..32 {
        words[lane] = ((words[lane] << unused) as i32 >> unused) as u32;
    }
}

/// An operation under way, with the warp it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) operation: Operation,
    /// Lanes that have not taken effect.
    pub(crate) outstanding: u32,
    pub(crate) warp: u8,
    pub(crate) generation: u32,
    /// Where its results are held until they land (`--hazards emulate`); else they go to the warp.
    pub(crate) result: Option<ResultId>,
}

/// Operations under way on one SM, and the sectors that they hold (V2).
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferral {
    pending: Vec<Option<Box<Pending>>>,
    /// Boxes of completed operations, to be used again.
    #[allow(clippy::vec_box)] // moved between lists
    spare: Vec<Box<Pending>>,
    free: Vec<u32>,
    /// Sectors in flight.
    sectors: SectorCounts,
}

impl Deferral {
    /// Whether a sector of any of `lanes` is in flight.
    #[inline(always)]
    pub(crate) fn holds(&self, addresses: &[u64; 32], lanes: u32) -> bool {
        !self.sectors.is_empty() && self.holds_any(addresses, lanes)
    }

    fn holds_any(&self, addresses: &[u64; 32], lanes: u32) -> bool {
        let mut last = Sector(u64::MAX);
        for lane in lanes_of(lanes) {
            let sector = Sector::of(addresses[lane]);
            if sector != last {
                if self.sectors.holds(sector) {
                    return true;
                }
                last = sector;
            }
        }
        false
    }

    /// Takes an operation over.
    pub(crate) fn add(&mut self, operation: &Operation, warp: u8, generation: u32) -> Token {
        self.change_sectors(operation, true);
        let mut slot = self.spare.pop().unwrap_or_else(|| {
            Box::new(Pending {
                operation: Operation::empty(),
                outstanding: 0,
                warp: 0,
                generation: 0,
                result: None,
            })
        });
        slot.operation.clone_from(operation);
        slot.outstanding = operation.lanes;
        slot.warp = warp;
        slot.generation = generation;
        slot.result = None;
        match self.free.pop() {
            Some(index) => {
                self.pending[index as usize] = Some(slot);
                Token(index)
            }
            None => {
                self.pending.push(Some(slot));
                Token(self.pending.len() as u32 - 1)
            }
        }
    }

    /// The operation of a token.
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut Pending> {
        self.pending.get_mut(token.0 as usize)?.as_deref_mut()
    }

    /// The operation of `old` becomes that of `new`, or nothing.
    pub(crate) fn replace(&mut self, old: Token, new: Option<Token>) {
        let Some(mut pending) = self.take(old) else {
            return;
        };
        self.change_sectors(&pending.operation, false);
        match new.and_then(|new| Some((new, self.take(new)?))) {
            Some((new, replacement)) => {
                // Its sectors were entered when it was added.
                self.pending[old.0 as usize] = Some(replacement);
                self.free.push(new.0);
                self.spare.push(pending);
            }
            None => {
                pending.operation.lanes = 0;
                pending.outstanding = 0;
                self.pending[old.0 as usize] = Some(pending);
            }
        }
    }

    fn take(&mut self, token: Token) -> Option<Box<Pending>> {
        self.pending
            .get_mut(token.0 as usize)
            .and_then(Option::take)
    }

    /// Whether any operation is under way.
    pub(crate) fn any(&self) -> bool {
        self.free.len() < self.pending.len()
    }

    /// Ends an operation: its sectors are ordinary again.
    pub(crate) fn complete(&mut self, token: Token) {
        if let Some(pending) = self.take(token) {
            self.change_sectors(&pending.operation, false);
            self.spare.push(pending);
            self.free.push(token.0);
        }
    }

    /// Enters or leaves the sectors of an operation, each as often as runs of lanes touch it.
    fn change_sectors(&mut self, operation: &Operation, enter: bool) {
        let mut last = Sector(u64::MAX);
        for lane in lanes_of(operation.lanes) {
            let sector = Sector::of(operation.addresses[lane]);
            if sector == last {
                continue;
            }
            last = sector;
            if enter {
                self.sectors.enter(sector);
            } else {
                self.sectors.leave(sector);
            }
        }
    }
}
