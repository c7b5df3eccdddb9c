//! LDGSTS groups of a warp (MODEL.md §7.7): LDGDEPBAR commits the copies issued since the last one; its
//! counter falls when they and all earlier groups are complete.

use std::collections::VecDeque;

/// Copies that are committed together.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    under_way: u32,
    /// Counter that falls when the group is complete, once committed, and the first cycle in which it
    /// can (it must have risen before).
    counter: Option<(u8, u64)>,
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
            .is_none_or(|group| group.counter.is_some())
        {
            self.groups.push_back(Group::default());
        }
        if let Some(group) = self.groups.back_mut() {
            group.under_way += 1;
        }
        self.base + self.groups.len() as u32 - 1
    }

    /// LDGDEPBAR: closes the open group, whose counter falls in cycle `from` at the earliest. True if
    /// nothing is under way, so that the counter has nothing to wait for.
    pub fn commit(&mut self, counter: u8, from: u64) -> bool {
        if self
            .groups
            .back()
            .is_none_or(|group| group.counter.is_some())
        {
            if self.groups.is_empty() {
                return true;
            }
            self.groups.push_back(Group::default());
        }
        if let Some(group) = self.groups.back_mut() {
            group.counter = Some((counter, from));
        }
        if self.groups.iter().all(|group| group.under_way == 0) && self.groups.len() == 1 {
            self.groups.clear();
            self.base += 1;
            return true;
        }
        false
    }

    /// A copy of `group` is complete: calls `falls` with each counter that falls and the first cycle
    /// in which it can.
    pub fn done(&mut self, group: u32, mut falls: impl FnMut(u8, u64)) {
        if let Some(entry) = self
            .groups
            .get_mut((group.wrapping_sub(self.base)) as usize)
        {
            entry.under_way -= 1;
        }
        while let Some(Group {
            under_way: 0,
            counter: Some((counter, from)),
        }) = self.groups.front().copied()
        {
            falls(counter, from);
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
        assert!(!groups.commit(0, 0));
        let second = groups.start();
        assert!(!groups.commit(0, 0));
        let mut fallen = 0;
        groups.done(second, |_, _| fallen += 1);
        assert_eq!(fallen, 0, "the older group is still under way");
        groups.done(first, |_, _| fallen += 1);
        assert_eq!(fallen, 2);
    }

    /// REGRESSIONS C3: LDGDEPBAR without LDGSTS before it.
    #[test]
    fn an_empty_group_is_complete_at_once() {
        let mut groups = CopyGroups::default();
        assert!(groups.commit(0, 0));
        let copy = groups.start();
        assert!(!groups.commit(0, 0));
        let mut fallen = 0;
        groups.done(copy, |_, _| fallen += 1);
        assert_eq!(fallen, 1);
    }
}
