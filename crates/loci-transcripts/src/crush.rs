//! Reads Crush's database, `crush.db`. A session has messages, and the parts of a message are JSON.

use super::blocks::unknown;
use super::database::{Batch, Entry, Loaded, RowFormat, Table};
use super::event::Conversation;
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_text;
use super::recognise::{Sign, file_name};
use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance, one_line};
use loci_salvage::DatabaseFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the sessions that have messages. A subagent has a session of its own.
fn index(file: &DatabaseFile) -> Vec<Entry> {
    let mut found: BTreeMap<String, Entry> = BTreeMap::new();
    Table::named(file, "sessions").rows(file, &mut |row| {
        let id = row.text("id");
        let about = Conversation {
            id: id.clone(),
            title: Some(row.text("title")).filter(|title| !title.is_empty()),
            started_at: row.time("created_at"),
            ..Conversation::default()
        };
        found.insert(id, Entry::new(about));
    });
    Table::named(file, "messages").rows(file, &mut |row| {
        if let Some(entry) = found.get_mut(&row.text("session_id")) {
            entry.bytes += row.text("parts").len();
        }
    });
    found
        .into_values()
        .filter(|entry| entry.bytes > 0)
        .collect()
}

/// Loads the messages of a batch of sessions. Their times are in seconds, so the number of the row
/// orders messages of the same second.
fn load(file: &DatabaseFile, batch: &Batch<'_>) -> Vec<Loaded> {
    let mut found = BTreeMap::new();
    Table::named(file, "messages").rows(file, &mut |row| {
        let session = row.text("session_id");
        if batch.wants(&session) {
            let at = row.time("created_at");
            let parts: Value = serde_json::from_str(&row.text("parts")).unwrap_or_default();
            let message = json!({
                "role": row.text("role"), "model": row.text("model"), "created_at": at,
                "is_summary": row.integer("is_summary_message") == Some(1), "parts": parts,
            });
            found.insert((session, at, row.rowid), message);
        }
    });
    found
        .into_iter()
        .map(|((conversation, ..), message)| Loaded {
            conversation,
            message,
            parts: Vec::new(),
        })
        .collect()
}

/// Passes one message to the sink.
fn emit(loaded: &Loaded, place: RecordSpan, sink: &mut ParseSink) {
    let message = &loaded.message;
    let is_summary = inner(message, "is_summary") == &Value::Bool(true);
    let (speaker, label) = match word(message, "role") {
        _ if is_summary => ("system", "Summary of the conversation so far"),
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Assistant"),
        "tool" => ("tool", "Tool output"),
        _ => ("system", "System"),
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.prompt = speaker == "user";
    utterance.at = time(message, "created_at");
    utterance.model = fact(message, "model").filter(|_| speaker == "assistant");
    for part in list(message, "parts") {
        write_part(part, label, &mut utterance, sink);
    }
    sink.emit(utterance);
}

fn write_part(part: &Value, label: &'static str, utterance: &mut Utterance, sink: &mut ParseSink) {
    let data = inner(part, "data");
    match word(part, "type") {
        "text" => utterance.push(label, word(data, "text")),
        "reasoning" => utterance.push(format!("{label} (thinking)"), word(data, "thinking")),
        "tool_call" => utterance.call(word(data, "name"), render_text(word(data, "input"))),
        "tool_result" => {
            let error = inner(data, "is_error") == &Value::Bool(true);
            utterance.output(error, word(data, "content"));
        }
        // A command that the user ran.
        "shell_command" => {
            utterance.call("shell", word(data, "command").to_owned());
            let failed = inner(data, "exit_code").as_i64().unwrap_or_default() != 0;
            utterance.output(failed, word(data, "output"));
        }
        "binary" => {
            let name = one_line(word(data, "Path"));
            utterance.note(label, &format!("[file {name}]"));
            sink.record_tally.skip_inner("file");
        }
        "image_url" => {
            utterance.note(label, "[image]");
            sink.record_tally.skip_inner("image");
        }
        "finish" => {
            utterance.push("Error", word(data, "message"));
            utterance.push("Error", word(data, "details"));
        }
        kind => unknown(
            kind,
            Some(part.to_string()),
            label,
            utterance,
            &mut sink.record_tally,
        ),
    }
}

/// Crush's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "crush",
    is_export: true,
    sign: Sign::Database(|path| file_name(path) == "crush.db"),
    layout: Layout::Rows(&RowFormat { index, load, emit }),
    companions: Companions::OF_DATABASE,
};
