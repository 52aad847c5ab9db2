//! One recorded run. It is recorded when it first changes something, so a run over an unchanged
//! tree writes nothing.

use std::sync::{Mutex, PoisonError};

use loci_core::{Ledger, Result, RunKind, RunState};
use serde::Serialize;

/// A run that is recorded on demand.
pub struct Run<'a> {
    ledger: &'a dyn Ledger,
    kind: RunKind,
    roots: Vec<String>,
    id: Mutex<Option<u64>>,
}

impl<'a> Run<'a> {
    /// Creates a run without recording it.
    pub fn new(ledger: &'a dyn Ledger, kind: RunKind, roots: Vec<String>) -> Self {
        Self {
            ledger,
            kind,
            roots,
            id: Mutex::new(None),
        }
    }

    /// Returns the number of the run. The first call records it.
    pub fn ensure(&self) -> Result<u64> {
        let mut id = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        match *id {
            Some(id) => Ok(id),
            None => {
                let begun = self.ledger.begin_run(&self.kind, &self.roots)?;
                *id = Some(begun);
                Ok(begun)
            }
        }
    }

    /// The number of the run, if it was recorded.
    pub fn id(&self) -> Option<u64> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records how the run ended, if it was recorded at all.
    pub fn end(&self, state: &RunState, summary: &impl Serialize) -> Result<()> {
        let Some(id) = self.id() else {
            return Ok(());
        };
        let summary = serde_json::to_value(summary).unwrap_or_default();
        self.ledger.end_run(id, state, &summary)
    }
}
