//! Where formats lay down what they read, and what a format must be able to do.

use super::books::Books;
use super::event::Conversation;
use super::mark::State;
use super::said::{Place, Said};
use std::collections::VecDeque;

/// One thing that a record said.
#[derive(Debug)]
pub(super) enum Step {
    Said(Box<Said>),
    /// What follows belongs to another conversation than what came before.
    Conversation(Conversation),
    /// The conversation is over; reading can go on behind it.
    Over(Place),
}

#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) steps: VecDeque<Step>,
    /// Messages among the steps.
    pub(super) waiting: u64,
    pub(super) books: Books,
    pub(super) conversation: Conversation,
    pub(super) state: State,
}

impl Desk {
    /// Lays down a message, or counts it if it has no words.
    pub(super) fn say(&mut self, said: Said) {
        self.say_or_skip(said, "empty message");
    }

    pub(super) fn say_or_skip(&mut self, said: Said, reason: &str) {
        if said.has_words() {
            self.waiting += 1;
            self.steps.push_back(Step::Said(Box::new(said)));
        } else {
            self.books.skip(reason);
        }
    }

    /// Counts a record of a kind that says nothing.
    pub(super) fn skip_kind(&mut self, kind: &str) {
        if kind.is_empty() {
            self.books.skip("record without a type");
        } else {
            self.books.skip(&format!("record type `{kind}`"));
        }
    }

    /// Learns a fact of the conversation, if it is the first of its kind.
    pub(super) fn learn(fact: &mut Option<String>, value: Option<String>) {
        if fact.is_none() {
            *fact = value.filter(|value| !value.is_empty());
        }
    }
}

/// What is wrong with a record that cannot be read.
pub(super) type Misread = serde_json::Error;

/// A format whose file is a row of records.
pub(super) trait RecordFormat: std::fmt::Debug {
    /// Reads one record: lays down what it says, or counts why not. After an error nothing was laid down or counted.
    fn record(&mut self, text: &str, place: Place, desk: &mut Desk) -> Result<(), Misread>;

    /// Reads the fields that stand beside the records. They come before the first record, and again with those that
    /// stand behind the last.
    fn frame(&mut self, _json: &str, _desk: &mut Desk) {}

    /// Lays down what was held back, at the end of the file.
    fn end(&mut self, _desk: &mut Desk) {}

    /// Messages that were read and are held back.
    fn held(&self) -> u64 {
        0
    }

    /// Whether each record is counted as a message; if not, the format counts for itself.
    fn counts_records(&self) -> bool {
        true
    }
}
