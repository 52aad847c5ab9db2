//! The verb `undo`: undoes a recorded run.

pub use loci_core::Undone as Answer;
use loci_core::{MAX_RESULTS, Result, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;
use crate::runs::{self, RecordedRun};

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

    /// The newest run that changed something and can be undone.
    pub fn last_undoable_run(&self, collection: &str) -> Result<Option<RecordedRun>> {
        let runs = self.runs(&runs::Request {
            collection: collection.to_owned(),
            limit: MAX_RESULTS,
        })?;
        let can_be_undone = |run: &RecordedRun| {
            run.sources > 0 && !matches!(run.state, RunState::Running | RunState::Undone)
        };
        Ok(runs.runs.into_iter().find(can_be_undone))
    }
}
