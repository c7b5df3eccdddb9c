//! What becomes visible at a multiple of the visibility quantum (DESIGN.md V4): first the plain stores
//! of the past quantum, then the deferred operations that have reached their slice in time.

use std::collections::VecDeque;

use source::{Cycle, Performed, Source};

/// Deferred operations between their arrival at the slice and the boundary at which they take effect.
#[derive(Debug, Default)]
pub struct Pending {
    performed: VecDeque<Performed>,
}

impl Pending {
    /// Appends what the memory side performed, in its order.
    pub fn extend(&mut self, performed: impl IntoIterator<Item = Performed>) {
        self.performed.extend(performed);
    }

    /// Performs the operations that arrived before `arrival`. The stores of the past quantum have been
    /// published.
    pub fn perform<S: Source>(
        &mut self,
        sources: &mut [S],
        shared: &mut S::Shared,
        arrival: Cycle,
    ) {
        while let Some(next) = self
            .performed
            .front()
            .copied()
            .filter(|next| next.cycle < arrival)
        {
            self.performed.pop_front();
            if let Some(source) = sources.get_mut(usize::from(next.sm.0)) {
                source.perform(shared, next);
            }
        }
    }
}
