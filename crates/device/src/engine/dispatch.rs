//! Which CTA goes to which SM, and when (DESIGN.md W2). At first CTAs are dealt out breadth-first over
//! the SMs; afterwards an SM that frees a slot stops there, and the next CTA goes to the one that
//! stopped first: grants happen in (cycle, SM) order, at most so many per SM and cycle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use source::{Cycle, SmId};

/// A CTA given to an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The SM.
    pub sm: SmId,
    /// Linear index of the CTA in the grid.
    pub cta: u64,
    /// The cycle of the grant.
    pub at: Cycle,
}

/// Hands out the CTAs of one grid.
#[derive(Debug)]
pub struct Dispatcher {
    next: u64,
    ctas: u64,
    per_cycle: u32,
    /// Cycle of an SM's latest grant, and how many it got in it.
    latest: Vec<(Cycle, u32)>,
    /// SMs with a free slot, by the first cycle in which they can be granted a CTA.
    stopped: BinaryHeap<Reverse<(Cycle, SmId)>>,
    waiting: Vec<bool>,
}

impl Dispatcher {
    /// A dispatcher of `ctas` CTAs over `sms` SMs, each of which can be granted `per_cycle` CTAs in a
    /// cycle.
    pub fn new(ctas: u64, sms: usize, per_cycle: u32) -> Dispatcher {
        Dispatcher {
            next: 0,
            ctas,
            per_cycle: per_cycle.max(1),
            latest: vec![(Cycle(0), 0); sms],
            stopped: BinaryHeap::with_capacity(sms),
            waiting: vec![false; sms],
        }
    }

    /// Whether CTAs are left to hand out.
    pub fn ctas_wait(&self) -> bool {
        self.next < self.ctas
    }

    /// CTAs handed out so far.
    pub fn granted(&self) -> u64 {
        self.next
    }

    /// The first grants: CTA i to SM i mod n, round by round, while SMs have room for `per_sm` CTAs.
    pub fn initial(&mut self, per_sm: u32) -> Vec<Grant> {
        let sms = self.latest.len();
        let mut grants = Vec::new();
        for round in 0..per_sm {
            for sm in 0..sms {
                if !self.ctas_wait() {
                    return grants;
                }
                let at = Cycle(u64::from(round / self.per_cycle));
                grants.push(self.give(SmId(sm as u16), at));
            }
        }
        grants
    }

    /// SM `sm` has had a free slot since cycle `since`.
    pub fn stop(&mut self, sm: SmId, since: Cycle) {
        let place = usize::from(sm.0);
        if self.waiting[place] {
            return;
        }
        self.waiting[place] = true;
        let (latest, count) = self.latest[place];
        let first = if latest < since {
            since
        } else if count < self.per_cycle {
            latest
        } else {
            latest + 1
        };
        self.stopped.push(Reverse((first, sm)));
    }

    /// Whether `sm` stands at a free slot that it will get a CTA for.
    pub fn is_stopped(&self, sm: SmId) -> bool {
        self.ctas_wait() && self.waiting[usize::from(sm.0)]
    }

    /// The first cycle in which a grant can happen.
    pub fn next_grant(&self) -> Cycle {
        match self.stopped.peek() {
            Some(Reverse((cycle, _))) if self.ctas_wait() => *cycle,
            _ => Cycle::NEVER,
        }
    }

    /// The next grant before cycle `end`, if there is one.
    pub fn grant_before(&mut self, end: Cycle) -> Option<Grant> {
        if self.next_grant() >= end {
            return None;
        }
        let Reverse((at, sm)) = self.stopped.pop()?;
        self.waiting[usize::from(sm.0)] = false;
        Some(self.give(sm, at))
    }

    fn give(&mut self, sm: SmId, at: Cycle) -> Grant {
        let cta = self.next;
        self.next += 1;
        let latest = &mut self.latest[usize::from(sm.0)];
        *latest = if latest.0 == at {
            (at, latest.1 + 1)
        } else {
            (at, 1)
        };
        Grant { sm, cta, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_ctas_go_breadth_first_one_per_sm_and_cycle() {
        let mut dispatcher = Dispatcher::new(5, 3, 1);
        let grants: Vec<_> = dispatcher
            .initial(2)
            .iter()
            .map(|g| (g.cta, g.sm.0, g.at.0))
            .collect();
        assert_eq!(
            grants,
            [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 0, 1), (4, 1, 1)]
        );
        assert!(!dispatcher.ctas_wait());
    }

    #[test]
    fn grants_follow_cycle_then_sm() {
        let mut dispatcher = Dispatcher::new(100, 4, 1);
        dispatcher.initial(1);
        dispatcher.stop(SmId(3), Cycle(10));
        dispatcher.stop(SmId(1), Cycle(12));
        dispatcher.stop(SmId(0), Cycle(12));
        let mut order = Vec::new();
        while let Some(grant) = dispatcher.grant_before(Cycle(20)) {
            order.push((grant.cta, grant.sm.0, grant.at.0));
            // SM 3 frees another slot in the cycle of its first grant: it waits for the next cycle.
            if order.len() == 1 {
                dispatcher.stop(SmId(3), Cycle(10));
            }
        }
        assert_eq!(order, [(4, 3, 10), (5, 3, 11), (6, 0, 12), (7, 1, 12)]);
    }

    #[test]
    fn a_grant_waits_for_its_window() {
        let mut dispatcher = Dispatcher::new(100, 1, 1);
        dispatcher.initial(1);
        dispatcher.stop(SmId(0), Cycle(19));
        assert!(dispatcher.grant_before(Cycle(20)).is_some());
        dispatcher.stop(SmId(0), Cycle(19));
        assert_eq!(dispatcher.next_grant(), Cycle(20));
        assert!(dispatcher.grant_before(Cycle(20)).is_none());
        assert!(dispatcher.is_stopped(SmId(0)));
        assert!(dispatcher.grant_before(Cycle(21)).is_some());
    }
}
