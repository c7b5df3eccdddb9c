//! Mutations of control bits in compiled code, and runs of the mutants that also tell what was issued
//! when: what the test of the hazard check's sharpness is made of.
#![allow(dead_code, missing_docs)]

pub mod bench;
pub mod mutation;
pub mod subject;
pub mod trial;
