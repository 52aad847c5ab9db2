//! Continue: a session as one object; each entry of its history holds a message and what was attached to it.

use super::blocks::unknown;
use super::clock;
use super::desk::{Desk, Misread, RecordFormat};
use super::field::{list, word};
use super::input::render_text;
use super::said::{Place, Said, one_line};
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Continue;

impl RecordFormat for Continue {
    fn record(&mut self, text: &str, place: Place, desk: &mut Desk) -> Result<(), Misread> {
        let entry: Value = serde_json::from_str(text)?;
        let message = entry.get("message").unwrap_or(&Value::Null);
        let (speaker, label): (&'static str, &'static str) = match word(message, "role") {
            "user" => ("user", "User"),
            "assistant" => ("assistant", "Assistant"),
            "thinking" => ("assistant", "Assistant (thinking)"),
            "tool" => ("tool", "Tool output"),
            _ => ("system", "System"),
        };
        let mut said = Said::new(place, speaker);
        said.prompt = speaker == "user";
        said.at = clock::from_text(word(&entry, "timestamp"));
        match message.get("content") {
            Some(Value::Array(parts)) => {
                for part in parts {
                    match word(part, "type") {
                        "text" => said.push(label, word(part, "text")),
                        "imageUrl" => {
                            said.note(label, "[image]");
                            desk.books.aside("image");
                        }
                        kind => unknown(
                            kind,
                            Some(part.to_string()),
                            label,
                            &mut said,
                            &mut desk.books,
                        ),
                    }
                }
            }
            Some(Value::String(words)) => said.push(label, words.as_str()),
            _ => {}
        }
        for call in list(message, "toolCalls") {
            let function = call.get("function").unwrap_or(&Value::Null);
            said.call(
                word(function, "name"),
                render_text(word(function, "arguments")),
            );
        }
        for item in list(&entry, "contextItems") {
            let name = one_line(word(item, "name"));
            said.push(format!("Context {name}"), word(item, "content"));
        }
        desk.say(said);
        Ok(())
    }

    fn frame(&mut self, json: &str, desk: &mut Desk) {
        let Ok(session) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let facts = &mut desk.conversation;
        if facts.id.is_empty() {
            word(&session, "sessionId").clone_into(&mut facts.id);
        }
        Desk::learn(&mut facts.title, Some(word(&session, "title").to_owned()));
        Desk::learn(
            &mut facts.folder,
            Some(word(&session, "workspaceDirectory").to_owned()),
        );
        Desk::learn(
            &mut facts.started_at,
            clock::from_text(word(&session, "dateCreated")),
        );
    }
}
