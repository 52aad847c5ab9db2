//! Compares everything derived with the truth.

use loci_core::Result;
pub use loci_core::VerifyReport as Answer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;

/// How much is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Whether every row, posting and code is recomputed.
    pub deep: bool,
}

impl Palace {
    /// Compares everything derived with the truth. Changes nothing.
    pub fn verify(&self, request: &Request) -> Result<Answer> {
        self.backend.verify(&self.reference, request.deep)
    }
}
