//! The lab files that are built in, and the frames that files of others borrow from them.

use crate::document::{Document, Experiment, Frame};
use crate::error::LabError;

macro_rules! built_in {
    ($($name:literal)*) => {
        /// Name and text of each file of `lab/`.
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../lab/", $name)))),*];
    };
}

built_in! { "a100_core.toml" "paper_core.toml" "rtx4090_memory.toml" }

/// The files of `lab/`, read.
///
/// # Errors
/// A file that is not as it should be, which a test excludes.
pub fn documents() -> Result<Vec<Document>, LabError> {
    FILES
        .iter()
        .map(|&(name, text)| Document::parse(name, text))
        .collect()
}

/// The frame of an experiment: its own, or that of the built-in experiment of the same id.
pub fn frame(experiment: &Experiment, known: &[Document]) -> Option<Frame> {
    experiment.frame.clone().or_else(|| {
        let experiments = known.iter().flat_map(|document| &document.experiments);
        experiments
            .filter(|known| known.id == experiment.id)
            .find_map(|known| known.frame.clone())
    })
}
