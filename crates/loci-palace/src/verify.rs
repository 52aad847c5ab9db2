//! The verb `verify`: checks indexes and postings against the stored drawers.

use loci_core::Result;
pub use loci_core::VerifyReport as Answer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;

/// The depth of the check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Whether to recompute every row, posting and code.
    pub deep: bool,
}

impl Palace {
    /// Checks indexes and postings against the stored drawers. It changes nothing.
    pub fn verify(&self, request: &Request) -> Result<Answer> {
        self.backend.verify(&self.reference, request.deep)
    }
}
