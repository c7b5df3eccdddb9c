//! What is under way in an SM, counted from its tables: all zero once every CTA has ended and every packet
//! is answered. For tests and for the end of a launch; costs a walk over the tables.

use crate::sm::Sm;

/// Things under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnderWay {
    /// Memory instructions.
    pub records: usize,
    /// Packets without an answer.
    pub packets: usize,
    /// Entries of the calendar.
    pub events: usize,
    /// Instructions in Control, Allocate, the memory stages and the FP64 queues.
    pub latched: usize,
    /// Entries of the hazard check that are not over.
    pub hazards: usize,
    /// LDGSTS whose bytes the hazard check still watches.
    pub copies: usize,
    /// Stores and deferred operations that fences would wait for.
    pub unacknowledged: usize,
    /// Deferred operations with pending registers.
    pub deferred: usize,
    /// Records and fetches that wait for room or for a line.
    pub waiting: usize,
}

impl Sm {
    /// What is under way.
    pub fn under_way(&self) -> UnderWay {
        let stages = self.unit.stages.iter().map(|stages| stages.len());
        let latched = |sub: &crate::sub_core::SubCore| {
            sub.control.iter().len()
                + sub.throttled.iter().len()
                + sub.allocate.iter().len()
                + sub.float64_queued as usize
        };
        UnderWay {
            records: self.unit.records.in_use(),
            packets: self.port.in_flight() as usize,
            events: self.wheel.pending(),
            latched: stages.chain(self.sub_cores.iter().map(latched)).sum(),
            hazards: self.hazards.under_way() + self.hazards.lost(),
            copies: self.copy_check.len(),
            unacknowledged: self.orders.len(),
            deferred: self.deferred_under_way.len(),
            waiting: self.unit.retry.len()
                + self.unit.constant_waiters.len()
                + self.unit.pending as usize,
        }
    }
}
