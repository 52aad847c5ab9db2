//! The recorded runs of mining.

use loci_core::{Result, RunKind, RunRecord, RunState};
use loci_recall::date_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;

/// The runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// Maximum number of results.
    pub limit: usize,
}

/// The last runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The runs.
    pub runs: Vec<RecordedRun>,
}

/// A run with its dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedRun {
    /// Its number, by which it can be undone.
    pub run: u64,
    /// The command that started it.
    pub kind: RunKind,
    /// Its state.
    pub state: RunState,
    /// Its paths.
    pub roots: Vec<String>,
    /// When it began (RFC 3339).
    pub started_at: String,
    /// When it ended; `None` while it runs, or if it was killed.
    pub finished_at: Option<String>,
    /// Sources that it changed.
    pub sources: u64,
    /// The summary of its changes.
    pub summary: serde_json::Value,
}

impl From<RunRecord> for RecordedRun {
    fn from(record: RunRecord) -> Self {
        Self {
            run: record.id,
            kind: record.kind,
            state: record.state,
            roots: record.roots,
            started_at: date_of(record.started_at),
            finished_at: record.finished_at.map(date_of),
            sources: record.sources,
            summary: record.summary,
        }
    }
}

impl Palace {
    /// The last runs of a collection, newest first.
    pub fn runs(&self, request: &Request) -> Result<Answer> {
        let (memory, _) = self.reading(&request.collection)?;
        let runs = self.ledger_of(&memory)?.runs(request.limit)?;
        Ok(Answer {
            runs: runs.into_iter().map(RecordedRun::from).collect(),
        })
    }
}
