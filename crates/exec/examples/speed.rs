//! Functional speed of the FFMA benchmark, for day-to-day work.
use std::sync::Arc;
use std::time::Instant;

use exec::{GlobalMemory, HostIsa, Launch, LaunchOptions, Module, Program, functional};

fn main() {
    let path = std::env::args()
        .nth(1)
        .unwrap_or("kernels/bench/ffma.sm_86.cubin".to_owned());
    let cubin = cubin::Cubin::parse(&std::fs::read(&path).expect("a file")).expect("a cubin");
    for host in HostIsa::ALL.into_iter().filter(|host| host.is_available()) {
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
        let start = Instant::now();
        let statistics = functional::run(&launch, &mut memory, 1 << 40).expect("a run");
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}: {} warp instructions, {:.2} M/s, {:?}",
            host.name(),
            statistics.warp_instructions,
            statistics.warp_instructions as f64 / seconds / 1e6,
            &statistics.by_opcode(&launch)[..3],
        );
    }
}
