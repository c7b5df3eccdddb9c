//! Exchange across the lanes of a warp: shuffles, votes, matches, reductions.

use sass::{Modifier, Opcode};

use crate::lanes::{Lanes, lanes_of, mask_of};
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource, Wide};
use crate::warp::Warp;

/// How a shuffle finds its source lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Direction {
    Index,
    Up,
    Down,
    Butterfly,
}

/// How a vote decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Vote {
    All,
    Any,
    Equal,
}

/// How a reduction combines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Reduction {
    And,
    Or,
    Xor,
    Sum,
    Minimum,
    Maximum,
}

/// Lowered exchanges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Reads another lane's register.
    Shuffle {
        out: u8,
        row: u16,
        a: Operand,
        lane: Operand,
        bounds: Operand,
        direction: Direction,
    },
    /// A predicate's lanes and whether all or any are true.
    Vote {
        row: Option<u16>,
        out: u8,
        source: PredicateSource,
        vote: Vote,
    },
    /// The same into uniform registers.
    VoteUniform {
        row: u8,
        out: u8,
        source: PredicateSource,
        vote: Vote,
    },
    /// Lanes with the same value.
    MatchAny { row: u16, a: Wide, wide: bool },
    /// All active lanes if all have the same value, else none.
    MatchAll {
        row: u16,
        out: u8,
        a: Wide,
        wide: bool,
    },
    /// The lowest active lane is elected: its number, and true in it alone.
    Elect { row: u8, out: u8 },
    /// Combines the active lanes' values into a uniform register.
    Reduce {
        row: u8,
        a: Operand,
        reduction: Reduction,
        signed: bool,
    },
}

fn vote_of(r: &Reader<'_>) -> Lowered<Vote> {
    use Modifier::*;
    r.only(&[ALL, ANY, EQ])?;
    match r.choose(
        &[
            (ALL, Some(Vote::All)),
            (ANY, Some(Vote::Any)),
            (EQ, Some(Vote::Equal)),
        ],
        None,
    ) {
        Some(vote) => Ok(vote),
        None => refuse("a vote without a mode"),
    }
}

/// Lowers an exchange.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    Ok(match opcode {
        Opcode::SHFL => {
            r.only(&[IDX, UP, DOWN, BFLY])?;
            let directions = [
                (IDX, Direction::Index),
                (UP, Direction::Up),
                (DOWN, Direction::Down),
                (BFLY, Direction::Butterfly),
            ];
            let direction = r.choose(&directions, Direction::Index);
            Op::Shuffle {
                out: r.predicate_destination()?,
                row: r.destination(1)?,
                a: r.plain_source()?,
                lane: r.plain_source()?,
                bounds: r.plain_source()?,
                direction,
            }
        }
        Opcode::VOTE => {
            let vote = vote_of(r)?;
            let row = match r.peek() {
                Some(sass::Operand::Register { .. }) => r.destination_or_none(1)?,
                _ => None,
            };
            // The last predicate is the source; one before it the destination.
            let first = r.predicate_source()?;
            let (out, source) = if r.at_predicate() {
                (first.number(), r.predicate_source()?)
            } else {
                (7, first)
            };
            Op::Vote {
                row,
                out,
                source,
                vote,
            }
        }
        Opcode::VOTEU => {
            let vote = vote_of(r)?;
            let row = match r.peek() {
                Some(sass::Operand::UniformRegister { .. }) => r.uniform_destination(1)?,
                _ => 63,
            };
            let first = r.predicate_source()?;
            let (out, source) = if r.at_predicate() {
                (first.number(), r.predicate_source()?)
            } else {
                (7, first)
            };
            Op::VoteUniform {
                row,
                out,
                source,
                vote,
            }
        }
        Opcode::MATCH => {
            r.only(&[ANY, ALL, U64])?;
            let wide = r.has(U64);
            let out = r.predicate_destination_or_none()?;
            let row = r.destination(1)?;
            let a = if wide {
                r.wide_source(false)?.0
            } else {
                match r.register_source(1)? {
                    Some(row) => Wide::Register(row),
                    None => Wide::Scalar(0, 0),
                }
            };
            if r.has(ALL) {
                Op::MatchAll { row, out, a, wide }
            } else if out != 7 {
                return refuse("MATCH.ANY with a predicate result");
            } else {
                Op::MatchAny { row, a, wide }
            }
        }
        Opcode::ELECT => {
            r.only(&[])?;
            let out = r.predicate_destination()?;
            let row = r.uniform_destination(1)?;
            if r.predicate_source_or(PredicateSource::TRUE)? != PredicateSource::TRUE {
                return refuse("ELECT among the lanes of a predicate");
            }
            Op::Elect { row, out }
        }
        Opcode::REDUX => {
            r.only(&[AND, OR, XOR, SUM, MIN, MAX, S32])?;
            let reductions = [
                (AND, Reduction::And),
                (OR, Reduction::Or),
                (XOR, Reduction::Xor),
                (SUM, Reduction::Sum),
                (MIN, Reduction::Minimum),
                (MAX, Reduction::Maximum),
            ];
            let reduction = r.choose(&reductions, Reduction::And);
            let row = r.uniform_destination(1)?;
            Op::Reduce {
                row,
                a: r.plain_source()?,
                reduction,
                signed: r.has(S32),
            }
        }
        other => return refuse(format!("{} is not an exchange", other.text())),
    })
}

#[inline(always)]
fn decide(vote: Vote, set: u32, active: u32) -> bool {
    match vote {
        Vote::All => set == active,
        Vote::Any => set != 0,
        Vote::Equal => set == active || set == 0,
    }
}

/// Executes an exchange in the lanes of `mask`: those are the lanes that take part.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Shuffle {
            out,
            row,
            a,
            lane,
            bounds,
            direction,
        } => {
            let (a, amount, bounds) = (warp.fetch(a), warp.fetch(lane), warp.fetch(bounds));
            let mut result = Lanes::ZERO;
            let mut valid = 0u32;
            for own in 0..32u32 {
                let amount = amount[own as usize] & 31;
                let clamp = bounds[own as usize] & 31;
                let segment = bounds[own as usize] >> 8 & 31;
                // Highest lane of the segment (lowest for UP) and lowest one.
                let most = (own & segment) | (clamp & !segment);
                let least = own & segment;
                let (from, inside) = match direction {
                    Direction::Up => {
                        let from = own.wrapping_sub(amount);
                        (from, from as i32 >= most as i32)
                    }
                    Direction::Down => (own + amount, own + amount <= most),
                    Direction::Butterfly => (own ^ amount, own ^ amount <= most),
                    Direction::Index => {
                        let from = least | amount & !segment;
                        (from, from <= most)
                    }
                };
                let from = if inside { from & 31 } else { own };
                result[own as usize] = a[from as usize];
                valid |= (inside as u32) << own;
            }
            warp.write(row, &result, mask);
            warp.write_predicate(out, valid, mask);
        }
        Op::Vote {
            row,
            out,
            source,
            vote,
        } => {
            let set = warp.predicate(source) & mask;
            let result = decide(vote, set, mask);
            if let Some(row) = row {
                warp.write(row, &Lanes::splat(set), mask);
            }
            warp.write_predicate(out, 0u32.wrapping_sub(result as u32), mask);
        }
        Op::VoteUniform {
            row,
            out,
            source,
            vote,
        } => {
            let set = warp.predicate(source) & mask;
            warp.write_uniform(row, set);
            warp.write_uniform_predicate(out, decide(vote, set, mask));
        }
        Op::MatchAny { row, a, wide } => {
            let (low, high) = pair(warp, a, wide);
            let mut result = Lanes::ZERO;
            for lane in lanes_of(mask) {
                let same = mask_of(|other| low[other] == low[lane] && high[other] == high[lane]);
                result[lane] = same & mask;
            }
            warp.write(row, &result, mask);
        }
        Op::MatchAll { row, out, a, wide } => {
            let (low, high) = pair(warp, a, wide);
            let first = mask.trailing_zeros() as usize & 31;
            let same = mask_of(|other| low[other] == low[first] && high[other] == high[first]);
            let all = same & mask == mask;
            warp.write(row, &Lanes::splat(if all { mask } else { 0 }), mask);
            warp.write_predicate(out, 0u32.wrapping_sub(all as u32), mask);
        }
        Op::Elect { row, out } => {
            warp.write_uniform(row, mask.trailing_zeros());
            warp.write_predicate(out, mask & mask.wrapping_neg(), mask);
        }
        Op::Reduce {
            row,
            a,
            reduction,
            signed,
        } => {
            let a = warp.fetch(a);
            let mut values = lanes_of(mask).map(|lane| a[lane]);
            let first = values.next().unwrap_or(0);
            let result = values.fold(first, |x, y| match reduction {
                Reduction::And => x & y,
                Reduction::Or => x | y,
                Reduction::Xor => x ^ y,
                Reduction::Sum => x.wrapping_add(y),
                Reduction::Minimum if signed => (x as i32).min(y as i32) as u32,
                Reduction::Maximum if signed => (x as i32).max(y as i32) as u32,
                Reduction::Minimum => x.min(y),
                Reduction::Maximum => x.max(y),
            });
            warp.write_uniform(row, result);
        }
    }
}

#[inline(always)]
fn pair(warp: &Warp, a: Wide, wide: bool) -> (Lanes, Lanes) {
    match (a, wide) {
        (Wide::Register(row), false) => (warp.registers[row as usize], Lanes::ZERO),
        _ => warp.fetch_wide(a),
    }
}
