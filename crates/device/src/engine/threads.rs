//! Host threads that SMs run on during a window: SM i runs on thread i mod n where it can, so that its
//! state stays in that core's caches; a thread that is through early takes over from the others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Does `work` on one of the threads, so that it takes its own part in what it shares out.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Does `work` on every item: each thread begins with those whose place maps to it and then takes
    /// over what the others have not come to yet.
    pub fn run_each<T: Send>(
        &self,
        items: impl Iterator<Item = (usize, T)>,
        work: impl Fn(T) + Sync,
    ) {
        let Some(pool) = &self.pool else {
            items.for_each(|(_, item)| work(item));
            return;
        };
        let mut shares: Vec<Share<T>> = (0..self.count).map(|_| Share::default()).collect();
        let mut length = 0;
        for (place, item) in items {
            shares[place % self.count]
                .items
                .push(Mutex::new(Some(item)));
            length += 1;
        }
        if length < FEWEST_FOR_TWO {
            shares.iter().for_each(|share| share.work_off(&work));
            return;
        }
        pool.broadcast(|context| {
            let (before, after) = shares.split_at(context.index());
            for share in after.iter().chain(before) {
                share.work_off(&work);
            }
        });
    }
}

/// Items of one thread, in their order.
struct Share<T> {
    items: Vec<Mutex<Option<T>>>,
    /// The first that nobody has taken.
    next: AtomicUsize,
}

impl<T> Default for Share<T> {
    fn default() -> Share<T> {
        Share {
            items: Vec::new(),
            next: AtomicUsize::new(0),
        }
    }
}

impl<T> Share<T> {
    /// Works on items until all are taken.
    fn work_off(&self, work: impl Fn(T)) {
        while let Some(item) = self.items.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(item) = item.lock().ok().and_then(|mut item| item.take()) {
                work(item);
            }
        }
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
            threads.run_each(cells.iter_mut().enumerate(), |cell| *cell += 1);
            assert_eq!(cells, [1; 17]);
        }
    }
}
