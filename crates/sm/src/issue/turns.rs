//! Whose turn it is at a queue that was full: warps whose instruction of variable latency was turned away go
//! in the order in which that happened, whatever their age.
//!
//! Youngest first is how a sub-core chooses among warps that all can issue (MODEL.md §2.2). Warps that wait for
//! room in a queue are served alike: on an RTX 3060 the threads of 32 warps that do nothing but load from L1
//! take the same time each, which is the time of all of them together (gpus/SOURCES.md, AmpereArchViaMicroBenchMark).

use crate::sub_core::SLOTS;

/// The warps of a sub-core that were turned away, in order.
pub struct Turns {
    /// Which they are.
    waiting: u16,
    /// The first so many places of `order` are taken.
    order: [u8; SLOTS],
}

impl Turns {
    /// Nobody waits.
    pub fn new() -> Turns {
        Turns {
            waiting: 0,
            order: [0; SLOTS],
        }
    }

    /// The queue has no room for the warp in `slot`: it goes behind those that were turned away before.
    #[inline]
    pub fn turn_away(&mut self, slot: usize) {
        if self.waiting >> slot & 1 == 0 {
            let last = self.waiting.count_ones() as usize;
            self.order[last % SLOTS] = slot as u8;
            self.waiting |= 1 << slot;
        }
    }

    /// Whether the warp in `slot` may go before the other warps in `ready`.
    #[inline]
    pub fn may_go(&self, slot: usize, ready: u16) -> bool {
        let before = self.waiting & ready;
        before == 0 || self.first(before) == slot
    }

    #[inline(never)]
    fn first(&self, among: u16) -> usize {
        let count = self.waiting.count_ones() as usize;
        let mut order = self.order[..count.min(SLOTS)].iter();
        order
            .find(|&&slot| among >> slot & 1 == 1)
            .map_or(SLOTS, |&slot| slot as usize)
    }

    /// Whether the warp in `slot` was turned away.
    #[inline]
    pub fn waits(&self, slot: usize) -> bool {
        self.waiting >> slot & 1 == 1
    }

    /// The warp in `slot` has gone, or waits for something else.
    #[inline]
    pub fn leave(&mut self, slot: usize) {
        if self.waiting >> slot & 1 == 1 {
            let count = self.waiting.count_ones() as usize;
            let order = &mut self.order[..count.min(SLOTS)];
            if let Some(place) = order.iter().position(|&other| other as usize == slot) {
                order[place..].rotate_left(1);
            }
            self.waiting &= !(1 << slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_of_being_turned_away() {
        let mut turns = Turns::new();
        assert!(turns.may_go(3, 0b1111), "nobody was turned away");
        for slot in [2, 0, 3, 0] {
            turns.turn_away(slot);
        }
        assert!(turns.may_go(2, 0b1111));
        assert!(!turns.may_go(1, 0b1111), "behind those that were");
        assert!(!turns.may_go(0, 0b1111));
        assert!(turns.may_go(0, 0b1011), "2 is not ready");
        turns.leave(2);
        assert!(turns.may_go(0, 0b1111));
        turns.leave(3);
        turns.leave(0);
        assert!(turns.may_go(1, 0b1111));
        turns.turn_away(1);
        assert!(!turns.may_go(3, 0b1010));
    }
}
