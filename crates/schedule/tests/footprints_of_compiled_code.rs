//! Footprints against compiled code: a kernel reads no register that nothing on any way has written.
//! A read that is too wide or a write that is too narrow would.

mod common;

use std::collections::HashMap;
use std::path::PathBuf;

use common::Code;
use sass::{File, Opcode, Use};
use schedule::flow::Flow;

/// Registers written so far, one bit each.
type Written = [u64; 6];

/// First bit of each file in a set.
fn bit(file: File, register: u8) -> Option<usize> {
    let first = match file {
        File::General => 0,
        File::Uniform => 256,
        File::Predicate => 320,
        File::UniformPredicate => 328,
        File::Convergence => return None,
    };
    Some(first + usize::from(register))
}

fn bits(of: &Use) -> impl Iterator<Item = usize> + use<> {
    let file = of.file;
    (of.first..of.first.saturating_add(of.count)).filter_map(move |register| bit(file, register))
}

/// Reads of registers that are never written before, as messages.
fn undefined_reads(code: &Code) -> Vec<String> {
    let flow = Flow::new(&code.instructions, &code.tables);
    let footprints: Vec<_> = code
        .instructions
        .iter()
        .map(|i| i.as_ref().map(sass::footprint))
        .collect();
    // R1 is the stack pointer.
    let mut before: HashMap<usize, Written> = HashMap::from([(0, [2, 0, 0, 0, 0, 0])]);
    let mut todo = vec![0];
    while let Some(index) = todo.pop() {
        let (Some(instruction), Some(footprint)) = (&code.instructions[index], &footprints[index])
        else {
            continue;
        };
        let mut written = before[&index];
        for place in footprint.writes.iter().flat_map(bits) {
            written[place / 64] |= 1 << (place % 64);
        }
        let successors = flow.successors(index, instruction);
        let next = successors.falls_through.then_some(index + 1);
        // A callee comes back; what it leaves is not followed.
        let back = (instruction.opcode == Opcode::CALL).then_some(index + 1);
        for (target, written) in [
            (next.filter(|_| back.is_none()), written),
            (successors.target, written),
            (back, [u64::MAX; 6]),
        ] {
            let Some(target) = target.filter(|&target| target < code.instructions.len()) else {
                continue;
            };
            let known = before.get(&target).copied();
            let mut joined = known.unwrap_or([0; 6]);
            joined
                .iter_mut()
                .zip(written)
                .for_each(|(old, new)| *old |= new);
            if known != Some(joined) {
                before.insert(target, joined);
                todo.push(target);
            }
        }
    }
    let mut wrong = Vec::new();
    for (index, footprint) in footprints.iter().enumerate() {
        let (Some(written), Some(footprint), Some(instruction)) =
            (before.get(&index), footprint, &code.instructions[index])
        else {
            continue;
        };
        // Byte permutes may put a defined byte into an undefined word; the dummy `@!PT LDS` is never
        // executed.
        let never =
            instruction.guard.negate && instruction.guard.predicate == sass::Predicate::TRUE;
        if instruction.opcode == Opcode::PRMT || never {
            continue;
        }
        for read in &footprint.reads {
            if bits(read).any(|place| written[place / 64] >> (place % 64) & 1 == 0) {
                wrong.push(format!(
                    "{}: {} reads {read:?}",
                    code.name,
                    code.show(index)
                ));
            }
        }
    }
    wrong
}

fn check(files: Vec<PathBuf>) {
    let mut wrong = Vec::new();
    for code in files
        .iter()
        .flat_map(|file| common::sections(file))
        .filter(|code| code.is_entry)
    {
        // Where indirect branches lead is not followed.
        let indirect = |i: &sass::Instruction| matches!(i.opcode, Opcode::BRX | Opcode::JMX);
        if !code.instructions.iter().flatten().any(indirect) {
            wrong.extend(undefined_reads(&code));
        }
    }
    let shown = wrong
        .iter()
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        wrong.is_empty(),
        "{} reads of undefined registers:\n{shown}",
        wrong.len()
    );
}

#[test]
fn our_kernels_read_only_what_was_written() {
    check(common::kernels());
}

#[test]
fn public_code_reads_only_what_was_written() {
    check(common::corpus());
}
