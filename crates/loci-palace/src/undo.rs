//! The verb `undo`: undoes a recorded run.

use loci_core::Result;
pub use loci_core::Undone as Answer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;

/// The run to undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// Number of the run.
    pub run: u64,
}

impl Palace {
    /// Undoes a run. The next run reads its files again.
    pub fn undo(&self, request: &Request) -> Result<Answer> {
        let (memory, _) = self.memory(&request.collection, false)?;
        self.ledger_of(&memory)?.undo(request.run)
    }
}
