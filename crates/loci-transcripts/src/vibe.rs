//! Reads the sessions of Mistral Vibe: `messages.jsonl`, one message per line. `meta.json` beside it
//! holds the facts of the session. Messages have no times.

use super::beside::read_json;
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Opening, Spec};
use super::keys::Keys;
use super::recognise::{Sign, file_name, folder_name};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use super::values::{write_calls, write_content};
use serde_json::Value;
use std::path::Path;

#[derive(Debug)]
struct Vibe {
    about: Value,
    folder: String,
}

impl Vibe {
    fn new(file: &Opening<'_>) -> Self {
        Self {
            about: read_json(file.path.parent(), "meta.json", file.allowed),
            folder: folder_name(file.path),
        }
    }

    fn learn(&self, sink: &mut ParseSink) {
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            facts.id = fact(&self.about, "session_id").unwrap_or_else(|| self.folder.clone());
        }
        ParseSink::learn(&mut facts.title, fact(&self.about, "title"));
        let environment = inner(&self.about, "environment");
        ParseSink::learn(&mut facts.folder, fact(environment, "working_directory"));
        ParseSink::learn(&mut facts.branch, fact(&self.about, "git_branch"));
        ParseSink::learn(&mut facts.started_at, time(&self.about, "start_time"));
    }
}

impl RecordFormat for Vibe {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let message: Value = serde_json::from_str(text)?;
        self.learn(sink);
        let is_injected = inner(&message, "injected") == &Value::Bool(true);
        let (speaker, label) = match word(&message, "role") {
            "user" if is_injected => ("system", "Context"),
            "user" => ("user", "User"),
            "assistant" => ("assistant", "Assistant"),
            "tool" => ("tool", "Tool output"),
            _ => ("system", "System"),
        };
        let mut utterance = Utterance::new(place, speaker);
        utterance.prompt = speaker == "user";
        utterance.push(
            format!("{label} (thinking)"),
            word(&message, "reasoning_content"),
        );
        write_content(
            inner(&message, "content"),
            &|_| label,
            &mut utterance,
            &mut sink.record_tally,
        );
        write_calls(&message, "tool_calls", &mut utterance);
        for _ in list(&message, "images") {
            utterance.note(label, "[image]");
            sink.record_tally.skip_inner("image");
        }
        sink.emit(utterance);
        Ok(())
    }
}

/// Mistral Vibe's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "mistral-vibe",
    is_export: false,
    sign: Sign::Record(is_message),
    layout: Layout::Lines(|file| Box::new(Vibe::new(file))),
    companions: Companions::NONE,
};

fn is_message(keys: &Keys, path: &Path) -> bool {
    file_name(path) == "messages.jsonl"
        && matches!(keys.value("role"), "user" | "assistant" | "tool")
        && (keys.has("message_id") || keys.has("tool_call_id"))
}
