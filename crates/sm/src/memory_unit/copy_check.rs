//! Shared-memory bytes that an LDGSTS is still writing: who reads them before the copy is complete has
//! not waited for its group (DESIGN.md H2). Part of the hazard check; changes no cycle.

use source::{Access, Operation, Space};

use crate::event::RecordIndex;

/// Bytes that are told apart.
const GRANULE: u32 = 4;

/// A copy under way.
struct Copy {
    record: RecordIndex,
    cta: u8,
    pc: u32,
    issued: u64,
    lanes: u32,
    bytes: u8,
    shared: [u32; 32],
}

/// All copies under way in an SM, and the granules they write.
#[derive(Default)]
pub struct CopyCheck {
    copies: Vec<Copy>,
    /// Per CTA slot: pc + 1 of the copy that writes each granule, 0 if none.
    writing: Vec<Vec<u32>>,
}

impl CopyCheck {
    /// Whether no copy is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Copies under way.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// The LDGSTS at `pc` of a warp of a CTA slot is issued.
    pub fn start(&mut self, record: RecordIndex, cta: u8, pc: u32, now: u64, access: &Access) {
        if access.operation != Operation::CopyToShared || access.lanes == 0 {
            return;
        }
        let copy = Copy {
            record,
            cta,
            pc,
            issued: now,
            lanes: access.lanes,
            bytes: access.bytes,
            shared: access.shared,
        };
        self.mark(&copy, pc + 1);
        self.copies.push(copy);
    }

    fn mark(&mut self, copy: &Copy, value: u32) {
        let cta = copy.cta as usize;
        if self.writing.len() <= cta {
            self.writing.resize_with(cta + 1, Vec::new);
        }
        let writing = &mut self.writing[cta];
        let mut lanes = copy.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let first = (copy.shared[lane] / GRANULE) as usize;
            let end = ((copy.shared[lane] + copy.bytes as u32).div_ceil(GRANULE)) as usize;
            if writing.len() < end {
                writing.resize(end, 0);
            }
            for granule in &mut writing[first..end] {
                if value != 0 || *granule == copy.pc + 1 {
                    *granule = value;
                }
            }
        }
    }

    /// The copy of `record` is complete. Granules that another copy of the same instruction writes
    /// meanwhile stay marked.
    pub fn done(&mut self, record: RecordIndex) {
        let Some(place) = self.copies.iter().position(|copy| copy.record == record) else {
            return;
        };
        let copy = self.copies.swap_remove(place);
        self.mark(&copy, 0);
        let again: Vec<usize> = (0..self.copies.len())
            .filter(|&other| self.copies[other].cta == copy.cta && self.copies[other].pc == copy.pc)
            .collect();
        for other in again {
            let other = self.copies.swap_remove(other);
            self.mark(&other, other.pc + 1);
            self.copies.push(other);
        }
    }

    /// Whether a shared-memory read of CTA slot `cta` touches bytes that are still being written:
    /// pc of the copy and cycle of its issue.
    pub fn touched(&self, cta: u8, access: &Access) -> Option<(u32, u64)> {
        if access.space != Space::Shared {
            return None;
        }
        let writing = self.writing.get(cta as usize)?;
        let mut lanes = access.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let first = access.addresses[lane] as u32 / GRANULE;
            let end = (access.addresses[lane] as u32 + access.bytes as u32).div_ceil(GRANULE);
            for granule in first..end {
                let Some(&pc) = writing.get(granule as usize) else {
                    break;
                };
                if pc != 0 {
                    let pc = pc - 1;
                    let copy = self
                        .copies
                        .iter()
                        .find(|copy| copy.cta == cta && copy.pc == pc);
                    return Some((pc, copy.map_or(0, |copy| copy.issued)));
                }
            }
        }
        None
    }

    /// A CTA slot is free: nothing is written there any more.
    pub fn clear(&mut self, cta: u8) {
        if let Some(writing) = self.writing.get_mut(cta as usize) {
            writing.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::Effect;

    #[test]
    fn bytes_are_pending_until_their_copy_is_complete() {
        let mut access = Effect::new().access;
        access.operation = Operation::CopyToShared;
        access.lanes = 1;
        access.bytes = 16;
        access.shared[0] = 64;
        let mut check = CopyCheck::default();
        check.start(3, 0, 7, 100, &access);
        let mut read = Effect::new().access;
        read.space = Space::Shared;
        read.lanes = 1;
        read.addresses[0] = 76;
        assert_eq!(check.touched(0, &read), Some((7, 100)));
        assert_eq!(check.touched(1, &read), None);
        read.addresses[0] = 80;
        assert_eq!(check.touched(0, &read), None);
        read.addresses[0] = 64;
        check.done(3);
        assert_eq!(check.touched(0, &read), None);
        assert!(check.is_empty());
    }
}
