//! Writes an entry.

use loci_core::clock::now_ms;
use loci_core::{Error, Outcome, Result, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Entry, batch_of, entry_of};
use crate::detail::{Detail, flags_of};
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// An entry to write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The agent that writes.
    pub agent: String,
    /// The text.
    pub text: String,
    /// The topic; `general` if absent.
    #[serde(default)]
    pub topic: Option<String>,
    /// The wing; the agent's own (`wing_` and its name) if absent.
    #[serde(default)]
    pub wing: Option<String>,
    /// Whether the answer repeats the members of the entry at its top level.
    #[serde(default)]
    pub detail: Detail,
}

/// The entry that was written.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The members of the entry at the top level, in a full answer.
    #[serde(flatten)]
    pub members: Option<Entry>,
    /// The entry, with its secrets masked.
    pub entry: Entry,
    /// Warnings, for example about a missing embedder.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

impl Request {
    /// Checks everything that can be checked without opening the palace.
    pub fn validate(&self) -> Result<()> {
        let entry = entry_of(self, 0)?;
        batch_of(&entry).validate()
    }
}

impl Palace {
    /// Writes an entry, and creates the collection if it is missing. The same text may be written
    /// again. The answer is the stored entry, with its secrets masked.
    pub fn write_diary(&self, request: &Request) -> Result<Answer> {
        let mut entry = entry_of(request, now_ms())?;
        let mut masked = Tally::new();
        self.secrets().apply(&mut entry.text, &mut masked);
        self.secrets().apply(&mut entry.topic, &mut masked);
        entry.flags = flags_of(&entry.text);
        let batch = batch_of(&entry);
        batch.validate()?;
        let (memory, mut warnings) = self.memory(DEFAULT_COLLECTION, true)?;
        let written = memory.collection.add(&batch)?;
        warnings.extend(written.warnings);
        match written.outcomes.first() {
            Some(Outcome::Added) => Ok(Answer {
                members: (request.detail == Detail::Full).then(|| entry.clone()),
                entry,
                warnings,
                masked,
            }),
            other => Err(Error::Internal {
                doing: "writing the diary".into(),
                detail: format!("unexpected outcome {other:?}"),
            }),
        }
    }
}
