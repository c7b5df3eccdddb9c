//! The next-line prefetcher in front of each L0 instruction cache (MODEL.md §4.1).

use std::collections::VecDeque;

hardware::parameters! {
    /// The stream buffer in front of each L0 instruction cache.
    pub struct StreamBufferParameters = "stream_buffer" {
        /// Lines it prefetches ahead; 0 switches it off.
        depth: u32, "lines", 0..=64;
    }
}

#[derive(Clone, Copy)]
struct Entry {
    line: u32,
    arrived: bool,
}

/// One stream of consecutive lines. Prefetched lines enter the L0 cache only on demand.
pub struct StreamBuffer {
    depth: usize,
    entries: VecDeque<Entry>,
    next_line: u32,
    active: bool,
    /// A demand waits for the head entry.
    head_claimed: bool,
}

/// What a demand miss found in the stream buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// The line is not the head: it has to be asked for.
    Elsewhere,
    /// The line is the head and will move to L0 when it arrives.
    Coming,
    /// The line is the head and is here.
    Here,
}

impl StreamBuffer {
    /// An idle buffer.
    pub fn new(depth: u32) -> StreamBuffer {
        StreamBuffer {
            depth: depth as usize,
            entries: VecDeque::with_capacity(depth as usize),
            next_line: 0,
            active: false,
            head_claimed: false,
        }
    }

    /// A demand for `line` missed L0. Claims the head or restarts the stream behind the missed line.
    pub fn demand(&mut self, line: u32) -> Demand {
        if self.depth == 0 {
            return Demand::Elsewhere;
        }
        if let Some(head) = self.entries.front() {
            if head.line == line {
                self.head_claimed = true;
                return if head.arrived {
                    Demand::Here
                } else {
                    Demand::Coming
                };
            }
            if head.line == line + 1 || self.head_claimed {
                return Demand::Elsewhere;
            }
        }
        if !(self.active && self.next_line == line + 1) {
            self.entries.clear();
            self.next_line = line + 1;
            self.active = true;
            self.head_claimed = false;
        }
        Demand::Elsewhere
    }

    /// The line to prefetch next, if the stream runs and has room.
    pub fn wanted(&self) -> Option<u32> {
        (self.active && self.entries.len() < self.depth).then_some(self.next_line)
    }

    /// The wanted line has been asked for.
    pub fn requested(&mut self) {
        self.entries.push_back(Entry {
            line: self.next_line,
            arrived: false,
        });
        self.next_line += 1;
    }

    /// The wanted line need not be asked for: a demand has.
    pub fn skip(&mut self) {
        self.next_line += 1;
    }

    /// Ends the stream: the wanted line is outside the code.
    pub fn stop(&mut self) {
        self.active = false;
    }

    /// L0 held `line` when it was fetched from: if it is the head, that has come for nothing.
    #[inline]
    pub fn passed(&mut self, line: u32) {
        let head = self.entries.front();
        if head.is_some_and(|head| head.line == line) && !self.head_claimed {
            self.entries.pop_front();
        }
    }

    /// A prefetched line arrived. True if it is the claimed head: it moves on to L0 now.
    /// Late replies of a flushed stream are discarded.
    pub fn arrive(&mut self, line: u32) -> bool {
        match self
            .entries
            .iter_mut()
            .find(|entry| entry.line == line && !entry.arrived)
        {
            Some(entry) => entry.arrived = true,
            None => return false,
        }
        self.head_claimed
            && self
                .entries
                .front()
                .is_some_and(|head| head.line == line && head.arrived)
    }

    /// Takes the head out: it moves to L0.
    pub fn pop(&mut self) {
        self.entries.pop_front();
        self.head_claimed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_starts_the_stream_behind_it_and_the_head_is_claimed() {
        let mut stream = StreamBuffer::new(2);
        assert_eq!(stream.demand(10), Demand::Elsewhere);
        assert_eq!(stream.wanted(), Some(11));
        stream.requested();
        stream.requested();
        assert_eq!(stream.wanted(), None, "only two lines deep");
        assert_eq!(stream.demand(11), Demand::Coming);
        assert!(stream.arrive(11));
        stream.pop();
        assert_eq!(stream.wanted(), Some(13));
    }

    #[test]
    fn a_line_that_l0_held_makes_room_for_the_next() {
        let mut stream = StreamBuffer::new(1);
        stream.demand(10);
        stream.requested();
        assert_eq!(stream.wanted(), None);
        stream.passed(12);
        assert_eq!(stream.wanted(), None, "not the head");
        stream.passed(11);
        assert_eq!(stream.wanted(), Some(12));
        assert!(!stream.arrive(11), "its late reply is dropped");
    }

    #[test]
    fn a_miss_elsewhere_flushes_and_late_replies_are_dropped() {
        let mut stream = StreamBuffer::new(4);
        stream.demand(10);
        stream.requested();
        assert_eq!(stream.demand(100), Demand::Elsewhere);
        assert_eq!(stream.wanted(), Some(101));
        assert!(!stream.arrive(11));
    }
}
