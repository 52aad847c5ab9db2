//! The sink that formats write their parse events to, and the trait of a format.

use super::event::Conversation;
use super::mark::State;
use super::record_tally::RecordTally;
use super::utterance::{RecordSpan, Utterance};
use std::collections::VecDeque;

/// One event parsed from a record.
#[derive(Debug)]
pub(super) enum ParseEvent {
    Utterance(Box<Utterance>),
    /// The following events belong to this conversation.
    Conversation(Conversation),
    /// The conversation has ended; reading can resume after it.
    Over(RecordSpan),
}

#[derive(Debug, Default)]
pub(super) struct ParseSink {
    pub(super) steps: VecDeque<ParseEvent>,
    /// The number of messages among the steps.
    pub(super) waiting: u64,
    pub(super) record_tally: RecordTally,
    pub(super) conversation: Conversation,
    pub(super) state: State,
}

impl ParseSink {
    /// Emits a message, or counts it as skipped if it has no text.
    pub(super) fn emit(&mut self, utterance: Utterance) {
        self.emit_or_skip(utterance, "empty message");
    }

    pub(super) fn emit_or_skip(&mut self, utterance: Utterance, reason: &str) {
        if utterance.has_words() {
            self.waiting += 1;
            self.steps
                .push_back(ParseEvent::Utterance(Box::new(utterance)));
        } else {
            self.record_tally.skip(reason);
        }
    }

    /// Counts a record of a kind that holds no text.
    pub(super) fn skip_kind(&mut self, kind: &str) {
        if kind.is_empty() {
            self.record_tally.skip("record without a type");
        } else {
            self.record_tally.skip(&format!("record type `{kind}`"));
        }
    }

    /// Sets a fact of the conversation, if it is not known yet.
    pub(super) fn learn(fact: &mut Option<String>, value: Option<String>) {
        if fact.is_none() {
            *fact = value.filter(|value| !value.is_empty());
        }
    }
}

/// The error of a record that cannot be parsed.
pub(super) type Misread = serde_json::Error;

/// A format whose file is a sequence of records.
pub(super) trait RecordFormat: std::fmt::Debug {
    /// Parses one record: emits its messages, or counts why there are none. After an error, nothing
    /// was emitted or counted.
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread>;

    /// Reads the fields outside the array. It is called before the first record, and again at the
    /// end with the fields that follow the array.
    fn frame(&mut self, _json: &str, _sink: &mut ParseSink) {}

    /// Emits held messages at the end of the file.
    fn end(&mut self, _sink: &mut ParseSink) {}

    /// The number of messages that were read and are held back.
    fn held(&self) -> u64 {
        0
    }

    /// Whether each record counts as one message. If not, the format counts its messages.
    fn counts_records(&self) -> bool {
        true
    }
}
