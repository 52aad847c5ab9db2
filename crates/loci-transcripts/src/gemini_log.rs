//! Reads Gemini CLI's sessions in JSON lines. A message is written again, under the same id,
//! whenever it changes.
//!
//! The messages of an exchange are held until the next prompt, so that each is filed once, in its
//! last form. Messages that a rewind removes from the session stay in the transcript.

use super::field::{list, word};
use super::format::{Companions, Layout, Spec};
use super::gemini::{is_context, learn, utterance_of};
use super::recognise::Sign;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use serde_json::Value;

/// A longer exchange is released early. A message that is rewritten after that is filed twice.
const HOLD_BYTES: usize = 256 * 1_024;
/// The estimated overhead of a message beside its text.
const MESSAGE_BYTES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct GeminiLog {
    held: Vec<(String, Utterance)>,
    bytes: usize,
}

impl GeminiLog {
    fn hold(&mut self, message: &Value, place: RecordSpan, sink: &mut ParseSink) {
        let id = word(message, "id");
        let mut utterance = utterance_of(message, RecordSpan { to: None, ..place }, sink);
        if let Some((_, known)) = self.held.iter_mut().find(|(known, _)| known == id) {
            sink.record_tally.skip("rewritten record");
            // The rewritten message begins an exchange exactly if the first version did, because a
            // mark may point to the position before it.
            if utterance.has_words() || !known.prompt {
                utterance.prompt = known.prompt;
                utterance.end = Some(place.number);
                utterance.place = known.place;
                *known = utterance;
            }
            return;
        }
        if utterance.prompt {
            self.release(sink);
        }
        let words = utterance.segments.iter().map(|segment| segment.text.len());
        self.bytes += MESSAGE_BYTES + words.sum::<usize>();
        self.held.push((id.to_owned(), utterance));
        if self.bytes > HOLD_BYTES {
            if let Some((_, last)) = self.held.last_mut() {
                last.place.to = place.to;
            }
            self.release(sink);
        }
    }

    fn release(&mut self, sink: &mut ParseSink) {
        self.bytes = 0;
        for (_, utterance) in self.held.drain(..) {
            sink.emit(utterance);
        }
    }
}

impl RecordFormat for GeminiLog {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let record: Value = serde_json::from_str(text)?;
        if record.get("id").is_some_and(Value::is_string) {
            self.hold(&record, place, sink);
        } else if let Some(set) = record.get("$set") {
            learn(set, sink);
            // The context of the model is replaced. Only messages that are recorded nowhere else
            // are taken from it.
            for message in list(set, "messages") {
                if is_context(message) {
                    sink.record_tally.read();
                    self.hold(message, place, sink);
                }
            }
            sink.record_tally.skip("record `$set`");
        } else if record.get("sessionId").is_some() {
            learn(&record, sink);
            for message in list(&record, "messages") {
                sink.record_tally.read();
                self.hold(message, place, sink);
            }
            sink.record_tally.skip("record `session`");
        } else {
            let kind = record.as_object().and_then(|record| record.keys().next());
            sink.record_tally
                .skip(&format!("record `{}`", kind.map_or("", String::as_str)));
        }
        Ok(())
    }

    fn end(&mut self, sink: &mut ParseSink) {
        self.release(sink);
    }

    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}

/// The log's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "gemini-cli",
    is_export: false,
    sign: Sign::Record(|keys, path| {
        path.extension().is_some_and(|found| found == "jsonl") && super::gemini::is_session(keys)
    }),
    layout: Layout::Lines(|_| Box::new(GeminiLog::default())),
    companions: Companions::NONE,
};
