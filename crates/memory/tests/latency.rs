//! Without other traffic, round trips take what the parameters add up to (MODEL.md §8.1).

mod driver;

use driver::{gpu, replay, request};
use hardware::{CardParameters, Gpu, MemoryParameters};
use memory::dram::DramParameters;
use memory::{CrossbarParameters, L2Parameters, MemorySystem};
use source::{Request, RequestKind};

struct Parameters {
    card: CardParameters,
    memory: MemoryParameters,
    crossbar: CrossbarParameters,
    l2: L2Parameters,
    dram: DramParameters,
}

fn parameters(gpu: &Gpu) -> Parameters {
    Parameters {
        card: CardParameters::load(gpu).expect("a card"),
        memory: MemoryParameters::load(gpu).expect("a memory"),
        crossbar: CrossbarParameters::load(gpu).expect("a crossbar"),
        l2: L2Parameters::load(gpu).expect("an L2"),
        dram: DramParameters::load(gpu).expect("a DRAM"),
    }
}

/// The cycle of the reply to each request, all from one SM.
fn replies(gpu: &Gpu, list: &[(u64, RequestKind, u64)]) -> Vec<u64> {
    let mut memory = MemorySystem::new(gpu).expect("a complete GPU");
    let sms = parameters(gpu).card.sms as usize;
    let mut traffic = vec![Vec::new(); sms];
    traffic[0] = list
        .iter()
        .enumerate()
        .map(|(id, &(cycle, kind, sector))| request(cycle, 0, id as u32, kind, sector))
        .collect();
    let got = replay(&mut memory, &traffic, || 150, 1);
    (0..list.len() as u32)
        .map(|id| {
            let reply = got.replies[0].iter().find(|reply| reply.id.0 == id);
            reply.expect("an answer").cycle.0
        })
        .collect()
}

/// The first core cycle from `cycle` on in which a cycle of the L2 clock begins or has just begun.
fn l2_edge(p: &Parameters, cycle: u64) -> u64 {
    let Some(clock) = p.l2.clock else {
        return cycle;
    };
    let khz = |mhz: f64| (mhz * 1000.0).round() as u64;
    let (core, l2) = (khz(p.card.core_clock), khz(clock));
    ((cycle * l2).div_ceil(core) * core).div_ceil(l2)
}

/// When a packet that leaves its SM in cycle `start` is looked up.
fn lookup(p: &Parameters, start: u64) -> u64 {
    l2_edge(
        p,
        start + p.crossbar.from_sm + p.crossbar.request + p.l2.fixed_latency,
    )
}

/// When the reply is at the SM whose data are there in cycle `ready`.
fn reply(p: &Parameters, ready: u64) -> u64 {
    l2_edge(p, ready + p.l2.lookup_latency) + p.crossbar.reply + p.crossbar.to_sm
}

/// When the reply is there to a request of cycle `start` that hits.
fn hit(p: &Parameters, start: u64) -> u64 {
    reply(p, lookup(p, start))
}

/// From core cycle `at`, when a miss is found on a closed bank, until its data is there.
fn dram(p: &Parameters, at: u64) -> u64 {
    let khz = |mhz: f64| (mhz * 1000.0).round() as u64;
    let (core, command) = (khz(p.card.core_clock), khz(p.memory.command_clock));
    let burst =
        (p.dram.atom * 8).div_ceil(p.dram.pins * u64::from(p.memory.bits_per_command_cycle));
    let activate = ((at + p.dram.fixed_latency) * command).div_ceil(core);
    let data = activate + p.dram.rcd + p.dram.cl + burst;
    (data * core).div_ceil(command) + p.dram.return_latency
}

#[test]
fn unloaded_round_trips_on_every_gpu() {
    for name in hardware::names() {
        let mut gpu = gpu(name, &[]);
        if gpu.has("dram.refresh_period") {
            gpu.set("dram.refresh_period=1000000000")
                .expect("an override");
        }
        let p = parameters(&gpu);
        for start in [0, 1, 17, 1000] {
            let far = start + 100_000;
            let got = replies(
                &gpu,
                &[
                    (start, RequestKind::Read, 4242),
                    (far, RequestKind::Read, 4242),
                    (far + 5000, RequestKind::Atomic, 4242),
                    (far + 9000, RequestKind::Write, 777_777),
                ],
            );
            let miss = reply(&p, dram(&p, lookup(&p, start)));
            assert_eq!(got[0], miss, "{name}: miss");
            assert_eq!(got[1], hit(&p, far), "{name}: hit");
            let atomic = hit(&p, far + 5000);
            assert_eq!(got[2], atomic, "{name}: atomic that hits");
            let write = hit(&p, far + 9000);
            assert_eq!(got[3], write, "{name}: write of a new line");
        }
    }
}

#[test]
fn the_round_trips_of_the_a6000() {
    let a6000 = gpu("rtx-a6000", &[]);
    let got = replies(
        &a6000,
        &[(0, RequestKind::Read, 0), (9999, RequestKind::Read, 0)],
    );
    // 211 + two hops + lookup; 243 + (24 + 24 + 4) command cycles of 0.45 core cycles.
    assert_eq!(got[1] - 9999, 214);
    assert_eq!(got[0], 214 + 243 + 24);
}

#[test]
fn the_round_trips_of_the_rtx_4090() {
    // MODEL.md §8.2: a DRAM access takes 333 cycles more than one that hits L2, 5.6 of which are the
    // share of refreshes (tests/refresh.rs).
    let ada = gpu("rtx-4090", &["dram.refresh_period=1000000000"]);
    // The clocks of core, L2 and DRAM meet anew each time: means of many. Each finds a closed bank.
    let system = MemorySystem::new(&ada).expect("a complete GPU");
    let map = system.address_map();
    let mut banks = std::collections::HashSet::new();
    let lines: Vec<u64> = (0..1 << 16)
        .map(|n| n * 977)
        .filter(|&line| {
            let place = map.place(source::Line(line));
            let at = map.coordinates(place.local, place.sub, 0);
            banks.insert((place.partition, at.channel, at.bank))
        })
        .collect();
    let count = lines.len();
    assert_eq!(count, 12 * 2 * 16, "every bank");
    let read = |from: u64| {
        let lines = lines.iter().enumerate();
        lines.map(move |(n, line)| (from + n as u64 * 20_011, RequestKind::Read, line * 4))
    };
    let (misses, hits) = (read(0), read(11_000_000));
    let list: Vec<_> = misses.chain(hits).collect();
    let got = replies(&ada, &list);
    let mean = |range: std::ops::Range<usize>| {
        let sum: u64 = range.clone().map(|n| got[n] - list[n].0).sum();
        sum as f64 / range.len() as f64
    };
    let (miss, hit) = (mean(0..count), mean(count..2 * count));
    assert!(
        (hit - 291.0).abs() < 1.0,
        "an L2 hit {hit} beyond an L1 hit"
    );
    let beyond = miss - hit;
    assert!((beyond - 327.4).abs() < 2.0, "{beyond} beyond a hit");
}

#[test]
fn a_read_of_a_sector_under_way_comes_with_it() {
    let a6000 = gpu("rtx-a6000", &[]);
    let got = replies(
        &a6000,
        &[(0, RequestKind::Read, 9), (50, RequestKind::Read, 9)],
    );
    assert_eq!(got[1], got[0] + 1, "one reply per cycle");
}

#[test]
fn a_row_that_is_open_is_faster_and_another_row_of_the_bank_slower() {
    let a6000 = gpu("rtx-a6000", &["dram.bank_index=linear"]);
    let p = parameters(&a6000);
    let memory = MemorySystem::new(&a6000).expect("a complete GPU");
    let map = memory.address_map();
    let coordinates = |sector: u64| {
        let place = map.place(source::Sector(sector).line());
        let at = map.coordinates(place.local, place.sub, (sector % 4) as u32);
        (place.partition, at)
    };
    let first = coordinates(0);
    let same_row = (4..)
        .find(|&s| coordinates(s) == first)
        .expect("the row goes on");
    let other_row = (4..)
        .find(|&s| {
            let (partition, at) = coordinates(s);
            partition == first.0 && at.bank == first.1.bank && at.row != first.1.row
        })
        .expect("the bank has more rows");
    let far = 18_000;
    let got = replies(
        &a6000,
        &[
            (0, RequestKind::Read, 0),
            (far, RequestKind::Read, same_row),
            (2 * far, RequestKind::Read, other_row),
        ],
    );
    // In core cycles: 0.45 per command cycle.
    let core = |command: u64| (command * 9).div_ceil(20);
    let base = hit(&p, 0) + p.dram.fixed_latency;
    assert_eq!(got[0], base + core(24 + 24 + 4));
    assert_eq!(got[1] - far, base + core(24 + 4));
    assert_eq!(got[2] - 2 * far, base + core(24 + 24 + 24 + 4));
}

#[test]
fn ports_take_one_packet_per_cycle() {
    let a6000 = gpu("rtx-a6000", &[]);
    let sms = 84;
    // Everyone asks for the same sector in the same cycle, when it is there.
    let mut traffic = vec![Vec::new(); sms];
    traffic[0].push(request(0, 0, 1000, RequestKind::Read, 5));
    for (sm, requests) in traffic.iter_mut().enumerate() {
        requests.push(request(20_000, sm as u16, 1, RequestKind::Read, 5));
    }
    let mut memory = MemorySystem::new(&a6000).expect("a complete GPU");
    let got = replay(&mut memory, &traffic, || 200, 1);
    for (sm, replies) in got.replies.iter().enumerate() {
        let last = replies.last().expect("an answer");
        assert_eq!(last.cycle.0, 20_000 + 214 + sm as u64, "SM {sm}");
    }
}

#[test]
fn the_sectors_of_a_line_come_together_if_they_hit_and_one_by_one_if_they_miss() {
    let a6000 = gpu("rtx-a6000", &[]);
    let mut memory = MemorySystem::new(&a6000).expect("a complete GPU");
    let line = |cycle, id| Request {
        sectors: source::Line::WHOLE,
        ..request(cycle, 0, id, RequestKind::Read, 400)
    };
    let mut traffic = vec![Vec::new(); 84];
    // The third finds one sector of its line, which comes first.
    let half = Request {
        sectors: 0b0011,
        ..request(20_000, 0, 2, RequestKind::Read, 800)
    };
    traffic[0] = vec![
        line(0, 0),
        line(9999, 1),
        request(15_000, 0, 3, RequestKind::Read, 801),
        half,
    ];
    let got = replay(&mut memory, &traffic, || 150, 1);
    let of = |id: u32| -> Vec<(u64, u8)> {
        let replies = got.replies[0].iter().filter(|reply| reply.id.0 == id);
        replies.map(|r| (r.cycle.0, r.sectors)).collect()
    };
    let miss = of(0);
    assert_eq!(miss.len(), 4, "{miss:?}");
    assert_eq!(miss.iter().fold(0, |all, (_, mask)| all | mask), 0xf);
    assert_eq!(miss[0].0, 214 + 243 + 24);
    // Column reads of one row follow each other every four command cycles, or six in a bank group.
    assert!(miss.is_sorted() && miss[3].0 - miss[0].0 <= 9, "{miss:?}");
    // 32 bytes per cycle: the fourth sector comes three cycles after the first.
    assert_eq!(of(1), [(9999 + 214 + 3, 0xf)]);
    let mixed = of(2);
    assert_eq!(mixed[0], (20_000 + 214, 0b10));
    assert_eq!((mixed.len(), mixed[1].1), (2, 0b01));
    let s = got.statistics;
    assert_eq!((s.l2_requests, s.l2_lookups), (4, 11));
    assert_eq!((s.l2_hits, s.dram_reads), (5, 6));
}

#[test]
fn data_ports_are_busy_for_as_many_cycles_as_a_packet_has_data() {
    for (rate, cycles) in [(1, 4), (2, 2), (4, 1)] {
        let overrides = [
            format!("crossbar.sm_rate={rate}"),
            format!("crossbar.slice_rate={rate}"),
        ];
        let a6000 = gpu("rtx-a6000", &[&overrides[0], &overrides[1]]);
        let mut memory = MemorySystem::new(&a6000).expect("a complete GPU");
        let mut traffic = vec![Vec::new(); 84];
        // One SM writes a line, then many read it in one cycle, then one SM reads many lines.
        let line = |cycle, sm, id, kind, line: u64| Request {
            sectors: source::Line::WHOLE,
            bytes: driver::whole(kind, source::Line::WHOLE),
            ..request(cycle, sm, id, kind, line * 4)
        };
        for n in 0..64 {
            traffic[0].push(line(u64::from(n), 0, n, RequestKind::Write, u64::from(n)));
        }
        for (sm, requests) in traffic.iter_mut().enumerate().take(40) {
            requests.push(line(10_000, sm as u16, 100, RequestKind::Read, 7));
        }
        for n in 0..64 {
            traffic[1].push(line(20_000, 1, 200 + n, RequestKind::Read, u64::from(n)));
        }
        let got = replay(&mut memory, &traffic, || 200, 1);
        for (sm, replies) in got.replies.iter().enumerate().take(40) {
            let reply = replies.iter().find(|reply| reply.id.0 == 100).expect("one");
            // The slice's port sends one line after the other.
            let want = 10_000 + 214 + (sm as u64 + 1) * cycles - 1;
            assert_eq!(reply.cycle.0, want, "SM {sm} at {rate}");
        }
        // The SM's port is the bottleneck of what many slices send it.
        let last = got.replies[1].last().expect("some").cycle.0;
        assert_eq!(last, 20_000 + 214 + 64 * cycles - 1, "at {rate}");
    }
}
