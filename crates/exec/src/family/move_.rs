//! Moves between registers: copies, selections, byte permutations, the matrix transpose.

use sass::{Modifier, Opcode};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource};
use crate::warp::Warp;

use super::map1;

/// Lowered moves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A copy.
    Move { row: u16, a: Operand },
    /// A copy in those lanes of each quad whose bit is set.
    MoveQuad { row: u16, a: Operand, lanes: u8 },
    /// a where the predicate holds, else b.
    Select {
        row: u16,
        a: Operand,
        b: Operand,
        which: PredicateSource,
    },
    /// Four bytes of {c, a} chosen by b.
    Permute {
        row: u16,
        sources: [Operand; 3],
        mode: Permute,
    },
    /// Transposes an 8 × 8 matrix of 16-bit elements that lies across the warp.
    Transpose { row: u16, a: Operand },
}

/// How b chooses bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Permute {
    /// A nibble for each byte; its top bit replicates the sign.
    Index,
    /// Four bytes upwards.
    Forward,
    /// Four bytes downwards.
    Backward,
    /// One byte four times.
    Replicate8,
    /// No byte below the chosen one.
    ClampLeft,
    /// No byte above the chosen one.
    ClampRight,
    /// One half twice.
    Replicate16,
}

/// Modes by their modifier.
pub(crate) fn permute_mode(r: &Reader<'_>) -> Permute {
    r.choose(
        &[
            (Modifier::F4E, Permute::Forward),
            (Modifier::B4E, Permute::Backward),
            (Modifier::RC8, Permute::Replicate8),
            (Modifier::ECL, Permute::ClampLeft),
            (Modifier::ECR, Permute::ClampRight),
            (Modifier::RC16, Permute::Replicate16),
        ],
        Permute::Index,
    )
}

/// Lowers a move.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    Ok(match opcode {
        Opcode::MOV => {
            r.only(&[])?;
            let (row, a) = (r.destination(1)?, r.plain_source()?);
            if r.at_immediate() {
                let lanes = r.immediate()? as u8 & 15;
                return Ok(Op::MoveQuad { row, a, lanes });
            }
            Op::Move { row, a }
        }
        Opcode::SEL => {
            r.only(&[])?;
            Op::Select {
                row: r.destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                which: r.predicate_source()?,
            }
        }
        Opcode::PRMT => {
            r.only(&[F4E, B4E, RC8, ECL, ECR, RC16])?;
            let mode = permute_mode(r);
            let row = r.destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::Permute { row, sources, mode }
        }
        Opcode::MOVM => {
            r.only(&[N16, MT88])?;
            if !r.has(MT88) {
                return refuse("MOVM of another shape than MT88");
            }
            Op::Transpose {
                row: r.destination(1)?,
                a: r.plain_source()?,
            }
        }
        other => return refuse(format!("{} is not a move", other.text())),
    })
}

/// Bytes of {c, a} chosen by `select`.
#[inline(always)]
pub(crate) fn permute(a: u32, select: u32, c: u32, mode: Permute) -> u32 {
    let pair = u64::from(c) << 32 | u64::from(a);
    let byte = |index: u32| (pair >> (8 * (index & 7))) as u32 & 0xff;
    let n = select & 3;
    let mut result = 0;
    let mut k = 0;
    while k < 4 {
        let value = match mode {
            Permute::Index => {
                let nibble = select >> (4 * k) & 15;
                let value = byte(nibble);
                if nibble & 8 != 0 {
                    0xff * (value >> 7)
                } else {
                    value
                }
            }
            Permute::Forward => byte(n + k),
            Permute::Backward => byte(n.wrapping_sub(k)),
            Permute::Replicate8 => byte(n),
            Permute::ClampLeft => byte(n.max(k)),
            Permute::ClampRight => byte(n.min(k)),
            Permute::Replicate16 => byte(2 * (n & 1) + (k & 1)),
        };
        result |= value << (8 * k);
        k += 1;
    }
    result
}

/// Executes a move in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Move { row, a } => map1(warp, mask, row, a, |a| a),
        Op::MoveQuad { row, a, lanes } => {
            let quads = u32::from(lanes) * 0x1111_1111;
            map1(warp, mask & quads, row, a, |a| a);
        }
        Op::Select { row, a, b, which } => {
            let which = warp.predicate(which);
            let (a, b) = (warp.fetch(a), warp.fetch(b));
            let result = Lanes::from_fn(|lane| {
                if which >> lane & 1 == 1 {
                    a[lane]
                } else {
                    b[lane]
                }
            });
            warp.write(row, &result, mask);
        }
        Op::Permute { row, sources, mode } => {
            super::map3(warp, mask, row, sources, |a, b, c| permute(a, b, c, mode));
        }
        Op::Transpose { row, a } => {
            // Lane 4i + j holds elements 2j and 2j + 1 of row i.
            let a = warp.fetch(a);
            let element = |i: usize, j: usize| a[4 * i + j / 2] >> (16 * (j & 1)) & 0xffff;
            let result = Lanes::from_fn(|lane| {
                let (i, j) = (lane / 4, 2 * (lane % 4));
                element(j, i) | element(j + 1, i) << 16
            });
            warp.write(row, &result, mask);
        }
    }
}
