//! Which image of a fatbin a GPU runs: what the driver does when it loads a module.
//!
//! CUDA C++ Programming Guide, "Binary compatibility": code for compute capability X.y runs on
//! X.z with z ≥ y. Of several that would run, the newest is the best match; code for exactly this
//! architecture and no other (`sm_90a`) is better than that which others can run as well.

use crate::error::CubinError;
use crate::fatbin::{Fatbin, Image, ImageKind, Portability};

/// Whether code of the image runs on a GPU of architecture `hardware` (86 for sm_86).
fn runs(image: &Image<'_>, hardware: u32) -> bool {
    image.kind == ImageKind::Cubin
        && match image.portability {
            Portability::Architecture => image.architecture == hardware,
            Portability::Generation | Portability::Family => {
                image.architecture / 10 == hardware / 10 && image.architecture <= hardware
            }
        }
}

/// How good a match the image is, among those that run.
fn rank(image: &Image<'_>) -> (u32, bool) {
    (
        image.architecture,
        image.portability != Portability::Generation,
    )
}

impl<'data> Fatbin<'data> {
    /// The image that a GPU of architecture `hardware` runs, or `None`. Of equals the first.
    pub fn best(&self, hardware: u32) -> Option<&Image<'data>> {
        let mut best: Option<&Image<'data>> = None;
        for image in self.images.iter().filter(|image| runs(image, hardware)) {
            if best.is_none_or(|found| rank(image) > rank(found)) {
                best = Some(image);
            }
        }
        best
    }
}

/// The images that a GPU runs, one for each fatbin that has code for it, in file order.
///
/// # Errors
/// No fatbin has code for the GPU: the error lists what there is.
pub fn best_of_each<'fatbins, 'data>(
    fatbins: &'fatbins [Fatbin<'data>],
    hardware: u32,
) -> Result<Vec<&'fatbins Image<'data>>, CubinError> {
    let best: Vec<&Image<'data>> = fatbins
        .iter()
        .filter_map(|fatbin| fatbin.best(hardware))
        .collect();
    if !best.is_empty() {
        return Ok(best);
    }
    let mut holds: Vec<String> = Vec::new();
    for image in fatbins.iter().flat_map(|fatbin| &fatbin.images) {
        let name = match image.kind {
            ImageKind::Cubin => image.to_string(),
            ImageKind::Ptx => format!("PTX for {image}"),
            ImageKind::Other(kind) => format!("an image of kind {kind} for {image}"),
        };
        if !holds.contains(&name) {
            holds.push(name);
        }
    }
    Err(CubinError::NoImage { hardware, holds })
}
