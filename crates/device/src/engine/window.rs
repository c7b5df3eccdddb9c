//! Time windows (DESIGN.md W1): the SMs run [now, end) on their own, then the memory side runs ahead to
//! end + request latency, to which all its inputs are known; what it replies arrives no earlier than
//! the next window. Empty stretches of time are jumped over.

use memory::{MemorySystem, Partition};
use sm::{Pause, Sm};
use source::{Cycle, Fault, Performed, Reply, Request, SmId, Source, WarpSlot};

use super::dispatch::{Dispatcher, Grant};
use super::hang::{Hang, HangKind};
use super::publish::Pending;
use super::threads::Threads;

hardware::parameters! {
    /// How the model orders what SMs do to memory.
    pub struct EngineParameters = "engine" {
        /// A plain store is seen by other SMs from the next multiple of this on (DESIGN.md V4). At
        /// most the shortest round trip from an SM to an L2 slice and back.
        visibility_quantum: u64, "cycles", 1..=1_000_000;
    }
}

/// Why a launch ended before its last CTA.
#[derive(Debug)]
pub enum Stop {
    /// The program did what the machine would trap.
    Fault {
        /// When.
        cycle: Cycle,
        /// On which SM.
        sm: SmId,
        /// In which warp.
        warp: WarpSlot,
        /// What.
        fault: Box<Fault>,
    },
    /// Nothing moves any more, or not within the cycles allowed.
    Hang(Box<Hang>),
}

/// How far a launch is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Simulated cycles.
    pub cycle: u64,
    /// CTAs that have been handed out.
    pub ctas: u64,
    /// CTAs of the grid.
    pub grid: u64,
}

/// When a launch ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Cycles from the first CTA's grant to the end of the last warp and its last acknowledgement.
    pub cycles: u64,
}

/// Packets in a window below which the calling thread alone does what is to do beyond the SMs.
const WORTH_A_THREAD: usize = 500;

/// What an SM did in a window.
enum Outcome {
    /// Nothing to do, or not run.
    Quiet,
    /// Ran to the end of the window.
    Window,
    /// Freed a CTA slot and stopped there.
    Freed(Cycle),
    /// Met a fault.
    Fault(Cycle, WarpSlot, Box<Fault>),
}

/// All SMs of the GPU with their sources, the memory side, and the time they have reached.
pub struct Engine<'a, S: Source> {
    sms: Vec<Sm>,
    sources: Vec<S>,
    outcomes: Vec<Outcome>,
    shared: &'a mut S::Shared,
    memory: &'a mut MemorySystem,
    dispatcher: Dispatcher,
    grid: u64,
    threads: &'a Threads,
    pending: Pending,
    replies: Vec<Vec<Reply>>,
    request_latency: u64,
    quantum: u64,
    window: u64,
    max_cycles: u64,
    now: Cycle,
    /// The earliest fault so far.
    fault: Option<(Cycle, SmId, WarpSlot, Box<Fault>)>,
    /// SMs that stopped before the end of the window.
    stands: Vec<bool>,
    requests: Vec<Vec<Request>>,
    performed: Vec<Performed>,
    /// The earliest packet that waits at a port for a later window.
    held: Cycle,
}

/// What an engine is made of.
pub struct Parts<'a, S: Source> {
    /// The SMs, in order of their numbers.
    pub sms: Vec<Sm>,
    /// The source's share of each.
    pub sources: Vec<S>,
    /// What all SMs share.
    pub shared: &'a mut S::Shared,
    /// The memory side.
    pub memory: &'a mut MemorySystem,
    /// CTAs of the grid.
    pub ctas: u64,
    /// CTAs that fit an SM.
    pub ctas_per_sm: u32,
    /// CTAs that an SM can be granted in a cycle.
    pub grants_per_cycle: u32,
    /// Host threads.
    pub threads: &'a Threads,
    /// Visibility quantum in cycles.
    pub quantum: u64,
    /// Longest window, if shorter than the quantum.
    pub window: Option<u64>,
    /// Cycles after which the launch is given up.
    pub max_cycles: u64,
}

impl<'a, S: Source> Engine<'a, S> {
    /// An engine at cycle 0 with the first CTAs dealt out.
    pub fn new(parts: Parts<'a, S>) -> Engine<'a, S> {
        let request_latency = parts.memory.request_latency();
        let reply_latency = parts.memory.reply_latency();
        let quantum = parts
            .quantum
            .clamp(1, (request_latency + reply_latency).max(1));
        let mut engine = Engine {
            outcomes: parts.sms.iter().map(|_| Outcome::Quiet).collect(),
            stands: vec![false; parts.sms.len()],
            requests: parts.sms.iter().map(|_| Vec::new()).collect(),
            replies: parts.sms.iter().map(|_| Vec::new()).collect(),
            performed: Vec::new(),
            held: Cycle::NEVER,
            dispatcher: Dispatcher::new(parts.ctas, parts.sms.len(), parts.grants_per_cycle),
            grid: parts.ctas,
            sms: parts.sms,
            sources: parts.sources,
            shared: parts.shared,
            memory: parts.memory,
            threads: parts.threads,
            pending: Pending::default(),
            request_latency,
            quantum,
            window: parts.window.unwrap_or(quantum).clamp(1, quantum),
            max_cycles: parts.max_cycles,
            now: Cycle(0),
            fault: None,
        };
        for grant in engine.dispatcher.initial(parts.ctas_per_sm) {
            engine.start(grant);
        }
        engine
    }

    /// Runs until the last warp has ended and nothing is under way any more.
    ///
    /// # Errors
    /// The earliest fault, a deadlock, or the limit of cycles.
    pub fn run(&mut self, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Ended, Stop> {
        while !self.is_finished() {
            if self.now.0 >= self.max_cycles {
                return Err(self.hang(HangKind::MaxCycles(self.max_cycles)));
            }
            let end = self.next_end()?;
            self.run_sms(end)?;
            let boundary = end.0 / self.quantum > self.now.0 / self.quantum;
            self.run_memory(end, boundary);
            if boundary {
                let boundary = Cycle(end.0 / self.quantum * self.quantum);
                let arrival = boundary + self.request_latency;
                self.pending
                    .perform(&mut self.sources, self.shared, arrival);
            }
            self.now = end;
            progress(Progress {
                cycle: end.0,
                ctas: self.dispatcher.granted(),
                grid: self.grid,
            });
        }
        S::publish(&mut self.sources, self.shared);
        self.pending
            .perform(&mut self.sources, self.shared, Cycle::NEVER);
        let last = self
            .sms
            .iter()
            .map(|sm| sm.finished_at().0)
            .max()
            .unwrap_or(0);
        Ok(Ended { cycles: last })
    }

    /// Charges every issue slot up to the end and gives SMs and sources back.
    pub fn close(mut self, ended: Ended) -> (Vec<Sm>, Vec<S>) {
        for sm in &mut self.sms {
            sm.close(Cycle(ended.cycles));
        }
        (self.sms, self.sources)
    }

    /// The sources of a launch that ended early.
    pub fn into_sources(self) -> Vec<S> {
        self.sources
    }

    fn is_finished(&self) -> bool {
        !self.dispatcher.ctas_wait() && self.sms.iter().all(Sm::is_idle)
    }

    /// Where the next window ends: at its length, at the next multiple of the quantum, or, if no SM
    /// does anything before, when one will.
    fn next_end(&self) -> Result<Cycle, Stop> {
        let boundary = (self.now.0 / self.quantum + 1) * self.quantum;
        let end = boundary.min(self.now.0 + self.window);
        let busy = self
            .sms
            .iter()
            .map(Sm::next_event)
            .min()
            .unwrap_or(Cycle::NEVER);
        let earliest = busy.min(self.dispatcher.next_grant()).min(self.held);
        let end = if earliest.0 > end {
            let quiet = earliest.0.min(self.memory.next_event().0);
            if quiet == u64::MAX {
                return Err(self.hang(HangKind::Deadlock));
            }
            end.max(quiet)
        } else {
            end
        };
        Ok(Cycle(end.min(self.max_cycles)))
    }

    /// Runs every SM to `end`, each on its own; where one frees a CTA slot while CTAs wait, it stops
    /// until its turn has come (W2).
    fn run_sms(&mut self, end: Cycle) -> Result<(), Stop> {
        let ctas_wait = self.dispatcher.ctas_wait();
        let shared = &*self.shared;
        let lanes = self
            .sms
            .iter_mut()
            .zip(&mut self.sources)
            .zip(&mut self.outcomes);
        let busy = lanes.enumerate().filter(|(place, ((sm, _), _))| {
            !self.dispatcher.is_stopped(SmId(*place as u16)) && sm.next_event() < end
        });
        self.threads.run_each(busy, |((sm, source), outcome)| {
            *outcome = run_one(sm, source, shared, end, ctas_wait);
        });
        for place in 0..self.sms.len() {
            self.settle(place);
        }

        loop {
            let until = match &self.fault {
                Some((cycle, ..)) => end.min(*cycle + 1),
                None => end,
            };
            let Some(grant) = self.dispatcher.grant_before(until) else {
                break;
            };
            self.start(grant);
            let place = usize::from(grant.sm.0);
            if self.dispatcher.ctas_wait() && self.sms[place].can_start_cta() {
                self.dispatcher.stop(grant.sm, grant.at);
            } else {
                self.resume(place, end, self.dispatcher.ctas_wait());
            }
        }
        if let Some((cycle, sm, warp, fault)) = self.fault.take() {
            return Err(Stop::Fault {
                cycle,
                sm,
                warp,
                fault,
            });
        }
        // Who still stands gets no CTA before the end of the window.
        for place in 0..self.sms.len() {
            if self.stands[place] {
                self.resume(place, end, false);
            }
        }
        if let Some((cycle, sm, warp, fault)) = self.fault.take() {
            return Err(Stop::Fault {
                cycle,
                sm,
                warp,
                fault,
            });
        }
        Ok(())
    }

    fn start(&mut self, grant: Grant) {
        let place = usize::from(grant.sm.0);
        self.sms[place].start_cta(&mut self.sources[place], self.shared, grant.cta, grant.at);
    }

    fn resume(&mut self, place: usize, end: Cycle, ctas_wait: bool) {
        self.outcomes[place] = run_one(
            &mut self.sms[place],
            &mut self.sources[place],
            self.shared,
            end,
            ctas_wait,
        );
        self.settle(place);
    }

    /// Takes note of what an SM did.
    fn settle(&mut self, place: usize) {
        self.stands[place] = false;
        let sm = SmId(place as u16);
        match std::mem::replace(&mut self.outcomes[place], Outcome::Quiet) {
            Outcome::Quiet | Outcome::Window => {}
            Outcome::Freed(cycle) => {
                self.stands[place] = true;
                // The slot is free from the next cycle on.
                self.dispatcher.stop(sm, cycle + 1);
            }
            Outcome::Fault(cycle, warp, fault) => {
                let earlier = self
                    .fault
                    .as_ref()
                    .is_some_and(|known| (known.0, known.1) <= (cycle, sm));
                if !earlier {
                    self.fault = Some((cycle, sm, warp, fault));
                }
            }
        }
    }

    /// Hands the window's requests to the memory side, runs it ahead and hands its replies back. At a
    /// boundary the stores are published meanwhile: the memory side sees no values (V6).
    fn run_memory(&mut self, end: Cycle, boundary: bool) {
        self.held = Cycle::NEVER;
        for (sm, requests) in self.sms.iter_mut().zip(&mut self.requests) {
            let sent = sm.requests();
            let due = sent.partition_point(|request| request.cycle < end);
            if due == sent.len() {
                std::mem::swap(sent, requests);
            } else {
                // The port is busy beyond the window: the rest leaves the SM in a later one.
                self.held = self.held.min(sent[due].cycle);
                requests.extend(sent.drain(..due));
            }
        }
        let horizon = self
            .memory
            .accept(end, &mut self.requests, &mut self.performed);
        let work = match horizon {
            Some(_) => self.memory.accepted(),
            None => 0,
        };
        let stores = boundary.then_some(Beyond::Stores(&mut self.sources, &mut *self.shared));
        let partitions = horizon.map(|horizon| {
            let partitions = self.memory.partitions().iter_mut();
            partitions.map(move |partition| Beyond::Partition(partition, horizon))
        });
        let parts = stores.into_iter().chain(partitions.into_iter().flatten());
        let run = |part: Beyond<'_, S>| match part {
            Beyond::Stores(sources, shared) => S::publish(sources, shared),
            Beyond::Partition(partition, horizon) => partition.run(horizon),
        };
        if work >= WORTH_A_THREAD {
            self.threads.run_each(parts.enumerate(), run);
        } else {
            parts.for_each(run);
        }
        if let Some(horizon) = horizon {
            self.memory.deliver(horizon, &mut self.replies);
        }
        for (sm, replies) in self.sms.iter_mut().zip(&mut self.replies) {
            if !replies.is_empty() {
                sm.deliver(replies);
                replies.clear();
            }
        }
        self.pending.extend(self.performed.drain(..));
    }

    fn hang(&self, kind: HangKind) -> Stop {
        let cycle = match kind {
            // Where it is seen depends on the window, the end of the quantum does not.
            HangKind::Deadlock => self.now.0.next_multiple_of(self.quantum),
            HangKind::MaxCycles(limit) => limit,
        };
        Stop::Hang(Box::new(Hang::of(
            kind,
            Cycle(cycle),
            &self.sms,
            &self.sources,
            self.grid - self.dispatcher.granted(),
        )))
    }
}

/// What happens beyond the SMs between two windows, in parts that do not touch each other.
enum Beyond<'a, S: Source> {
    /// The plain stores of the past quantum become visible.
    Stores(&'a mut [S], &'a mut S::Shared),
    /// A partition runs up to the horizon.
    Partition(&'a mut Partition, Cycle),
}

fn run_one<S: Source>(
    sm: &mut Sm,
    source: &mut S,
    shared: &S::Shared,
    end: Cycle,
    ctas_wait: bool,
) -> Outcome {
    match sm.run(source, shared, end, ctas_wait) {
        Ok(Pause::Window) => Outcome::Window,
        Ok(Pause::CtaFreed(cycle)) => Outcome::Freed(cycle),
        Err((cycle, warp, fault)) => Outcome::Fault(cycle, warp, Box::new(fault)),
    }
}
