//! Conversations in many files, and in databases.

use super::support::read;
use loci_transcripts::{Error, Event, Format, Mark, Reader, companions, recognise};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;

fn pieces(reader: &mut Reader<&[u8]>) -> Vec<String> {
    let mut pieces = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        if let Event::Piece(piece) = event {
            pieces.push(piece.text);
        }
    }
    pieces
}

fn put(storage: &Path, path: &str, value: &Value) {
    let path = storage.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, value.to_string()).unwrap();
}

fn messages() -> [(&'static str, Value, Vec<Value>); 3] {
    [
        (
            "msg_01",
            json!({"id": "msg_01", "sessionID": "ses_1", "role": "user", "time": {"created": 1_767_000_000_000_u64}, "model": {"modelID": "m"}}),
            vec![
                json!({"id": "prt_1", "type": "text", "text": "Scrub the deck"}),
                json!({"id": "prt_2", "type": "text", "text": "be kind", "synthetic": true}),
                json!({"id": "prt_3", "type": "file", "mime": "image/png", "filename": "deck.png", "url": "data:"}),
            ],
        ),
        (
            "msg_02",
            json!({"id": "msg_02", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1_767_000_001_000_u64, "completed": 1_767_000_002_000_u64}, "modelID": "test-m"}),
            vec![
                json!({"id": "prt_4", "type": "step-start"}),
                json!({"id": "prt_5", "type": "reasoning", "text": "With soap."}),
                json!({"id": "prt_6", "type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed", "input": {"command": "scrub"}, "output": "clean\n", "title": "t"}}),
                json!({"id": "prt_7", "type": "tool", "tool": "bash", "callID": "d", "state": {"status": "error", "input": {"command": "shine"}, "error": "no wax"}}),
                json!({"id": "prt_8", "type": "text", "text": "It is clean."}),
            ],
        ),
        (
            "msg_03",
            json!({"id": "msg_03", "sessionID": "ses_1", "role": "user", "time": {"created": 1_767_000_100_000_u64}}),
            vec![json!({"id": "prt_9", "type": "text", "text": "Good"})],
        ),
    ]
}

const FIRST: &str = "User:\nScrub the deck\n\nContext:\nbe kind\n\nUser:\n[file deck.png]\n\nAssistant (thinking):\nWith soap.\n\nTool call bash:\ncommand: scrub\n\n\
                     Tool output:\nclean\n\nTool call bash:\ncommand: shine\n\nTool output (error):\nno wax\n\nAssistant:\nIt is clean.";

#[test]
fn an_opencode_session_is_read_from_its_message_files() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join("storage");
    put(
        &storage,
        "session/p1/ses_1.json",
        &json!({"id": "ses_1", "projectID": "p1", "directory": "/home/mo/boat", "title": "Deck", "time": {"created": 1_767_000_000_000_u64}}),
    );
    for (id, message, parts) in messages() {
        put(&storage, &format!("message/ses_1/{id}.json"), &message);
        for part in parts {
            put(
                &storage,
                &format!("part/{id}/{}.json", part["id"].as_str().unwrap()),
                &part,
            );
        }
    }
    let path = storage.join("session/p1/ses_1.json");
    assert_eq!(
        recognise(&path, &std::fs::read(&path).unwrap()),
        Some(Format::OpenCode)
    );
    let told = read(Format::OpenCode, "", path.to_str().unwrap());
    assert_eq!(told.texts(), [FIRST, "User:\nGood"]);
    assert_eq!(
        told.conversations()[0].folder.as_deref(),
        Some("/home/mo/boat")
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("test-m"));
    assert_eq!(
        told.pieces()[0].authored_at.as_deref(),
        Some("2025-12-29T09:20:00Z")
    );
    assert_eq!((told.tally.messages, told.tally.filed), (4, 3));
    assert_eq!(companions(Format::OpenCode, &path).len(), 3 + 9);

    let mark = told.marks()[0].clone();
    let mut reader = Reader::resume(Format::OpenCode, &b""[..], &path, &mark);
    assert_eq!(pieces(&mut reader), ["User:\nGood"]);
    std::fs::remove_file(storage.join("message/ses_1/msg_01.json")).unwrap();
    let mut reader = Reader::resume(Format::OpenCode, &b""[..], &path, &mark);
    assert!(matches!(reader.next(), Err(Error::Rewritten { .. })));
}

#[test]
fn an_opencode_database_is_read_session_by_session() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("opencode.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `directory` text NOT NULL, `title` text NOT NULL, `time_created` integer NOT NULL);
         CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
         CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL, `time_created` integer NOT NULL, `data` text NOT NULL);
         INSERT INTO session VALUES ('ses_1', 'p', NULL, '/home/mo/boat', 'Deck', 1767000000000), ('ses_0', 'p', NULL, '/x', 'Empty', 1), ('ses_2', 'p', 'ses_1', '/y', 'Sub', 1767000200000);",
    )
    .unwrap();
    let add = |session: &str, id: &str, message: &Value, parts: &[Value]| {
        let at = message["time"]["created"].as_u64().unwrap().cast_signed();
        db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
            (id, session, at, at, message.to_string()),
        )
        .unwrap();
        for part in parts {
            let part_id = format!("{session}{}", part["id"].as_str().unwrap());
            db.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?)",
                (part_id, id, session, at, part.to_string()),
            )
            .unwrap();
        }
    };
    for (id, message, parts) in messages().into_iter().rev() {
        add("ses_1", id, &message, &parts);
    }
    let (_, message, parts) = &messages()[2];
    add("ses_2", "msg_09", message, parts);
    let told = read(Format::OpenCodeDb, "", path.to_str().unwrap());
    assert_eq!(told.texts(), [FIRST, "User:\nGood", "User:\nGood"]);
    assert_eq!(
        told.conversations()
            .iter()
            .map(|c| c.id.as_str())
            .collect::<Vec<_>>(),
        ["ses_1", "ses_2"]
    );
    let mark: Mark = told.marks()[0].clone();
    assert_eq!(mark.line, 1);
    assert_eq!(
        pieces(&mut Reader::resume(
            Format::OpenCodeDb,
            &b""[..],
            &path,
            &mark
        )),
        ["User:\nGood"]
    );
    db.execute(
        "UPDATE part SET data = '{\"type\":\"text\",\"text\":\"another\"}' WHERE id = 'ses_1prt_1'",
        (),
    )
    .unwrap();
    assert!(matches!(
        Reader::resume(Format::OpenCodeDb, &b""[..], &path, &mark).next(),
        Err(Error::Rewritten { .. })
    ));
}

#[test]
fn a_cursor_database_gives_its_conversations_in_order() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.vscdb");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
         CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);",
    )
    .unwrap();
    let put = |key: &str, value: Value| {
        db.execute(
            "INSERT INTO cursorDiskKV VALUES (?, ?)",
            (key, value.to_string().into_bytes()),
        )
        .unwrap();
    };
    put(
        "bubbleId:c1:b2",
        json!({"_v": 3, "type": 2, "bubbleId": "b2", "text": "", "thinking": {"text": "Hm."}, "createdAt": "2026-01-01T00:00:05.000Z",
        "toolFormerData": {"name": "read_file", "rawArgs": "{\"target\":\"a.rs\"}", "result": "{\"contents\":\"fn a\"}", "status": "completed"}}),
    );
    put(
        "bubbleId:c1:b1",
        json!({"_v": 3, "type": 1, "bubbleId": "b1", "text": "Read a.rs", "images": [{}], "createdAt": "2026-01-01T00:00:01.000Z"}),
    );
    put(
        "bubbleId:c1:b3",
        json!({"_v": 3, "type": 2, "bubbleId": "b3", "text": "It is short.", "modelInfo": {"modelName": "cur-test"}}),
    );
    put(
        "bubbleId:c1:b4",
        json!({"_v": 3, "type": 2, "bubbleId": "b4", "text": ""}),
    );
    put(
        "composerData:c1",
        json!({"_v": 10, "composerId": "c1", "name": "A file", "createdAt": 1_767_225_600_000_u64, "createdOnBranch": "main",
        "fullConversationHeadersOnly": [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}, {"bubbleId": "b3", "type": 2}, {"bubbleId": "b4", "type": 2}]}),
    );
    put(
        "composerData:c0",
        json!({"composerId": "c0", "createdAt": 1_767_000_000_000_u64, "conversation": [{"type": 1, "bubbleId": "x", "text": "Old way"}, {"type": 2, "bubbleId": "y", "text": "Yes"}]}),
    );
    put(
        "composerData:c9",
        json!({"composerId": "c9", "createdAt": 1, "fullConversationHeadersOnly": []}),
    );
    put("other:1", json!({"text": "not talk"}));
    let told = read(Format::Cursor, "", path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "User:\nOld way\n\nAssistant:\nYes",
            "User:\nRead a.rs\n[image]\n\nAssistant (thinking):\nHm.\n\nTool call read_file:\ntarget: a.rs\n\nTool output:\ncontents: fn a\n\nAssistant:\nIt is short."
        ]
    );
    assert_eq!(told.conversations()[1].title.as_deref(), Some("A file"));
    assert_eq!(told.conversations()[1].branch.as_deref(), Some("main"));
    assert_eq!(told.pieces()[1].model.as_deref(), Some("cur-test"));
    assert_eq!(told.skipped("empty message"), 1);
    assert_eq!(
        companions(Format::Cursor, &path),
        [home.path().join("state.vscdb-wal")]
    );
}

#[test]
fn a_database_that_is_none_is_an_error_and_a_damaged_one_is_not() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("state.vscdb");
    assert!(matches!(
        Reader::new(Format::Cursor, &b""[..], &missing).next(),
        Err(Error::Database { .. })
    ));
    std::fs::write(&missing, b"SQLite format 3\0 and then nothing good").unwrap();
    assert!(
        Reader::new(Format::Cursor, &b""[..], &missing)
            .next()
            .unwrap()
            .is_none()
    );
}
