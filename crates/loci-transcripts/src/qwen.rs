//! Reads the sessions of Qwen Code in JSON lines. Each record holds one message in the shape of
//! Gemini's API, or the payload of an event of the program.

use super::field::{fact, inner, time, word};
use super::format::{Companions, Layout, Spec};
use super::gemini::write_parts;
use super::keys::Keys;
use super::recognise::Sign;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use super::values::{has_prompt, is_reminder};
use serde_json::Value;

#[derive(Debug)]
struct Qwen;

impl RecordFormat for Qwen {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let record: Value = serde_json::from_str(text)?;
        let mut utterance = Utterance::new(place, "system");
        utterance.at = time(&record, "timestamp");
        learn(&record, utterance.at.as_ref(), sink);
        let kind = word(&record, "type");
        let subtype = word(&record, "subtype");
        let parts = inner(inner(&record, "message"), "parts");
        // The program writes these in the place of a prompt.
        let is_program = matches!(subtype, "notification" | "cron" | "goal_runtime");
        match kind {
            "user" => {
                for part in parts.as_array().into_iter().flatten() {
                    let label = if is_program || is_reminder(word(part, "text")) {
                        "Context"
                    } else {
                        "User"
                    };
                    write_parts(part, label, true, &mut utterance, sink);
                }
                utterance.prompt = has_prompt(&utterance);
                if utterance.prompt {
                    utterance.speaker = "user".into();
                }
            }
            "assistant" => {
                utterance.speaker = "assistant".into();
                utterance.model = fact(&record, "model");
                write_parts(parts, "Assistant", true, &mut utterance, sink);
            }
            "tool_result" => {
                utterance.speaker = "tool".into();
                write_parts(parts, "Tool output", true, &mut utterance, sink);
            }
            "system" => {
                let reason = format!("record type `system`, `{subtype}`");
                sink.record_tally.skip(&reason);
                return Ok(());
            }
            _ => {
                sink.skip_kind(kind);
                return Ok(());
            }
        }
        sink.emit(utterance);
        Ok(())
    }
}

/// Takes the facts of the session. The file of a subagent is a conversation of its own.
fn learn(record: &Value, at: Option<&String>, sink: &mut ParseSink) {
    let facts = &mut sink.conversation;
    if facts.id.is_empty() {
        let session = word(record, "sessionId");
        facts.id = match word(record, "agentId") {
            "" => session.to_owned(),
            agent => format!("{session}/{agent}"),
        };
    }
    ParseSink::learn(&mut facts.folder, fact(record, "cwd"));
    ParseSink::learn(&mut facts.branch, fact(record, "gitBranch"));
    ParseSink::learn(&mut facts.started_at, at.cloned());
    let title = fact(inner(record, "systemPayload"), "customTitle");
    if title.is_some() {
        facts.title = title;
    }
}

/// Qwen Code's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "qwen-code",
    is_export: false,
    sign: Sign::Record(|keys, _| is_record(keys)),
    layout: Layout::Lines(|_| Box::new(Qwen)),
    companions: Companions::NONE,
};

/// Claude Code's records have the same members, but messages without parts.
fn is_record(keys: &Keys) -> bool {
    let members = ["uuid", "sessionId", "timestamp", "type", "cwd"];
    members.iter().all(|key| keys.has(key))
        && (keys.has_inner("message.parts") || keys.has("systemPayload"))
}
