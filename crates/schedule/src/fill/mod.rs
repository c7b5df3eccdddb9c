//! Control bits for code that leaves them open (`warpath asm --auto-control`). In the order of the work:
//! `counters` finds which instructions of variable latency need a dependence counter and shares the six
//! out, `delay` adds waits and stall counts until the walk of the hazard check has nothing left to say,
//! `operands` marks what the register-file cache can keep. Fields that are given stay as they are.
//!
//! Instructions keep their order; none is inserted. In that order no schedule issues earlier: an
//! instruction waits for what it needs and for nothing else, but where two producers share a counter.

mod counters;
mod delay;
mod operands;

use sass::assemble::{AssembledKernel, ControlText};
use sass::{Architecture, Control, Decoded, Instruction, Opcode, Word};
use source::Special;

use crate::flow::{NO_TABLES, Tables};
use crate::lint::{Section, lint};
use crate::rules::Rules;

/// Stall counts from here on yield, as in compiled code, where nothing is kept for the next instruction.
const FIRST_YIELDING: u8 = 3;
/// Stall counts from here on always have yield in compiled code; some GPUs collapse them without.
const FIRST_WITH_YIELD: u8 = 12;
/// The largest stall count.
const MOST_STALL: u8 = 15;

/// One instruction with what its text says of its control bits.
#[derive(Clone, Debug)]
pub struct Line {
    /// The instruction; `None` if its word is unknown. Open fields of its control bits do not count.
    pub instruction: Option<Instruction>,
    /// The control field as written.
    pub given: ControlText,
}

/// A section while its control bits are filled in.
struct Draft<'a> {
    rules: &'a Rules,
    given: Vec<ControlText>,
    code: Vec<Option<Instruction>>,
    tables: &'a Tables,
}

/// Fills the open control fields of a kernel. Gives every instruction's word with all its control bits;
/// where given fields stand against it, `lint` has something to say of the result.
pub fn fill(rules: &Rules, lines: &[Line], words: &[Word], tables: &Tables) -> Vec<Word> {
    let mut draft = Draft {
        rules,
        given: lines.iter().map(|line| line.given).collect(),
        code: lines.iter().map(|line| line.instruction.clone()).collect(),
        tables,
    };
    for (instruction, given) in draft.code.iter_mut().zip(&draft.given) {
        let Some(instruction) = instruction else {
            continue;
        };
        let control = start(rules, instruction, *given);
        *instruction = with_control(instruction, control);
    }
    counters::assign(&mut draft);
    delay::settle(&mut draft);
    operands::keep(&mut draft);
    let filled = draft.code.iter().zip(words);
    filled
        .map(|(instruction, word)| instruction.as_ref().map_or(*word, |one| one.word))
        .collect()
}

/// Fills in the open control fields of an assembled kernel; how many findings those that are given leave.
pub fn kernel(rules: &Rules, kernel: &mut AssembledKernel, architecture: Architecture) -> usize {
    let decoded = |word| match sass::decode(word, architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    };
    let lines = kernel.instructions.iter().map(|line| Line {
        instruction: decoded(line.word),
        given: line.control,
    });
    let lines: Vec<Line> = lines.collect();
    let words: Vec<Word> = kernel.instructions.iter().map(|line| line.word).collect();
    let words = fill(rules, &lines, &words, &NO_TABLES);
    let mut code = Vec::with_capacity(words.len());
    for (line, word) in kernel.instructions.iter_mut().zip(words) {
        line.word = word;
        code.push(decoded(word));
    }
    lint(rules, Section::kernel(&code)).findings.len()
}

/// What an instruction begins with: what is given, and for the rest as little as possible.
fn start(rules: &Rules, instruction: &Instruction, given: ControlText) -> Control {
    // Compiled code lets ERRBAR take its long stall.
    let error_barrier = instruction.opcode == Opcode::ERRBAR;
    let stall = given
        .stall
        .unwrap_or(match source::describe(instruction).special {
            _ if error_barrier => 0,
            // Whoever reads a clock behind a barrier does not mean to slip past it.
            Special::CtaBarrier { deferred } => {
                rules.hold(deferred).min(u16::from(MOST_STALL)) as u8
            }
            _ => 1,
        });
    let control = Control {
        stall,
        yields: given.yields.unwrap_or(error_barrier && stall == 0),
        write_counter: given.write_counter.flatten(),
        read_counter: given.read_counter.flatten(),
        wait_mask: given.wait_mask.unwrap_or(0),
        reuse: instruction.control.reuse,
    };
    // A stall that collapses needs the yield bit.
    let collapses = (FIRST_WITH_YIELD..=MOST_STALL).contains(&stall);
    Control {
        yields: given.yields.unwrap_or(control.yields || collapses),
        ..control
    }
}

/// The instruction with other control bits.
fn with_control(instruction: &Instruction, control: Control) -> Instruction {
    const FIELD: u128 = ((1 << 21) - 1) << 105;
    let word = Word(instruction.word.0 & !FIELD | control.encode().0);
    match sass::decode(word, instruction.architecture) {
        Decoded::Instruction(changed) => changed,
        // Control bits do not decide what an instruction is.
        Decoded::Unknown(_) => Instruction {
            control,
            word,
            ..instruction.clone()
        },
    }
}

impl Draft<'_> {
    fn section(&self) -> Section<'_> {
        Section {
            code: &self.code,
            is_entry: true,
            tables: self.tables,
        }
    }

    fn control(&self, index: usize) -> Option<Control> {
        self.code.get(index)?.as_ref().map(|one| one.control)
    }

    /// Changes the control bits of an instruction.
    fn set(&mut self, index: usize, change: impl FnOnce(&mut Control)) {
        if let Some(Some(instruction)) = self.code.get_mut(index) {
            let mut control = instruction.control;
            change(&mut control);
            *instruction = with_control(instruction, control);
        }
    }
}
