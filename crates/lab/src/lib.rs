//! The laboratory: experiments in SASS text, run and compared with what machines were seen to do.
//!
//! In the order of an experiment: [`document`] reads a lab file, [`built_in`] holds those of `lab/`,
//! [`expand`] makes a variant's code, [`kernel`] puts its frame around it, [`assembled`] makes a cubin of
//! it, [`run`] runs it (`series` for rows with lists), [`compare`] judges what came out. [`disassembled`] is
//! the way back from a cubin to text.

pub mod assembled;
pub mod built_in;
pub mod compare;
pub mod disassembled;
pub mod document;
pub mod error;
pub mod expand;
pub mod kernel;
pub mod run;
mod series;

pub use assembled::new_cubin;
pub use compare::{Judgement, Observation, Row, Value};
pub use disassembled::{text_of, text_of_code};
pub use document::{Document, Experiment, Frame};
pub use error::LabError;
pub use run::{Bench, Watched, gpu_of};
