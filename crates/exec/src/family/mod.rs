//! What the opcodes do, family by family. Each file defines the lowered operations of its family,
//! lowers decoded instructions to them and executes them on the lanes of a warp.

pub(crate) mod arithmetic;
pub(crate) mod atomic;
pub(crate) mod atomic_value;
pub(crate) mod barrier;
pub(crate) mod control_flow;
pub(crate) mod conversion;
pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod mbarrier;
pub(crate) mod miscellaneous;
pub(crate) mod move_;
pub(crate) mod packed_integer;
pub(crate) mod packing;
pub(crate) mod predicate;
pub(crate) mod shuffle_vote;
pub(crate) mod special_function;
pub(crate) mod surface;
pub(crate) mod tensor;
pub(crate) mod tensor_double;
pub(crate) mod tensor_float;
pub(crate) mod tensor_integer;
pub(crate) mod tensor_quad;
pub(crate) mod tensor_rule;
pub(crate) mod tensor_sparse;
pub(crate) mod tensor_step;
pub(crate) mod texture;
pub(crate) mod uniform;
pub(crate) mod vector;

use crate::lanes::Lanes;
use crate::micro::Operand;
use crate::warp::Warp;

/// `row = f(a)` in the lanes of `mask`.
#[inline(always)]
pub(crate) fn map1(warp: &mut Warp, mask: u32, row: u16, a: Operand, f: impl Fn(u32) -> u32) {
    let a = warp.fetch(a);
    let result = Lanes::from_fn(|lane| f(a[lane]));
    warp.write(row, &result, mask);
}

/// `row = f(a, b)` in the lanes of `mask`.
#[inline(always)]
pub(crate) fn map2(
    warp: &mut Warp,
    mask: u32,
    row: u16,
    a: Operand,
    b: Operand,
    f: impl Fn(u32, u32) -> u32,
) {
    let (a, b) = (warp.fetch(a), warp.fetch(b));
    let result = Lanes::from_fn(|lane| f(a[lane], b[lane]));
    warp.write(row, &result, mask);
}

/// `row = f(a, b, c)` in the lanes of `mask`.
#[inline(always)]
pub(crate) fn map3(
    warp: &mut Warp,
    mask: u32,
    row: u16,
    [a, b, c]: [Operand; 3],
    f: impl Fn(u32, u32, u32) -> u32,
) {
    let (a, b, c) = (warp.fetch(a), warp.fetch(b), warp.fetch(c));
    let result = Lanes::from_fn(|lane| f(a[lane], b[lane], c[lane]));
    warp.write(row, &result, mask);
}
