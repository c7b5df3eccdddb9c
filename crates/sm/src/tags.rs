//! A set-associative tag array with least-recently-used replacement: the common part of the
//! instruction and constant caches.

const EMPTY: u32 = u32::MAX;

/// Tags of whole lines. Line numbers are byte addresses divided by the line size.
pub struct Tags {
    sets: u32,
    ways: usize,
    lines: Vec<u32>,
    used: Vec<u64>,
    /// Counts replacements and invalidations; a remembered hit is good while it stays the same.
    generation: u32,
}

impl Tags {
    /// An empty array of `sets` × `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Tags {
        let lines = sets as usize * ways as usize;
        Tags {
            sets,
            ways: ways as usize,
            lines: vec![EMPTY; lines],
            used: vec![0; lines],
            generation: 0,
        }
    }

    /// Number of replacements and invalidations so far.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    #[inline]
    fn set(&self, line: u32) -> usize {
        (line % self.sets) as usize * self.ways
    }

    /// Whether `line` is present; marks it as used at `now`.
    #[inline]
    pub fn touch(&mut self, line: u32, now: u64) -> bool {
        let start = self.set(line);
        match self.lines[start..start + self.ways]
            .iter()
            .position(|&tag| tag == line)
        {
            Some(way) => {
                self.used[start + way] = now;
                true
            }
            None => false,
        }
    }

    /// Brings `line` in, in place of the least recently used one of its set.
    pub fn fill(&mut self, line: u32, now: u64) {
        if self.touch(line, now) {
            return;
        }
        let start = self.set(line);
        let mut victim = start;
        for way in start..start + self.ways {
            if self.lines[way] == EMPTY {
                victim = way;
                break;
            }
            if self.used[way] < self.used[victim] {
                victim = way;
            }
        }
        if self.lines[victim] != EMPTY {
            self.generation += 1;
        }
        self.lines[victim] = line;
        self.used[victim] = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_line_leaves() {
        let mut tags = Tags::new(1, 2);
        tags.fill(1, 1);
        tags.fill(2, 2);
        assert!(tags.touch(1, 3));
        tags.fill(3, 4);
        assert!(tags.touch(1, 9) && tags.touch(3, 9) && !tags.touch(2, 9));
        assert_eq!(tags.generation(), 1);
    }
}
