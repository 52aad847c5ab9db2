//! Reads the sessions of Pi, and of OpenClaw, which is built on it. A session is a header and
//! entries in JSON lines. Entries form a tree; all branches are read, in the order in which they
//! were written.

use super::field::{fact, inner, time, word};
use super::format::{Companions, Layout, Spec};
use super::keys::Keys;
use super::recognise::{Sign, has_extension, is_below};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, output_label};
use super::values::write_content;
use serde_json::Value;
use std::path::Path;

#[derive(Debug)]
struct Pi;

impl RecordFormat for Pi {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let entry: Value = serde_json::from_str(text)?;
        let kind = word(&entry, "type");
        let mut utterance = Utterance::new(place, "system");
        utterance.at = time(&entry, "timestamp");
        match kind {
            "session" => {
                let facts = &mut sink.conversation;
                if facts.id.is_empty() {
                    word(&entry, "id").clone_into(&mut facts.id);
                }
                ParseSink::learn(&mut facts.folder, fact(&entry, "cwd"));
                ParseSink::learn(&mut facts.started_at, utterance.at);
                sink.skip_kind(kind);
                return Ok(());
            }
            "session_info" => {
                let title = fact(&entry, "name");
                if title.is_some() {
                    sink.conversation.title = title;
                }
            }
            "message" => write_message(inner(&entry, "message"), &mut utterance, sink),
            "compaction" | "branch_summary" => {
                utterance.push(SUMMARY, word(&entry, "summary"));
            }
            "custom_message" => write_content(
                inner(&entry, "content"),
                &|_| "Context",
                &mut utterance,
                &mut sink.record_tally,
            ),
            _ => {}
        }
        if kind == "message" || utterance.has_words() {
            sink.emit(utterance);
        } else {
            sink.skip_kind(kind);
        }
        Ok(())
    }
}

const SUMMARY: &str = "Summary of the conversation so far";

fn write_message(message: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let content = inner(message, "content");
    let error = inner(message, "isError") == &Value::Bool(true);
    let (speaker, label) = match word(message, "role") {
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Assistant"),
        "toolResult" => ("tool", output_label(error)),
        // A command that the user ran.
        "bashExecution" => {
            utterance.speaker = "user".into();
            utterance.call("bash", word(message, "command").to_owned());
            let failed = inner(message, "exitCode")
                .as_i64()
                .is_some_and(|code| code != 0);
            utterance.output(failed, word(message, "output"));
            return;
        }
        "branchSummary" | "compactionSummary" => {
            utterance.push(SUMMARY, word(message, "summary"));
            return;
        }
        "custom" | "hookMessage" => ("system", "Context"),
        _ => ("system", "System"),
    };
    utterance.speaker = speaker.into();
    utterance.prompt = speaker == "user";
    utterance.model = fact(message, "model").filter(|_| speaker == "assistant");
    write_content(content, &|_| label, utterance, &mut sink.record_tally);
    utterance.push("Error", word(message, "errorMessage"));
}

/// Pi's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "pi",
    is_export: false,
    sign: Sign::Record(is_header),
    layout: Layout::Lines(|_| Box::new(Pi)),
    companions: Companions::NONE,
};

/// OpenClaw's entry in the table of formats.
pub(super) const OPENCLAW_SPEC: Spec = Spec {
    name: "openclaw",
    is_export: false,
    sign: Sign::Record(|keys, path| is_below(path, ".openclaw") && is_header(keys, path)),
    layout: Layout::Lines(|_| Box::new(Pi)),
    companions: Companions::NONE,
};

fn is_header(keys: &Keys, path: &Path) -> bool {
    let members = ["id", "timestamp", "cwd"];
    keys.value("type") == "session"
        && members.iter().all(|key| keys.has(key))
        && has_extension(path, "jsonl")
}
