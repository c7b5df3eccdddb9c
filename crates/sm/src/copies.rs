//! LDGSTS groups of a warp (MODEL.md §7.7): LDGDEPBAR commits the copies issued since the last one; its
//! counter falls when they and all earlier groups are complete. ARRIVES closes a group in the same way,
//! and its arrival takes effect then.

use std::collections::VecDeque;

/// What happens when a group is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// A counter falls, in this cycle at the earliest (it must have risen before).
    Counter(u8, u64),
    /// The warp's oldest ARRIVES takes effect.
    Arrival,
}

/// Copies that are waited for together.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    under_way: u32,
    /// Once it is closed.
    closed: Option<Closed>,
}

/// Groups of one warp, oldest first; the last one is open.
#[derive(Debug, Default)]
pub struct CopyGroups {
    base: u32,
    groups: VecDeque<Group>,
}

impl CopyGroups {
    /// A copy is issued; returns its group.
    pub fn start(&mut self) -> u32 {
        if self
            .groups
            .back()
            .is_none_or(|group| group.closed.is_some())
        {
            self.groups.push_back(Group::default());
        }
        if let Some(group) = self.groups.back_mut() {
            group.under_way += 1;
        }
        self.base + self.groups.len() as u32 - 1
    }

    /// LDGDEPBAR or ARRIVES: closes the open group. True if nothing is under way, so that there is
    /// nothing to wait for; `closed` then is the caller's business.
    pub fn close(&mut self, closed: Closed) -> bool {
        if self
            .groups
            .back()
            .is_none_or(|group| group.closed.is_some())
        {
            if self.groups.is_empty() {
                return true;
            }
            self.groups.push_back(Group::default());
        }
        if let Some(group) = self.groups.back_mut() {
            group.closed = Some(closed);
        }
        if self.groups.iter().all(|group| group.under_way == 0) && self.groups.len() == 1 {
            self.groups.clear();
            self.base += 1;
            return true;
        }
        false
    }

    /// A copy of `group` is complete: calls `complete` for each group that is so with it, oldest first.
    pub fn done(&mut self, group: u32, mut complete: impl FnMut(Closed)) {
        if let Some(entry) = self
            .groups
            .get_mut((group.wrapping_sub(self.base)) as usize)
        {
            entry.under_way -= 1;
        }
        while let Some(Group {
            under_way: 0,
            closed: Some(closed),
        }) = self.groups.front().copied()
        {
            complete(closed);
            self.groups.pop_front();
            self.base += 1;
        }
    }

    /// A new warp.
    pub fn clear(&mut self) {
        self.groups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_complete_in_order() {
        let mut groups = CopyGroups::default();
        let first = groups.start();
        assert!(!groups.close(Closed::Counter(0, 0)));
        let second = groups.start();
        assert!(!groups.close(Closed::Counter(1, 5)));
        let mut fallen = Vec::new();
        groups.done(second, |closed| fallen.push(closed));
        assert_eq!(fallen, [], "the older group is still under way");
        groups.done(first, |closed| fallen.push(closed));
        assert_eq!(fallen, [Closed::Counter(0, 0), Closed::Counter(1, 5)]);
    }

    /// An arrival waits for all copies before it, whether committed or not, and for none behind it; a
    /// commit behind it covers those before it too.
    #[test]
    fn an_arrival_waits_for_the_copies_before_it() {
        let mut groups = CopyGroups::default();
        let first = groups.start();
        let second = groups.start();
        assert!(!groups.close(Closed::Arrival));
        let third = groups.start();
        assert!(!groups.close(Closed::Counter(2, 0)));
        let mut complete = Vec::new();
        groups.done(second, |closed| complete.push(closed));
        groups.done(third, |closed| complete.push(closed));
        assert_eq!(complete, []);
        groups.done(first, |closed| complete.push(closed));
        assert_eq!(complete, [Closed::Arrival, Closed::Counter(2, 0)]);
        assert!(groups.close(Closed::Arrival), "nothing is under way");
    }

    /// REGRESSIONS C3: LDGDEPBAR without LDGSTS before it.
    #[test]
    fn an_empty_group_is_complete_at_once() {
        let mut groups = CopyGroups::default();
        assert!(groups.close(Closed::Counter(0, 0)));
        let copy = groups.start();
        assert!(!groups.close(Closed::Counter(0, 0)));
        let mut fallen = 0;
        groups.done(copy, |_| fallen += 1);
        assert_eq!(fallen, 1);
    }
}
