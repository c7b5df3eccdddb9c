//! Dense rates of the tensor cores: what their input accepts, not when results are visible
//! (MODEL.md §6, the caution on intervals).

crate::parameters! {
    /// Dense multiply-adds per cycle of one sub-core's tensor core; a GPU leaves out the types that its
    /// tensor cores do not know.
    pub struct TensorParameters = "tensor" {
        /// Half inputs, half accumulator.
        f16_f16: u32, "FMA/cycle", 1..=65_536;
        /// Half inputs, single accumulator.
        f16_f32: u32, "FMA/cycle", 1..=65_536;
        /// bfloat16 inputs, single accumulator.
        bf16: Option<u32>, "FMA/cycle", 1..=65_536;
        /// TF32 inputs, single accumulator.
        tf32: Option<u32>, "FMA/cycle", 1..=65_536;
        /// 8-bit integer inputs.
        int8: u32, "FMA/cycle", 1..=65_536;
        /// 4-bit integer inputs.
        int4: Option<u32>, "FMA/cycle", 1..=65_536;
        /// Single-bit inputs.
        binary: Option<u32>, "FMA/cycle", 1..=65_536;
        /// Double inputs (DMMA).
        double: Option<f64>, "FMA/cycle", 0.001..=65_536.0;
    }
}

impl TensorParameters {
    /// Cycles that one instruction of `m`·`n`·`k` multiply-adds occupies the input of the unit at
    /// a dense rate: HMMA.16816 at 128 per cycle is 16.
    pub const fn interval(multiply_adds: u32, rate: u32) -> u32 {
        multiply_adds.div_ceil(if rate == 0 { 1 } else { rate })
    }
}
