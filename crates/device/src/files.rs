//! Where a workload's files come from: a folder, or the program itself.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::RunError;

/// A place that files are read from.
#[derive(Debug, Clone)]
pub enum Files {
    /// A folder on disk: that of the launch file.
    Folder(PathBuf),
    /// Files that are part of the program: names and bytes.
    Embedded(&'static [(&'static str, &'static [u8])]),
}

impl Files {
    /// What a file is called in messages.
    pub fn path(&self, name: &Path) -> PathBuf {
        match self {
            Files::Folder(folder) => folder.join(name),
            Files::Embedded(_) => name.to_owned(),
        }
    }

    /// The bytes of a file, which may have at most `limit` of them.
    ///
    /// # Errors
    /// A file that is not there, cannot be read or is too large.
    pub fn read(&self, name: &Path, limit: u64) -> Result<Vec<u8>, RunError> {
        let path = self.path(name);
        let unreadable = |reason: String| RunError::Unreadable {
            file: path.clone(),
            reason,
        };
        let too_large = || unreadable(format!("it has more than {limit} bytes"));
        match self {
            Files::Folder(_) => {
                let file = File::open(&path).map_err(|error| unreadable(error.to_string()))?;
                let mut bytes = Vec::new();
                file.take(limit.saturating_add(1))
                    .read_to_end(&mut bytes)
                    .map_err(|error| unreadable(error.to_string()))?;
                if bytes.len() as u64 > limit {
                    Err(too_large())
                } else {
                    Ok(bytes)
                }
            }
            Files::Embedded(files) => {
                let found = files.iter().find(|(known, _)| Path::new(known) == name);
                let (_, bytes) =
                    found.ok_or_else(|| unreadable("it is not part of the program".to_owned()))?;
                if bytes.len() as u64 > limit {
                    Err(too_large())
                } else {
                    Ok(bytes.to_vec())
                }
            }
        }
    }
}
