//! Words that no compiler made: whatever decodes must lower or be refused, and run or fault, without
//! a panic.

use sass::{Architecture, Decoded, Word};

use super::machine::{launch_with, memory};
use super::*;
use crate::functional;
use crate::launch::LaunchOptions;

/// Bits 0 to 11 of every row of the encoding table.
fn codes() -> Vec<u64> {
    let mut codes: Vec<u64> = sass::rows()
        .iter()
        .flat_map(|row| {
            (0..8)
                .filter(|form| row.forms >> form & 1 == 1)
                .map(|form| u64::from(row.code) | form << 9)
        })
        .collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn random_words_run_or_fault() {
    let codes = codes();
    let mut random = Random::new(0x5eed);
    let mut executed = std::collections::HashSet::new();
    for round in 0..30_000u64 {
        let mut code = Vec::new();
        // Registers with something in them, then random instructions of known opcodes.
        for row in 0..8u8 {
            code.push(instruction(
                Opcode::MOV,
                &[],
                &[r(row * 5), imm(random.word())],
            ));
        }
        let mut tries = 0;
        while code.len() < 13 && tries < 200 {
            tries += 1;
            let low = random.wide() & !0xfff & !(7 << 12) | 7 << 12;
            let low = low & !(1 << 15) | codes[random.word() as usize % codes.len()];
            let mut high = random.wide();
            // Registers that the kernel has, more often than not.
            let mut low = low;
            if !random.word().is_multiple_of(4) {
                for shift in [16, 24, 32] {
                    low &= !(0xc0 << shift);
                }
                high &= !0xc0;
            }
            let architecture = if round % 2 == 0 {
                Architecture::Sm86
            } else {
                Architecture::Sm75
            };
            let word = Word::from_halves(low, high);
            if let Decoded::Instruction(i) = sass::decode(word, architecture) {
                code.push(i);
            }
        }
        code.push(instruction(Opcode::EXIT, &[], &[]));
        let code: Vec<_> = code.into_iter().filter(crate::executes).collect();
        let options = LaunchOptions {
            dynamic_shared: 512,
            unknown_op: crate::UnknownOp::Nop,
            ..Default::default()
        };
        let launch = launch_with(&code, [1, 1, 1], [48, 1, 1], options);
        let mut m = memory(64);
        let _ = functional::run(&launch, &mut m, 500);
        for decoded in &code {
            executed.insert(decoded.opcode);
        }
    }
    assert!(executed.len() > 80, "{}", executed.len());
}
