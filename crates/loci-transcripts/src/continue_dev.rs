//! Reads Continue's sessions. A session is one JSON object, and each entry of its history holds a
//! message and its attachments.

use super::blocks::unknown;
use super::clock;
use super::field::{list, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_text;
use super::recognise::Sign;
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, one_line};
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Continue;

impl RecordFormat for Continue {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let entry: Value = serde_json::from_str(text)?;
        let message = entry.get("message").unwrap_or(&Value::Null);
        let (speaker, label): (&'static str, &'static str) = match word(message, "role") {
            "user" => ("user", "User"),
            "assistant" => ("assistant", "Assistant"),
            "thinking" => ("assistant", "Assistant (thinking)"),
            "tool" => ("tool", "Tool output"),
            _ => ("system", "System"),
        };
        let mut utterance = Utterance::new(place, speaker);
        utterance.prompt = speaker == "user";
        utterance.at = clock::from_text(word(&entry, "timestamp"));
        match message.get("content") {
            Some(Value::Array(parts)) => {
                for part in parts {
                    match word(part, "type") {
                        "text" => utterance.push(label, word(part, "text")),
                        "imageUrl" => {
                            utterance.note(label, "[image]");
                            sink.record_tally.skip_inner("image");
                        }
                        kind => unknown(
                            kind,
                            Some(part.to_string()),
                            label,
                            &mut utterance,
                            &mut sink.record_tally,
                        ),
                    }
                }
            }
            Some(Value::String(words)) => utterance.push(label, words.as_str()),
            _ => {}
        }
        for call in list(message, "toolCalls") {
            let function = call.get("function").unwrap_or(&Value::Null);
            utterance.call(
                word(function, "name"),
                render_text(word(function, "arguments")),
            );
        }
        for item in list(&entry, "contextItems") {
            let name = one_line(word(item, "name"));
            utterance.push(format!("Context {name}"), word(item, "content"));
        }
        sink.emit(utterance);
        Ok(())
    }

    fn frame(&mut self, json: &str, sink: &mut ParseSink) {
        let Ok(session) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            word(&session, "sessionId").clone_into(&mut facts.id);
        }
        ParseSink::learn(&mut facts.title, Some(word(&session, "title").to_owned()));
        ParseSink::learn(
            &mut facts.folder,
            Some(word(&session, "workspaceDirectory").to_owned()),
        );
        ParseSink::learn(
            &mut facts.started_at,
            clock::from_text(word(&session, "dateCreated")),
        );
    }
}

/// Continue's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "continue",
    is_export: false,
    sign: Sign::Object(|keys, _| {
        keys.has("sessionId") && keys.has("history") && keys.has("workspaceDirectory")
    }),
    layout: Layout::Elements {
        key: Some("history"),
        limit: MAX_RECORD_BYTES,
        reader: |_| Box::new(Continue),
    },
    companions: Companions::NONE,
};
