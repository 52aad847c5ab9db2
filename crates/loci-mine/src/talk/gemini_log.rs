//! Gemini CLI: a session as JSON lines. A message is written anew, under its id, whenever it changes.
//!
//! The messages of an exchange are held until the next prompt, so that each is filed once in its last form. What a
//! rewind takes back was still said, and stays.

use super::desk::{Desk, Misread, RecordFormat};
use super::field::{list, word};
use super::gemini::{is_context, learn, told};
use super::said::{Place, Said};
use serde_json::Value;

/// An exchange that is longer is let go in between; what is written anew later is then filed again.
const HOLD_BYTES: usize = 256 * 1_024;
/// What a message costs beside its words.
const MESSAGE_BYTES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct GeminiLog {
    held: Vec<(String, Said)>,
    bytes: usize,
}

impl GeminiLog {
    fn hold(&mut self, message: &Value, place: Place, desk: &mut Desk) {
        let id = word(message, "id");
        let mut said = told(message, Place { to: None, ..place }, desk);
        if let Some((_, known)) = self.held.iter_mut().find(|(known, _)| known == id) {
            desk.books.skip("rewritten record");
            // What began an exchange goes on to do so, and nothing else does: a mark may stand before it.
            if said.has_words() || !known.prompt {
                said.prompt = known.prompt;
                said.end = Some(place.number);
                said.place = known.place;
                *known = said;
            }
            return;
        }
        if said.prompt {
            self.let_go(desk);
        }
        let words = said.segments.iter().map(|segment| segment.text.len());
        self.bytes += MESSAGE_BYTES + words.sum::<usize>();
        self.held.push((id.to_owned(), said));
        if self.bytes > HOLD_BYTES {
            if let Some((_, last)) = self.held.last_mut() {
                last.place.to = place.to;
            }
            self.let_go(desk);
        }
    }

    fn let_go(&mut self, desk: &mut Desk) {
        self.bytes = 0;
        for (_, said) in self.held.drain(..) {
            desk.say(said);
        }
    }
}

impl RecordFormat for GeminiLog {
    fn record(&mut self, text: &str, place: Place, desk: &mut Desk) -> Result<(), Misread> {
        let record: Value = serde_json::from_str(text)?;
        if record.get("id").is_some_and(Value::is_string) {
            self.hold(&record, place, desk);
        } else if let Some(set) = record.get("$set") {
            learn(set, desk);
            // The context of the model is set anew. Only what is said nowhere else is taken from it.
            for message in list(set, "messages") {
                if is_context(message) {
                    desk.books.read();
                    self.hold(message, place, desk);
                }
            }
            desk.books.skip("record `$set`");
        } else if record.get("sessionId").is_some() {
            learn(&record, desk);
            for message in list(&record, "messages") {
                desk.books.read();
                self.hold(message, place, desk);
            }
            desk.books.skip("record `session`");
        } else {
            let kind = record.as_object().and_then(|record| record.keys().next());
            desk.books
                .skip(&format!("record `{}`", kind.map_or("", String::as_str)));
        }
        Ok(())
    }

    fn end(&mut self, desk: &mut Desk) {
        self.let_go(desk);
    }

    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}
