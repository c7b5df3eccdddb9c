//! `lint` finds every fault that is planted into the control bits of compiled code. Whether a change is a
//! fault at all is decided by rule: `common::oracle` follows single ways through the code and looks at
//! every pair of instructions on them. What it calls a hazard must be found, as that hazard between those
//! instructions; a change that it calls harmless is one that no way needs: the counter is covered by a
//! younger instruction of the same unit, nobody touches the register, or the distance is kept all the same.

mod common;

use std::collections::BTreeMap;

use common::oracle::Oracle;
use common::{Code, rules};
use sass::{Control, Decoded, File, Instruction, Opcode, Word};
use schedule::{Hazard, Rules};

/// One architecture of each generation.
const ARCHITECTURES: [u32; 3] = [75, 86, 90];

/// Sections that are small enough to be walked once per change.
fn small_sections() -> Vec<(Code, Rules)> {
    let rules: BTreeMap<u32, Rules> = ARCHITECTURES.map(|sm| (sm, rules(sm))).into();
    let sections = common::kernels()
        .into_iter()
        .flat_map(|file| common::sections(&file));
    sections
        .filter(|code| ARCHITECTURES.contains(&code.sm) && code.instructions.len() <= 160)
        .map(|code| {
            let rules = rules[&code.sm].clone();
            (code, rules)
        })
        .collect()
}

/// `instruction` with other control bits.
fn with(instruction: &Instruction, change: impl FnOnce(&mut Control)) -> Instruction {
    const FIELD: u128 = ((1 << 21) - 1) << 105;
    let mut control = instruction.control;
    change(&mut control);
    let word = Word(instruction.word.0 & !FIELD | control.encode().0);
    match sass::decode(word, instruction.architecture) {
        Decoded::Instruction(changed) => changed,
        Decoded::Unknown(_) => panic!("control bits do not decide what an instruction is"),
    }
}

/// A change of one control field.
type Change = fn(&mut Control);

/// Its name, the instructions that it applies to, the change, and how many faults it makes at least.
type Planted = (&'static str, fn(&Instruction) -> bool, Change, usize);

/// Of so many changes one is made.
const SAMPLE: usize = 7;

/// Makes a change wherever `applies`, and demands what the oracle finds. Gives how many were faults, how
/// many were harmless, and how many were found by `lint` alone.
fn plant(
    sections: &[(Code, Rules)],
    applies: fn(&Instruction) -> bool,
    change: Change,
) -> (usize, usize, usize) {
    let (mut faults, mut harmless, mut alone, mut candidates) = (0, 0, 0, 0usize);
    for (code, rules) in sections {
        for place in 0..code.instructions.len() {
            let Some(instruction) = code.instructions[place].as_ref().filter(|i| applies(i)) else {
                continue;
            };
            candidates += 1;
            if !candidates.is_multiple_of(SAMPLE) {
                continue;
            }
            let mut mutant = code.instructions.clone();
            mutant[place] = Some(with(instruction, change));
            let certain = Oracle::new(rules, &mutant).around(place);
            let found = code.lint_mutant(rules, &mutant).findings;
            for hazard in &certain {
                let same = |found: &&schedule::Finding| {
                    (found.hazard, found.earlier, found.later) == *hazard
                };
                assert!(
                    found.iter().find(same).is_some(),
                    "{}: changed {}\n{:?} between\n  {}\n  {}",
                    code.name,
                    code.show(place),
                    hazard.0,
                    code.show(hazard.1),
                    code.show(hazard.2)
                );
            }
            match (certain.is_empty(), found.is_empty()) {
                (false, _) => faults += 1,
                (true, true) => harmless += 1,
                (true, false) => alone += 1,
            }
        }
    }
    (faults, harmless, alone)
}

#[test]
fn the_oracle_has_nothing_to_say_of_compiled_code() {
    for (code, rules) in small_sections() {
        let oracle = Oracle::new(&rules, &code.instructions);
        for place in (0..code.instructions.len()).step_by(40) {
            let certain = oracle.around(place);
            assert!(certain.is_empty(), "{}: {certain:?}", code.name);
        }
    }
}

#[test]
fn lowered_stalls_dropped_waits_and_dropped_or_swapped_counters_are_found() {
    let sections = small_sections();
    let changes: [Planted; 7] = [
        (
            "stall lowered by one",
            |i| i.control.stall >= 2,
            |control| control.stall -= 1,
            300,
        ),
        (
            "stall of one",
            |i| i.control.stall >= 3,
            |control| control.stall = 1,
            300,
        ),
        (
            "waits dropped",
            |i| i.control.wait_mask != 0,
            |control| control.wait_mask = 0,
            200,
        ),
        (
            "lowest wait dropped",
            |i| i.control.wait_mask.count_ones() > 1,
            |control| control.wait_mask &= control.wait_mask - 1,
            4,
        ),
        (
            "write counter dropped",
            |i| i.control.write_counter.is_some(),
            |control| control.write_counter = None,
            200,
        ),
        (
            "read counter dropped",
            |i| i.control.read_counter.is_some(),
            |control| control.read_counter = None,
            50,
        ),
        (
            "write counter swapped",
            |i| i.control.write_counter.is_some(),
            |control| {
                control.write_counter = control.write_counter.map(|counter| (counter + 1) % 6)
            },
            200,
        ),
    ];
    for (name, applies, change, least) in changes {
        let (faults, harmless, alone) = plant(&sections, applies, change);
        println!("{name}: {faults} faults found, {harmless} harmless, {alone} found by lint alone");
        assert!(faults >= least, "{name}: only {faults} faults planted");
        // Ways that the oracle does not follow, and waits that lost their counter.
        assert!(
            alone <= faults,
            "{name}: {alone} findings that the oracle does not confirm"
        );
    }
}

#[test]
fn waits_for_counters_that_nobody_raises_are_found() {
    let mut planted = 0;
    for (code, rules) in small_sections() {
        let instructions = code.instructions.iter().flatten();
        let indirect = |i: &Instruction| {
            matches!(
                i.opcode,
                Opcode::CALL | Opcode::BRX | Opcode::BRXU | Opcode::JMX | Opcode::RET
            )
        };
        if !code.is_entry || instructions.clone().any(indirect) {
            continue;
        }
        let raised = instructions.fold(0u8, |raised, i| {
            let bit = |counter: Option<u8>| counter.map_or(0, |counter| 1 << counter);
            raised | bit(i.control.write_counter) | bit(i.control.read_counter)
        });
        let Some(counter) = (0..6u8).find(|counter| raised >> counter & 1 == 0) else {
            continue;
        };
        // Code behind the last EXIT is padding that is never reached.
        let end = code
            .instructions
            .iter()
            .rposition(|i| i.as_ref().is_some_and(|i| i.opcode == Opcode::EXIT));
        for place in (0..end.unwrap_or(0)).step_by(17) {
            let mut mutant = code.instructions.clone();
            if let Some(instruction) = &mut mutant[place] {
                *instruction = with(instruction, |control| control.wait_mask |= 1 << counter);
            }
            let found = code.lint_mutant(&rules, &mutant).findings;
            let same = |found: &schedule::Finding| {
                found.hazard == Hazard::UnraisedWait(counter) && found.later == place
            };
            assert!(
                found.iter().any(same),
                "{}: {}",
                code.name,
                code.show(place)
            );
            planted += 1;
        }
    }
    println!("{planted} waits for a counter that nobody raises");
    assert!(planted > 300, "{planted}");
}

#[test]
fn stall_counts_that_collapse_are_found() {
    let mut planted = 0;
    for (code, rules) in small_sections() {
        for place in (0..code.instructions.len()).step_by(37) {
            for stall in 12..16 {
                let mut mutant = code.instructions.clone();
                let Some(instruction) = &mut mutant[place] else {
                    continue;
                };
                *instruction = with(instruction, |control| {
                    (control.stall, control.yields) = (stall, false);
                });
                let found = code.lint_mutant(&rules, &mutant).findings;
                let same = |found: &schedule::Finding| {
                    found.hazard == Hazard::CollapsedStall && found.later == place
                };
                assert!(
                    found.iter().any(same),
                    "{}: {}",
                    code.name,
                    code.show(place)
                );
                planted += 1;
            }
        }
    }
    println!("{planted} collapsing stalls");
    assert!(planted > 1000, "{planted}");
}

/// What becomes of an operand that is kept, on the one way from `place` to the end of its block.
#[derive(PartialEq, Eq, Debug)]
enum Kept {
    /// The next read at its place finds it, overwritten meanwhile.
    Stale(usize),
    /// The next read at its place finds it, or the block ends first.
    Open,
    /// Another register is read there first.
    Displaced,
}

/// By the rule alone: slot and bank are the key, the next read there takes the operand away.
fn fate(code: &Code, place: usize, slot: u8, register: u8) -> Kept {
    let mut overwritten = false;
    for (index, instruction) in code.instructions.iter().enumerate().skip(place) {
        let Some(instruction) = instruction else {
            return Kept::Open;
        };
        let footprint = sass::footprint(instruction);
        if index > place && !instruction.word.bit(8) {
            for read in &footprint.reads {
                if read.file != File::General || read.slot != Some(slot) {
                    continue;
                }
                for part in 0..read.count.min(2) {
                    let other = read.first + part;
                    if other & 1 == register & 1 {
                        return match (other == register, overwritten) {
                            (true, true) => Kept::Stale(index),
                            (true, false) => Kept::Open,
                            (false, _) => Kept::Displaced,
                        };
                    }
                }
            }
        }
        for write in &footprint.writes {
            let guarded = !instruction.guard.is_always();
            let covers = write.first..write.first.saturating_add(write.count);
            overwritten |= write.file == File::General && covers.contains(&register) && !guarded;
        }
        use Opcode::*;
        if matches!(
            instruction.opcode,
            BRA | BRX | BRXU | CALL | EXIT | JMX | KILL | RET
        ) {
            return Kept::Open;
        }
    }
    Kept::Open
}

#[test]
fn reuse_of_an_overwritten_operand_is_found() {
    let (mut stale, mut useless, mut harmless) = (0, 0, 0);
    for (code, rules) in small_sections() {
        for place in 0..code.instructions.len() {
            let Some(instruction) = &code.instructions[place] else {
                continue;
            };
            let footprint = sass::footprint(instruction);
            let plain = !instruction.word.bit(8) && !instruction.control.yields;
            for read in &footprint.reads {
                let Some(slot) = read.slot.filter(|&slot| plain && slot < 3 && !read.reuse) else {
                    continue;
                };
                let changed = with(instruction, |control| control.reuse |= 1 << slot);
                let kept = sass::footprint(&changed);
                let marked = |of: &&sass::Use| of.slot == Some(slot) && of.reuse;
                if read.count != 1 || kept.reads.iter().find(marked).is_none() {
                    continue;
                }
                let fate = fate(&code, place, slot, read.first);
                if !matches!(fate, Kept::Stale(_)) && !place.is_multiple_of(19) {
                    continue;
                }
                let mut mutant = code.instructions.clone();
                mutant[place] = Some(changed);
                let found = code.lint_mutant(&rules, &mutant).findings;
                match fate {
                    Kept::Stale(later) => {
                        let same = |found: &schedule::Finding| {
                            found.hazard == Hazard::StaleReuse
                                && (found.earlier, found.later) == (place, later)
                        };
                        assert!(
                            found.iter().any(same),
                            "{}: slot {slot}\n  {}\n  {}",
                            code.name,
                            code.show(place),
                            code.show(later)
                        );
                        stale += 1;
                    }
                    _ if found
                        .iter()
                        .any(|found| found.hazard == Hazard::UselessReuse) =>
                    {
                        useless += 1
                    }
                    _ => harmless += 1,
                }
            }
        }
    }
    println!("{stale} overwritten operands kept, {useless} kept for nobody, {harmless} harmless");
    assert!(stale > 300 && useless > 150, "{stale} and {useless}");
}
