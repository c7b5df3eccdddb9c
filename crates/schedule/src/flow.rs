//! Basic blocks of a code section and where control goes behind them.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Instruction, Opcode, Operand, Predicate};

/// Where indirect jumps go, by the jump's index.
pub type Tables = BTreeMap<usize, Vec<usize>>;

/// No table is known.
pub static NO_TABLES: Tables = Tables::new();

/// The blocks of a section.
#[derive(Clone, Debug)]
pub struct Flow {
    /// First instruction of each block, ascending.
    pub starts: Vec<usize>,
    /// Blocks that no jump of the section names and nothing falls into, behind calls excepted: where an
    /// indirect jump whose table is not known may go.
    pub orphans: Vec<usize>,
    targets: Vec<Option<usize>>,
    tables: Tables,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Successors {
    /// The next instruction may run.
    pub falls_through: bool,
    /// The target of the branch or call.
    pub target: Option<usize>,
    /// Where else it may go.
    pub elsewhere: Elsewhere,
}

/// Where an instruction may go besides the next one and its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elsewhere {
    /// Nowhere.
    Nowhere,
    /// Through a table: to any block that nothing else leads to.
    Table,
    /// Into a function, which comes back behind the call.
    Call,
    /// Back behind a call.
    Return,
}

impl Flow {
    /// Finds the blocks of `code`, whose indirect jumps go where `tables` says.
    pub fn new(code: &[Option<Instruction>], tables: &Tables) -> Flow {
        let targets: Vec<_> = (0..code.len()).map(|index| target(code, index)).collect();
        let mut starts = vec![0];
        for (index, instruction) in code.iter().enumerate() {
            starts.extend(targets[index]);
            if instruction.as_ref().is_none_or(ends_block) {
                starts.push(index + 1);
            }
        }
        starts.extend(tables.values().flatten().copied());
        starts.retain(|&start| start < code.len());
        starts.sort_unstable();
        starts.dedup();
        let mut flow = Flow {
            starts,
            orphans: Vec::new(),
            targets,
            tables: tables.clone(),
        };
        flow.orphans = flow.find_orphans(code);
        flow
    }

    /// Where the indirect jump at `index` may go: as its table says, else to every block that nothing else
    /// leads to.
    pub fn through_table(&self, index: usize) -> &[usize] {
        self.tables.get(&index).unwrap_or(&self.orphans)
    }

    fn find_orphans(&self, code: &[Option<Instruction>]) -> Vec<usize> {
        let targets = self.targets.iter().flatten();
        let named: BTreeSet<usize> = targets
            .chain(self.tables.values().flatten())
            .copied()
            .collect();
        let entered =
            |start: usize| match start.checked_sub(1).map(|before| (before, &code[before])) {
                None => true,
                Some((_, None)) => false,
                Some((before, Some(instruction))) => {
                    instruction.opcode == Opcode::CALL
                        || self.successors(before, instruction).falls_through
                }
            };
        let starts = self.starts.iter().copied();
        starts
            .filter(|&start| !named.contains(&start) && !entered(start))
            .collect()
    }

    /// Whether a block begins at `index`.
    pub fn is_start(&self, index: usize) -> bool {
        self.starts.binary_search(&index).is_ok()
    }

    /// Where control goes inside the section behind `instruction`, which stands at `index`: into functions
    /// of the section too, but not back.
    pub fn inside(&self, index: usize, instruction: &Instruction) -> impl Iterator<Item = usize> {
        let successors = self.successors(index, instruction);
        let plain = matches!(successors.elsewhere, Elsewhere::Nowhere | Elsewhere::Call);
        let next =
            (successors.falls_through && index + 1 < self.targets.len()).then_some(index + 1);
        let target = successors.target.filter(|_| plain);
        let table = match successors.elsewhere {
            Elsewhere::Table => self.through_table(index),
            _ => &[],
        };
        target.into_iter().chain(next).chain(table.iter().copied())
    }

    /// Where control goes behind `instruction`, which stands at `index`.
    pub fn successors(&self, index: usize, instruction: &Instruction) -> Successors {
        use Opcode::*;
        let conditional = !always(instruction);
        let target = self.targets[index];
        let (falls_through, elsewhere) = match instruction.opcode {
            // `.DIV` and `.CONV` go on where their own condition fails.
            BRA | JMP => (
                conditional || has_own_condition(instruction),
                Elsewhere::Nowhere,
            ),
            CALL => (conditional, Elsewhere::Call),
            BRX | BRXU | JMX => (conditional, Elsewhere::Table),
            RET => (conditional, Elsewhere::Return),
            EXIT | KILL => (conditional, Elsewhere::Nowhere),
            _ => (true, Elsewhere::Nowhere),
        };
        let branches = matches!(instruction.opcode, BRA | CALL);
        Successors {
            falls_through,
            target: target.filter(|_| branches),
            elsewhere,
        }
    }
}

fn has_own_condition(instruction: &Instruction) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| matches!(modifier.text(), "DIV" | "CONV"))
}

fn target(code: &[Option<Instruction>], index: usize) -> Option<usize> {
    let instruction = code[index].as_ref()?;
    let offset = instruction
        .operands
        .iter()
        .find_map(|operand| match *operand {
            Operand::Target(offset) => Some(offset),
            _ => None,
        })?;
    let target = (index as i64 + 1) * 16 + offset;
    let inside = target >= 0 && target % 16 == 0 && ((target / 16) as usize) < code.len();
    inside.then_some((target / 16) as usize)
}

fn ends_block(instruction: &Instruction) -> bool {
    use Opcode::*;
    matches!(
        instruction.opcode,
        BRA | BRX | BRXU | CALL | EXIT | JMP | JMX | KILL | RET
    )
}

/// Whether the instruction takes effect in every lane: neither guard nor condition.
fn always(instruction: &Instruction) -> bool {
    let conditional = |operand: &Operand| match *operand {
        Operand::Predicate { predicate, negate }
        | Operand::UniformPredicate { predicate, negate } => predicate != Predicate::TRUE || negate,
        _ => false,
    };
    instruction.guard.is_always() && !instruction.operands.iter().any(conditional)
}
