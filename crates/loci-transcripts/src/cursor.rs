//! Reads Cursor's table of keys and JSON values. `composerData:<id>` is a conversation, which lists
//! its messages or, in older versions, contains them. `bubbleId:<conversation>:<id>` is a message.

use super::clock;
use super::database::RowFormat;
use super::database::{Batch, Entry, Loaded, Row, Table};
use super::event::Conversation;
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_text;
use super::recognise::{Sign, has_extension};
use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance};
use loci_salvage::DatabaseFile;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

const TABLE: &str = "cursorDiskKV";

/// The row that a key identifies.
enum Key {
    Conversation(String),
    Message(String, String),
}

fn key(row: &Row<'_>) -> Option<Key> {
    let key = row.text("key");
    if let Some(id) = key.strip_prefix("composerData:") {
        return Some(Key::Conversation(id.to_owned()));
    }
    let (conversation, id) = key.strip_prefix("bubbleId:")?.split_once(':')?;
    Some(Key::Message(conversation.to_owned(), id.to_owned()))
}

/// Returns the conversations of a database that have messages.
pub(super) fn index(file: &DatabaseFile) -> Vec<Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let mut bytes: HashMap<String, usize> = HashMap::new();
    Table::named(file, TABLE).rows(file, &mut |row| match key(row) {
        Some(Key::Conversation(id)) => {
            let json = row.text("value");
            let composer: Value = serde_json::from_str(&json).unwrap_or_default();
            let mut entry = Entry::new(Conversation {
                id: id.clone(),
                title: fact(&composer, "name"),
                folder: None,
                branch: fact(&composer, "createdOnBranch"),
                started_at: time(&composer, "createdAt"),
            });
            let headers = list(&composer, "fullConversationHeadersOnly").iter();
            entry.order = headers
                .filter_map(|header| fact(header, "bubbleId"))
                .collect();
            let holds = !list(&composer, "conversation").is_empty();
            entry.bytes = if holds || !entry.order.is_empty() {
                json.len()
            } else {
                0
            };
            entries.insert(id, entry);
        }
        Some(Key::Message(id, _)) => *bytes.entry(id).or_default() += row.text("value").len(),
        None => {}
    });
    for (id, bytes) in bytes {
        let entry = entries.entry(id).or_insert_with_key(|id| {
            Entry::new(Conversation {
                id: id.clone(),
                ..Conversation::default()
            })
        });
        entry.bytes += bytes;
    }
    entries
        .into_values()
        .filter(|entry| entry.bytes > 0)
        .collect()
}

/// Returns the messages of a batch of conversations. Messages that their conversation does not list
/// come last, by time.
pub(super) fn load(file: &DatabaseFile, batch: &Batch<'_>) -> Vec<Loaded> {
    let mut orders: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    for entry in batch.entries {
        let order = orders.entry(&entry.about.id).or_default();
        order.extend(
            entry
                .order
                .iter()
                .enumerate()
                .map(|(i, id)| (id.as_str(), i)),
        );
    }
    let mut found: BTreeMap<(String, usize, String, String), Value> = BTreeMap::new();
    Table::named(file, TABLE).rows(file, &mut |row| match key(row) {
        Some(Key::Conversation(id)) if batch.wants(&id) => {
            let mut composer: Value = serde_json::from_str(&row.text("value")).unwrap_or_default();
            let Some(Value::Array(bubbles)) = composer.get_mut("conversation").map(Value::take)
            else {
                return;
            };
            for (i, bubble) in bubbles.into_iter().enumerate() {
                found.insert(
                    (
                        id.clone(),
                        i,
                        String::new(),
                        word(&bubble, "bubbleId").to_owned(),
                    ),
                    bubble,
                );
            }
        }
        Some(Key::Message(conversation, id)) if batch.wants(&conversation) => {
            let bubble = serde_json::from_str(&row.text("value")).unwrap_or_default();
            let order = orders
                .get(conversation.as_str())
                .and_then(|order| order.get(id.as_str()));
            let at = time(&bubble, "createdAt").unwrap_or_default();
            found.insert(
                (conversation, order.copied().unwrap_or(usize::MAX), at, id),
                bubble,
            );
        }
        _ => {}
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
pub(super) fn emit(loaded: &Loaded, place: RecordSpan, sink: &mut ParseSink) {
    let bubble = &loaded.message;
    let is_user = bubble.get("type").and_then(Value::as_u64) == Some(1);
    let (speaker, label) = if is_user {
        ("user", "User")
    } else {
        ("assistant", "Assistant")
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.prompt = is_user;
    utterance.at = time(bubble, "createdAt").or_else(|| {
        let ended = inner(inner(bubble, "timingInfo"), "clientEndTime").as_f64()?;
        clock::from_number(ended)
    });
    utterance.model = fact(inner(bubble, "modelInfo"), "modelName").filter(|_| !is_user);
    utterance.push(
        format!("{label} (thinking)"),
        word(inner(bubble, "thinking"), "text"),
    );
    utterance.push(label, word(bubble, "text"));
    if word(bubble, "text").trim().is_empty() {
        for block in list(bubble, "codeBlocks") {
            utterance.push(label, word(block, "content"));
        }
    }
    let tool = inner(bubble, "toolFormerData");
    if let Some(name) = fact(tool, "name") {
        let arguments = [word(tool, "rawArgs"), word(tool, "params")];
        let arguments = arguments.into_iter().find(|words| !words.is_empty());
        utterance.call(&name, render_text(arguments.unwrap_or_default()));
        utterance.output(
            word(tool, "status") == "error",
            render_text(word(tool, "result")),
        );
    }
    for _ in list(bubble, "images") {
        utterance.note(label, "[image]");
        sink.record_tally.skip_inner("image");
    }
    sink.emit(utterance);
}

/// Cursor's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "cursor",
    is_export: true,
    sign: Sign::Database(|path| has_extension(path, "vscdb")),
    layout: Layout::Rows(&RowFormat { index, load, emit }),
    companions: Companions::OF_DATABASE,
};
