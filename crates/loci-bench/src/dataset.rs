//! Data sets: conversations to store, questions to ask, and the evidence of each answer.
//!
//! A data set is a list. It is read entry by entry, so that only one conversation is in memory at a
//! time.

mod evidence;
mod locomo;
mod longmemeval;
mod stream;

use std::path::Path;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use loci_palace::{Error, Metadata, Result};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The kind of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// LoCoMo: few long conversations between two people, many questions each.
    LoCoMo,
    /// LongMemEval: a history of chats for every question.
    LongMemEval,
}

impl Kind {
    /// Its official name.
    pub fn name(self) -> &'static str {
        match self {
            Self::LoCoMo => "LoCoMo",
            Self::LongMemEval => "LongMemEval",
        }
    }

    /// How the data set is split into halves.
    pub fn split(self) -> &'static str {
        match self {
            Self::LoCoMo => {
                "by place in the file: conversations 0, 2, 4, ... tuning, the others reporting"
            }
            Self::LongMemEval => {
                "by the lowest bit of XXH3-64 of the question id: 0 tuning, 1 reporting"
            }
        }
    }
}

/// The half of a data set that a question is in. The split never changes: weights are chosen on one
/// half, and figures are quoted from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// The half on which weights may be chosen.
    Tuning,
    /// The half from which figures are quoted.
    Reporting,
}

/// The content of one palace, with its questions.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) half: Half,
    pub(crate) drawers: Vec<Drawer>,
    pub(crate) today: Option<Date>,
    pub(crate) questions: Vec<Question>,
}

/// One turn.
#[derive(Debug)]
pub(crate) struct Drawer {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) metadata: Metadata,
}

impl Drawer {
    /// Whether the data set has its date.
    pub(crate) fn is_dated(&self) -> bool {
        self.metadata.get("authored_at").is_some()
    }
}

/// A question, and the turns and sessions with its evidence, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) category: String,
    pub(crate) text: String,
    pub(crate) turns: Vec<String>,
    pub(crate) sessions: Vec<String>,
    /// Evidence sessions as MemPalace counts them, for LoCoMo.
    pub(crate) mempalace: Option<Vec<String>>,
    /// Left out of the overall figures, because the data has no answer.
    pub(crate) unanswerable: bool,
}

/// The summary of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) kind: Kind,
    pub(crate) questions: usize,
}

/// The keys that distinguish the formats.
#[derive(Deserialize)]
struct Shape {
    conversation: Option<IgnoredAny>,
    qa: Option<Vec<IgnoredAny>>,
    question_id: Option<IgnoredAny>,
    haystack_sessions: Option<IgnoredAny>,
}

/// Recognises a data set and counts its questions, without keeping its content.
pub(crate) fn outline(path: &Path) -> Result<Outline> {
    let mut kind = None;
    let mut questions = 0;
    stream::each(path, |_, shape: Shape| {
        let found = match shape {
            Shape {
                conversation: Some(_),
                qa: Some(qa),
                ..
            } => {
                questions += qa.len();
                Kind::LoCoMo
            }
            Shape {
                question_id: Some(_),
                haystack_sessions: Some(_),
                ..
            } => {
                questions += 1;
                Kind::LongMemEval
            }
            _ => return Err(unknown(path)),
        };
        if *kind.get_or_insert(found) != found {
            return Err(unknown(path));
        }
        Ok(())
    })
    .map_err(|failure| match failure {
        stream::Failure::Shape(_) => unknown(path),
        other => other.into_error(path),
    })?;
    match kind {
        Some(kind) => Ok(Outline { kind, questions }),
        None => Err(unknown(path)),
    }
}

/// Visits the cases of a data set, one at a time, in order.
pub(crate) fn cases(
    path: &Path,
    kind: Kind,
    mut visit: impl FnMut(Case) -> Result<()>,
) -> Result<()> {
    match kind {
        Kind::LoCoMo => stream::each(path, |at, entry| visit(locomo::case(at, entry)?)),
        Kind::LongMemEval => stream::each(path, |_, entry| visit(longmemeval::case(entry))),
    }
    .map_err(|failure| failure.into_error(path))
}

fn unknown(path: &Path) -> Error {
    Error::invalid(
        format!("data set `{}`", path.display()),
        "neither LoCoMo (a list of objects with `conversation` and `qa`) \
         nor LongMemEval (a list of objects with `question_id` and `haystack_sessions`)",
    )
}

/// Parses a date of a data set. Returns it in RFC 3339, and as a day.
fn moment(written: &str) -> Option<(String, Date)> {
    let stamp = Timestamp::from_millisecond(loci_text::when::authored(written)?).ok()?;
    Some((stamp.to_string(), stamp.to_zoned(TimeZone::UTC).date()))
}

fn day_after(date: Date) -> Date {
    date.checked_add(1.day()).unwrap_or(date)
}
