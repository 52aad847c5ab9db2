//! The verb `restore`: replaces a palace with a backup.

use std::path::PathBuf;

use loci_core::{Result, serialize_optional_path};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;

/// The backup to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The file.
    pub backup: PathBuf,
    /// Whether to replace an existing palace, which is kept under another name.
    pub replace: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Where the palace is.
    pub palace: String,
    /// Number of its drawers.
    pub restored: u64,
    /// Where the old palace is kept.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub set_aside: Option<PathBuf>,
}

impl Palace {
    /// Restores this palace from a backup.
    pub fn restore(&self, request: &Request) -> Result<Answer> {
        self.refuse_among_other_files()?;
        let restored = self
            .backend
            .restore(&self.reference, &request.backup, request.replace)?;
        Ok(Answer {
            palace: self.place().to_string(),
            restored: restored.drawers,
            set_aside: restored.set_aside,
        })
    }
}
