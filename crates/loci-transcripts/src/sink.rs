//! Where formats lay down what they read, and what a format must be able to do.

use super::event::Conversation;
use super::mark::State;
use super::record_tally::RecordTally;
use super::utterance::{RecordSpan, Utterance};
use std::collections::VecDeque;

/// One thing that a record said.
#[derive(Debug)]
pub(super) enum ParseEvent {
    Utterance(Box<Utterance>),
    /// What follows belongs to another conversation than what came before.
    Conversation(Conversation),
    /// The conversation is over; reading can go on behind it.
    Over(RecordSpan),
}

#[derive(Debug, Default)]
pub(super) struct ParseSink {
    pub(super) steps: VecDeque<ParseEvent>,
    /// Messages among the steps.
    pub(super) waiting: u64,
    pub(super) record_tally: RecordTally,
    pub(super) conversation: Conversation,
    pub(super) state: State,
}

impl ParseSink {
    /// Lays down a message, or counts it if it has no words.
    pub(super) fn say(&mut self, utterance: Utterance) {
        self.say_or_skip(utterance, "empty message");
    }

    pub(super) fn say_or_skip(&mut self, utterance: Utterance, reason: &str) {
        if utterance.has_words() {
            self.waiting += 1;
            self.steps
                .push_back(ParseEvent::Utterance(Box::new(utterance)));
        } else {
            self.record_tally.skip(reason);
        }
    }

    /// Counts a record of a kind that says nothing.
    pub(super) fn skip_kind(&mut self, kind: &str) {
        if kind.is_empty() {
            self.record_tally.skip("record without a type");
        } else {
            self.record_tally.skip(&format!("record type `{kind}`"));
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
    /// Reads one record: lays down what it says, or counts why not. After an error nothing was laid
    /// down or counted.
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread>;

    /// Reads the fields that stand beside the records. They come before the first record, and again
    /// with those that stand behind the last.
    fn frame(&mut self, _json: &str, _desk: &mut ParseSink) {}

    /// Lays down what was held back, at the end of the file.
    fn end(&mut self, _desk: &mut ParseSink) {}

    /// Messages that were read and are held back.
    fn held(&self) -> u64 {
        0
    }

    /// Whether each record is counted as a message; if not, the format counts for itself.
    fn counts_records(&self) -> bool {
        true
    }
}
