//! HMMA.884 of Turing, as mma.m8n8k4 and Volta's wmma compile to: four independent 8 × 8 × 4 products,
//! each by the eight lanes of two quads, 4q to 4q + 3 and 16 + 4q to 19 + 4q. A product takes several
//! instructions (`.STEP`), each of which makes the two registers of its part.
//!
//! The layout is that of mma.m8n8k4 in the PTX manual; the compiler's own emulation for later
//! architectures confirms it.

use crate::lanes::Lanes;
use crate::warp::Warp;

use super::tensor::register;
use super::tensor_rule::{Element, Rule};
use super::tensor_step::{MOST, Step, Terms, terms};

/// The operands of one step: first registers, `None` for RZ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quads {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    /// Lanes hold columns of A, not rows.
    pub(crate) a_by_column: bool,
    /// Lanes hold columns of B, not rows.
    pub(crate) b_by_column: bool,
    /// The result is in single precision: four steps, else two.
    pub(crate) single_out: bool,
    /// The accumulator is in single precision.
    pub(crate) single_in: bool,
    pub(crate) step: u8,
    pub(crate) rule: Rule,
}

/// The lane of quad pair `quad` that has number `number` of its eight.
const fn member(quad: usize, number: usize) -> usize {
    4 * quad + number % 4 + 16 * (number / 4)
}

impl Quads {
    /// Row and column of result `index` of `lane` in this step.
    #[inline(always)]
    fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let upper = 4 * (lane / 16);
        let step = self.step as usize;
        if self.single_out {
            // Registers 2 · step and 2 · step + 1 of eight.
            let row = (lane & 1) + 2 * (step & 1) + upper;
            (row, 4 * (step / 2) + (lane & 2) + index)
        } else {
            (lane % 4 + upper, 4 * step + index)
        }
    }

    /// Half `index` of the pair of registers `first` in lane `lane`.
    #[inline(always)]
    fn half(warp: &Warp, first: Option<u16>, lane: usize, index: usize) -> u32 {
        register(warp, first, (index / 2) as u16)[lane & 31] >> (16 * (index % 2)) & 0xffff
    }
}

/// Executes one step; all lanes take part.
#[inline(always)]
pub(crate) fn execute(warp: &mut Warp, m: &Quads) {
    let step = Step {
        rule: m.rule,
        fraction: 2 * Element::Half.layout().fraction,
        single_in: m.single_in,
        single_out: m.single_out,
    };
    let results = if m.single_out { 2 } else { 4 };
    let mut found = [Lanes::ZERO; 4];
    for (index, result) in found.iter_mut().enumerate().take(results) {
        let (mut a, mut b) = ([Terms::ZERO; MOST], [Terms::ZERO; MOST]);
        let mut special = false;
        for l in 0..4 {
            let x = Lanes::from_fn(|lane| {
                let (quad, (row, _)) = (lane % 16 / 4, m.place(lane, index));
                if m.a_by_column {
                    Quads::half(warp, m.a, member(quad, 4 * (row / 4) + l), row % 4)
                } else {
                    Quads::half(warp, m.a, member(quad, row), l)
                }
            });
            let y = Lanes::from_fn(|lane| {
                let (quad, (_, column)) = (lane % 16 / 4, m.place(lane, index));
                if m.b_by_column {
                    Quads::half(warp, m.b, member(quad, column), l)
                } else {
                    Quads::half(warp, m.b, member(quad, 4 * (column / 4) + l), column % 4)
                }
            });
            let (x, infinite_x) = terms(Element::Half, &x, 0);
            let (y, infinite_y) = terms(Element::Half, &y, 0);
            special |= infinite_x || infinite_y;
            (a[l], b[l]) = (x, y);
        }
        let accumulator = if m.single_in {
            register(warp, m.c, index as u16)
        } else {
            // The pair of this step holds four columns of one row in each lane.
            Lanes::from_fn(|lane| {
                let (row, column) = m.place(lane, index);
                Quads::half(warp, m.c, member(lane % 16 / 4, row), column % 4)
            })
        };
        *result = step.add(&accumulator, &a[..4], &b[..4], special);
    }
    for index in 0..2 {
        warp.registers[m.row as usize + index] = if m.single_out {
            found[index]
        } else {
            let (low, high) = (&found[2 * index], &found[2 * index + 1]);
            Lanes::from_fn(|lane| low[lane] | high[lane] << 16)
        };
    }
}
