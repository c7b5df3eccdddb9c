//! Drives a memory system as SMs would: streams with a limited number of requests under way, whose
//! next requests depend on replies. What an SM does depends on the cycles of its replies only, so
//! that a run must not depend on windows.
#![allow(dead_code)]

use std::collections::VecDeque;

use hardware::Gpu;
use memory::MemorySystem;
use source::{
    ByteMask, Cycle, Line, Performed, Reply, Request, RequestId, RequestKind, Sector, SectorMask,
    SmId,
};

/// A warp of the kernel `c[i] = a[i] + b[i]`, or of another mix of reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Arrays read, 128 bytes per warp each.
    pub reads: u32,
    /// Arrays written.
    pub writes: u32,
    /// Elements (4 bytes) of each array.
    pub elements: u64,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// CTAs resident on an SM.
    pub ctas_per_sm: u32,
}

pub const VADD: Mix = Mix {
    reads: 2,
    writes: 1,
    elements: 16 << 20,
    warps_per_cta: 8,
    ctas_per_sm: 6,
};

/// Where array `n` begins: allocations follow each other.
fn base(mix: &Mix, n: u32) -> u64 {
    0x7f_0000_0000 + u64::from(n) * mix.elements * 4
}

#[derive(Clone, Copy, Default)]
struct Warp {
    first: u64,
    outstanding: u32,
    stored: bool,
}

struct Sm {
    number: u16,
    warps: Vec<Warp>,
    left_in_cta: Vec<u32>,
    next_cta: u64,
    queue: VecDeque<(u64, Line, RequestKind, u32)>,
    next_send: u64,
    inbox: VecDeque<Reply>,
    running: u32,
    digest: u64,
}

impl Sm {
    fn start_cta(&mut self, mix: &Mix, slot: u32, now: u64, sms: u64) {
        let per_cta = u64::from(mix.warps_per_cta) * 32;
        let first = self.next_cta * per_cta;
        if first >= mix.elements {
            return;
        }
        self.next_cta += sms;
        self.running += 1;
        self.left_in_cta[slot as usize] = mix.warps_per_cta;
        for w in 0..mix.warps_per_cta {
            let warp = slot * mix.warps_per_cta + w;
            self.warps[warp as usize] = Warp {
                first: first + u64::from(w) * 32,
                outstanding: 0,
                stored: false,
            };
            self.access(mix, warp, 0..mix.reads, RequestKind::Read, now);
            if mix.reads == 0 {
                self.store(mix, warp, now);
            }
        }
    }

    fn access(
        &mut self,
        mix: &Mix,
        warp: u32,
        arrays: std::ops::Range<u32>,
        kind: RequestKind,
        now: u64,
    ) {
        for array in arrays {
            let address = base(mix, array) + self.warps[warp as usize].first * 4;
            let id = warp * 64 + array;
            self.queue.push_back((now, Line::of(address), kind, id));
            self.warps[warp as usize].outstanding += Line::SECTORS;
        }
    }

    fn store(&mut self, mix: &Mix, warp: u32, now: u64) {
        self.warps[warp as usize].stored = true;
        let arrays = mix.reads..mix.reads + mix.writes;
        self.access(mix, warp, arrays, RequestKind::Write, now);
    }

    fn pump(&mut self, until: u64, out: &mut Vec<Request>) {
        while let Some(&(ready, line, kind, id)) = self.queue.front() {
            let cycle = ready.max(self.next_send);
            if cycle >= until {
                break;
            }
            self.queue.pop_front();
            // A sector per cycle, as the written data of an SM go.
            self.next_send = cycle + u64::from(Line::SECTORS);
            out.push(Request {
                bytes: whole(kind, Line::WHOLE),
                sectors: Line::WHOLE,
                ..request(cycle, self.number, id, kind, line.sector(0).0)
            });
        }
    }

    fn run(&mut self, mix: &Mix, until: u64, sms: u64, out: &mut Vec<Request>) {
        while let Some(&reply) = self.inbox.front() {
            if reply.cycle.0 >= until {
                break;
            }
            self.inbox.pop_front();
            self.pump(reply.cycle.0, out);
            let warp = reply.id.0 / 64;
            let state = &mut self.warps[warp as usize];
            state.outstanding -= reply.sectors.count_ones();
            if state.outstanding > 0 {
                continue;
            }
            if !state.stored && mix.writes > 0 {
                self.store(mix, warp, reply.cycle.0 + 8);
                continue;
            }
            let slot = warp / mix.warps_per_cta;
            self.left_in_cta[slot as usize] -= 1;
            if self.left_in_cta[slot as usize] == 0 {
                self.running -= 1;
                self.start_cta(mix, slot, reply.cycle.0 + 20, sms);
            }
        }
        self.pump(until, out);
    }
}

/// Sectors that requests ask for.
fn sectors(requests: &[Request]) -> u64 {
    let sectors = |request: &Request| u64::from(request.sectors.count_ones());
    requests.iter().map(sectors).sum()
}

/// What a run gave.
pub struct Outcome {
    pub cycles: u64,
    /// Sectors asked for.
    pub requests: u64,
    /// Sectors answered.
    pub replies: u64,
    /// Host seconds inside the memory system.
    pub seconds: f64,
    /// A digest of every reply with its cycle.
    pub digest: u64,
    pub memory: MemorySystem,
}

/// Runs a mix to its end in windows of `window` cycles, or the longest there may be.
pub fn stream(gpu: &Gpu, mix: &Mix, window: Option<u64>, threads: usize) -> Outcome {
    let mut memory = MemorySystem::new(gpu).expect("a complete GPU");
    let sms = hardware::CardParameters::load(gpu).expect("a card").sms as usize;
    let window = window.unwrap_or(memory.request_latency() + memory.reply_latency());
    let warps = (mix.warps_per_cta * mix.ctas_per_sm) as usize;
    let mut all: Vec<Sm> = (0..sms)
        .map(|number| Sm {
            number: number as u16,
            warps: vec![Warp::default(); warps],
            left_in_cta: vec![0; mix.ctas_per_sm as usize],
            next_cta: number as u64,
            queue: VecDeque::new(),
            next_send: 0,
            inbox: VecDeque::new(),
            running: 0,
            digest: 0,
        })
        .collect();
    for slot in 0..mix.ctas_per_sm {
        for sm in &mut all {
            sm.start_cta(mix, slot, u64::from(slot), sms as u64);
        }
    }
    let mut requests = vec![Vec::new(); sms];
    let mut replies: Vec<Vec<Reply>> = vec![Vec::new(); sms];
    let mut performed: Vec<Performed> = Vec::new();
    let (mut now, mut sent, mut answered, mut last) = (0, 0, 0, 0);
    let mut seconds = 0.0;
    while all.iter().any(|sm| sm.running > 0) {
        let until = now + window;
        for (sm, requests) in all.iter_mut().zip(&mut requests) {
            sm.run(mix, until, sms as u64, requests);
            sent += sectors(requests);
        }
        let start = std::time::Instant::now();
        run(
            &mut memory,
            Cycle(until),
            &mut requests,
            &mut replies,
            &mut performed,
            threads,
        );
        seconds += start.elapsed().as_secs_f64();
        for (sm, replies) in all.iter_mut().zip(&mut replies) {
            for reply in replies.drain(..) {
                assert!(reply.cycle.0 >= until, "a reply from the past");
                answered += u64::from(reply.sectors.count_ones());
                last = last.max(reply.cycle.0);
                sm.digest = (sm.digest.rotate_left(5)
                    ^ reply.cycle.0 << 20
                    ^ u64::from(reply.sectors) << 56
                    ^ u64::from(reply.id.0))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                sm.inbox.push_back(reply);
            }
        }
        now = until;
    }
    Outcome {
        cycles: last,
        requests: sent,
        replies: answered,
        seconds,
        digest: all
            .iter()
            .fold(0, |digest: u64, sm| digest.rotate_left(1) ^ sm.digest),
        memory,
    }
}

/// A window on so many threads.
fn run(
    memory: &mut MemorySystem,
    until: Cycle,
    requests: &mut [Vec<Request>],
    replies: &mut [Vec<Reply>],
    performed: &mut Vec<Performed>,
    threads: usize,
) {
    if threads == 1 {
        return memory.run(until, requests, replies, performed);
    }
    let Some(horizon) = memory.accept(until, requests, performed) else {
        return;
    };
    let each = memory.partitions().len().div_ceil(threads);
    std::thread::scope(|scope| {
        for share in memory.partitions().chunks_mut(each) {
            scope.spawn(move || {
                share
                    .iter_mut()
                    .for_each(|partition| partition.run(horizon))
            });
        }
    });
    memory.deliver(horizon, replies);
}

/// DRAM traffic of an outcome in bytes per second.
pub fn bandwidth(gpu: &Gpu, outcome: &Outcome) -> f64 {
    let clock = hardware::CardParameters::load(gpu)
        .expect("a card")
        .core_clock;
    let s = outcome.memory.statistics();
    (s.dram_read_bytes + s.dram_write_bytes) as f64 / outcome.cycles as f64 * clock * 1e6
}

/// A GPU, with overrides.
pub fn gpu(name: &str, overrides: &[&str]) -> Gpu {
    let mut gpu = Gpu::load(name).expect("a GPU");
    for assignment in overrides {
        gpu.set(assignment).expect("an override");
    }
    gpu
}

/// The bytes of a request that writes `sectors` wholly, or reads.
pub fn whole(kind: RequestKind, sectors: SectorMask) -> [ByteMask; 4] {
    std::array::from_fn(|sector| match kind {
        RequestKind::Write if sectors >> sector & 1 == 1 => ByteMask::MAX,
        _ => 0,
    })
}

/// A request for one sector, with nothing special.
pub fn request(cycle: u64, sm: u16, id: u32, kind: RequestKind, sector: u64) -> Request {
    let sector = Sector(sector);
    Request {
        cycle: Cycle(cycle),
        sm: SmId(sm),
        id: RequestId(id),
        kind,
        line: sector.line(),
        sectors: sector.mask(),
        bytes: whole(kind, sector.mask()),
        lanes: 1,
        deferred: None,
        traced: false,
    }
}

/// What came back for fixed traffic.
#[derive(Debug, PartialEq)]
pub struct Replayed {
    /// Replies of each SM, in the order in which they were handed over.
    pub replies: Vec<Vec<Reply>>,
    pub performed: Vec<Performed>,
    pub statistics: memory::MemoryStatistics,
}

/// Plays traffic (`traffic[sm]` in the order of cycles) in windows of the lengths that `windows`
/// gives, until everything is answered.
pub fn replay(
    memory: &mut MemorySystem,
    traffic: &[Vec<Request>],
    mut windows: impl FnMut() -> u64,
    threads: usize,
) -> Replayed {
    let sms = traffic.len();
    let mut sent = vec![0; sms];
    let mut requests = vec![Vec::new(); sms];
    let mut replies: Vec<Vec<Reply>> = vec![Vec::new(); sms];
    let mut performed = Vec::new();
    let mut until = 0;
    while sent
        .iter()
        .zip(traffic)
        .any(|(&sent, all)| sent < all.len())
        || memory.next_event() != Cycle::NEVER
    {
        until += windows();
        for sm in 0..sms {
            let from = sent[sm];
            let to = traffic[sm].partition_point(|request| request.cycle.0 < until);
            requests[sm].extend_from_slice(&traffic[sm][from..to]);
            sent[sm] = to;
        }
        let old: Vec<usize> = replies.iter().map(Vec::len).collect();
        run(
            memory,
            Cycle(until),
            &mut requests,
            &mut replies,
            &mut performed,
            threads,
        );
        assert!(requests.iter().all(Vec::is_empty), "requests are drained");
        for (all, old) in replies.iter().zip(old) {
            assert!(
                all[old..].iter().all(|reply| reply.cycle.0 >= until),
                "a reply from the past"
            );
        }
        assert!(until < 1 << 50, "it never ends");
    }
    assert!(memory.is_idle());
    Replayed {
        replies,
        performed,
        statistics: memory.statistics(),
    }
}
