//! One recorded run. It is recorded when it first changes something, so that a look at an unchanged
//! tree writes nothing.

use std::sync::{Mutex, PoisonError};

use loci_core::{Ledger, Result, RunKind, RunState};
use serde::Serialize;

/// A run that may begin.
pub struct Run<'a> {
    ledger: &'a dyn Ledger,
    kind: RunKind,
    roots: Vec<String>,
    id: Mutex<Option<u64>>,
}

impl<'a> Run<'a> {
    /// Nothing is recorded yet.
    pub fn new(ledger: &'a dyn Ledger, kind: RunKind, roots: Vec<String>) -> Self {
        Self {
            ledger,
            kind,
            roots,
            id: Mutex::new(None),
        }
    }

    /// Its number; recorded by the first call.
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

    /// Its number, if it was recorded.
    pub fn id(&self) -> Option<u64> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records how it ended, if it was recorded at all.
    pub fn end(&self, state: &RunState, summary: &impl Serialize) -> Result<()> {
        let Some(id) = self.id() else {
            return Ok(());
        };
        let summary = serde_json::to_value(summary).unwrap_or_default();
        self.ledger.end_run(id, state, &summary)
    }
}
