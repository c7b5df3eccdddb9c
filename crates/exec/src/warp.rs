//! The state of one warp: registers sized to the kernel's count, predicates, uniform registers and
//! convergence barriers. Its control flow is in `split`.

use crate::lanes::{ALL, Lanes};
use crate::micro::{Operand, PredicateSource, SINK_ROWS, Wide};
use crate::split::Splits;

/// One warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// General registers, row = register number; behind them rows that take writes to RZ.
    pub(crate) registers: Vec<Lanes>,
    /// P0 to P6 as lane sets; the last is PT.
    pub(crate) predicates: [u32; 8],
    /// UR0 to UR62; the last is URZ.
    pub(crate) uniforms: [u32; 64],
    /// UP0 to UP6, one bit each; bit 7 is UPT.
    pub(crate) uniform_predicates: u8,
    /// Where its lanes are.
    pub(crate) splits: Splits,
    /// CTA slot it belongs to.
    pub(crate) cta: u32,
    /// Its number in the CTA.
    pub(crate) index: u32,
    /// Linear number of the CTA in the grid.
    pub(crate) cta_number: u64,
    /// Index of the CTA in the grid.
    pub(crate) cta_index: [u32; 3],
    /// Thread indices of its lanes.
    pub(crate) threads: Box<[Lanes; 3]>,
    /// Counts the warps that lived in this slot: results of deferred operations of an earlier one
    /// are dropped.
    pub(crate) generation: u32,
    /// Whether it holds a running warp.
    pub(crate) live: bool,
    /// Result of the last CTA barrier with reduction: a count, or zero and not zero.
    pub(crate) barrier_result: u32,
    /// Halves of each lane's return address (RPCMOV), once they have been written.
    pub(crate) return_address: Option<Box<[Lanes; 2]>>,
}

impl Warp {
    /// An empty slot.
    pub(crate) fn empty() -> Warp {
        Warp {
            registers: Vec::new(),
            predicates: [0; 8],
            uniforms: [0; 64],
            uniform_predicates: 0x80,
            splits: Splits::new(),
            cta: 0,
            index: 0,
            cta_number: 0,
            cta_index: [0; 3],
            threads: Box::new([Lanes::ZERO; 3]),
            generation: 0,
            live: false,
            barrier_result: 0,
            return_address: None,
        }
    }

    /// Starts a warp here: all registers zero, `lanes` at `entry`.
    pub(crate) fn start(&mut self, registers: usize, lanes: u32, entry: u32) {
        self.registers.clear();
        self.registers.resize(registers + SINK_ROWS, Lanes::ZERO);
        self.predicates = [0, 0, 0, 0, 0, 0, 0, ALL];
        self.uniforms = [0; 64];
        self.uniform_predicates = 0x80;
        self.splits.start(entry, lanes);
        self.generation = self.generation.wrapping_add(1);
        self.live = true;
        self.barrier_result = 0;
        self.return_address = None;
    }

    /// A 32-bit source.
    #[inline(always)]
    pub(crate) fn fetch(&self, operand: Operand) -> Lanes {
        match operand {
            Operand::Register(row) => self.registers[row as usize],
            Operand::Scalar(value) => Lanes::splat(value),
            Operand::Uniform(number) => Lanes::splat(self.uniforms[number as usize & 63]),
        }
    }

    /// A 32-bit source that is the same in all lanes, if it is one.
    #[inline(always)]
    pub(crate) fn fetch_scalar(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Register(row) => self.registers[row as usize][0],
            Operand::Scalar(value) => value,
            Operand::Uniform(number) => self.uniforms[number as usize & 63],
        }
    }

    /// Low and high words of a 64-bit source.
    #[inline(always)]
    pub(crate) fn fetch_wide(&self, operand: Wide) -> (Lanes, Lanes) {
        match operand {
            Wide::Register(row) => (
                self.registers[row as usize],
                self.registers[row as usize + 1],
            ),
            Wide::Scalar(low, high) => (Lanes::splat(low), Lanes::splat(high)),
            Wide::Uniform(number) => (
                Lanes::splat(self.uniforms[number as usize & 63]),
                Lanes::splat(self.uniforms[(number as usize + 1) & 63]),
            ),
        }
    }

    /// Writes a row in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn write(&mut self, row: u16, values: &Lanes, mask: u32) {
        self.registers[row as usize].blend(values, mask);
    }

    /// The lanes in which a predicate source is true.
    #[inline(always)]
    pub(crate) fn predicate(&self, source: PredicateSource) -> u32 {
        let value = if source.is_uniform() {
            0u32.wrapping_sub((self.uniform_predicates >> source.number() & 1) as u32)
        } else {
            self.predicates[source.number() as usize]
        };
        value ^ source.inversion()
    }

    /// Writes a predicate in the lanes of `mask`; PT stays true.
    #[inline(always)]
    pub(crate) fn write_predicate(&mut self, number: u8, values: u32, mask: u32) {
        let old = &mut self.predicates[number as usize & 7];
        *old = (*old & !mask) | (values & mask);
        self.predicates[7] = ALL;
    }

    /// Whether a predicate source is true for the warp as a whole: a uniform one, or a general one
    /// in its lowest active lane.
    #[inline(always)]
    pub(crate) fn uniform_condition(&self, source: PredicateSource, active: u32) -> bool {
        if source.is_uniform() || source.number() == 7 {
            self.predicate(source) & 1 == 1
        } else {
            self.predicate(source) >> (active.trailing_zeros() & 31) & 1 == 1
        }
    }

    /// Writes a uniform predicate; UPT stays true.
    #[inline(always)]
    pub(crate) fn write_uniform_predicate(&mut self, number: u8, value: bool) {
        let bit = 1u8 << (number & 7);
        if value {
            self.uniform_predicates |= bit;
        } else {
            self.uniform_predicates &= !bit;
        }
        self.uniform_predicates |= 0x80;
    }

    /// Writes a uniform register; URZ stays zero.
    #[inline(always)]
    pub(crate) fn write_uniform(&mut self, number: u8, value: u32) {
        self.uniforms[number as usize & 63] = value;
        self.uniforms[63] = 0;
    }
}
