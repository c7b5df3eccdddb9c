//! HMMA and QMMA: 16 × 8 × k matrices of half, brain-float, TF32 and 8-bit elements.
//!
//! Elements are decoded for all lanes at once and dealt out so that each lane has the row of A and the
//! column of B of its results; `tensor_step` adds them.

use crate::lanes::Lanes;
use crate::warp::Warp;

use super::tensor::register;
use super::tensor_rule::{Element, Rule};
use super::tensor_sparse::{Metadata, Selected};
use super::tensor_step::{MOST, Step, Terms, terms};

/// The operands of a product: first registers, `None` for RZ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    /// Elements of a row of A as it lies in registers: half of the depth if it is sparse.
    pub(crate) k: u8,
    pub(crate) element_a: Element,
    pub(crate) element_b: Element,
    /// Accumulates in single precision.
    pub(crate) single: bool,
    pub(crate) rule: Rule,
    /// Where A's elements stand, if it is sparse.
    pub(crate) metadata: Option<Metadata>,
}

impl Matrices {
    /// Elements of a quarter row: what the four lanes of a row hold in one register each.
    #[inline(always)]
    fn quarter(&self) -> usize {
        4 * self.element_a.per_register()
    }
}

/// The elements of one step as each lane needs them: of its rows of A (upper and lower half) and its
/// columns of B.
struct Dealt {
    a: [[Terms; MOST]; 2],
    b: [[Terms; MOST]; 2],
}

/// Executes HMMA or QMMA; all lanes take part.
#[inline(always)]
pub(crate) fn execute(warp: &mut Warp, m: &Matrices) {
    let mut dealt = Dealt {
        a: [[Terms::ZERO; MOST]; 2],
        b: [[Terms::ZERO; MOST]; 2],
    };
    let mut accumulators = [Lanes::ZERO; 4];
    for (index, accumulator) in accumulators.iter_mut().enumerate() {
        *accumulator = if m.single {
            register(warp, m.c, index as u16)
        } else {
            let word = register(warp, m.c, (index / 2) as u16);
            Lanes::from_fn(|lane| word[lane] >> (16 * (index % 2)) & 0xffff)
        };
    }
    let step = Step {
        rule: m.rule,
        fraction: m.element_a.layout().fraction + m.element_b.layout().fraction,
        single_in: m.single,
        single_out: m.single,
    };
    let quarters = usize::from(m.k) / m.quarter();
    let together = (usize::from(m.rule.products) / m.quarter()).clamp(1, quarters.max(1));
    for first in (0..quarters).step_by(together) {
        let last = (first + together).min(quarters);
        let count = (last - first) * m.quarter();
        let mut special = deal_a(warp, m, first..last, &mut dealt.a);
        if m.metadata.is_none() {
            special |= deal_b(warp, m, first..last, &mut dealt.b);
        }
        for half in 0..2 {
            if let Some(metadata) = m.metadata {
                let selected = Selected {
                    metadata,
                    element: m.element_b,
                    b: m.b,
                    half,
                    first: first * m.quarter(),
                };
                special |= selected.deal(warp, count, &mut dealt.b);
            }
            for column in 0..2 {
                let accumulator = &mut accumulators[2 * half + column];
                let (a, b) = (&dealt.a[half][..count], &dealt.b[column][..count]);
                *accumulator = step.add(accumulator, a, b, special);
            }
        }
    }
    let row = m.row as usize;
    if m.single {
        for (index, lanes) in accumulators.iter().enumerate() {
            warp.registers[row + index] = *lanes;
        }
    } else {
        for half in 0..2 {
            let (low, high) = (&accumulators[2 * half], &accumulators[2 * half + 1]);
            warp.registers[row + half] = Lanes::from_fn(|lane| low[lane] | high[lane] << 16);
        }
    }
}

/// Deals out quarters of A; whether any element is infinite or NaN.
#[inline(always)]
fn deal_a(
    warp: &Warp,
    m: &Matrices,
    quarters: std::ops::Range<usize>,
    dealt: &mut [[Terms; MOST]; 2],
) -> bool {
    let mut special = false;
    let per_register = m.element_a.per_register();
    let first = quarters.start;
    for quarter in quarters {
        for half in 0..2 {
            let word = register(warp, m.a, (2 * quarter + half) as u16);
            for part in 0..per_register {
                let (found, infinite) = terms(m.element_a, &word, m.element_a.bits() * part as u32);
                special |= infinite;
                for within in 0..4 {
                    let index = (4 * (quarter - first) + within) * per_register + part;
                    dealt[half][index & (MOST - 1)] = found.deal(|lane| (lane & !3) | within);
                }
            }
        }
    }
    special
}

/// Deals out quarters of B.
#[inline(always)]
fn deal_b(
    warp: &Warp,
    m: &Matrices,
    quarters: std::ops::Range<usize>,
    dealt: &mut [[Terms; MOST]; 2],
) -> bool {
    let mut special = false;
    let per_register = m.element_b.per_register();
    let first = quarters.start;
    for quarter in quarters {
        let word = register(warp, m.b, quarter as u16);
        for part in 0..per_register {
            let (found, infinite) = terms(m.element_b, &word, m.element_b.bits() * part as u32);
            special |= infinite;
            for column in 0..2 {
                for within in 0..4 {
                    let index = (4 * (quarter - first) + within) * per_register + part;
                    dealt[column][index & (MOST - 1)] =
                        found.deal(|lane| 4 * (2 * (lane % 4) + column) + within);
                }
            }
        }
    }
    special
}
