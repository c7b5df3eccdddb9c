//! Refresh: at regular times a channel closes its rows and opens none for a fixed while (MODEL.md
//! §8.2). The channels of a GPU take turns, so that never the whole chip stands still.

use super::DramParameters;

/// When a channel stands still, in its command cycles.
#[derive(Clone, Copy, Debug)]
pub struct Refresh {
    stall: u64,
    period: u64,
    /// Where the stall that is under way or the next one begins.
    next: u64,
}

impl Refresh {
    /// The stalls of channel `number` of `channels`, whose commands count a clock of so many MHz.
    /// Never, if the documents do not say when.
    pub fn new(p: &DramParameters, command_clock: f64, number: u64, channels: u64) -> Refresh {
        let cycles = |ns: f64| (ns * command_clock / 1000.0).round() as u64;
        match (p.refresh_stall.map(cycles), p.refresh_period.map(cycles)) {
            (Some(stall), Some(period)) if 0 < stall && stall < period => Refresh {
                stall,
                period,
                next: period * (number + 1) / channels.max(1),
            },
            _ => Refresh {
                stall: 0,
                period: 1,
                next: u64::MAX,
            },
        }
    }

    /// When the last refresh that began until command cycle `now` is over, unless it was asked for
    /// before.
    #[inline]
    pub fn over_by(&mut self, now: u64) -> Option<u64> {
        if now < self.next {
            return None;
        }
        Some(self.turn(now))
    }

    #[cold]
    fn turn(&mut self, now: u64) -> u64 {
        let passed = now - self.next;
        let begin = self.next + (passed - passed % self.period);
        self.next = begin.saturating_add(self.period);
        begin + self.stall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refresh(stall: u64, period: u64, next: u64) -> Refresh {
        Refresh {
            stall,
            period,
            next,
        }
    }

    #[test]
    fn a_refresh_is_told_once_whenever_one_asks() {
        for now in 0..1000_u64 {
            let mut one = refresh(10, 100, 30);
            let last = (now >= 30).then(|| now - (now - 30) % 100 + 10);
            assert_eq!(one.over_by(now), last, "{now}");
            assert_eq!(one.over_by(now), None, "{now}");
            // The way there does not matter.
            let mut other = refresh(10, 100, 30);
            let ends: Vec<u64> = (0..=now).filter_map(|at| other.over_by(at)).collect();
            assert_eq!(ends.len() as u64, (now + 70) / 100, "{now}");
            assert_eq!(ends.last().copied(), last);
        }
    }

    #[test]
    fn without_times_there_is_none() {
        let mut never = refresh(0, 1, u64::MAX);
        assert_eq!(never.over_by(u64::MAX - 1), None);
    }
}
