//! Basic blocks of a code section and where control goes behind them.

use sass::{Instruction, Opcode, Operand, Predicate};

/// The blocks of a section.
pub struct Flow {
    /// First instruction of each block, ascending.
    pub starts: Vec<usize>,
    targets: Vec<Option<usize>>,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Successors {
    /// The next instruction may run.
    pub falls_through: bool,
    /// The target of the branch or call.
    pub target: Option<usize>,
    /// It may also go where the section does not say (indirect branches, returns, calls).
    pub elsewhere: bool,
}

impl Flow {
    /// Finds the blocks of `code`.
    pub fn new(code: &[Option<Instruction>]) -> Flow {
        let targets: Vec<_> = (0..code.len()).map(|index| target(code, index)).collect();
        let mut starts = vec![0];
        for (index, instruction) in code.iter().enumerate() {
            starts.extend(targets[index]);
            if instruction.as_ref().is_none_or(ends_block) {
                starts.push(index + 1);
            }
        }
        starts.retain(|&start| start < code.len());
        starts.sort_unstable();
        starts.dedup();
        Flow { starts, targets }
    }

    /// Whether a block begins at `index`.
    pub fn is_start(&self, index: usize) -> bool {
        self.starts.binary_search(&index).is_ok()
    }

    /// Where control goes behind `instruction`, which stands at `index`.
    pub fn successors(&self, index: usize, instruction: &Instruction) -> Successors {
        use Opcode::*;
        let conditional = !always(instruction);
        let target = self.targets[index];
        let (falls_through, elsewhere) = match instruction.opcode {
            // `.DIV` and `.CONV` go on where their own condition fails.
            BRA => (conditional || has_own_condition(instruction), false),
            CALL => (conditional, true),
            BRX | BRXU | JMX | RET => (conditional, true),
            EXIT | KILL => (conditional, false),
            _ => (true, false),
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
        BRA | BRX | BRXU | CALL | EXIT | JMX | KILL | RET
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
