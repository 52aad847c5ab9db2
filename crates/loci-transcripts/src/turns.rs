//! Joins lines of text into messages, until another speaker begins.

use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance};

/// A longer message is split and continued as another message.
const HOLD_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    utterance: Utterance,
    label: String,
    text: String,
}

impl Turns {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn held(&self) -> u64 {
        u64::from(self.open.is_some())
    }

    /// Whether the open message has this label.
    pub(super) fn speaks(&self, label: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.label == label)
    }

    /// Ends the open message and begins another one.
    pub(super) fn begin(
        &mut self,
        mut utterance: Utterance,
        label: &str,
        text: &str,
        sink: &mut ParseSink,
    ) {
        self.end(sink);
        sink.record_tally.read();
        utterance.end = Some(utterance.place.number);
        self.open = Some(Open {
            utterance,
            label: label.to_owned(),
            text: text.to_owned(),
        });
    }

    /// Adds a line to the open message.
    pub(super) fn add(&mut self, line: &str, place: RecordSpan, sink: &mut ParseSink) {
        let Some(open) = &mut self.open else {
            return;
        };
        open.text.push('\n');
        open.text.push_str(line);
        if !line.trim().is_empty() {
            open.utterance.end = Some(place.number);
        }
        open.utterance.place.to = place.to;
        if open.text.len() > HOLD_BYTES {
            let mut next = Utterance::new(
                RecordSpan {
                    from: None,
                    ..place
                },
                open.utterance.speaker.clone(),
            );
            next.at.clone_from(&open.utterance.at);
            let label = open.label.trim_end_matches(" (continued)").to_owned() + " (continued)";
            self.begin(next, &label, "", sink);
        }
    }

    pub(super) fn end(&mut self, sink: &mut ParseSink) {
        if let Some(Open {
            mut utterance,
            label,
            text,
        }) = self.open.take()
        {
            // Blank lines before the next speaker are not part of the message.
            utterance.push(
                label,
                text.trim_end_matches(['\n', '\r']).trim_start_matches('\n'),
            );
            sink.emit(utterance);
        }
    }
}
