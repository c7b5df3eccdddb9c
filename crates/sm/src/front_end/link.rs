//! The L0-L1 link at work: whose request goes next, and where a line that arrives goes.

use super::level1::{MEMORY_UNIT, Purpose};
use crate::sm::{SUB_CORES, Sm};
use crate::sub_core::SLOTS;

impl Sm {
    /// Line size of the cache that asks.
    pub(crate) fn asked_bytes(&self, client: u8, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Constant if client == MEMORY_UNIT => self.unit.constants.line_bytes(),
            Purpose::Constant => self.sub_cores[client as usize].constants.line_bytes(),
            _ => self.parameters.l0_instruction_cache.line_bytes,
        }
    }

    /// One request onto the link to the shared instruction and constant cache: the clients in rotation,
    /// demands before constants before prefetches.
    #[inline(never)]
    pub(crate) fn serve_link(&mut self) {
        let now = self.now;
        self.level1.armed = false;
        if self.level1.is_stalled() {
            // Armed again when there is room.
            return;
        }
        for step in 1..=SUB_CORES as u8 + 1 {
            let client = (self.level1.last_served + step) % (SUB_CORES as u8 + 1);
            let request = if client == MEMORY_UNIT {
                self.unit
                    .constants
                    .take_demand()
                    .map(|line| (line, Purpose::Constant))
            } else {
                let sub = &mut self.sub_cores[client as usize];
                sub.level0
                    .take_demand()
                    .map(|line| (line, Purpose::Demand))
                    .or_else(|| {
                        sub.constants
                            .take_demand()
                            .map(|line| (line, Purpose::Constant))
                    })
                    .or_else(|| {
                        sub.level0
                            .take_prefetch()
                            .map(|line| (line, Purpose::Prefetch))
                    })
            };
            if let Some((line, purpose)) = request {
                self.level1.last_served = client;
                self.level1
                    .send(&mut self.wheel, line, client, purpose, now);
                break;
            }
        }
        let wanted = self.unit.constants.wants_link()
            || self
                .sub_cores
                .iter()
                .any(|sub| sub.level0.wants_link() || sub.constants.wants_link());
        if wanted {
            self.level1.arm(&mut self.wheel, now);
        }
    }

    #[inline(never)]
    pub(crate) fn line_arrives(&mut self, line: u32, client: u8, purpose: Purpose) {
        let now = self.now;
        if client == MEMORY_UNIT {
            self.constant_line_arrives(line);
            return;
        }
        let sub = &mut self.sub_cores[client as usize];
        match purpose {
            Purpose::Constant => {
                sub.constants.arrive(line, now);
                for slot in 0..SLOTS {
                    if sub.constant_wait >> slot & 1 == 1 && sub.constant_line[slot] == line {
                        sub.constant_wait &= !(1 << slot);
                    }
                }
            }
            Purpose::Demand => {
                sub.level0.arrive_demand(line, now);
                let fetch = &mut sub.fetch;
                sub.level0
                    .answer(line, |slot, pc, epoch| fetch.answer(slot, pc, epoch));
            }
            Purpose::Prefetch => {
                if sub.level0.arrive_prefetch(line, now) {
                    let fetch = &mut sub.fetch;
                    sub.level0
                        .answer(line, |slot, pc, epoch| fetch.answer(slot, pc, epoch));
                }
                if sub.level0.wants_link() {
                    self.level1.arm(&mut self.wheel, now);
                }
            }
        }
        self.wake(client as usize);
    }
}
