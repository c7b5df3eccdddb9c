//! One change of the control bits of one instruction.

use sass::{Architecture, Control, Decoded, Instruction, Opcode, Word};

use hardware::latency::DistanceKind;
use schedule::{Hazard, Rules, Section, Walk};
use sm::HazardKind;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// The stall count lowered by one, for a pair of instructions that are as close as allowed.
    Stall {
        kind: DistanceKind,
        earlier: usize,
        later: usize,
    },
    /// A bit of the wait mask cleared.
    Wait(u8),
    /// No write counter any more.
    WriteCounter,
    /// No read counter any more.
    ReadCounter,
    /// DEPBAR made a NOP with the same control bits.
    Depbar,
}

impl Change {
    /// The row of the table that it counts in.
    pub fn name(self) -> &'static str {
        match self {
            Change::Stall { .. } => "stall lowered",
            Change::Wait(_) => "wait bit",
            Change::WriteCounter => "write counter",
            Change::ReadCounter => "read counter",
            Change::Depbar => "DEPBAR",
        }
    }
}

/// A change of the instruction at `index` of a section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mutation {
    pub index: usize,
    pub change: Change,
}

/// A pair of instructions of a section that must be reported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    pub kind: HazardKind,
    pub earlier: usize,
    pub later: usize,
    /// Least distance, or 0 where a counter must be waited for.
    pub needed: u16,
    /// Guards are read in every active lane.
    pub guard: bool,
}

/// NOP without its control bits.
const NOP: u128 = 0x7918;

impl Mutation {
    /// The changed word.
    pub fn apply(self, word: Word) -> Word {
        if self.change == Change::Depbar {
            let control = Control::decode(word);
            return with_control(Word(NOP), |new| *new = control);
        }
        with_control(word, |control| match self.change {
            Change::Stall { .. } => control.stall -= 1,
            Change::Wait(counter) => control.wait_mask &= !(1 << counter),
            Change::WriteCounter => control.write_counter = None,
            Change::ReadCounter => control.read_counter = None,
            Change::Depbar => {}
        })
    }
}

/// `word` with its control bits changed.
pub fn with_control(word: Word, change: impl FnOnce(&mut Control)) -> Word {
    const FIELD: u128 = ((1 << 21) - 1) << 105;
    let mut control = Control::decode(word);
    change(&mut control);
    Word(word.0 & !FIELD | control.encode().0)
}

/// All mutations of a section that may take away something needed.
pub fn candidates(rules: &Rules, code: &[Option<Instruction>]) -> Vec<Mutation> {
    let mut wanted = Vec::new();
    let mut tight = Walk::new(rules, Section::kernel(code)).run().tight;
    tight.sort_unstable();
    tight.dedup();
    for (kind, earlier, later) in tight {
        if let Some(index) = carrier(code, earlier, later) {
            let change = Change::Stall {
                kind,
                earlier,
                later,
            };
            wanted.push(Mutation { index, change });
        }
    }
    for (index, instruction) in code.iter().enumerate() {
        let Some(instruction) = instruction else {
            continue;
        };
        let control = instruction.control;
        let mut add = |change| wanted.push(Mutation { index, change });
        for counter in 0..6 {
            if control.wait_mask >> counter & 1 == 1 {
                add(Change::Wait(counter));
            }
        }
        if control.write_counter.is_some() {
            add(Change::WriteCounter);
        }
        if control.read_counter.is_some() {
            add(Change::ReadCounter);
        }
        if instruction.opcode == Opcode::DEPBAR {
            add(Change::Depbar);
        }
    }
    wanted
}

/// What the static walk finds in the mutant, if the mutation takes away something needed.
pub fn needed(
    rules: &Rules,
    code: &[Option<Instruction>],
    architecture: Architecture,
    mutation: Mutation,
) -> Option<Vec<Pair>> {
    let pairs = pairs(rules, code, architecture, mutation);
    // Copies are not part of the static walk.
    let of_copies = code[mutation.index]
        .as_ref()
        .is_some_and(|i| matches!(i.opcode, Opcode::LDGDEPBAR | Opcode::DEPBAR));
    let of_copies = of_copies && !matches!(mutation.change, Change::Wait(_));
    (of_copies || !pairs.is_empty()).then_some(pairs)
}

/// The instruction from `earlier` on whose stall count can be lowered to bring `later` closer.
fn carrier(code: &[Option<Instruction>], earlier: usize, later: usize) -> Option<usize> {
    let end = if earlier < later { later } else { code.len() };
    for (index, instruction) in code.iter().enumerate().take(end).skip(earlier) {
        let instruction = instruction.as_ref()?;
        if instruction.control.stall >= 2 {
            return Some(index);
        }
        if index > earlier && ends_block(instruction) {
            return None;
        }
    }
    None
}

fn ends_block(instruction: &Instruction) -> bool {
    use Opcode::*;
    matches!(instruction.opcode, BRA | BRX | CALL | EXIT | RET)
}

/// What the static walk finds in the mutant, the pair at hand first.
fn pairs(
    rules: &Rules,
    code: &[Option<Instruction>],
    architecture: Architecture,
    mutation: Mutation,
) -> Vec<Pair> {
    let mut mutant = code.to_vec();
    if let Some(instruction) = &mut mutant[mutation.index] {
        let word = mutation.apply(instruction.word);
        if let Decoded::Instruction(mutated) = sass::decode(word, architecture) {
            *instruction = mutated;
        }
    }
    let mut pairs: Vec<Pair> = Walk::new(rules, Section::kernel(&mutant))
        .run()
        .findings
        .iter()
        .map(|finding| {
            let needed = match finding.hazard {
                Hazard::Distance(_) => finding.distance + 1,
                _ => 0,
            };
            Pair {
                guard: matches!(
                    finding.hazard,
                    Hazard::Distance(DistanceKind::Guard | DistanceKind::UniformGuard)
                ),
                kind: kind(finding.hazard),
                earlier: finding.earlier,
                later: finding.later,
                needed,
            }
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|pair| (pair.kind, pair.earlier, pair.later));
    pairs
}

/// What the hazard check calls a finding of the static walk.
fn kind(hazard: Hazard) -> HazardKind {
    use DistanceKind::*;
    match hazard {
        Hazard::Read => HazardKind::ReadAfterWrite,
        Hazard::Overwrite => HazardKind::WriteAfterWrite,
        Hazard::ReadOverwrite => HazardKind::WriteAfterRead,
        Hazard::Distance(
            RegisterOverwrite | PredicateOverwrite | UniformOverwrite | UniformPredicateOverwrite,
        ) => HazardKind::WriteAfterWrite,
        Hazard::Distance(
            RegisterReadOverwrite | UniformReadOverwrite | UniformPredicateReadOverwrite,
        ) => HazardKind::WriteAfterRead,
        // The walk finds no others.
        _ => HazardKind::ReadAfterWrite,
    }
}
