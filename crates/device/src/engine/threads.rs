//! Host threads that SMs run on during a window: SM i always runs on thread i mod n, so that its state
//! stays in that core's caches.

use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool of host threads, or none if one is enough.
#[derive(Debug)]
pub struct Threads {
    pool: Option<ThreadPool>,
    count: usize,
}

/// Fewer busy SMs than this run on the calling thread: waking others would cost more.
const FEWEST_FOR_TWO: usize = 4;

impl Threads {
    /// `count` threads; 0 for as many as the machine has.
    ///
    /// # Errors
    /// If the operating system gives no threads.
    pub fn new(count: usize) -> Result<Threads, rayon::ThreadPoolBuildError> {
        let count = match count {
            0 => std::thread::available_parallelism().map_or(1, |count| count.get()),
            count => count,
        };
        let pool = match count {
            1 => None,
            _ => Some(
                ThreadPoolBuilder::new()
                    .num_threads(count)
                    .thread_name(|index| format!("warpath-{index}"))
                    .build()?,
            ),
        };
        Ok(Threads { pool, count })
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Does `work` on one of the threads, so that it can share out parts without waking anybody for its
    /// own.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Does `work` on every item, each on the thread that its place maps to.
    pub fn run_each<T: Send>(&self, items: Vec<(usize, T)>, work: impl Fn(T) + Sync) {
        let Some(pool) = self.pool.as_ref().filter(|_| items.len() >= FEWEST_FOR_TWO) else {
            for (_, item) in items {
                work(item);
            }
            return;
        };
        let mut shares: Vec<Vec<T>> = (0..self.count).map(|_| Vec::new()).collect();
        for (place, item) in items {
            shares[place % self.count].push(item);
        }
        let shares: Vec<Mutex<Vec<T>>> = shares.into_iter().map(Mutex::new).collect();
        pool.broadcast(|context| {
            let share = shares
                .get(context.index())
                .and_then(|share| share.lock().ok());
            for item in share
                .map(|mut share| std::mem::take(&mut *share))
                .unwrap_or_default()
            {
                work(item);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once() {
        for count in [1, 2, 3] {
            let threads = Threads::new(count).unwrap();
            let mut cells = [0u32; 17];
            let items = cells.iter_mut().enumerate().collect();
            threads.run_each(items, |cell| *cell += 1);
            assert_eq!(cells, [1; 17]);
        }
    }
}
