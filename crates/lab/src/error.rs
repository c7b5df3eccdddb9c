//! What can be wrong with an experiment.

use sass::assemble::AssembleError;

/// Why a lab file cannot be read or an experiment not be run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The file is no lab file.
    #[error("{file}: {reason}")]
    Document {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A key without a value, or a repetition that is not as it should be.
    #[error("experiment `{experiment}`, variant `{variant}`: {reason}")]
    Variant {
        /// The experiment.
        experiment: String,
        /// The variant.
        variant: String,
        /// What is wrong.
        reason: String,
    },
    /// The code is no SASS.
    #[error("experiment `{experiment}`, variant `{variant}`: {error}\n  {text}")]
    Assemble {
        /// The experiment.
        experiment: String,
        /// The variant.
        variant: String,
        /// What is wrong.
        error: Box<AssembleError>,
        /// The line.
        text: String,
    },
    /// The cubin cannot be written.
    #[error(transparent)]
    Write(#[from] cubin::WriteError),
    /// The GPU's document is not as it should be.
    #[error("{0}")]
    Hardware(Box<hardware::HardwareError>),
    /// The launch is refused before it runs.
    #[error("experiment `{experiment}`, variant `{variant}`: {error}")]
    Run {
        /// The experiment.
        experiment: String,
        /// The variant.
        variant: String,
        /// Why.
        error: Box<device::RunError>,
    },
}

impl From<hardware::HardwareError> for LabError {
    fn from(error: hardware::HardwareError) -> LabError {
        LabError::Hardware(Box::new(error))
    }
}
