//! Statements that a wake-up may include, and the evidence that something was done.

use std::collections::HashMap;

use super::excerpt::cut;
use super::topic::{Frequencies, Topic};

/// Maximum number of characters of a statement.
pub(super) const MOST_CHARACTERS: usize = 220;

/// What a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Decision,
    Rule,
    Task,
    Person,
    /// The result of a session.
    Outcome,
    /// What was asked for in a session.
    Request,
    /// A note without a form of its own.
    Note,
}

/// One line that may be included.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The higher, the earlier it is chosen.
    pub(super) score: f32,
    /// The drawer, as a place in the list of read drawers.
    pub(super) drawer: usize,
    /// When it was written, in milliseconds since 1970.
    pub(super) moment: i64,
    pub(super) about: About,
}

/// What a statement is about, to compare it with others.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one property of the text"
)]
pub(super) struct About {
    /// The words of the statement and of the turn or note that holds it.
    pub(super) topic: Topic,
    /// Also the words of the user earlier in the session.
    pub(super) context: Topic,
    /// The session or note, and its place there.
    pub(super) unit: usize,
    pub(super) turn: usize,
    /// The title of the session.
    pub(super) title: String,
    /// Whether it has words that replace something.
    pub(super) changes: bool,
    /// Whether it contains a number.
    pub(super) has_number: bool,
    /// Whether it holds until something happens.
    pub(super) is_temporary: bool,
    /// Whether it is from a record of a decision.
    pub(super) is_record: bool,
}

/// How a text reports that something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A sentence with a word such as `done`.
    Report,
    /// A later note about the same, without such a word.
    Mention,
    /// The first request of a session that ended with a result.
    Request,
}

/// A report that something was done.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) unit: usize,
    pub(super) turn: usize,
    pub(super) moment: i64,
    /// Whether the user reports it, in a session or a note.
    pub(super) is_users: bool,
    pub(super) form: Form,
    /// The words of the sentence.
    pub(super) topic: Topic,
}

/// A report that something is done in another way from now on.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    pub(super) unit: usize,
    pub(super) turn: usize,
    pub(super) moment: i64,
    pub(super) topic: Topic,
}

/// A fact that has ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) topic: Topic,
    /// The words of the facts about the same subject that hold now.
    pub(super) now: Topic,
    /// The last day on which it held.
    pub(super) until: String,
}

/// Everything that was recognised.
#[derive(Debug, Default)]
pub(super) struct Recognised {
    pub(super) statements: Vec<Statement>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) revisions: Vec<Revision>,
    pub(super) ended: Vec<Ended>,
    /// The words of each session or note.
    pub(super) units: Vec<Topic>,
    pub(super) frequencies: Frequencies,
    /// How many sessions have a title.
    pub(super) titles: HashMap<String, usize>,
}

impl Recognised {
    /// Begins a session or a note.
    pub(super) fn unit(&mut self, text: &str) -> usize {
        self.add_unit(Topic::of(text))
    }

    pub(super) fn add_unit(&mut self, topic: Topic) -> usize {
        self.frequencies.count(&topic);
        self.units.push(topic);
        self.units.len() - 1
    }
}

/// A text in one line, cut if it is long.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&words.join(" "), 1, MOST_CHARACTERS)
}
