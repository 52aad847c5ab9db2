//! Diaries: what an agent notes for itself. An entry is a drawer of room `diary` that names its agent, so that search, export
//! and forget know it like any other.

use loci_core::{Error, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;

/// An entry of a diary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiaryEntry {
    /// Id of its drawer.
    pub id: String,
    /// Whose diary it is.
    pub agent: String,
    /// What it is about.
    pub topic: String,
    /// The wing it stands in.
    pub wing: String,
    /// The text, word for word.
    pub text: String,
    /// When it was written (RFC 3339).
    pub written_at: String,
}

/// What is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiaryNote<'a> {
    /// Whose diary it is.
    pub agent: &'a str,
    /// The text.
    pub text: &'a str,
    /// What it is about; `general` if absent.
    pub topic: Option<&'a str>,
    /// The wing; the agent's own if absent.
    pub wing: Option<&'a str>,
}

/// The last entries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiaryPage {
    /// The entries.
    pub entries: Vec<DiaryEntry>,
    /// How many there are in all.
    pub total: u64,
}

impl Palace {
    /// Writes an entry; makes the collection when it is missing.
    pub fn write_diary(&self, note: &DiaryNote<'_>) -> Result<(DiaryEntry, Vec<Warning>)> {
        let _ = note;
        Err(unfinished())
    }

    /// The last entries of an agent, or of all agents; in one wing, or in all.
    pub fn read_diary(
        &self,
        agent: Option<&str>,
        wing: Option<&str>,
        last: usize,
    ) -> Result<DiaryPage> {
        let _ = (agent, wing, last);
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::UnsupportedCapability {
        capability: "diaries".into(),
        reason: "not yet".into(),
    }
}
