//! Why a probe has nothing to tell.

use sass::assemble::AssembleError;

/// Why a probe cannot run, or cannot conclude from what it saw.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No encodings for the architecture.
    #[error("{gpu}: no encodings for sm_{architecture}")]
    Architecture {
        /// The GPU.
        gpu: String,
        /// Its architecture.
        architecture: u32,
    },
    /// A kernel's text is at fault.
    #[error("kernel {kernel}: {error}\n  {text}")]
    Assemble {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: Box<AssembleError>,
        /// The line.
        text: String,
    },
    /// Control bits that are given leave a hazard.
    #[error("kernel {kernel}: {findings} findings remain after its control bits were filled in")]
    Control {
        /// The kernel.
        kernel: String,
        /// How many.
        findings: usize,
    },
    /// The control bits cannot be filled in for the GPU.
    #[error(transparent)]
    Rules(#[from] schedule::rules::RulesError),
    /// The cubin cannot be written.
    #[error(transparent)]
    Write(#[from] cubin::WriteError),
    /// The GPU's document is not as it should be.
    #[error("{0}")]
    Hardware(Box<hardware::HardwareError>),
    /// A launch failed.
    #[error("kernel {kernel}: {error}")]
    Run {
        /// The kernel.
        kernel: String,
        /// Why.
        error: Box<device::RunError>,
    },
    /// The GPU has no such SM.
    #[error("SM {sm}: {gpu} has {sms}, counted from 0")]
    Sm {
        /// The one asked for.
        sm: u32,
        /// The GPU.
        gpu: String,
        /// How many it has.
        sms: u32,
    },
    /// The measurements do not bear the conclusion that the probe is after.
    #[error("{probe}: {reason}")]
    Inconclusive {
        /// The probe.
        probe: &'static str,
        /// What was seen.
        reason: String,
    },
}

impl From<hardware::HardwareError> for ProbeError {
    fn from(error: hardware::HardwareError) -> ProbeError {
        ProbeError::Hardware(Box::new(error))
    }
}
