//! What a command answers, for programs and for people.

use loci_palace::{Error, MaskTally, Warning, describe_masked};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Exit, Result};
use crate::hint::{self, Offered};

/// The answer of a command. It is complete before anything is printed.
#[derive(Debug)]
pub(crate) struct Reply {
    /// One JSON object.
    pub(crate) json: String,
    /// The same as text for people; empty if the command has printed its answer itself.
    pub(crate) text: String,
    /// Notes and warnings for people, printed to stderr.
    pub(crate) notes: Vec<Note>,
    /// How the process ends.
    pub(crate) exit: Exit,
}

/// A note or warning for people. [`Reply::note`] and [`Reply::warnings`] add one.
#[derive(Debug)]
pub(crate) enum Note {
    Line(String),
    Warning(Warning),
}

/// An answer as a JSON value, to which a front end adds text.
pub(crate) fn json_of(answer: &impl Serialize) -> Result<Value> {
    Ok(serde_json::to_value(answer).map_err(|error| not_json(&error))?)
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::Internal {
        doing: "writing the answer as JSON".into(),
        detail: error.to_string(),
    }
}

impl Reply {
    /// An answer as JSON and as text.
    pub(crate) fn new(json: &impl Serialize, text: impl Into<String>) -> Result<Self> {
        let json = serde_json::to_string(json).map_err(|error| not_json(&error))?;
        Ok(Self {
            json,
            text: text.into(),
            notes: Vec::new(),
            exit: Exit::Done,
        })
    }

    /// An answer that the command has already written to stdout.
    pub(crate) fn printed() -> Self {
        Self {
            json: String::new(),
            text: String::new(),
            notes: Vec::new(),
            exit: Exit::Done,
        }
    }

    /// Ends the process with another code if `condition` holds.
    pub(crate) fn exit_if(mut self, condition: bool, exit: Exit) -> Self {
        if condition {
            self.exit = exit;
        }
        self
    }

    /// Adds a line about masked secrets, if there are any.
    pub(crate) fn masked(mut self, masked: &MaskTally) -> Self {
        if let Some(line) = describe_masked(masked) {
            let newline = if self.text.is_empty() || self.text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            self.text = format!("{}{newline}{line}; --keep-secrets keeps them\n", self.text);
        }
        self
    }

    /// Adds warnings of the answer. Their hints are added when the answer is printed.
    pub(crate) fn warnings(mut self, warnings: &[Warning]) -> Self {
        let warnings = warnings.iter().cloned();
        self.notes.extend(warnings.map(Note::Warning));
        self
    }

    /// Adds notes for people.
    pub(crate) fn note(&mut self, lines: impl IntoIterator<Item = impl Into<String>>) {
        let lines = lines.into_iter().map(Into::into);
        self.notes.extend(lines.map(Note::Line));
    }

    /// Adds all notes of another answer.
    pub(crate) fn take_notes(&mut self, other: &mut Self) {
        self.notes.append(&mut other.notes);
    }

    /// The JSON of the answer, with a hint in every warning.
    pub(crate) fn hinted_json(&self, offered: &Offered) -> String {
        let warnings = self.notes.iter().filter_map(|note| match note {
            Note::Warning(warning) => Some(warning),
            Note::Line(_) => None,
        });
        hint::with_hints(self.json.clone(), warnings, offered)
    }

    /// The notes of the answer as lines.
    pub(crate) fn note_lines(&self, offered: &Offered) -> Vec<String> {
        let lines = |note: &Note| match note {
            Note::Line(line) => vec![line.clone()],
            // The warning about a read-only palace is printed once, by the session. That about an
            // earlier table changes nothing about an answer; `status` and `doctor` print it.
            Note::Warning(Warning::ReadOnly { .. } | Warning::EarlierTable { .. }) => Vec::new(),
            // Most searches leave out improbable hits, so one line is enough.
            Note::Warning(Warning::MinProbability { hits, .. }) => vec![format!(
                "{hits} improbable hit(s) not shown; `--min-probability 0` shows them"
            )],
            Note::Warning(warning) => hint::lines(warning, offered),
        };
        self.notes.iter().flat_map(lines).collect()
    }
}
