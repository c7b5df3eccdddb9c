//! Dense rates of the tensor cores and the peak figures of the data sheet.

crate::parameters! {
    /// Dense multiply-adds per cycle of one sub-core's tensor core.
    pub struct TensorParameters = "tensor" {
        /// Half inputs, half accumulator.
        f16_f16: u32, "FMA/cycle", 1..=65_536;
        /// Half inputs, single accumulator.
        f16_f32: u32, "FMA/cycle", 1..=65_536;
        /// bfloat16 inputs, single accumulator.
        bf16: u32, "FMA/cycle", 1..=65_536;
        /// TF32 inputs, single accumulator.
        tf32: u32, "FMA/cycle", 1..=65_536;
        /// 8-bit integer inputs.
        int8: u32, "FMA/cycle", 1..=65_536;
        /// 4-bit integer inputs.
        int4: u32, "FMA/cycle", 1..=65_536;
        /// Single-bit inputs.
        binary: u32, "FMA/cycle", 1..=65_536;
        /// Double inputs (DMMA).
        double: f64, "FMA/cycle", 0.001..=65_536.0;
    }

    /// Peak figures of the data sheet, at the boost clock, dense.
    pub struct PeakParameters = "peak" {
        /// Single precision outside the tensor cores.
        fp32: f64, "TFLOP/s", 0.001..=1e6;
        /// Double precision outside the tensor cores.
        fp64: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, half inputs, half accumulator.
        tensor_f16_f16: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, half inputs, single accumulator.
        tensor_f16_f32: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, TF32 inputs.
        tensor_tf32: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, 8-bit integer inputs.
        tensor_int8: f64, "TOP/s", 0.001..=1e6;
    }
}
