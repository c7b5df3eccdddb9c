//! Peak figures of the data sheet: what tests compare the rates with, no stage reads them.

crate::parameters! {
    /// Peak figures of the data sheet, at the boost clock, dense.
    pub struct PeakParameters = "peak" {
        /// Single precision outside the tensor cores.
        fp32: f64, "TFLOP/s", 0.001..=1e6;
        /// Double precision outside the tensor cores.
        fp64: f64, "TFLOP/s", 0.001..=1e6;
        /// Clock that the tensor figures refer to, where it is not the boost clock.
        tensor_clock: Option<f64>, "MHz", 1.0..=10_000.0;
        /// Tensor cores, half inputs, half accumulator.
        tensor_f16_f16: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, half inputs, single accumulator.
        tensor_f16_f32: f64, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, TF32 inputs.
        tensor_tf32: Option<f64>, "TFLOP/s", 0.001..=1e6;
        /// Tensor cores, 8-bit integer inputs.
        tensor_int8: f64, "TOP/s", 0.001..=1e6;
    }
}
