//! Reads the threads of Amp. A thread is one JSON object with a list of messages.

use super::beside::path_of_url;
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_value;
use super::recognise::{Sign, file_name};
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use super::values::{asking_speaker, has_prompt, has_result, write_block};
use serde_json::Value;

#[derive(Debug)]
struct Amp;

impl RecordFormat for Amp {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let message: Value = serde_json::from_str(text)?;
        let content = inner(&message, "content");
        let (speaker, label) = match word(&message, "role") {
            "user" => ("user", "User"),
            "assistant" => ("assistant", "Assistant"),
            _ => ("system", "Info"),
        };
        let mut utterance = Utterance::new(place, speaker);
        utterance.at = time(inner(&message, "meta"), "sentAt");
        utterance.model =
            fact(inner(&message, "usage"), "model").filter(|_| speaker == "assistant");
        for block in list(&message, "content") {
            match word(block, "type") {
                "tool_result" => write_run(inner(block, "run"), &mut utterance),
                "summary" => utterance.push(
                    "Summary of the conversation so far",
                    word(inner(block, "summary"), "summary"),
                ),
                _ => write_block(block, &|_| label, &mut utterance, &mut sink.record_tally),
            }
        }
        if let Some(words) = content.as_str() {
            utterance.push(label, words);
        }
        utterance.prompt = has_prompt(&utterance);
        if speaker == "user" {
            utterance.speaker = asking_speaker(utterance.prompt, has_result(content)).into();
        }
        sink.emit(utterance);
        Ok(())
    }

    fn frame(&mut self, json: &str, sink: &mut ParseSink) {
        let Ok(thread) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            word(&thread, "id").clone_into(&mut facts.id);
        }
        ParseSink::learn(&mut facts.title, fact(&thread, "title"));
        ParseSink::learn(&mut facts.started_at, time(&thread, "created"));
        let trees = list(inner(inner(&thread, "env"), "initial"), "trees");
        let folder = trees
            .first()
            .and_then(|tree| path_of_url(word(tree, "uri")));
        ParseSink::learn(&mut facts.folder, folder);
    }
}

/// Adds the result of a tool. It is text, or JSON that may hold the text under `output`.
fn write_run(run: &Value, utterance: &mut Utterance) {
    let failed = matches!(
        word(run, "status"),
        "error" | "cancelled" | "rejected-by-user"
    );
    let result = match inner(run, "result") {
        Value::Null => inner(run, "progress"),
        result => result,
    };
    let words = result.get("output").filter(|output| output.is_string());
    utterance.output(failed, render_value(words.unwrap_or(result)));
    utterance.output(true, word(inner(run, "error"), "message"));
}

/// Amp's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "amp",
    is_export: false,
    sign: Sign::Object(|keys, path| {
        keys.value("id").starts_with("T-")
            && keys.has("created")
            && file_name(path).starts_with("T-")
    }),
    layout: Layout::Elements {
        key: Some("messages"),
        limit: MAX_RECORD_BYTES,
        reader: |_| Box::new(Amp),
    },
    companions: Companions::NONE,
};
