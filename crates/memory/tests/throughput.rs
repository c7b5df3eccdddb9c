//! How many lookups per cycle slices give (MODEL.md §8.2, throughput test of k slices), and that what
//! waits for them stays within its bounds.

mod driver;

use std::collections::VecDeque;

use driver::{gpu, request};
use hardware::{CardParameters, Gpu};
use memory::{MemoryStatistics, MemorySystem};
use source::{Cycle, Line, Reply, Request, RequestKind};

/// Warps of an SM.
const WARPS: usize = 48;
/// Packets without an answer that an SM may have.
const CREDITS: usize = 1024;
/// Packets that leave an SM per cycle.
const PER_CYCLE: u64 = 2;

/// An SM all of whose warps load one sector in each lane, again and again.
struct Sm {
    waiting: [u32; WARPS],
    rounds: [u32; WARPS],
    queue: VecDeque<(u64, Request)>,
    under_way: usize,
    turn: u64,
    inbox: VecDeque<Reply>,
    random: u64,
}

impl Sm {
    fn new(number: u16) -> Sm {
        Sm {
            waiting: [0; WARPS],
            rounds: [0; WARPS],
            queue: VecDeque::new(),
            under_way: 0,
            turn: 0,
            inbox: VecDeque::new(),
            random: u64::from(number) + 1,
        }
    }

    /// A warp loads from 32 of the lines, each at random.
    fn load(&mut self, number: u16, warp: usize, lines: &[Line], now: u64) {
        self.rounds[warp] += 1;
        self.waiting[warp] = 32;
        for lane in 0..32 {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let line = lines[((u128::from(self.random) * lines.len() as u128) >> 64) as usize];
            let id = (warp * 32 + lane) as u32;
            let sector = line.sector(lane as u32 % 4).0;
            self.queue
                .push_back((now, request(0, number, id, RequestKind::Read, sector)));
        }
    }

    fn send(&mut self, until: u64, requests: &mut Vec<Request>) {
        while self.under_way < CREDITS
            && let Some(&(ready, mut request)) = self.queue.front()
        {
            let turn = self.turn.max(ready * PER_CYCLE);
            if turn / PER_CYCLE >= until {
                return;
            }
            self.queue.pop_front();
            self.turn = turn + 1;
            self.under_way += 1;
            request.cycle = Cycle(turn / PER_CYCLE);
            requests.push(request);
        }
    }

    fn run(
        &mut self,
        number: u16,
        lines: &[Line],
        rounds: u32,
        until: u64,
        out: &mut Vec<Request>,
    ) {
        while let Some(reply) = self.inbox.front().copied()
            && reply.cycle.0 < until
        {
            self.inbox.pop_front();
            self.send(reply.cycle.0, out);
            self.under_way -= 1;
            // A credit is used from the cycle on in which it came back.
            self.turn = self.turn.max(reply.cycle.0 * PER_CYCLE);
            let warp = reply.id.0 as usize / 32;
            self.waiting[warp] -= 1;
            if self.waiting[warp] == 0 && self.rounds[warp] < rounds {
                self.load(number, warp, lines, reply.cycle.0 + 40);
            }
        }
        self.send(until, out);
    }
}

/// Lines of the first `slices` slices, as many of each.
fn lines(memory: &MemorySystem, slices: u32, count: usize) -> Vec<Line> {
    let map = memory.address_map();
    let mut of: Vec<Vec<Line>> = vec![Vec::new(); slices as usize];
    let each = count.div_ceil(slices as usize);
    let mut line = 0;
    while of.iter().any(|lines| lines.len() < each) {
        let slice = map.slice(map.place(Line(line))) as usize;
        if slice < of.len() && of[slice].len() < each {
            of[slice].push(Line(line));
        }
        line += 1;
    }
    (0..count).map(|n| of[n % of.len()][n / of.len()]).collect()
}

/// Loads per core cycle from `count` lines of so many slices, `rounds` of each warp.
fn loads_per_cycle(gpu: &Gpu, slices: u32, count: usize, rounds: u32) -> (f64, MemoryStatistics) {
    let mut memory = MemorySystem::new(gpu).expect("a complete GPU");
    let sms = CardParameters::load(gpu).expect("a card").sms as usize;
    let lines = lines(&memory, slices, count);
    // Everything is in L2.
    let mut traffic = vec![Vec::new(); sms];
    traffic[0] = lines
        .iter()
        .enumerate()
        .map(|(n, line)| Request {
            sectors: Line::WHOLE,
            ..request(
                n as u64 * 40,
                0,
                n as u32,
                RequestKind::Read,
                line.sector(0).0,
            )
        })
        .collect();
    driver::replay(&mut memory, &traffic, || 150, 1);
    memory.reset_statistics();

    let start = 40 * count as u64 + 100_000;
    let window = memory.request_latency() + memory.reply_latency();
    let mut all: Vec<Sm> = (0..sms as u16).map(Sm::new).collect();
    for (number, sm) in all.iter_mut().enumerate() {
        for warp in 0..WARPS {
            sm.load(number as u16, warp, &lines, start);
        }
    }
    let (mut requests, mut replies) = (vec![Vec::new(); sms], vec![Vec::new(); sms]);
    let mut performed = Vec::new();
    let (mut until, mut last, mut answered) = (start, 0, 0);
    let total = sms * WARPS * 32 * rounds as usize;
    while answered < total {
        until += window;
        for (number, sm) in all.iter_mut().enumerate() {
            sm.run(number as u16, &lines, rounds, until, &mut requests[number]);
        }
        memory.run(Cycle(until), &mut requests, &mut replies, &mut performed);
        for (sm, replies) in all.iter_mut().zip(&mut replies) {
            answered += replies.len();
            last = replies
                .last()
                .map_or(last, |reply: &Reply| last.max(reply.cycle.0));
            sm.inbox.extend(replies.drain(..));
        }
    }
    (total as f64 / (last - start) as f64, memory.statistics())
}

#[test]
fn k_slices_of_the_rtx_4090_give_what_was_measured() {
    let ada = gpu("rtx-4090", &[]);
    let clock = CardParameters::load(&ada).expect("a card").core_clock;
    let mut one = 0.0;
    for (slices, measured, relative) in [
        (1, 1957.0, 1.0),
        (2, 3917.0, 2.0),
        (4, 7826.0, 4.0),
        (9, 17_582.0, 8.98),
        (18, 34_446.0, 17.6),
        (36, 68_085.0, 34.78),
    ] {
        let (rate, statistics) = loads_per_cycle(&ada, slices, 8192, 2);
        if slices == 1 {
            one = rate;
            assert!((rate / 0.75 - 1.0).abs() < 0.02, "{rate} loads per cycle");
        }
        let ratio = rate / one;
        println!(
            "{slices:2} slices: {:.0} M loads/s ({measured}), {ratio:.2} times one ({relative})",
            rate * clock
        );
        assert!((ratio / relative - 1.0).abs() < 0.02, "{slices}: {ratio}");
        assert!((rate * clock / measured - 1.0).abs() < 0.02);
        assert_eq!(statistics.l2_misses, 0, "all lines are in L2");
    }
}

#[test]
fn what_waits_for_a_slice_is_bounded_by_the_credits_of_all_sms() {
    let ada = gpu("rtx-4090", &[]);
    let (_, one) = loads_per_cycle(&ada, 1, 1024, 1);
    let credits = 128 * CREDITS as u64;
    let waits = one.crossbar_queue_most;
    assert!(
        (credits / 2..=credits).contains(&waits),
        "a hot slice makes all SMs wait: {waits}"
    );
    assert_eq!(one.l2_queue_most, 64, "its queue is full");
    // Spread over all slices, the same traffic waits hardly at all.
    let (_, all) = loads_per_cycle(&ada, 36, 1024, 1);
    assert!(
        all.crossbar_queue_most < waits / 20,
        "{}",
        all.crossbar_queue_most
    );
}

/// REGRESSIONS.md M1: atomics cost their slice a turn per packet, wherever they go; only different
/// slices work at the same time.
#[test]
fn atomics_go_at_the_rate_of_the_slices_they_reach() {
    let ada = gpu("rtx-4090", &[]);
    let packets = 7200_u32;
    let cycles = |address: &dyn Fn(u32) -> (Line, u32)| {
        let mut memory = MemorySystem::new(&ada).expect("a complete GPU");
        let mut traffic = vec![Vec::new(); 128];
        let send = |cycle, n: u32| {
            let (line, sector) = address(n);
            Request {
                lanes: 16,
                ..request(
                    cycle + u64::from(n / 128),
                    (n % 128) as u16,
                    n,
                    RequestKind::Reduction,
                    line.sector(sector).0,
                )
            }
        };
        // Once to bring the lines into L2, then against the clock.
        let start = 200_000;
        for cycle in [0, start] {
            for n in 0..packets {
                traffic[(n % 128) as usize].push(send(cycle, n));
            }
        }
        let got = driver::replay(&mut memory, &traffic, || 200, 1);
        assert_eq!(got.statistics.l2_reductions, 2 * u64::from(packets));
        let replies = got.replies.iter().flatten();
        let last = replies.map(|reply| reply.cycle.0).max().expect("answers");
        (last - start) as f64
    };
    let memory = MemorySystem::new(&ada).expect("a complete GPU");
    let spread = lines(&memory, 36, 36);
    let per_cycle = 1965.0 / 2600.0;
    for (what, slices, took) in [
        ("one word", 1.0, cycles(&|_| (spread[0], 0))),
        ("sectors of one line", 1.0, cycles(&|n| (spread[0], n % 4))),
        (
            "lines of two slices",
            2.0,
            cycles(&|n| (spread[n as usize % 2], 0)),
        ),
        (
            "lines of all slices",
            36.0,
            cycles(&|n| (spread[n as usize % 36], 0)),
        ),
    ] {
        let busy = f64::from(packets) / per_cycle / slices;
        // The way there and back comes on top.
        let range = busy..busy + 400.0;
        assert!(range.contains(&took), "{what}: {took}, slices busy {busy}");
    }
}

#[test]
fn queues_to_the_dram_stay_within_their_capacities() {
    let mix = driver::Mix {
        elements: 1 << 19,
        ..driver::VADD
    };
    let run = |overrides: &[&str]| {
        let gpu = gpu("rtx-a6000", overrides);
        driver::stream(&gpu, &mix, None, 1).memory.statistics()
    };
    let narrow = run(&[
        "l2.miss_queue=16",
        "dram.queue=32",
        "dram.return_queue=0",
        "dram.write_high=12",
        "dram.write_low=4",
    ]);
    let few = run(&["l2.mshrs=24"]);
    for (most, capacity, what) in [
        (narrow.l2_miss_queue_most, 16, "miss queue"),
        (narrow.dram_queue_most, 32, "DRAM queue"),
        (few.l2_mshrs_most, 24, "entries"),
    ] {
        let range = capacity * 3 / 4..=capacity;
        assert!(range.contains(&most), "{what}: {most} of {capacity}");
    }
    for statistics in [narrow, few] {
        assert!(statistics.l2_blocked > 0, "full queues hold packets up");
    }
}
