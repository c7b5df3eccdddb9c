//! GPUs as data: documents, inheritance, units and provenance, and the parameters that the stages
//! of the model declare.
//!
//! A GPU is one TOML document of `gpus/`, with a base that it inherits from key by key. A stage
//! declares its parameters with [`parameters!`] beside the code that reads them; [`Gpu::check`]
//! compares all declarations with all documents. Numbers of the hardware stand in the documents,
//! each with its source and confidence, never in code.

mod built_in;
mod card;
pub mod control;
mod document;
mod error;
mod gpu;
pub mod latency;
mod launch;
mod nearest;
mod occupancy;
mod parameter;
mod peak;
mod tensor;
mod value;

pub use built_in::{dram_kinds, names};
pub use card::{CardParameters, MemoryParameters};
pub use document::Confidence;
pub use error::{HardwareError, Place};
pub use gpu::{Explanation, Gpu};
pub use launch::{LaunchError, LaunchParameters};
pub use occupancy::{CtaFootprint, Limit, Occupancy, OccupancyError, OccupancyParameters};
pub use parameter::{Bounds, Declaration, Mismatch, Parameter, range_text, typed};
pub use peak::PeakParameters;
pub use tensor::TensorParameters;
pub use value::Value;

/// What this crate itself declares: the card, its memory, its limits and its rates.
pub const DECLARED: &[&[Declaration]] = &[
    CardParameters::DECLARED,
    MemoryParameters::DECLARED,
    OccupancyParameters::DECLARED,
    LaunchParameters::DECLARED,
    TensorParameters::DECLARED,
    PeakParameters::DECLARED,
    control::StallParameters::DECLARED,
    control::ControlParameters::DECLARED,
];
