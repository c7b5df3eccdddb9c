//! The static hazard check is sharp: compiled code with one stall count lowered or one needed wait
//! taken away is reported, and for that pair of instructions.

mod schedule;

use std::collections::BTreeMap;

use hardware::latency::LatencyTable;
use sass::{Class, File, Footprint, Instruction, Predicate};
use schedule::check::Walk;
use schedule::code::{self, Code};
use schedule::findings::Hazard;

/// One architecture of each generation.
const ARCHITECTURES: [u32; 3] = [75, 86, 90];

/// Sections that are small enough to be walked once per mutation.
fn small_sections() -> Vec<Code> {
    let sections = code::kernels()
        .into_iter()
        .flat_map(|file| code::sections(&file));
    sections
        .filter(|code| ARCHITECTURES.contains(&code.sm) && code.instructions.len() <= 400)
        .collect()
}

fn tables() -> BTreeMap<u32, LatencyTable> {
    let load = |sm| LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}"));
    ARCHITECTURES.map(|sm| (sm, load(sm))).into()
}

#[test]
fn a_tight_stall_lowered_by_one_is_reported() {
    let tables = tables();
    let (mut mutations, mut fixed) = (0, 0);
    for code in small_sections() {
        let table = &tables[&code.sm];
        let mut tight = Walk::new(table, &code.instructions).run().tight;
        tight.sort_unstable();
        tight.dedup();
        for (kind, earlier, later) in tight {
            // Any stall on the way will do; one of 1 cannot be lowered.
            let way = if earlier < later {
                earlier..later
            } else {
                earlier..earlier + 1
            };
            let mut mutant = code.instructions.clone();
            let lowered = mutant[way]
                .iter_mut()
                .flatten()
                .find(|i| i.control.stall >= 2);
            let Some(instruction) = lowered else {
                fixed += 1;
                continue;
            };
            instruction.control.stall -= 1;
            let findings = Walk::new(table, &mutant).run().findings;
            let pair = (Hazard::Distance(kind), earlier, later);
            assert!(
                findings
                    .iter()
                    .any(|found| (found.hazard, found.earlier, found.later) == pair),
                "{}: {kind:?} between\n  {}\n  {}",
                code.name,
                code.show(earlier),
                code.show(later)
            );
            mutations += 1;
        }
    }
    println!("{mutations} lowered stalls reported, {fixed} tight pairs without a stall to lower");
    assert!(mutations > 1000, "only {mutations} mutations");
}

/// Whether `reader` reads a general or uniform register that `writer` writes.
fn reads_result(reader: &Footprint, writer: &Footprint) -> bool {
    reader.reads.iter().any(|read| {
        writer.writes.iter().any(|write| {
            read.file == write.file
                && read.first < write.first + write.count
                && write.first < read.first + read.count
        })
    })
}

/// Whether `writer` writes a general register that `reader` reads.
fn overwrites_source(writer: &Footprint, reader: &Footprint) -> bool {
    writer.writes.iter().any(|write| {
        reader.reads.iter().any(|read| {
            write.file == File::General
                && read.file == File::General
                && read.first < write.first + write.count
                && write.first < read.first + read.count
        })
    })
}

/// The last instruction before `index` in straight-line code that raises a counter, if nothing was
/// waited for since.
fn raiser(
    code: &[Option<Instruction>],
    index: usize,
    raises: impl Fn(&Instruction) -> bool,
) -> Option<usize> {
    use sass::Opcode::*;
    for earlier in (0..index).rev() {
        let instruction = code[earlier].as_ref()?;
        if matches!(
            instruction.opcode,
            BRA | BRX | CALL | DEPBAR | BAR | EXIT | RET | WARPSYNC
        ) {
            return None;
        }
        if raises(instruction) {
            return Some(earlier);
        }
        if instruction.control.wait_mask != 0 {
            return None;
        }
    }
    None
}

#[test]
fn a_needed_wait_taken_away_is_reported() {
    let tables = tables();
    let (mut results, mut sources) = (0, 0);
    for code in small_sections() {
        let table = &tables[&code.sm];
        let code_of = &code.instructions;
        for later in 0..code_of.len() {
            let Some(instruction) = &code_of[later] else {
                continue;
            };
            let guarded = instruction.guard.predicate != Predicate::TRUE;
            // With several counters one may cover what the other does.
            let mask = instruction.control.wait_mask;
            if mask.is_power_of_two() {
                let counter = mask.trailing_zeros() as u8;
                let mut mutant = code_of.clone();
                if let Some(mutated) = &mut mutant[later] {
                    mutated.control.wait_mask = 0;
                }
                let own = sass::footprint(instruction);
                let writes = |i: &Instruction| i.control.write_counter == Some(counter);
                let reads = |i: &Instruction| i.control.read_counter == Some(counter);
                let writer = raiser(code_of, later, writes);
                let reader = raiser(code_of, later, reads);
                // HMMA may carry counters beside its fixed latency; distance may do without them.
                let variable = |i: &Instruction| table.unit(sass::class(i).index()).variable;
                let footprint = |index: usize| {
                    code_of[index]
                        .as_ref()
                        .filter(|i| variable(i))
                        .map(sass::footprint)
                };
                let needed = match (writer, reader) {
                    (Some(writer), _)
                        if footprint(writer).is_some_and(|f| reads_result(&own, &f)) =>
                    {
                        results += 1;
                        Some((Hazard::Read, writer))
                    }
                    (_, Some(reader))
                        if !guarded
                            && source::describe(instruction).memory.is_none()
                            && !variable(instruction)
                            && footprint(reader).is_some_and(|f| overwrites_source(&own, &f)) =>
                    {
                        sources += 1;
                        Some((Hazard::ReadOverwrite, reader))
                    }
                    _ => None,
                };
                let Some((hazard, earlier)) = needed else {
                    continue;
                };
                let findings = Walk::new(table, &mutant).run().findings;
                let same = (hazard, earlier, later);
                assert!(
                    findings
                        .iter()
                        .any(|found| (found.hazard, found.earlier, found.later) == same),
                    "{}: {hazard:?} between\n  {}\n  {}",
                    code.name,
                    code.show(earlier),
                    code.show(later)
                );
            }
        }
    }
    println!("dropped waits reported: {results} for results, {sources} for sources");
    assert!(results > 300 && sources > 40, "{results} and {sources}");
}

#[test]
fn a_counter_taken_away_is_reported() {
    let tables = tables();
    let (mut reported, mut covered) = (0, 0);
    for code in small_sections() {
        let table = &tables[&code.sm];
        for index in 0..code.instructions.len() {
            let mut mutant = code.instructions.clone();
            let Some(instruction) = &mut mutant[index] else {
                continue;
            };
            let writes = sass::footprint(instruction).writes;
            if instruction.control.write_counter.is_none() || writes.is_empty() {
                continue;
            }
            instruction.control.write_counter = None;
            let findings = Walk::new(table, &mutant).run().findings;
            // Else a later instruction of the in-order unit covers it, or nobody reads the result.
            if findings.iter().any(|found| found.earlier == index) {
                reported += 1;
            } else {
                covered += 1;
            }
        }
    }
    println!("{reported} counters taken away are reported, {covered} are covered by later ones");
    assert!(reported > 5 * covered, "{reported} reported, {covered} not");
}
