//! Reads Gemini CLI's files: a session as one object with a list of messages, and `logs.json`, a
//! list of the prompts of many sessions.

use super::blocks::unknown;
use super::clock;
use super::event::Conversation;
use super::field::{fact, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_value;
use super::keys::Keys;
use super::recognise::{Sign, file_name};
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseEvent, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, output_label};
use serde_json::Value;

/// One session, whose messages are the records.
#[derive(Debug)]
pub(super) struct Session;

impl RecordFormat for Session {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let message: Value = serde_json::from_str(text)?;
        let utterance = utterance_of(&message, place, sink);
        sink.emit(utterance);
        Ok(())
    }

    fn frame(&mut self, json: &str, sink: &mut ParseSink) {
        if let Ok(session) = serde_json::from_str(json) {
            learn(&session, sink);
        }
    }
}

/// `logs.json`: the prompts that were typed, session after session.
#[derive(Debug)]
pub(super) struct Prompts;

impl RecordFormat for Prompts {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let prompt: Value = serde_json::from_str(text)?;
        let id = format!("logs/{}", word(&prompt, "sessionId"));
        let at = clock::from_text(word(&prompt, "timestamp"));
        if sink.conversation.id != id {
            if !sink.conversation.id.is_empty() {
                sink.steps.push_back(ParseEvent::Over(RecordSpan {
                    to: place.from,
                    ..place
                }));
            }
            sink.conversation = Conversation {
                id,
                started_at: at.clone(),
                ..Conversation::default()
            };
            sink.steps
                .push_back(ParseEvent::Conversation(sink.conversation.clone()));
        }
        let is_user = matches!(word(&prompt, "type"), "user" | "");
        let mut utterance = Utterance::new(place, if is_user { "user" } else { "assistant" });
        utterance.prompt = is_user;
        utterance.at = at;
        utterance.push(
            if is_user { "User" } else { "Assistant" },
            word(&prompt, "message"),
        );
        sink.emit(utterance);
        Ok(())
    }
}

/// Takes the session's id, times and other facts.
pub(super) fn learn(session: &Value, sink: &mut ParseSink) {
    let facts = &mut sink.conversation;
    if facts.id.is_empty() {
        word(session, "sessionId").clone_into(&mut facts.id);
    }
    ParseSink::learn(
        &mut facts.started_at,
        clock::from_text(word(session, "startTime")),
    );
    let folder = session
        .get("directories")
        .and_then(|list| list.get(0))
        .and_then(Value::as_str);
    ParseSink::learn(&mut facts.folder, folder.map(str::to_owned));
    let title = word(session, "summary");
    if !title.is_empty() {
        facts.title = Some(title.to_owned());
    }
}

/// Returns one message with its thoughts, its tool calls and their output.
pub(super) fn utterance_of(message: &Value, place: RecordSpan, sink: &mut ParseSink) -> Utterance {
    let kind = word(message, "type");
    let content = message.get("content").unwrap_or(&Value::Null);
    let (speaker, label): (&'static str, &'static str) = match kind {
        "user" if is_injected(first_text(content)) => ("system", "Context"),
        "user" => ("user", "User"),
        "gemini" | "model" => ("assistant", "Assistant"),
        "info" => ("system", "Info"),
        "warning" => ("system", "Warning"),
        "error" => ("system", "Error"),
        _ => ("system", "System"),
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.prompt = label == "User" && !only_results(content);
    if label == "User" && !utterance.prompt {
        utterance.speaker = "tool".into();
    }
    utterance.at = time(message, "timestamp");
    utterance.model = fact(message, "model");
    for thought in list(message, "thoughts") {
        let words = format!(
            "{}\n{}",
            word(thought, "subject"),
            word(thought, "description")
        );
        utterance.push(format!("{label} (thinking)"), words.trim());
    }
    let calls = list(message, "toolCalls");
    write_parts(content, label, calls.is_empty(), &mut utterance, sink);
    for call in calls {
        utterance.call(
            word(call, "name"),
            call.get("args").map(render_value).unwrap_or_default(),
        );
        let error = matches!(word(call, "status"), "error" | "cancelled");
        let before = utterance.segments.len();
        match call.get("result") {
            Some(Value::String(text)) => utterance.output(error, text.as_str()),
            Some(result) => write_parts(result, output_label(error), true, &mut utterance, sink),
            None => {}
        }
        if utterance.segments.len() == before {
            utterance.output(error, word(call, "resultDisplay"));
        }
    }
    utterance
}

/// Adds parts in the shape of Gemini's API; `content` is one part or a list.
pub(super) fn write_parts(
    content: &Value,
    label: &'static str,
    with_calls: bool,
    utterance: &mut Utterance,
    sink: &mut ParseSink,
) {
    let parts = match content {
        Value::Array(parts) => parts.as_slice(),
        Value::Null => &[],
        other => std::slice::from_ref(other),
    };
    for part in parts {
        if let Some(words) = part
            .as_str()
            .or_else(|| part.get("text").and_then(Value::as_str))
        {
            if part
                .get("thought")
                .is_some_and(|thought| thought == &Value::Bool(true))
            {
                utterance.push(format!("{label} (thinking)"), words);
            } else {
                utterance.push(label, words);
            }
        } else if let Some(call) = part.get("functionCall") {
            if with_calls {
                utterance.call(
                    word(call, "name"),
                    call.get("args").map(render_value).unwrap_or_default(),
                );
            }
        } else if let Some(result) = part.get("functionResponse") {
            let response = result.get("response").unwrap_or(&Value::Null);
            let error = response.get("error");
            let words = error.or_else(|| response.get("output")).unwrap_or(response);
            utterance.push(
                output_label(error.is_some() || label.ends_with("(error)")),
                render_value(words),
            );
        } else if part
            .get("inlineData")
            .or_else(|| part.get("fileData"))
            .is_some()
        {
            utterance.note(label, "[image]");
            sink.record_tally.skip_inner("image");
        } else {
            let kind = part
                .as_object()
                .and_then(|part| part.keys().next())
                .map_or("", String::as_str);
            unknown(
                kind,
                Some(part.to_string()),
                label,
                utterance,
                &mut sink.record_tally,
            );
        }
    }
}

fn first_text(content: &Value) -> &str {
    let part = content.get(0).unwrap_or(content);
    part.as_str().unwrap_or_else(|| word(part, "text"))
}

/// Whether the program wrote the message for the model, rather than a person.
pub(super) fn is_context(message: &Value) -> bool {
    is_injected(first_text(message.get("content").unwrap_or(&Value::Null)))
}

fn only_results(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| {
        !parts.is_empty()
            && parts
                .iter()
                .all(|part| part.get("functionResponse").is_some())
    })
}

/// Whether the program, not a person, wrote this text in the place of a prompt.
fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    ["<session_context>", "<hook_context>", "<state_snapshot>"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// A session as one JSON object.
pub(super) const SESSION_SPEC: Spec = Spec {
    name: "gemini-cli",
    is_export: false,
    sign: Sign::Object(|keys, _| is_session(keys) && keys.has("messages")),
    layout: Layout::Elements {
        key: Some("messages"),
        limit: MAX_RECORD_BYTES,
        reader: |_| Box::new(Session),
    },
    companions: Companions::NONE,
};

/// The prompts of many sessions.
pub(super) const PROMPTS_SPEC: Spec = Spec {
    name: "gemini-cli",
    is_export: true,
    sign: Sign::Array(|keys, path| {
        let members = ["sessionId", "messageId", "type", "message"];
        members.iter().all(|key| keys.has(key)) && file_name(path) == "logs.json"
    }),
    layout: Layout::Elements {
        key: None,
        limit: MAX_RECORD_BYTES,
        reader: |_| Box::new(Prompts),
    },
    companions: Companions::NONE,
};

/// Whether these are the keys of a session, as one object or as the first record of a log.
pub(super) fn is_session(keys: &Keys) -> bool {
    keys.has("sessionId")
        && keys.has("startTime")
        && (keys.has("projectHash") || keys.has("messages"))
}
