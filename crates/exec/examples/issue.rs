//! Nanoseconds of `issue` alone: one SM, eight warps in turn.
use std::sync::Arc;
use std::time::Instant;

use exec::{GlobalMemory, HostIsa, Launch, LaunchOptions, Module, Program, SmState};
use source::{CtaSlot, Cycle, Effect, SmId, Source, WarpSlot};

fn main() {
    let path = std::env::args()
        .nth(1)
        .unwrap_or("kernels/bench/ffma.sm_86.cubin".to_owned());
    let cubin = cubin::Cubin::parse(&std::fs::read(&path).expect("a file")).expect("a cubin");
    let only = std::env::args().nth(2);
    let chosen = |host: &HostIsa| only.as_deref().is_none_or(|name| host.name() == name);
    for host in HostIsa::ALL
        .into_iter()
        .filter(|host| host.is_available() && chosen(host))
    {
        let mut memory = GlobalMemory::new();
        let module = Arc::new(Module::load(&cubin, &mut memory).expect("a module"));
        let kernel = cubin.kernels()[0].clone();
        let program = Arc::new(Program::load(&cubin, &kernel.name, module).expect("a kernel"));
        let out = memory.allocate(64 << 20, "out").expect("memory");
        let second = memory.allocate(64 << 20, "in").expect("memory");
        let mut parameters = Vec::new();
        for p in &kernel.parameters {
            parameters.resize(p.offset as usize, 0);
            match p.size {
                8 if p.index == 0 => parameters.extend(out.to_le_bytes()),
                8 => parameters.extend(second.to_le_bytes()),
                _ => parameters.extend(32u32.to_le_bytes()),
            }
        }
        let options = LaunchOptions {
            host: Some(host),
            ..Default::default()
        };
        let launch = Arc::new(
            Launch::new(program, [168, 1, 1], [256, 1, 1], &parameters, options).expect("a launch"),
        );
        let mut sms = vec![SmState::new(Arc::clone(&launch), SmId(0))];
        let mut effect = Effect::new();
        let mut issued = 0u64;
        let mut spent = std::time::Duration::ZERO;
        for cta in 0..168 {
            let slots: Vec<WarpSlot> = (0..8).map(WarpSlot).collect();
            sms[0].start_cta(&memory, cta, CtaSlot(0), &slots);
            let start = Instant::now();
            let sm = &mut sms[0];
            let mut live = 8;
            let mut ended = [false; 8];
            while live > 0 {
                for w in 0..8u8 {
                    if ended[w as usize] {
                        continue;
                    }
                    let warp = WarpSlot(w);
                    let pc = sm.pc(warp);
                    sm.issue(&memory, warp, pc, Cycle(issued), &mut effect)
                        .expect("no fault");
                    issued += 1;
                    if effect.ended {
                        ended[w as usize] = true;
                        live -= 1;
                    }
                }
            }
            spent += start.elapsed();
            SmState::publish(&mut sms, &mut memory);
        }
        println!(
            "{}: {:.1} ns",
            host.name(),
            spent.as_nanos() as f64 / issued as f64
        );
    }
}
