//! From virtual to physical lines, where packets leave the SM: behind an L1 miss, or in its place where an
//! access goes past L1 (MODEL.md §8.2). The SM's buffer of translations is fully associative and shared by
//! all warps; what it misses comes from a second level on the chip, at the same cost for every mapped page
//! and every SM.
//!
//! Back-pressure: the refills under way are at most the entries of the buffer; a miss behind them waits for
//! the first to end. What waits holds its place at the port, whose packets leave in order, so that no more
//! wait than the port and the L1 allow.

use std::sync::Arc;

use source::{Line, PageTable};

hardware::parameters! {
    /// The SM's translation buffer for data.
    pub struct TranslationParameters = "translation" {
        /// Pages that it holds; with 0 every translation is at hand.
        entries: u32, "pages", 0..=1024;
        /// Cycles that a miss costs: the refill from the second level.
        miss: u64, "cycles", 1..=10_000;
    }
}

/// A translation that is at hand from cycle `ready` on.
#[derive(Clone, Copy)]
struct Entry {
    page: u64,
    frame: u64,
    ready: u64,
}

/// No page has this number.
const NO_PAGE: u64 = u64::MAX;

/// The translation buffer of one SM.
pub struct Translation {
    table: Arc<PageTable>,
    /// Bits of a line number inside a page.
    line_bits: u32,
    /// The translation used last; the buffer's first entry if it has any.
    latest: Entry,
    /// Most recently used first.
    entries: Vec<Entry>,
    limit: usize,
    miss: u64,
    /// Translations that were looked for: one for each packet of data.
    pub lookups: u64,
    /// Those at hand.
    pub hits: u64,
    /// Those that waited for a refill.
    pub misses: u64,
    /// Refills; misses of a page that is under way share one.
    pub refills: u64,
    /// Most refills under way at once.
    pub most_refills: u64,
}

impl Translation {
    /// An empty buffer before `table`.
    pub fn new(parameters: &TranslationParameters, table: Arc<PageTable>) -> Translation {
        let limit = parameters.entries as usize;
        Translation {
            line_bits: table.page_bits() - Line::BYTES.trailing_zeros(),
            table,
            latest: Entry {
                page: NO_PAGE,
                frame: 0,
                ready: 0,
            },
            entries: Vec::with_capacity(limit),
            limit,
            miss: parameters.miss,
            lookups: 0,
            hits: 0,
            misses: 0,
            refills: 0,
            most_refills: 0,
        }
    }

    /// The physical line of a virtual one that is wanted in cycle `now`, and the cycle in which it is at
    /// hand.
    #[inline]
    pub fn translate(&mut self, line: Line, now: u64) -> (Line, u64) {
        let page = line.0 >> self.line_bits;
        self.lookups += 1;
        if page != self.latest.page {
            self.look_up(page, now);
        }
        let Entry { frame, ready, .. } = self.latest;
        if ready <= now {
            self.hits += 1;
        } else {
            self.misses += 1;
        }
        (self.inside(frame, line), now.max(ready))
    }

    /// When the translation that was looked for last is at hand.
    pub fn latest_ready(&self) -> u64 {
        self.latest.ready
    }

    /// The physical line of a virtual one, by no clock: instructions and constants, whose own translation
    /// is not modelled.
    pub fn untimed(&self, line: Line) -> Line {
        self.inside(self.table.frame(line.0 >> self.line_bits), line)
    }

    /// The line of frame `frame` at the place that `line` has in its page.
    #[inline]
    fn inside(&self, frame: u64, line: Line) -> Line {
        Line(frame << self.line_bits | line.0 & ((1 << self.line_bits) - 1))
    }

    /// Makes the translation of `page` the latest, refilled if it has to be.
    fn look_up(&mut self, page: u64, now: u64) {
        if let Some(place) = self.entries.iter().position(|entry| entry.page == page) {
            self.entries[..=place].rotate_right(1);
            self.latest = self.entries[0];
            return;
        }
        let frame = self.table.frame(page);
        if self.limit == 0 {
            self.latest = Entry {
                page,
                frame,
                ready: 0,
            };
            return;
        }
        // A refill takes the place of the entry used longest ago that is not itself being refilled; if
        // all are, of the one that is through first.
        let mut from = now;
        if self.entries.len() == self.limit {
            let old = self.entries.iter().rposition(|entry| entry.ready <= now);
            let place = old.unwrap_or_else(|| {
                let ready = self.entries.iter().map(|entry| entry.ready);
                from = ready.min().unwrap_or(now);
                let through = self.entries.iter().rposition(|entry| entry.ready == from);
                through.unwrap_or(0)
            });
            self.entries.remove(place);
        }
        self.latest = Entry {
            page,
            frame,
            ready: from + self.miss,
        };
        self.entries.insert(0, self.latest);
        self.refills += 1;
        let under_way = self
            .entries
            .iter()
            .filter(|entry| entry.ready > now)
            .count();
        self.most_refills = self.most_refills.max(under_way as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a page of 2 MiB.
    const LINES: u64 = 1 << 14;

    fn translation(entries: u32) -> Translation {
        let parameters = TranslationParameters { entries, miss: 11 };
        let pages = (0..64).map(|page| (page, 63 - page as u32));
        Translation::new(&parameters, Arc::new(PageTable::new(21, pages)))
    }

    /// Pages `0..count` in turn, far apart in time: the cycles that each translation takes.
    fn chain(translation: &mut Translation, count: u64, times: u64) -> Vec<u64> {
        let mut now = 1_000;
        (0..count * times)
            .map(|step| {
                now += 300;
                let page = step % count;
                let (line, ready) = translation.translate(Line(page * LINES + step % LINES), now);
                assert_eq!(line.0, (63 - page) * LINES + step % LINES);
                ready - now
            })
            .collect()
    }

    /// MODEL.md §8.2: 16 pages stay, of 17 in turn the least recently used is always the next.
    #[test]
    fn sixteen_pages_fit_and_seventeen_do_not() {
        let mut fits = translation(16);
        let cycles = chain(&mut fits, 16, 3);
        assert!(cycles[..16].iter().all(|&cycles| cycles == 11));
        assert!(cycles[16..].iter().all(|&cycles| cycles == 0));
        let mut thrashes = translation(16);
        let cycles = chain(&mut thrashes, 17, 3);
        assert!(cycles.iter().all(|&cycles| cycles == 11));
        assert_eq!(thrashes.refills, 51);
    }

    #[test]
    fn misses_of_one_page_share_a_refill() {
        let mut translation = translation(16);
        let ready: Vec<u64> = [100, 101, 105, 110, 111, 112]
            .into_iter()
            .map(|now| translation.translate(Line(5), now).1)
            .collect();
        assert_eq!(ready, [111, 111, 111, 111, 111, 112]);
        assert_eq!(
            (translation.misses, translation.hits, translation.refills),
            (4, 2, 1)
        );
    }

    /// No entry under refill is given up: the 17th miss waits for the first refill to end.
    #[test]
    fn refills_under_way_are_bounded_by_the_entries() {
        let mut translation = translation(16);
        let ready: Vec<u64> = (0..18)
            .map(|page| translation.translate(Line(page * LINES), 100 + page).1)
            .collect();
        let mut expected: Vec<u64> = (0..16).map(|page| 111 + page).collect();
        // Pages 0 to 4 are through by cycle 115; page 16 comes in cycle 116.
        expected.extend([127, 128]);
        assert_eq!(ready, expected);
        let mut burst = super::tests::translation(4);
        let ready: Vec<u64> = (0..9)
            .map(|page| burst.translate(Line(page * LINES), 100).1)
            .collect();
        assert_eq!(ready, [111, 111, 111, 111, 122, 122, 122, 122, 133]);
        assert_eq!(burst.most_refills, 4);
    }

    #[test]
    fn hits_and_misses_are_all_lookups() {
        for entries in [0, 1, 16] {
            let mut translation = translation(entries);
            let mut random = 3u64;
            for now in 0..20_000 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                translation.translate(Line((random >> 40) % (32 * LINES)), now / 2);
            }
            assert_eq!(translation.hits + translation.misses, translation.lookups);
            assert_eq!(translation.lookups, 20_000);
            assert!(translation.refills <= translation.misses);
            assert_eq!(entries == 0, translation.misses == 0);
        }
    }
}
