//! The verb `backup`: copies a palace into a file.

use std::path::PathBuf;

use loci_core::{Result, serialize_path};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;

/// The target of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The new file, outside the palace.
    pub target: PathBuf,
}

/// The copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Where it is.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub backup: PathBuf,
    /// Its size.
    pub bytes: u64,
}

impl Palace {
    /// Writes a consistent copy to a new file.
    pub fn backup(&self, request: &Request) -> Result<Answer> {
        self.refuse_inside(&request.target)?;
        let bytes = self.backend.backup(&self.reference, &request.target)?;
        Ok(Answer {
            backup: request.target.clone(),
            bytes,
        })
    }
}
