//! Makes a palace the state of a backup.

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
    /// Whether a palace that is there is replaced; it is kept under another name.
    pub replace: bool,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Where the palace is.
    pub palace: String,
    /// Drawers in it.
    pub restored: u64,
    /// Where the palace that was there before is kept.
    #[serde(serialize_with = "serialize_optional_path")]
    #[schemars(with = "Option<String>")]
    pub set_aside: Option<PathBuf>,
}

impl Palace {
    /// Makes this palace the state of a backup.
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
