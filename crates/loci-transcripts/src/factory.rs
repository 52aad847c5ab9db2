//! Reads the sessions of Factory's Droid. A session is a header and messages in JSON lines.

use super::field::{fact, inner, time, word};
use super::format::{Companions, Layout, Spec};
use super::keys::Keys;
use super::recognise::{Sign, has_extension};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use super::values::{asking_speaker, has_prompt, has_result, is_reminder, write_content};
use serde_json::Value;
use std::path::Path;

#[derive(Debug)]
struct Factory;

impl RecordFormat for Factory {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let record: Value = serde_json::from_str(text)?;
        let kind = word(&record, "type");
        match kind {
            "session_start" => {
                let facts = &mut sink.conversation;
                if facts.id.is_empty() {
                    word(&record, "id").clone_into(&mut facts.id);
                }
                let title = fact(&record, "title").or_else(|| fact(&record, "sessionTitle"));
                ParseSink::learn(&mut facts.title, title);
                ParseSink::learn(&mut facts.folder, fact(&record, "cwd"));
                ParseSink::learn(&mut facts.started_at, time(&record, "timestamp"));
                sink.skip_kind(kind);
            }
            "message" => {
                let message = inner(&record, "message");
                let content = inner(message, "content");
                let is_user = word(message, "role") == "user";
                let mut utterance = Utterance::new(place, "assistant");
                utterance.at = time(&record, "timestamp");
                utterance.model = fact(message, "model").filter(|_| !is_user);
                ParseSink::learn(&mut sink.conversation.started_at, utterance.at.clone());
                let label = |words: &str| {
                    if !is_user {
                        "Assistant"
                    } else if is_reminder(words) {
                        "Context"
                    } else {
                        "User"
                    }
                };
                write_content(content, &label, &mut utterance, &mut sink.record_tally);
                if is_user {
                    utterance.prompt = has_prompt(&utterance);
                    let speaker = asking_speaker(utterance.prompt, has_result(content));
                    utterance.speaker = speaker.into();
                }
                sink.emit(utterance);
            }
            _ => sink.skip_kind(kind),
        }
        Ok(())
    }
}

/// Factory's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "factory",
    is_export: false,
    sign: Sign::Record(is_header),
    layout: Layout::Lines(|_| Box::new(Factory)),
    companions: Companions::NONE,
};

fn is_header(keys: &Keys, path: &Path) -> bool {
    keys.value("type") == "session_start"
        && keys.has("id")
        && (keys.has("cwd") || keys.has("owner"))
        && has_extension(path, "jsonl")
}
