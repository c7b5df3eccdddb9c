//! Comparisons and predicate logic; predicates as registers.

use sass::{Modifier, Opcode, Select};

use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{Operand, PredicateSource};
use crate::warp::Warp;

/// A comparison. For floats the first eight are false if either is NaN, the others true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Compare {
    False,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Numbers,
    NotNumbers,
    LessUnordered,
    EqualUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    NotEqualUnordered,
    GreaterEqualUnordered,
    True,
}

/// How a comparison is combined with a predicate source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    /// Combines lane sets.
    #[inline(always)]
    pub(crate) fn masks(self, a: u32, b: u32) -> u32 {
        match self {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        }
    }
}

impl Compare {
    /// Compares numbers of any float format that were widened exactly.
    #[inline(always)]
    #[allow(clippy::double_comparisons)] // false for NaN
    pub(crate) fn floats<T: PartialOrd + Copy>(self, a: T, b: T) -> bool {
        #[allow(clippy::eq_op)]
        let unordered = !(a == a && b == b);
        match self {
            Compare::False => false,
            Compare::Less => a < b,
            Compare::Equal => a == b,
            Compare::LessEqual => a <= b,
            Compare::Greater => a > b,
            Compare::NotEqual => a < b || a > b,
            Compare::GreaterEqual => a >= b,
            Compare::Numbers => !unordered,
            Compare::NotNumbers => unordered,
            Compare::LessUnordered => a < b || unordered,
            Compare::EqualUnordered => a == b || unordered,
            Compare::LessEqualUnordered => a <= b || unordered,
            Compare::GreaterUnordered => a > b || unordered,
            Compare::NotEqualUnordered => a < b || a > b || unordered,
            Compare::GreaterEqualUnordered => a >= b || unordered,
            Compare::True => true,
        }
    }

    /// Compares integers.
    #[inline(always)]
    pub(crate) fn integers<T: Ord>(self, a: T, b: T) -> bool {
        match self {
            Compare::Less | Compare::LessUnordered => a < b,
            Compare::Equal | Compare::EqualUnordered => a == b,
            Compare::LessEqual | Compare::LessEqualUnordered => a <= b,
            Compare::Greater | Compare::GreaterUnordered => a > b,
            Compare::NotEqual | Compare::NotEqualUnordered => a != b,
            Compare::GreaterEqual | Compare::GreaterEqualUnordered => a >= b,
            Compare::True | Compare::Numbers => true,
            Compare::False | Compare::NotNumbers => false,
        }
    }
}

/// The comparison and combination among the modifiers; `others` may stand beside them.
pub(crate) fn comparison(r: &Reader<'_>, others: &[Modifier]) -> Lowered<(Compare, Combine)> {
    use Modifier::*;
    let compares = [
        (F, Compare::False),
        (LT, Compare::Less),
        (EQ, Compare::Equal),
        (LE, Compare::LessEqual),
        (GT, Compare::Greater),
        (NE, Compare::NotEqual),
        (GE, Compare::GreaterEqual),
        (NUM, Compare::Numbers),
        (NAN, Compare::NotNumbers),
        (LTU, Compare::LessUnordered),
        (EQU, Compare::EqualUnordered),
        (LEU, Compare::LessEqualUnordered),
        (GTU, Compare::GreaterUnordered),
        (NEU, Compare::NotEqualUnordered),
        (GEU, Compare::GreaterEqualUnordered),
        (T, Compare::True),
    ];
    let combines = [(AND, Combine::And), (OR, Combine::Or), (XOR, Combine::Xor)];
    let mut compare = None;
    let mut combine = None;
    for modifier in &r.instruction.modifiers {
        if let Some(&(_, value)) = compares.iter().find(|(name, _)| name == modifier) {
            compare = Some(value);
        } else if let Some(&(_, value)) = combines.iter().find(|(name, _)| name == modifier) {
            combine = Some(value);
        } else if !others.contains(modifier) {
            return refuse(format!(
                "{}.{}",
                r.instruction.opcode.text(),
                modifier.text()
            ));
        }
    }
    match (compare, combine) {
        (Some(compare), Some(combine)) => Ok((compare, combine)),
        _ => refuse("a comparison that is not named"),
    }
}

/// Lowered predicate operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Compares integers.
    Integers {
        out: [u8; 2],
        a: Operand,
        b: Operand,
        signed: bool,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
        /// Where both are equal the comparison of the lower words decides.
        lower: Option<PredicateSource>,
    },
    /// Compares singles.
    Singles {
        out: [u8; 2],
        a: Operand,
        b: Operand,
        signs: Signs,
        ftz: bool,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
    },
    /// Any logic function of three predicates, twice.
    Logic {
        out: [u8; 2],
        sources: [PredicateSource; 3],
        tables: [u8; 2],
    },
    /// As `Logic`, with sign bits of registers among the sources.
    SignLogic {
        out: [u8; 2],
        sources: [Bit; 3],
        tables: [u8; 2],
    },
    /// Predicates from the bits of a register.
    FromRegister {
        a: Operand,
        select: Operand,
        byte: u8,
    },
    /// Predicates into the bits of a register.
    ToRegister {
        row: u16,
        a: Operand,
        select: Operand,
        byte: u8,
    },
    /// Whether a / b leaves the range of the fast division.
    DivisionCheck {
        out: u8,
        a: Operand,
        b: Operand,
        signs: Signs,
    },
}

/// A source of predicate logic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bit {
    Predicate(PredicateSource),
    /// The sign bit of a word.
    Sign(Operand),
}

fn bit(r: &mut Reader<'_>) -> Lowered<Bit> {
    if r.at_predicate() {
        return r.predicate_source().map(Bit::Predicate);
    }
    match r.source()? {
        (operand, adjust, Select::Sign) if adjust == sass::Adjust::default() => {
            Ok(Bit::Sign(operand))
        }
        _ => refuse("a source of predicate logic that is neither predicate nor sign"),
    }
}

fn byte_of(select: Select) -> Lowered<u8> {
    Ok(match select {
        Select::None | Select::B0 => 0,
        Select::B1 => 1,
        Select::B2 => 2,
        Select::B3 => 3,
        _ => return refuse("a suffix of the register"),
    })
}

/// Lowers a comparison or predicate operation.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    Ok(match opcode {
        Opcode::ISETP => {
            let (compare, combine) = comparison(r, &[U32, EX])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            let with = r.predicate_source()?;
            // The last predicate is not printed where it is PT.
            let lower = if r.has(EX) {
                Some(r.predicate_source_or(PredicateSource::TRUE)?)
            } else if r.at_predicate() {
                return refuse("the last predicate of ISETP without EX");
            } else {
                None
            };
            Op::Integers {
                out,
                a,
                b,
                signed: !r.has(U32),
                compare,
                combine,
                with,
                lower,
            }
        }
        Opcode::FSETP => {
            let (compare, combine) = comparison(r, &[FTZ])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            let (a, adjust_a, _) = r.source()?;
            let (b, adjust_b, _) = r.source()?;
            let signs = Signs::default().with(0, adjust_a).with(1, adjust_b);
            let with = r.predicate_source()?;
            Op::Singles {
                out,
                a,
                b,
                signs,
                ftz: r.has(FTZ),
                compare,
                combine,
                with,
            }
        }
        Opcode::PLOP3 => {
            r.only(&[LUT])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            let sources = [bit(r)?, bit(r)?, bit(r)?];
            let tables = [r.immediate()? as u8, r.immediate()? as u8];
            if let [Bit::Predicate(a), Bit::Predicate(b), Bit::Predicate(c)] = sources {
                Op::Logic {
                    out,
                    sources: [a, b, c],
                    tables,
                }
            } else {
                Op::SignLogic {
                    out,
                    sources,
                    tables,
                }
            }
        }
        Opcode::R2P => {
            r.only(&[])?;
            r.predicate_set()?;
            let (a, adjust, select) = r.source()?;
            if adjust != sass::Adjust::default() {
                return refuse("a sign of the register");
            }
            Op::FromRegister {
                a,
                byte: byte_of(select)?,
                // All predicates unless a mask is printed.
                select: if r.peek().is_some() {
                    r.plain_source()?
                } else {
                    Operand::Scalar(0xff)
                },
            }
        }
        Opcode::P2R => {
            r.only(&[B1, B2, B3])?;
            let row = r.destination(1)?;
            let printed = byte_of(r.predicate_set()?)?;
            let byte = r.choose(&[(B1, 1), (B2, 2), (B3, 3)], printed);
            Op::ToRegister {
                row,
                a: r.plain_source()?,
                select: r.plain_source()?,
                byte,
            }
        }
        Opcode::FCHK => {
            r.only(&[])?;
            let out = r.predicate_destination()?;
            let (a, adjust_a, _) = r.source()?;
            let (b, adjust_b, _) = r.source()?;
            let signs = Signs::default().with(0, adjust_a).with(1, adjust_b);
            Op::DivisionCheck { out, a, b, signs }
        }
        other => return refuse(format!("{} is not a predicate instruction", other.text())),
    })
}

/// A logic function of three lane sets.
#[inline(always)]
pub(crate) fn logic(a: u32, b: u32, c: u32, table: u8) -> u32 {
    super::arithmetic::logic3(a, b, c, table)
}

/// Whether a / b needs the slow division. The fast one multiplies by the reciprocal and corrects by
/// fused steps; it is exact if reciprocal, quotient and remainder stay normal. The machine's own
/// rule is not published; this one is true at least where the fast division would be wrong, so
/// results are right and only the path can differ.
#[inline(always)]
fn needs_slow_division(a: u32, b: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32;
    let (ea, eb) = (exponent(a), exponent(b));
    let quotient = ea - eb;
    !(25..255).contains(&ea) || !(2..=252).contains(&eb) || !(-124..=125).contains(&quotient)
}

/// Executes a predicate operation in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Integers {
            out,
            a,
            b,
            signed,
            compare,
            combine,
            with,
            lower,
        } => {
            let (a, b) = (warp.fetch(a), warp.fetch(b));
            // One loop per comparison, so that each is a vector comparison.
            let flip = if signed { 0x8000_0000 } else { 0 };
            let x = Lanes::from_fn(|lane| a[lane] ^ flip);
            let y = Lanes::from_fn(|lane| b[lane] ^ flip);
            let mut holds = match compare {
                Compare::Less => mask_of(|lane| x[lane] < y[lane]),
                Compare::Equal => mask_of(|lane| x[lane] == y[lane]),
                Compare::LessEqual => mask_of(|lane| x[lane] <= y[lane]),
                Compare::Greater => mask_of(|lane| x[lane] > y[lane]),
                Compare::NotEqual => mask_of(|lane| x[lane] != y[lane]),
                Compare::GreaterEqual => mask_of(|lane| x[lane] >= y[lane]),
                Compare::True => u32::MAX,
                _ => 0,
            };
            if let Some(lower) = lower
                && !matches!(compare, Compare::True | Compare::False)
            {
                let equal = mask_of(|lane| x[lane] == y[lane]);
                holds = (holds & !equal) | (warp.predicate(lower) & equal);
            }
            let with = warp.predicate(with);
            warp.write_predicate(out[0], combine.masks(holds, with), mask);
            if out[1] != 7 {
                warp.write_predicate(out[1], combine.masks(!holds, with), mask);
            }
        }
        Op::Singles {
            out,
            a,
            b,
            signs,
            ftz,
            compare,
            combine,
            with,
        } => {
            let a = super::float::source(warp, a, signs, 0, ftz);
            let b = super::float::source(warp, b, signs, 1, ftz);
            let x = |lane: usize| f32::from_bits(a[lane]);
            let y = |lane: usize| f32::from_bits(b[lane]);
            let holds = match compare {
                Compare::Less => mask_of(|lane| x(lane) < y(lane)),
                Compare::Equal => mask_of(|lane| x(lane) == y(lane)),
                Compare::LessEqual => mask_of(|lane| x(lane) <= y(lane)),
                Compare::Greater => mask_of(|lane| x(lane) > y(lane)),
                Compare::GreaterEqual => mask_of(|lane| x(lane) >= y(lane)),
                Compare::NotEqualUnordered => mask_of(|lane| x(lane) != y(lane)),
                Compare::LessUnordered => !mask_of(|lane| x(lane) >= y(lane)),
                Compare::LessEqualUnordered => !mask_of(|lane| x(lane) > y(lane)),
                Compare::GreaterUnordered => !mask_of(|lane| x(lane) <= y(lane)),
                Compare::GreaterEqualUnordered => !mask_of(|lane| x(lane) < y(lane)),
                other => mask_of(|lane| other.floats(x(lane), y(lane))),
            };
            let with = warp.predicate(with);
            warp.write_predicate(out[0], combine.masks(holds, with), mask);
            if out[1] != 7 {
                warp.write_predicate(out[1], combine.masks(!holds, with), mask);
            }
        }
        Op::Logic {
            out,
            sources,
            tables,
        } => {
            let [a, b, c] = sources.map(|source| warp.predicate(source));
            let results = tables.map(|table| logic(a, b, c, table));
            warp.write_predicate(out[0], results[0], mask);
            warp.write_predicate(out[1], results[1], mask);
        }
        Op::SignLogic {
            out,
            sources,
            tables,
        } => {
            let [a, b, c] = sources.map(|source| match source {
                Bit::Predicate(source) => warp.predicate(source),
                Bit::Sign(operand) => {
                    let word = warp.fetch(operand);
                    mask_of(|lane| word[lane] >> 31 == 1)
                }
            });
            let results = tables.map(|table| logic(a, b, c, table));
            warp.write_predicate(out[0], results[0], mask);
            warp.write_predicate(out[1], results[1], mask);
        }
        Op::FromRegister { a, select, byte } => {
            let (a, select) = (warp.fetch(a), warp.fetch(select));
            for number in 0..7u8 {
                let chosen = mask_of(|lane| select[lane] >> number & 1 == 1) & mask;
                if chosen != 0 {
                    let set = mask_of(|lane| a[lane] >> (8 * byte + number) & 1 == 1);
                    warp.write_predicate(number, set, chosen);
                }
            }
        }
        Op::ToRegister {
            row,
            a,
            select,
            byte,
        } => {
            let (a, select) = (warp.fetch(a), warp.fetch(select));
            let predicates = warp.predicates;
            let result = Lanes::from_fn(|lane| {
                let mut bits = 0;
                let mut number = 0;
                while number < 7 {
                    bits |= (predicates[number] >> lane & 1) << number;
                    number += 1;
                }
                let select = select[lane] & 0x7f;
                let shift = 8 * u32::from(byte);
                (a[lane] & !(select << shift)) | ((bits & select) << shift)
            });
            warp.write(row, &result, mask);
        }
        Op::DivisionCheck { out, a, b, signs } => {
            let a = super::float::source(warp, a, signs, 0, false);
            let b = super::float::source(warp, b, signs, 1, false);
            let slow = mask_of(|lane| needs_slow_division(a[lane], b[lane]));
            warp.write_predicate(out, slow, mask);
        }
    }
}
