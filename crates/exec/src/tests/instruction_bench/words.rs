//! Words for the bench, made from the rows of the encoding table: every operand form and every value
//! of every suffix of a row, with the other bits at random. So a modifier that is added to the table
//! is tested without a line here.

use sass::table::{Field, Slot, Suffix, When};
use sass::{Architecture, Decoded, Instruction, Opcode, Row, Word};

use super::super::Random;

/// General registers that words name, RZ apart.
pub const REGISTERS: u8 = 32;

fn put(word: &mut u128, first: u8, width: u8, value: u64) {
    let mask = ((1u128 << width) - 1) << first;
    *word = *word & !mask | (u128::from(value) << first) & mask;
}

/// Values that a suffix's bits can take: those of its list of names.
fn values(suffix: &Suffix) -> u64 {
    suffix.names.split_whitespace().count() as u64
}

fn set_suffix(word: &mut u128, suffix: &Suffix, mut value: u64) {
    for &(first, width) in suffix.bits {
        put(word, first, width, value);
        value >>= width;
    }
}

/// First bits of the general registers that a form of a row names.
fn registers(row: &Row, form: u8) -> Vec<u8> {
    let mut at = Vec::new();
    for field in row.fields {
        match field {
            Field::Register { at: first, .. } => at.push(*first),
            Field::Source { slot, .. } => at.extend(match (slot, form) {
                (Slot::A, _) => Some(24),
                (Slot::B | Slot::C | Slot::Last, 1) => Some(if *slot == Slot::C { 64 } else { 32 }),
                (Slot::B, 2 | 3 | 7) | (Slot::C, 4..=6) => Some(64),
                _ => None,
            }),
            _ => {}
        }
    }
    at
}

/// First bits of the uniform registers that a form of a row names.
fn uniforms(row: &Row, form: u8) -> Vec<u8> {
    let mut at: Vec<u8> = row
        .fields
        .iter()
        .filter_map(|field| match field {
            Field::Uniform { at, .. } => Some(*at),
            _ => None,
        })
        .collect();
    if matches!(form, 6 | 7) {
        at.push(32);
    }
    at
}

/// Fills what a row leaves open. Registers lie below `REGISTERS`, often even (pairs), sometimes RZ;
/// literals and constants hold anything.
fn complete(row: &Row, form: u8, choice: &[u64], random: &mut Random) -> u128 {
    let mut word = u128::from(random.wide()) << 64 | u128::from(random.wide());
    put(&mut word, 105, 23, 0);
    // Guard PT.
    put(&mut word, 12, 4, 7);
    put(&mut word, 0, 9, row.code.into());
    put(&mut word, 9, 3, form.into());
    // Constants lie where the banks are filled, at multiples of eight.
    if matches!(form, 3 | 5) {
        put(&mut word, 38, 3, 0);
        put(&mut word, 59, 1, 0);
    }
    match row.high {
        sass::table::High::One => put(&mut word, 91, 1, 1),
        _ => put(&mut word, 91, 1, u64::from(matches!(form, 6 | 7))),
    }
    // A source that this row does not read, but that another one might.
    if row.fields.iter().any(|f| matches!(f, Field::Source { .. })) {
        put(
            &mut word,
            64,
            8,
            u64::from((random.word() as u8 % REGISTERS) & !1),
        );
    }
    for at in uniforms(row, form) {
        let number = if random.word().is_multiple_of(16) {
            63
        } else {
            u64::from((random.word() % 32) & !1)
        };
        put(&mut word, at, 8, number);
    }
    for at in registers(row, form) {
        let number = if random.word().is_multiple_of(16) {
            255
        } else {
            u64::from((random.word() as u8 % REGISTERS) & !1)
        };
        put(&mut word, at, 8, number);
    }
    for (suffix, &value) in row.suffixes.iter().zip(choice) {
        set_suffix(&mut word, suffix, value);
    }
    for when in row.when {
        match *when {
            When::Is(first, width, value) => put(&mut word, first, width, value),
            When::PowerOfTwo(first, width) => {
                put(&mut word, first, width, 1 << (random.word() as u8 % width));
            }
            When::Not(..) => {}
        }
    }
    word
}

/// The plain word of a row: no signs, every open bit zero, registers apart.
fn simple(mut word: u128, row: &Row, form: u8) -> u128 {
    // Sign bits of the three sources and halves' selections, where rows do not fix them.
    for field in row.fields {
        if let Field::Source { slot, .. } = field {
            let (first, width) = match (slot, form) {
                (Slot::A, _) => (72, 2),
                (Slot::C, 1 | 4..=6) | (Slot::B, 2 | 3 | 7) => (74, 2),
                (_, 1) => (62, 2),
                _ => continue,
            };
            let fixed = row.suffixes.iter().any(|s| {
                s.bits
                    .iter()
                    .any(|&(at, w)| at < first + width && first < at + w)
            });
            if !fixed {
                put(&mut word, first, width, 0);
            }
        }
    }
    word
}

/// Calls `visit` with every instruction of the rows of `opcode` on every architecture: each form and
/// each combination of suffixes, `variants` times with other operands.
pub fn each(opcode: Opcode, variants: usize, mut visit: impl FnMut(&Instruction)) {
    let mut random = Random::new(opcode as u64 + 77);
    for row in sass::rows().iter().filter(|row| row.opcode == opcode) {
        for form in (0..8).filter(|form| row.forms >> form & 1 == 1) {
            let mut choice = vec![0u64; row.suffixes.len()];
            loop {
                for variant in 0..variants {
                    // Random bits may be illegal; a few attempts find legal ones.
                    let found = (0..24).find_map(|_| {
                        let mut word = complete(row, form, &choice, &mut random);
                        if variant == 0 {
                            word = simple(word, row, form);
                        }
                        let architecture = if variant & 1 == 0 {
                            row.architectures.1
                        } else {
                            row.architectures.0
                        };
                        decode(word, architecture).filter(|i| i.opcode == opcode)
                    });
                    if let Some(instruction) = found {
                        visit(&instruction);
                    }
                }
                // The next combination.
                let Some(next) = choice
                    .iter()
                    .zip(row.suffixes)
                    .position(|(&value, suffix)| value + 1 < values(suffix))
                else {
                    break;
                };
                choice[next] += 1;
                choice[..next].fill(0);
            }
        }
    }
}

fn decode(word: u128, architecture: Architecture) -> Option<Instruction> {
    match sass::decode(Word(word), architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    }
}
