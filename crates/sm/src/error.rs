//! What can be wrong before an SM starts.

use thiserror::Error;

/// A kernel or GPU that the timing model cannot take.
#[derive(Debug, Error)]
pub enum SmError {
    /// A parameter or GPU document is wrong.
    #[error(transparent)]
    Hardware(#[from] hardware::HardwareError),
    /// The latency tables lack a row.
    #[error(transparent)]
    Latency(#[from] hardware::latency::LatencyError),
    /// The kernel uses the tensor core and the GPU has no rate for it.
    #[error("the kernel uses a tensor instruction that this GPU has no rate `{key}` for")]
    NoTensorUnit {
        /// The missing rate.
        key: String,
    },
}
