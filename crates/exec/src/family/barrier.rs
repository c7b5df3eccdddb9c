//! CTA barriers: BAR in its forms and B2R, which reads a reduction's result. The state of a barrier
//! is in `cta`.

use sass::{Modifier, Opcode};

use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource};

/// How a reducing barrier combines predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Reduction {
    And,
    Or,
    Count,
}

/// What a BAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Arrives and waits.
    Synchronize,
    /// Arrives.
    Arrive,
    /// Arrives with a predicate and waits.
    Reduce(Reduction, PredicateSource),
}

/// Lowered barrier instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// BAR.
    Barrier {
        number: Operand,
        /// The number is in the low bits of a register whose bits 16 to 27 are the count.
        packed: bool,
        /// Threads that take part; `None` = all of the CTA.
        count: Option<Operand>,
        mode: Mode,
    },
    /// B2R.RESULT.
    Result { row: u16, out: u8 },
}

/// Lowers a barrier instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    if opcode == Opcode::B2R {
        r.only(&[RESULT])?;
        if !r.has(RESULT) {
            return refuse("B2R other than .RESULT");
        }
        let row = r.destination(1)?;
        return Ok(Op::Result {
            row,
            out: r.predicate_destination_or_none()?,
        });
    }
    r.only(&[SYNC, ARV, RED, AND, OR, POPC, DEFER_BLOCKING])?;
    let literal = r.at_immediate();
    let number = r.plain_source()?;
    let count = match r.peek() {
        Some(sass::Operand::Immediate { .. } | sass::Operand::Register { .. }) => {
            let literal = r.at_immediate();
            let operand = r.plain_source()?;
            Some((operand, literal))
        }
        _ => None,
    };
    let packed = matches!(count, Some((_, false)));
    let _ = literal;
    let mode = if r.has(RED) {
        let reduction = r.choose(
            &[(AND, Reduction::And), (OR, Reduction::Or)],
            Reduction::Count,
        );
        Mode::Reduce(reduction, r.predicate_source()?)
    } else if r.has(ARV) {
        Mode::Arrive
    } else if r.has(SYNC) {
        Mode::Synchronize
    } else {
        return refuse("BAR without a mode");
    };
    Ok(Op::Barrier {
        number,
        packed,
        count: count.map(|(operand, _)| operand),
        mode,
    })
}
