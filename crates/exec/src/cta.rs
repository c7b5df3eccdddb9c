//! A CTA: its shared memory, its warps and its sixteen barriers.
//!
//! A warp has arrived at a barrier when all its lanes that have not exited have; until then its lanes
//! are collected. A barrier without a count is for all warps of the CTA, and warps that have ended
//! count as arrived.

use crate::family::barrier::Reduction;
use crate::memory::shared::SharedMemory;

/// Barriers of a CTA.
pub(crate) const BARRIERS: usize = 16;

/// Warps of the largest CTA.
pub(crate) const MAX_WARPS: usize = 32;

/// One barrier.
#[derive(Clone, Debug)]
struct Barrier {
    /// Warps that have arrived completely, each time counted.
    arrivals: u32,
    /// The same as a set.
    full: u32,
    /// Warps that arrive in parts, with the lanes so far.
    partial: u32,
    lanes: [u32; MAX_WARPS],
    /// Warps to arrive; 0 = all of the CTA.
    expected: u32,
    /// What the predicates so far reduce to.
    reduction: Reduction,
    and: bool,
    or: bool,
    count: u32,
}

impl Barrier {
    const EMPTY: Barrier = Barrier {
        arrivals: 0,
        full: 0,
        partial: 0,
        lanes: [0; MAX_WARPS],
        expected: 0,
        reduction: Reduction::Count,
        and: true,
        or: false,
        count: 0,
    };

    fn is_idle(&self) -> bool {
        self.arrivals == 0 && self.partial == 0
    }
}

/// One CTA.
#[derive(Clone, Debug)]
pub(crate) struct Cta {
    pub(crate) shared: SharedMemory,
    /// Linear number in the grid.
    pub(crate) number: u64,
    /// Warps in all.
    pub(crate) warps: u32,
    /// Where its warps live.
    pub(crate) places: [u32; MAX_WARPS],
    /// Warps that have ended.
    pub(crate) ended: u32,
    pub(crate) live: bool,
    /// Counts the CTAs that lived in this slot.
    pub(crate) generation: u32,
    barriers: Vec<Barrier>,
}

impl Cta {
    /// An empty slot.
    pub(crate) fn empty() -> Cta {
        Cta {
            shared: SharedMemory::default(),
            number: 0,
            warps: 0,
            places: [0; MAX_WARPS],
            ended: 0,
            live: false,
            generation: 0,
            barriers: vec![Barrier::EMPTY; BARRIERS],
        }
    }

    /// Starts a CTA here.
    pub(crate) fn start(&mut self, number: u64, warps: u32, shared_bytes: u32) {
        self.number = number;
        self.warps = warps;
        self.ended = 0;
        self.live = true;
        self.generation = self.generation.wrapping_add(1);
        self.shared.reset(shared_bytes as usize);
        for barrier in &mut self.barriers {
            if !barrier.is_idle() {
                *barrier = Barrier::EMPTY;
            }
        }
    }

    /// Lanes of warp `index` arrive at barrier `number`. `expected` is the number of warps (0 = all),
    /// `live` the warp's lanes that have not exited; the lanes of `set` are reduced.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn arrive(
        &mut self,
        number: u8,
        index: u32,
        lanes: u32,
        live: u32,
        expected: u32,
        reduction: Option<Reduction>,
        set: u32,
    ) {
        let barrier = &mut self.barriers[number as usize % BARRIERS];
        barrier.expected = expected;
        if let Some(reduction) = reduction {
            barrier.reduction = reduction;
        }
        barrier.and &= lanes & !set == 0;
        barrier.or |= lanes & set != 0;
        barrier.count += (lanes & set).count_ones();
        let so_far = &mut barrier.lanes[index as usize % MAX_WARPS];
        *so_far |= lanes;
        if live & !*so_far == 0 {
            *so_far = 0;
            barrier.partial &= !(1 << index);
            barrier.full |= 1 << index;
            barrier.arrivals += 1;
        } else {
            barrier.partial |= 1 << index;
        }
    }

    /// Lanes of warp `index` have exited: what it has begun to arrive at may be complete now.
    pub(crate) fn exited(&mut self, index: u32, live: u32) {
        if live == 0 {
            self.ended |= 1 << index;
        }
        for barrier in &mut self.barriers {
            if barrier.partial >> index & 1 == 1 {
                let lanes = &mut barrier.lanes[index as usize % MAX_WARPS];
                if live & !*lanes == 0 {
                    *lanes = 0;
                    barrier.partial &= !(1 << index);
                    barrier.full |= 1 << index;
                    barrier.arrivals += 1;
                }
            }
        }
    }

    /// Resets barrier `number` and returns what it reduced to, if all have arrived.
    pub(crate) fn complete(&mut self, number: u8) -> Option<u32> {
        let all = if self.warps >= 32 {
            u32::MAX
        } else {
            (1 << self.warps) - 1
        };
        let barrier = &mut self.barriers[number as usize % BARRIERS];
        if barrier.is_idle() {
            return None;
        }
        let complete = if barrier.expected == 0 {
            (barrier.full | self.ended) & all == all
        } else {
            barrier.arrivals >= barrier.expected
        };
        if !complete {
            return None;
        }
        let reduced = match barrier.reduction {
            Reduction::And => barrier.and as u32,
            Reduction::Or => barrier.or as u32,
            Reduction::Count => barrier.count,
        };
        *barrier = Barrier::EMPTY;
        Some(reduced)
    }

    /// Barriers at which someone has arrived, with arrived and expected warps, for the hang report.
    pub(crate) fn describe_barrier(&self, number: u8) -> String {
        let barrier = &self.barriers[number as usize % BARRIERS];
        let expected = if barrier.expected == 0 {
            self.warps
        } else {
            barrier.expected
        };
        let all = if self.warps >= 32 {
            u32::MAX
        } else {
            (1 << self.warps) - 1
        };
        let missing = all & !barrier.full & !self.ended;
        let names: Vec<String> = crate::lanes::lanes_of(missing)
            .map(|w| w.to_string())
            .collect();
        format!(
            "barrier {number} has {} of {expected} warps; missing warps of the block: {}",
            barrier.arrivals,
            names.join(", ")
        )
    }
}
