//! What a diagnosis says: one finding per thing that is wrong or worth knowing.

use serde::Serialize;
use serde_json::{Map, Value};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Answers are or will be wrong or incomplete.
    Warning,
    /// The program that owns the files refuses, crashes, or loses what is written.
    Error,
}

/// One thing that was found. `code` is stable; everything else is for people and may be reworded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name, such as `pickle_missing`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The collection it is about; absent when it is about the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The file it is about, relative to the palace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is the case, in one sentence.
    pub message: String,
    /// Numbers, ids and offsets that show it; lists are cut at [`SAMPLE`] entries.
    pub evidence: Map<String, Value>,
    /// What the program that owns the files will do with it.
    pub consequence: String,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Entries of a list in the evidence at most; the count beside it says how many there are.
pub const SAMPLE: usize = 10;

impl Finding {
    /// A finding without evidence.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            collection: None,
            file: None,
            message: message.into(),
            evidence: Map::new(),
            consequence: String::new(),
            fix: None,
        }
    }

    /// Names the collection.
    #[must_use]
    pub fn of(mut self, collection: &str) -> Self {
        self.collection = Some(collection.to_owned());
        self
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds evidence.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a list as evidence, cut to the first few, with its length.
    #[must_use]
    pub fn list<T: Into<Value>>(self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let first: Vec<Value> = values.by_ref().take(SAMPLE).map(Into::into).collect();
        let count = first.len() + values.count();
        self.with(name, first)
            .with(&format!("{name}_count"), count as u64)
    }

    /// Says what the owning program will do.
    #[must_use]
    pub fn then(mut self, consequence: impl Into<String>) -> Self {
        self.consequence = consequence.into();
        self
    }

    /// Says which command mends it.
    #[must_use]
    pub fn fix(mut self, command: impl Into<String>) -> Self {
        self.fix = Some(command.into());
        self
    }
}

/// A number with its word: `1 record`, `3 records`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
