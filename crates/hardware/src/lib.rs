//! GPUs as data: documents, inheritance, units and provenance, and the parameters that the stages
//! of the model declare.
//!
//! A GPU is one TOML document of `gpus/`, with a base that it inherits from key by key. A stage
//! declares its parameters with [`parameters!`] beside the code that reads them; [`Gpu::check`]
//! compares all declarations with all documents. Numbers of the hardware stand in the documents,
//! each with its source and confidence, never in code.

mod built_in;
mod card;
mod document;
mod error;
mod gpu;
mod limits;
mod nearest;
mod parameter;
mod rates;
mod value;

pub use built_in::names;
pub use card::{CardParameters, MemoryParameters};
pub use document::Confidence;
pub use error::{HardwareError, Place};
pub use gpu::{Explanation, Gpu};
pub use limits::{LaunchParameters, OccupancyParameters};
pub use parameter::{Bounds, Declaration, Mismatch, Parameter, range_text, typed};
pub use rates::{PeakParameters, TensorParameters};
pub use value::Value;

/// What this crate itself declares: the card, its memory, its limits and its rates.
pub const DECLARED: &[&[Declaration]] = &[
    CardParameters::DECLARED,
    MemoryParameters::DECLARED,
    OccupancyParameters::DECLARED,
    LaunchParameters::DECLARED,
    TensorParameters::DECLARED,
    PeakParameters::DECLARED,
];
