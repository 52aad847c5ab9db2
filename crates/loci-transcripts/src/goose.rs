//! Reads Goose's database, `sessions.db`. A session has messages, and the content of a message is
//! JSON.

use super::database::{Batch, Entry, Loaded, RowFormat, Table};
use super::event::Conversation;
use super::field::{inner, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_value;
use super::recognise::{Sign, file_name, folder_name, is_below};
use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance, output_label};
use super::values::{asking_speaker, has_prompt, write_block, write_content};
use loci_salvage::DatabaseFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the sessions that have messages.
fn index(file: &DatabaseFile) -> Vec<Entry> {
    let mut found: BTreeMap<String, Entry> = BTreeMap::new();
    Table::named(file, "sessions").rows(file, &mut |row| {
        let id = row.text("id");
        // Older versions keep the title in the description.
        let titles = [row.text("name"), row.text("description")];
        let about = Conversation {
            id: id.clone(),
            title: titles.into_iter().find(|title| !title.is_empty()),
            folder: Some(row.text("working_dir")).filter(|folder| !folder.is_empty()),
            branch: None,
            started_at: row.time("created_at"),
        };
        found.insert(id, Entry::new(about));
    });
    Table::named(file, "messages").rows(file, &mut |row| {
        if let Some(entry) = found.get_mut(&row.text("session_id")) {
            entry.bytes += row.text("content_json").len();
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
            let at = row.time("created_timestamp");
            let content = serde_json::from_str(&row.text("content_json")).unwrap_or(Value::Null);
            let metadata = serde_json::from_str(&row.text("metadata_json")).unwrap_or(Value::Null);
            let message = json!({
                "role": row.text("role"), "created": at, "content": content, "metadata": metadata,
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
    let is_user = word(message, "role") == "user";
    // Text that only the model sees was written by the program.
    let is_hidden = inner(inner(message, "metadata"), "userVisible") == &Value::Bool(false);
    let (speaker, label) = if is_hidden {
        ("system", "Context")
    } else if is_user {
        ("user", "User")
    } else {
        ("assistant", "Assistant")
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.at = time(message, "created");
    let mut has_result = false;
    for block in list(message, "content") {
        has_result |= word(block, "type") == "toolResponse";
        write_part(block, label, &mut utterance, sink);
    }
    utterance.prompt = has_prompt(&utterance);
    if speaker == "user" {
        utterance.speaker = asking_speaker(utterance.prompt, has_result).into();
    }
    sink.emit(utterance);
}

fn write_part(block: &Value, label: &'static str, utterance: &mut Utterance, sink: &mut ParseSink) {
    match word(block, "type") {
        "toolRequest" | "frontendToolRequest" => {
            let call = inner(block, "toolCall");
            let value = inner(call, "value");
            if value.is_null() {
                utterance.push("Error", word(call, "error"));
            } else {
                let arguments = render_value(inner(value, "arguments"));
                utterance.call(word(value, "name"), arguments);
            }
        }
        "toolResponse" => {
            let result = inner(block, "toolResult");
            let value = inner(result, "value");
            let error = inner(value, "isError") == &Value::Bool(true);
            // Older versions store the content without the object around it.
            let content = value.get("content").unwrap_or(value);
            let label = |_: &str| output_label(error);
            write_content(content, &label, utterance, &mut sink.record_tally);
            utterance.output(true, word(result, "error"));
        }
        "systemNotification" => utterance.push("Info", word(block, "msg")),
        // A request repeats the call that it asks about.
        "toolConfirmationRequest" | "actionRequired" => {
            sink.record_tally.skip_inner("confirmation");
        }
        _ => write_block(block, &|_| label, utterance, &mut sink.record_tally),
    }
}

/// Goose's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "goose",
    is_export: true,
    sign: Sign::Database(|path| {
        let is_stored = folder_name(path) == "sessions" || is_below(path, "goose");
        file_name(path) == "sessions.db" && is_stored
    }),
    layout: Layout::Rows(&RowFormat { index, load, emit }),
    companions: Companions::OF_DATABASE,
};
