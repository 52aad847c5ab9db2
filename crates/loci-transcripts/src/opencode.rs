//! Reads OpenCode's sessions. A session has messages, and a message has parts. Older versions store
//! each in a file of its own, under `storage/session`, `storage/message` and `storage/part`; the
//! file of the session is the main file. Newer versions store the same JSON in the rows of a
//! database.

use super::blocks::unknown;
use super::database::RowFormat;
use super::database::{Batch, Entry, Loaded, Table};
use super::event::Conversation;
use super::field::{fact, inner, time, word};
use super::folder::{FolderFormat, files_in};
use super::format::{Companions, Layout, Spec};
use super::input::render_value;
use super::keys::Keys;
use super::recognise::{Sign, file_name, has_extension};
use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance, one_line};
use loci_files::allowed::AllowedRoots;
use loci_salvage::DatabaseFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns every file that belongs to the session: its messages and their parts.
pub(super) fn companions(session: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    let messages = messages_of(session, allowed);
    let parts: Vec<_> = messages
        .iter()
        .flat_map(|message| parts_of(session, message, allowed))
        .collect();
    messages.into_iter().chain(parts).collect()
}

/// Returns the `storage` folder above `storage/session/<project>/<session>.json`.
fn storage(session: &Path) -> Option<&Path> {
    session.ancestors().nth(3)
}

/// Returns the folders that hold the messages of the session and the parts of all messages.
pub(super) fn companion_folders(session: &Path) -> Vec<PathBuf> {
    let parts = storage(session).map(|storage| storage.join("part"));
    message_folder(session).into_iter().chain(parts).collect()
}

fn message_folder(session: &Path) -> Option<PathBuf> {
    let (storage, id) = storage(session).zip(session.file_stem())?;
    Some(storage.join("message").join(id))
}

fn messages_of(session: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    message_folder(session).map_or_else(Vec::new, |folder| files_in(&folder, allowed))
}

fn parts_of(session: &Path, message: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    let folder = storage(session).zip(message.file_stem());
    folder.map_or_else(Vec::new, |(storage, id)| {
        files_in(&storage.join("part").join(id), allowed)
    })
}

fn conversation(session: &Value) -> Conversation {
    Conversation {
        id: word(session, "id").to_owned(),
        title: fact(session, "title"),
        folder: fact(session, "directory"),
        branch: None,
        started_at: time(inner(session, "time"), "created"),
    }
}

fn utterance_of(
    message: &Value,
    parts: &[Value],
    place: RecordSpan,
    sink: &mut ParseSink,
) -> Utterance {
    let is_user = word(message, "role") == "user";
    let (speaker, label) = if is_user {
        ("user", "User")
    } else {
        ("assistant", "Assistant")
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.at = time(inner(message, "time"), "created");
    utterance.model = fact(message, "modelID").filter(|_| !is_user);
    for part in parts {
        let words = word(part, "text");
        match word(part, "type") {
            "text" if part.get("synthetic") == Some(&Value::Bool(true)) => {
                utterance.push("Context", words);
            }
            "text" => {
                utterance.prompt |= is_user && !words.trim().is_empty();
                utterance.push(label, words);
            }
            "reasoning" => utterance.push(format!("{label} (thinking)"), words),
            "tool" => {
                let state = inner(part, "state");
                utterance.call(word(part, "tool"), render_value(inner(state, "input")));
                utterance.output(false, render_value(inner(state, "output")));
                utterance.output(true, render_value(inner(state, "error")));
            }
            "file" => {
                utterance.prompt |= is_user;
                utterance.note(
                    label,
                    &format!("[file {}]", one_line(word(part, "filename"))),
                );
                sink.record_tally.skip_inner("file");
            }
            "step-start" | "step-finish" | "snapshot" | "patch" | "compaction" => {}
            kind => unknown(
                kind,
                Some(part.to_string()),
                label,
                &mut utterance,
                &mut sink.record_tally,
            ),
        }
    }
    let error = inner(inner(message, "error"), "data");
    utterance.push("Error", word(error, "message"));
    utterance
}

/// Returns the sessions of a database that have messages.
pub(super) fn index(file: &DatabaseFile) -> Vec<Entry> {
    let mut found: BTreeMap<String, Entry> = BTreeMap::new();
    Table::named(file, "session").rows(file, &mut |row| {
        let id = row.text("id");
        let about = Conversation {
            id: id.clone(),
            title: Some(row.text("title")).filter(|title| !title.is_empty()),
            folder: Some(row.text("directory")).filter(|folder| !folder.is_empty()),
            branch: None,
            started_at: row.time("time_created"),
        };
        found.insert(id, Entry::new(about));
    });
    for table in ["message", "part"] {
        Table::named(file, table).rows(file, &mut |row| {
            let session = row.text("session_id");
            let entry = found.entry(session).or_insert_with_key(|id| {
                Entry::new(Conversation {
                    id: id.clone(),
                    ..Conversation::default()
                })
            });
            entry.bytes += row.text("data").len();
        });
    }
    found
        .into_values()
        .filter(|entry| entry.bytes > 0)
        .collect()
}

/// The parts of a message by id.
type Parts = BTreeMap<String, Value>;

/// Loads the messages of a batch of sessions.
pub(super) fn load(file: &DatabaseFile, batch: &Batch<'_>) -> Vec<Loaded> {
    let mut messages: BTreeMap<(String, String, String), (Value, Parts)> = BTreeMap::new();
    let mut sessions_of = BTreeMap::new();
    Table::named(file, "message").rows(file, &mut |row| {
        let session = row.text("session_id");
        if batch.wants(&session) {
            let id = row.text("id");
            let mut message: Value = serde_json::from_str(&row.text("data")).unwrap_or_default();
            if inner(inner(&message, "time"), "created").is_null()
                && let (Some(message), Some(at)) =
                    (message.as_object_mut(), row.time("time_created"))
            {
                message.insert("time".to_owned(), serde_json::json!({ "created": at }));
            }
            let key = (
                session,
                row.time("time_created").unwrap_or_default(),
                id.clone(),
            );
            sessions_of.insert(id, key.clone());
            messages.insert(key, (message, Parts::new()));
        }
    });
    Table::named(file, "part").rows(file, &mut |row| {
        if let Some(key) = sessions_of.get(&row.text("message_id"))
            && let Some((_, parts)) = messages.get_mut(key)
        {
            let part = serde_json::from_str(&row.text("data")).unwrap_or_default();
            parts.insert(row.text("id"), part);
        }
    });
    messages
        .into_iter()
        .map(|((session, _, _), (message, parts))| Loaded {
            conversation: session,
            message,
            parts: parts.into_values().collect(),
        })
        .collect()
}

/// Passes one message of a database to the sink.
pub(super) fn emit(loaded: &Loaded, place: RecordSpan, sink: &mut ParseSink) {
    let utterance = utterance_of(&loaded.message, &loaded.parts, place, sink);
    sink.emit(utterance);
}

/// A session whose messages are files.
pub(super) const SPEC: Spec = Spec {
    name: "opencode",
    is_export: false,
    sign: Sign::Object(is_session),
    layout: Layout::Folder(&FolderFormat {
        root: storage,
        messages: messages_of,
        parts: parts_of,
        about: conversation,
        emit: |message, parts, place, sink| {
            let utterance = utterance_of(message, parts, place, sink);
            sink.emit(utterance);
        },
    }),
    companions: Companions {
        files: companions,
        places: companion_folders,
    },
};

/// A database of many sessions.
pub(super) const DATABASE_SPEC: Spec = Spec {
    name: "opencode",
    is_export: true,
    sign: Sign::Database(|path| {
        file_name(path).starts_with("opencode") && has_extension(path, "db")
    }),
    layout: Layout::Rows(&RowFormat { index, load, emit }),
    companions: Companions::OF_DATABASE,
};

/// The database of Kilo Code, which is a fork of OpenCode.
pub(super) const KILO_DATABASE_SPEC: Spec = Spec {
    name: "kilo-code",
    is_export: true,
    sign: Sign::Database(|path| {
        let name = file_name(path);
        (name == "kilo.db" || name.starts_with("kilo-")) && has_extension(path, "db")
    }),
    layout: Layout::Rows(&RowFormat { index, load, emit }),
    companions: Companions::OF_DATABASE,
};

fn is_session(keys: &Keys, path: &Path) -> bool {
    let folder = path.ancestors().nth(2).and_then(Path::file_name);
    let has_session = keys.value("id").starts_with("ses_") || keys.has("projectID");
    folder.is_some_and(|name| name == "session") && has_session && keys.has("time")
}
