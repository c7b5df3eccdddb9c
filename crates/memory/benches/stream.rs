//! Speed of the memory side and bandwidth that it reaches, on streams and on a pointer chase.
//! `cargo bench -p memory`; `MEMORY_BENCH_SET=key=value,...` overrides parameters.

#[path = "../tests/driver/mod.rs"]
mod driver;

use driver::{Mix, VADD, bandwidth, stream};
use hardware::Gpu;
use memory::MemorySystem;
use source::{Cycle, RequestKind};

fn main() {
    let overrides = std::env::var("MEMORY_BENCH_SET").unwrap_or_default();
    let load = |name: &str| {
        let mut gpu = Gpu::load(name).expect("a GPU");
        for assignment in overrides.split(',').filter(|text| !text.is_empty()) {
            gpu.set(assignment).expect("an override");
        }
        gpu
    };
    let mixes = [
        ("vadd", VADD),
        (
            "read",
            Mix {
                reads: 1,
                writes: 0,
                ..VADD
            },
        ),
        (
            "write",
            Mix {
                reads: 0,
                writes: 1,
                ..VADD
            },
        ),
        (
            "copy",
            Mix {
                reads: 1,
                writes: 1,
                ..VADD
            },
        ),
    ];
    let gpu = load("rtx-a6000");
    if let Some(only) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) {
        let small = Mix {
            elements: 1 << 20,
            ..VADD
        };
        let mixes = mixes.into_iter().chain([("small", small)]);
        for (name, mix) in mixes.filter(|&(name, _)| name == only) {
            report(&gpu, name, &mix, 1);
        }
        if only == "chase" {
            chase(&gpu);
        }
        return;
    }
    for (name, mix) in mixes {
        for threads in [1, 2] {
            report(&gpu, name, &mix, threads);
        }
    }
    for name in hardware::names() {
        report(&load(name), name, &VADD, 1);
    }
    chase(&gpu);
}

fn report(gpu: &Gpu, name: &str, mix: &Mix, threads: usize) {
    let outcome = stream(gpu, mix, None, threads);
    let peak = outcome.memory.dram_peak(gpu).expect("a GPU");
    let reached = bandwidth(gpu, &outcome);
    let s = outcome.memory.statistics();
    println!(
        "{name:16} {threads} thread: {:>6.1} GB/s = {:>5.1} % of peak; {:>5.2} M sectors/s; \
         {} cycles; row hits {:.1} %, turns {}, blocked {}",
        reached / 1e9,
        100.0 * reached / peak,
        outcome.requests as f64 / outcome.seconds / 1e6,
        outcome.cycles,
        100.0 * s.dram_row_hits as f64 / (s.dram_reads + s.dram_writes) as f64,
        s.dram_turns,
        s.l2_blocked,
    );
}

fn chase(gpu: &Gpu) {
    let mut memory = MemorySystem::new(gpu).expect("a GPU");
    let sms = hardware::CardParameters::load(gpu).expect("a card").sms as usize;
    let (mut requests, mut replies) = (vec![Vec::new(); sms], vec![Vec::new(); sms]);
    let mut performed = Vec::new();
    let mut next_send = 0;
    let mut sector = 12_345_u64;
    let start = std::time::Instant::now();
    let (mut until, mut loads) = (0, 0);
    while loads < 100_000 {
        until += 210;
        if next_send < until {
            sector = sector.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1) & 0xfff_ffff;
            requests[0].push(driver::request(next_send, 0, 0, RequestKind::Read, sector));
            next_send = u64::MAX;
        }
        memory.run(Cycle(until), &mut requests, &mut replies, &mut performed);
        for reply in replies[0].drain(..) {
            next_send = reply.cycle.0 + 1;
            loads += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "chase: {:.1} M cycles/s, {:.0} cycles per load",
        until as f64 / seconds / 1e6,
        until as f64 / f64::from(loads),
    );
}
