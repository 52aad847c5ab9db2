//! Reads the sessions of GitHub Copilot CLI: `events.jsonl`, a log of events. Each event has a type
//! and its data.

use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::{render_text, render_value};
use super::keys::Keys;
use super::recognise::Sign;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, one_line};
use serde_json::Value;

#[derive(Debug)]
struct CopilotCli;

impl RecordFormat for CopilotCli {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let event: Value = serde_json::from_str(text)?;
        let data = inner(&event, "data");
        let kind = word(&event, "type");
        let mut utterance = Utterance::new(place, "system");
        utterance.at = time(&event, "timestamp");
        learn(kind, data, sink);
        let content = word(data, "content");
        match kind {
            // `transformedContent` repeats the prompt with the context that the program adds.
            "user.message" => {
                utterance.speaker = "user".into();
                utterance.prompt = true;
                utterance.push("User", content);
                write_attachments(data, &mut utterance, sink);
            }
            "assistant.message" => write_answer(data, &mut utterance),
            // The call itself is in the message of the assistant.
            "tool.execution_complete" => {
                utterance.speaker = "tool".into();
                let failed = inner(data, "success") == &Value::Bool(false);
                utterance.output(failed, word(inner(data, "result"), "content"));
                utterance.output(true, word(inner(data, "error"), "message"));
            }
            "system.message" => utterance.push("System", content),
            "system.notification" => utterance.push("Context", content),
            "session.info" => utterance.push("Info", word(data, "message")),
            "session.warning" => utterance.push("Warning", word(data, "message")),
            "session.error" => utterance.push("Error", word(data, "message")),
            "session.compaction_complete" => {
                let words = word(data, "summaryContent");
                utterance.push("Summary of the conversation so far", words);
            }
            _ => {}
        }
        if utterance.has_words() {
            sink.emit(utterance);
        } else if matches!(
            kind,
            "user.message" | "assistant.message" | "tool.execution_complete"
        ) {
            sink.record_tally.skip("empty message");
        } else {
            sink.skip_kind(kind);
        }
        Ok(())
    }
}

/// Takes the facts of the session from an event.
fn learn(kind: &str, data: &Value, sink: &mut ParseSink) {
    let facts = &mut sink.conversation;
    match kind {
        "session.start" => {
            if facts.id.is_empty() {
                word(data, "sessionId").clone_into(&mut facts.id);
            }
            ParseSink::learn(&mut facts.started_at, time(data, "startTime"));
        }
        "session.title_changed" => facts.title = fact(data, "title").or(facts.title.take()),
        _ => {}
    }
    if matches!(kind, "session.start" | "session.resume") {
        let context = inner(data, "context");
        ParseSink::learn(&mut facts.folder, fact(context, "cwd"));
        ParseSink::learn(&mut facts.branch, fact(context, "branch"));
    }
}

fn write_answer(data: &Value, utterance: &mut Utterance) {
    let label = if inner(data, "parentToolCallId").is_string() {
        "Subagent"
    } else {
        "Assistant"
    };
    utterance.speaker = "assistant".into();
    utterance.model = fact(data, "model");
    utterance.push(format!("{label} (thinking)"), word(data, "reasoningText"));
    utterance.push(label, word(data, "content"));
    for request in list(data, "toolRequests") {
        let arguments = match inner(request, "arguments") {
            Value::String(json) => render_text(json),
            arguments => render_value(arguments),
        };
        utterance.call(word(request, "name"), arguments);
    }
}

fn write_attachments(data: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    for attachment in list(data, "attachments") {
        let names = ["displayName", "path"].map(|key| word(attachment, key));
        let name = names.into_iter().find(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| word(attachment, "type"));
        utterance.note("User", &format!("[file {}]", one_line(name)));
        sink.record_tally.skip_inner("file");
    }
}

/// Copilot CLI's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "copilot-cli",
    is_export: false,
    sign: Sign::Record(|keys, _| is_event(keys)),
    layout: Layout::Lines(|_| Box::new(CopilotCli)),
    companions: Companions::NONE,
};

fn is_event(keys: &Keys) -> bool {
    let members = ["data", "id", "timestamp", "parentId"];
    let kind = keys.value("type");
    let is_known = matches!(
        kind,
        "session.start" | "session.resume" | "user.message" | "assistant.message"
    );
    is_known && members.iter().all(|key| keys.has(key))
}
