//! Control flow of one warp: which lanes are where.
//!
//! A warp is a set of splits, each a program counter with the lanes that share it. One split runs at
//! a time. A branch in which lanes disagree makes two; a convergence barrier (BSYNC), WARPSYNC or a
//! CTA barrier makes a split wait. Splits take turns when the running one waits, at YIELD and at
//! backward branches, so that lanes of one warp can wait for each other in loops (DESIGN.md W5).
//!
//! A convergence barrier completes when a BSYNC, BREAK or EXIT leaves no participant missing, and
//! lets go its participants only: a function may save a barrier (BMOV) and use it for a scope of its
//! own while lanes of the caller's scope wait in it.
//!
//! Convergence barriers are there for speed alone; code that needs lanes to meet says WARPSYNC. So a
//! lane never has to stay in one:
//!
//! * A lane that waits in BSYNC for lanes that spin until it goes on is let go by their YIELD: if all
//!   lanes it waits for are in splits that have yielded [`PATIENCE`] times while no lane came to wait,
//!   it leaves the barrier and runs. (Loops of compare-and-swap have a YIELD too, but there a lane
//!   comes to wait in nearly every round, and the warp stays together.)
//! * If all lanes wait in convergence barriers and WARPSYNCs for each other, those in the convergence
//!   barrier at the lowest address are let go.

use smallvec::SmallVec;

/// Number of convergence barriers of a warp.
pub(crate) const BARRIERS: usize = 16;

/// Turns of YIELD without an arrival after which waiting lanes are let go. The machine's own rule is
/// not known; one would do for progress.
const PATIENCE: u8 = 4;

/// What a split waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    None,
    /// The other participants of this convergence barrier; goes on behind its BSYNC.
    Convergence(u8),
    /// All these lanes at a WARPSYNC.
    Lanes(u32),
    /// This CTA barrier; goes on behind its BAR.
    Cta(u8),
}

/// Lanes at one program counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    /// Next instruction.
    pub(crate) pc: u32,
    /// Its lanes, never empty.
    pub(crate) lanes: u32,
    /// What it waits for.
    pub(crate) wait: Wait,
    /// It has yielded since it last ran.
    pub(crate) yielded: bool,
}

/// All splits of a warp. `pc` and `active` are the running one's.
#[derive(Clone, Debug)]
pub(crate) struct Splits {
    /// Next instruction of the running split.
    pub(crate) pc: u32,
    /// Lanes of the running split; empty if none can run.
    pub(crate) active: u32,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// The other splits.
    others: SmallVec<[Split; 4]>,
    /// YIELDs since a lane last came to wait.
    yields: u8,
    /// Convergence barriers: the lanes that take part.
    pub(crate) barriers: [u32; BARRIERS],
    /// Lanes among the active ones that are not the running split's: they stand elsewhere or have
    /// exited, and lend their registers to a quad (BMOV.PQUAD).
    pub(crate) helpers: u32,
}

impl Splits {
    /// No lanes.
    pub(crate) fn new() -> Splits {
        Splits {
            pc: 0,
            active: 0,
            live: 0,
            others: SmallVec::new(),
            yields: 0,
            barriers: [0; BARRIERS],
            helpers: 0,
        }
    }

    /// All of `lanes` at `entry`.
    pub(crate) fn start(&mut self, entry: u32, lanes: u32) {
        self.pc = entry;
        self.active = lanes;
        self.live = lanes;
        self.others.clear();
        self.barriers = [0; BARRIERS];
        self.helpers = 0;
    }

    /// The running split goes on at `pc`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, pc: u32) {
        self.pc = pc;
    }

    /// The lanes in `taken` jump to `target`, the other active ones go on at `next`. A backward jump
    /// gives the other splits a turn.
    #[inline(always)]
    pub(crate) fn branch(&mut self, taken: u32, target: u32, next: u32) {
        let backward = target < next;
        if taken == self.active {
            self.pc = target;
        } else if taken == 0 {
            self.pc = next;
            return;
        } else {
            // The lanes that fall through go on; the others wait for their turn.
            self.others.push(Split {
                pc: target,
                lanes: taken,
                wait: Wait::None,
                yielded: false,
            });
            self.active &= !taken;
            self.pc = next;
            return;
        }
        if backward && !self.others.is_empty() {
            self.rotate(false);
        }
    }

    /// The active lanes each jump to a target of their own.
    pub(crate) fn scatter(&mut self, targets: &[u32; 32], taken: u32, next: u32) {
        let mut remaining = taken;
        let rest = self.active & !taken;
        let mut first = true;
        if rest != 0 {
            self.active = rest;
            self.pc = next;
            first = false;
        }
        while remaining != 0 {
            let target = targets[remaining.trailing_zeros() as usize];
            let mut group = 0;
            for lane in crate::lanes::lanes_of(remaining) {
                if targets[lane] == target {
                    group |= 1 << lane;
                }
            }
            remaining &= !group;
            if first {
                self.active = group;
                self.pc = target;
                first = false;
            } else {
                self.others.push(Split {
                    pc: target,
                    lanes: group,
                    wait: Wait::None,
                    yielded: false,
                });
            }
        }
    }

    /// The active lanes become `lanes`: those that are not the running split's help it, which its own
    /// cannot be left out of. `false`, and nothing happens, if they would be.
    pub(crate) fn activate(&mut self, lanes: u32) -> bool {
        let own = self.active & !self.helpers;
        if own & !lanes != 0 {
            return false;
        }
        self.helpers = lanes & !own;
        self.active = lanes;
        true
    }

    /// The active lanes become the participants of barrier `b`.
    #[inline(always)]
    pub(crate) fn arm(&mut self, b: u8, lanes: u32) {
        self.barriers[b as usize & 15] = lanes;
    }

    /// The active lanes in `lanes` arrive at barrier `b`; all go on at `next` when the last
    /// participant has arrived.
    pub(crate) fn converge(&mut self, b: u8, lanes: u32, next: u32) {
        if lanes != self.active {
            self.split_off(lanes, next);
            if lanes == 0 {
                return;
            }
        }
        let participants = self.barriers[b as usize & 15] & self.live;
        // Lanes that are not participants (let go by a YIELD, or a barrier never armed) pass.
        if self.active & participants == 0 || participants & !self.active == 0 {
            self.pc = next;
            return;
        }
        self.pc = next;
        self.wait(Wait::Convergence(b));
    }

    /// The active lanes in `lanes` wait until all lanes of `mask` that live are at a WARPSYNC; then
    /// they run together.
    pub(crate) fn synchronize(&mut self, mask: u32, lanes: u32, next: u32) {
        if lanes != self.active {
            self.split_off(lanes, next);
            if lanes == 0 {
                return;
            }
        }
        self.pc = next;
        if mask & self.live & !self.active != 0 {
            self.wait(Wait::Lanes(mask));
        }
    }

    /// Only `lanes` go through what follows; the other active lanes become a split at `next`.
    pub(crate) fn split_off(&mut self, lanes: u32, next: u32) {
        let rest = self.active & !lanes;
        if lanes == 0 {
            self.pc = next;
            return;
        }
        if rest != 0 {
            self.others.push(Split {
                pc: next,
                lanes: rest,
                wait: Wait::None,
                yielded: false,
            });
            self.active = lanes;
        }
    }

    /// The running split waits; another one runs if it can.
    pub(crate) fn wait(&mut self, wait: Wait) {
        self.others.push(Split {
            pc: self.pc,
            lanes: self.active,
            wait,
            yielded: false,
        });
        self.active = 0;
        self.yields = 0;
        match wait {
            Wait::Convergence(b) => self.complete(b),
            Wait::Lanes(mask) => self.complete_lanes(mask),
            Wait::None | Wait::Cta(_) => {}
        }
        self.run_next(0);
        self.unlock();
    }

    /// If nothing can run although no lane waits for another warp, lets go the lanes in the
    /// convergence barrier at the lowest address.
    fn unlock(&mut self) {
        while self.active == 0 && !self.others.iter().any(|s| matches!(s.wait, Wait::Cta(_))) {
            let lowest = self
                .others
                .iter()
                .filter_map(|s| match s.wait {
                    Wait::Convergence(b) => Some((s.pc, b)),
                    _ => None,
                })
                .min();
            let Some((pc, b)) = lowest else {
                return;
            };
            let mut lanes = 0;
            for split in self.others.iter_mut().filter(|s| s.pc == pc) {
                if split.wait == Wait::Convergence(b) {
                    split.wait = Wait::None;
                    lanes |= split.lanes;
                }
            }
            self.barriers[b as usize & 15] &= !lanes;
            self.run_next(0);
        }
    }

    /// `lanes` of the running split exit.
    pub(crate) fn exit(&mut self, lanes: u32, next: u32) {
        self.live &= !lanes;
        self.active &= !lanes;
        for barrier in &mut self.barriers {
            *barrier &= !lanes;
        }
        self.pc = next;
        if !self.others.is_empty() {
            for b in 0..BARRIERS as u8 {
                self.complete(b);
            }
            let masks: SmallVec<[u32; 4]> = self
                .others
                .iter()
                .filter_map(|s| match s.wait {
                    Wait::Lanes(mask) => Some(mask),
                    _ => None,
                })
                .collect();
            for mask in masks {
                self.complete_lanes(mask);
            }
            if self.active == 0 {
                self.run_next(next);
                self.unlock();
            }
        }
    }

    /// `lanes` leave barrier `b`.
    pub(crate) fn leave(&mut self, b: u8, lanes: u32) {
        self.barriers[b as usize & 15] &= !lanes;
        if !self.others.is_empty() {
            self.complete(b);
        }
    }

    /// YIELD: other splits get a turn; waiting lanes that only wait for yielded ones are let go.
    pub(crate) fn yield_turn(&mut self, next: u32) {
        self.pc = next;
        if self.others.is_empty() {
            return;
        }
        self.yields += 1;
        if self.yields >= PATIENCE {
            self.yields = 0;
            self.let_go();
        }
        self.rotate(true);
    }

    /// Lanes that wait in a convergence barrier all of whose missing participants have yielded (or
    /// are yielding now) leave the barrier; if there are none, all that wait in one.
    fn let_go(&mut self) {
        let mut yielded = self.active;
        for split in &self.others {
            if split.yielded && split.wait == Wait::None {
                yielded |= split.lanes;
            }
        }
        let mut any = false;
        for b in 0..BARRIERS as u8 {
            let wait = Wait::Convergence(b);
            let participants = self.barriers[b as usize] & self.live;
            let waiting = self.waiting_at(wait);
            if waiting & participants != 0 && participants & !waiting & !yielded == 0 {
                self.barriers[b as usize] &= !waiting;
                self.release(wait, waiting);
                any = true;
            }
        }
        if !any {
            for b in 0..BARRIERS as u8 {
                let wait = Wait::Convergence(b);
                let waiting = self.waiting_at(wait);
                self.barriers[b as usize] &= !waiting;
                self.release(wait, waiting);
            }
        }
    }

    fn waiting_at(&self, wait: Wait) -> u32 {
        self.others
            .iter()
            .filter(|s| s.wait == wait)
            .fold(0, |lanes, s| lanes | s.lanes)
    }

    /// Lets those of `lanes` that wait for `wait` run, those at one place together.
    fn release(&mut self, wait: Wait, lanes: u32) {
        if lanes == 0 {
            return;
        }
        let mut released: SmallVec<[Split; 4]> = SmallVec::new();
        self.others.retain(|split| {
            let part = split.lanes & lanes;
            if split.wait != wait || part == 0 {
                return true;
            }
            match released.iter_mut().find(|r| r.pc == split.pc) {
                Some(r) => r.lanes |= part,
                None => released.push(Split {
                    pc: split.pc,
                    lanes: part,
                    wait: Wait::None,
                    yielded: false,
                }),
            }
            split.lanes &= !part;
            split.lanes != 0
        });
        self.others.extend(released);
    }

    /// Lets the participants of convergence barrier `b` go if none is missing.
    fn complete(&mut self, b: u8) {
        let wait = Wait::Convergence(b);
        let participants = self.barriers[b as usize & 15] & self.live;
        if participants != 0 && participants & !self.waiting_at(wait) == 0 {
            self.release(wait, participants);
        }
    }

    /// Lets the lanes at WARPSYNCs of `mask` go if none is missing.
    fn complete_lanes(&mut self, mask: u32) {
        let wait = Wait::Lanes(mask);
        let waiting = self.waiting_at(wait);
        if mask & self.live & !waiting == 0 {
            self.release(wait, waiting);
        }
    }

    /// The next split that can run takes over: the first at or behind `pc`, in a circle.
    fn run_next(&mut self, pc: u32) {
        let mut best: Option<(bool, u32, usize)> = None;
        for (index, split) in self.others.iter().enumerate() {
            if split.wait == Wait::None {
                let key = (split.pc < pc, split.pc, index);
                if best.is_none_or(|b| key < b) {
                    best = Some(key);
                }
            }
        }
        if let Some((_, _, index)) = best {
            let split = self.others.swap_remove(index);
            self.pc = split.pc;
            self.active = split.lanes;
            // Splits that stand at the same place go on together.
            let (pc, mut active) = (self.pc, self.active);
            self.others.retain(|other| {
                let same = other.wait == Wait::None && other.pc == pc;
                if same {
                    active |= other.lanes;
                }
                !same
            });
            self.active = active;
        }
    }

    /// The running split gives its turn to the next one that can run.
    fn rotate(&mut self, yielded: bool) {
        if !self.others.iter().any(|s| s.wait == Wait::None) {
            return;
        }
        let (pc, lanes) = (self.pc, self.active);
        self.active = 0;
        self.run_next(pc.wrapping_add(1));
        if self.pc == pc {
            self.active |= lanes;
        } else {
            self.others.push(Split {
                pc,
                lanes,
                wait: Wait::None,
                yielded,
            });
        }
    }

    /// All splits that wait at CTA barrier `b` may run.
    pub(crate) fn release_cta(&mut self, b: u8) {
        self.release(Wait::Cta(b), u32::MAX);
        if self.active == 0 {
            self.run_next(0);
        }
    }

    /// Whether all lanes wait at one CTA barrier and stand at the same place.
    pub(crate) fn wait_together(&self) -> bool {
        let Some(first) = self.others.first() else {
            return false;
        };
        let same = |split: &Split| split.wait == first.wait && split.pc == first.pc;
        self.active == 0 && matches!(first.wait, Wait::Cta(_)) && self.others.iter().all(same)
    }

    /// The lanes run that [`Splits::wait_together`] at `pc`: what they wait for, to be given to
    /// [`Splits::wait_again`].
    pub(crate) fn slip(&mut self, pc: u32) -> Option<Wait> {
        let first = *self.others.first()?;
        if first.pc != pc || !self.wait_together() {
            return None;
        }
        self.pc = pc;
        self.active = self
            .others
            .iter()
            .fold(0, |lanes, split| lanes | split.lanes);
        self.others.clear();
        Some(first.wait)
    }

    /// The running lanes wait as before they slipped past their barrier.
    pub(crate) fn wait_again(&mut self, wait: Wait) {
        self.others.push(Split {
            pc: self.pc,
            lanes: self.active,
            wait,
            yielded: false,
        });
        self.active = 0;
    }

    /// Lanes that wait at CTA barrier `b`.
    pub(crate) fn at_cta_barrier(&self, b: u8) -> u32 {
        self.waiting_at(Wait::Cta(b))
    }

    /// What the waiting splits wait for, for the hang report; `None` if a split can run.
    pub(crate) fn describe(&self) -> Option<String> {
        if self.active != 0 || self.live == 0 {
            return None;
        }
        let parts: Vec<String> = self
            .others
            .iter()
            .map(|split| {
                let at = format!("lanes {:#010x} before pc {:#x}", split.lanes, split.pc * 16);
                match split.wait {
                    Wait::None => format!("{at} can run"),
                    Wait::Convergence(b) => format!(
                        "{at} wait in convergence barrier B{b} for lanes {:#010x}",
                        self.barriers[b as usize & 15]
                            & self.live
                            & !self.waiting_at(Wait::Convergence(b))
                    ),
                    Wait::Lanes(mask) => format!(
                        "{at} wait in WARPSYNC for lanes {:#010x}",
                        mask & self.live & !self.waiting_at(Wait::Lanes(mask))
                    ),
                    Wait::Cta(b) => format!("{at} wait at CTA barrier {b}"),
                }
            })
            .collect();
        Some(parts.join("; "))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn started() -> Splits {
        let mut splits = Splits::new();
        splits.start(0, u32::MAX);
        splits
    }

    #[test]
    fn if_else_converges() {
        let mut s = started();
        s.arm(0, s.active);
        s.advance(1);
        s.branch(0xffff, 10, 2);
        assert_eq!((s.pc, s.active), (2, 0xffff_0000));
        s.converge(0, s.active, 20);
        assert_eq!((s.pc, s.active), (10, 0xffff));
        s.converge(0, s.active, 20);
        assert_eq!((s.pc, s.active), (20, u32::MAX));
        assert!(s.others.is_empty());
    }

    #[test]
    fn exit_of_the_missing_lanes_releases_the_barrier() {
        let mut s = started();
        s.arm(3, s.active);
        s.branch(1, 10, 2);
        s.converge(3, s.active, 20);
        assert_eq!((s.pc, s.active), (10, 1));
        s.exit(1, 11);
        assert_eq!((s.pc, s.active, s.live), (20, !1, !1));
    }

    #[test]
    fn a_yield_lets_go_who_waits_for_the_yielder() {
        let mut s = started();
        s.arm(0, s.active);
        s.branch(!1, 5, 2); // lane 0 leaves the loop
        s.converge(0, 1, 20);
        for _ in 1..PATIENCE {
            assert_eq!((s.pc, s.active), (5, !1));
            s.yield_turn(5);
        }
        s.yield_turn(5);
        assert_eq!((s.pc, s.active), (20, 1));
    }

    #[test]
    fn warpsync_is_not_released_by_a_yield() {
        let mut s = started();
        s.branch(!1, 30, 2);
        assert_eq!((s.pc, s.active), (2, 1));
        s.yield_turn(3);
        assert_eq!((s.pc, s.active), (30, !1));
        s.synchronize(u32::MAX, !1, 31);
        assert_eq!((s.pc, s.active), (3, 1));
        s.yield_turn(4);
        assert_eq!((s.pc, s.active), (4, 1));
        s.synchronize(u32::MAX, 1, 31);
        assert_eq!((s.pc, s.active), (31, u32::MAX));
    }

    #[test]
    fn a_function_may_use_a_barrier_in_which_its_callers_wait() {
        let mut s = started();
        s.arm(6, u32::MAX);
        s.branch(!0xf, 5, 2); // lanes 0 to 3 wait at the end of the outer scope
        s.converge(6, 0xf, 20);
        assert_eq!((s.pc, s.active), (5, !0xf));
        // The others save the barrier and use it for a scope of their own.
        let saved = s.barriers[6];
        s.arm(6, 0);
        s.advance(30);
        s.arm(6, s.active);
        s.branch(0xff00, 40, 31);
        s.converge(6, s.active, 50);
        assert_eq!((s.pc, s.active), (40, 0xff00));
        s.converge(6, s.active, 50);
        assert_eq!((s.pc, s.active), (50, !0xf));
        s.arm(6, saved);
        s.converge(6, s.active, 20);
        assert_eq!((s.pc, s.active), (20, u32::MAX));
    }

    #[test]
    fn lanes_that_wait_for_each_other_are_unlocked() {
        let mut s = started();
        s.arm(0, u32::MAX);
        s.branch(!1, 10, 2);
        s.converge(0, 1, 20); // lane 0 waits for all
        assert_eq!(s.active, !1);
        s.advance(11);
        s.wait(Wait::Lanes(u32::MAX)); // who wait for lane 0
        assert_eq!((s.pc, s.active), (20, 1));
        s.synchronize(u32::MAX, 1, 11);
        assert_eq!((s.pc, s.active), (11, u32::MAX));
        assert!(s.describe().is_none());
    }

    #[test]
    fn a_warpsync_without_its_lanes_is_told() {
        let mut s = started();
        s.branch(!1, 10, 2);
        s.wait(Wait::Lanes(3));
        assert_eq!(s.active, !1);
        s.wait(Wait::Lanes(0xf1));
        let text = s.describe().unwrap();
        assert!(text.contains("WARPSYNC for lanes 0x00000001"), "{text}");
    }

    #[test]
    fn backward_branches_take_turns() {
        let mut s = started();
        s.branch(1, 10, 2);
        assert_eq!(s.active, !1);
        s.branch(!1, 1, 3); // spin
        assert_eq!((s.pc, s.active), (10, 1));
    }
}
