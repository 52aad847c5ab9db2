//! Databases of agents, with the tables that their programs create.

use super::support::read;
use loci_transcripts::{Event, Format, Mark, Reader, companions, recognise};
use rusqlite::Connection;
use serde_json::json;
use std::path::Path;

#[test]
fn a_crush_database_gives_its_sessions_in_order() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("crush.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE IF NOT EXISTS sessions (
             id TEXT PRIMARY KEY,
             parent_session_id TEXT,
             title TEXT NOT NULL,
             message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
             prompt_tokens  INTEGER NOT NULL DEFAULT 0 CHECK (prompt_tokens >= 0),
             completion_tokens  INTEGER NOT NULL DEFAULT 0 CHECK (completion_tokens>= 0),
             cost REAL NOT NULL DEFAULT 0.0 CHECK (cost >= 0.0),
             updated_at INTEGER NOT NULL,  -- Unix timestamp in milliseconds
             created_at INTEGER NOT NULL   -- Unix timestamp in milliseconds
         );
         CREATE TABLE IF NOT EXISTS messages (
             id TEXT PRIMARY KEY,
             session_id TEXT NOT NULL,
             role TEXT NOT NULL,
             parts TEXT NOT NULL default '[]',
             model TEXT,
             created_at INTEGER NOT NULL,  -- Unix timestamp in milliseconds
             updated_at INTEGER NOT NULL,  -- Unix timestamp in milliseconds
             finished_at INTEGER,  -- Unix timestamp in milliseconds
             FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
         );
         ALTER TABLE sessions ADD COLUMN summary_message_id TEXT;
         INSERT INTO sessions (id, title, updated_at, created_at) VALUES ('s2', 'Later', 1767000200, 1767000200), ('s1', 'Tiller', 1767000000, 1767000000), ('s0', 'Empty', 1, 1);
         INSERT INTO messages (id, session_id, role, parts, created_at, updated_at) VALUES ('z', 's1', 'user', '[{\"type\":\"text\",\"data\":{\"text\":\"Fix the tiller\"}}]', 1767000000, 1767000000);
         ALTER TABLE messages ADD COLUMN provider TEXT;
         ALTER TABLE messages ADD COLUMN is_summary_message INTEGER DEFAULT 0 NOT NULL;",
    )
    .unwrap();
    let add = |id: &str, session: &str, role: &str, parts: serde_json::Value, summary: bool| {
        db.execute(
            "INSERT INTO messages (id, session_id, role, parts, model, provider, is_summary_message, created_at, updated_at) VALUES (?, ?, ?, ?, 'crush-test', 'p', ?, 1767000001, 1767000001)",
            (id, session, role, parts.to_string(), summary),
        )
        .unwrap();
    };
    let part = |kind: &str, data: serde_json::Value| json!({"type": kind, "data": data});
    add(
        "y",
        "s1",
        "assistant",
        json!([
            part(
                "reasoning",
                json!({"thinking": "Loose bolt.", "signature": "", "started_at": 1})
            ),
            part("text", json!({"text": "I tighten it."})),
            part(
                "tool_call",
                json!({"id": "c", "name": "bash", "input": "{\"command\":\"turn\"}", "provider_executed": false, "finished": true})
            ),
            part(
                "finish",
                json!({"reason": "tool_use", "time": 1_767_000_001})
            ),
        ]),
        false,
    );
    add(
        "x",
        "s1",
        "tool",
        json!([part(
            "tool_result",
            json!({"tool_call_id": "c", "name": "bash", "content": "rusty", "data": "", "mime_type": "", "metadata": "", "is_error": true})
        )]),
        false,
    );
    add(
        "w",
        "s1",
        "assistant",
        json!([part("text", json!({"text": "The tiller is rusty."}))]),
        true,
    );
    add(
        "v",
        "s2",
        "user",
        json!([
            part("text", json!({"text": "Look"})),
            part(
                "binary",
                json!({"Path": "tiller.png", "MIMEType": "image/png", "Data": "AA"})
            ),
            part(
                "shell_command",
                json!({"command": "ls", "output": "tiller", "exit_code": 0})
            ),
        ]),
        false,
    );
    assert_eq!(
        recognise(&path, &std::fs::read(&path).unwrap()),
        Some(Format::Crush)
    );
    let told = read(Format::Crush, "", path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "User:\nFix the tiller\n\nAssistant (thinking):\nLoose bolt.\n\nAssistant:\nI tighten it.\n\nTool call bash:\ncommand: turn\n\n\
             Tool output (error):\nrusty\n\nSummary of the conversation so far:\nThe tiller is rusty.",
            "User:\nLook\n[file tiller.png]\n\nTool call shell:\nls\n\nTool output:\ntiller",
        ]
    );
    let about = told.conversations()[0];
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("s1", Some("Tiller"))
    );
    assert_eq!(about.started_at.as_deref(), Some("2025-12-29T09:20:00Z"));
    assert_eq!(told.pieces()[0].model.as_deref(), Some("crush-test"));
    assert_eq!(
        told.pieces()[0].authored_at.as_deref(),
        Some("2025-12-29T09:20:00Z")
    );
    assert_eq!(
        companions(Format::Crush, &path),
        [home.path().join("crush.db-wal")]
    );
    let mark: Mark = told.marks()[0].clone();
    let mut rest = Reader::resume(Format::Crush, &b""[..], &path, &mark);
    let next = rest.next().unwrap();
    assert!(matches!(next, Some(Event::Conversation(about)) if about.id == "s2"));
}

#[test]
fn a_goose_database_gives_its_sessions_in_order() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("goose/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sessions.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE sessions (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL DEFAULT '',
                description TEXT NOT NULL DEFAULT '',
                user_set_name BOOLEAN DEFAULT FALSE,
                session_type TEXT NOT NULL DEFAULT 'user',
                working_dir TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                extension_data TEXT DEFAULT '{}'
            );
         CREATE TABLE messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                message_id TEXT,
                session_id TEXT NOT NULL REFERENCES sessions(id),
                role TEXT NOT NULL,
                content_json TEXT NOT NULL,
                created_timestamp INTEGER NOT NULL,
                timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                tokens INTEGER,
                metadata_json TEXT
            );
         INSERT INTO sessions (id, name, working_dir, created_at) VALUES ('20251229_1', 'Net', '/home/mo/boat', '2025-12-29 09:20:00'), ('20250101_1', '', '/x', '2025-01-01 00:00:00');
         INSERT INTO sessions (id, description, working_dir, created_at) VALUES ('20251230_1', 'An old title', '/y', '2025-12-30 00:00:00');",
    )
    .unwrap();
    let add = |session: &str, role: &str, at: i64, content: serde_json::Value, visible: bool| {
        let metadata = json!({"userVisible": visible, "agentVisible": true}).to_string();
        db.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES ('m', ?, ?, ?, ?, ?)",
            (session, role, content.to_string(), at, metadata),
        )
        .unwrap();
    };
    let first = "20251229_1";
    add(
        first,
        "user",
        1_767_000_000,
        json!([{"type": "text", "text": "Mend the net"}, {"type": "image", "data": "AA", "mimeType": "image/png"}]),
        true,
    );
    add(
        first,
        "assistant",
        1_767_000_001,
        json!([{"type": "thinking", "thinking": "A hole.", "signature": ""}, {"type": "text", "text": "I sew."},
            {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "sew"}}}}]),
        true,
    );
    add(
        first,
        "user",
        1_767_000_001,
        json!([{"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "sewn"}], "isError": false}}},
            {"type": "toolResponse", "id": "d", "toolResult": {"status": "error", "error": "no thread"}}]),
        true,
    );
    add(
        first,
        "user",
        1_767_000_002,
        json!([{"type": "text", "text": "Only for the model"}]),
        false,
    );
    add(
        "20251230_1",
        "user",
        1_767_100_000,
        json!([{"type": "text", "text": "Again"}]),
        true,
    );
    assert_eq!(
        recognise(&path, &std::fs::read(&path).unwrap()),
        Some(Format::Goose)
    );
    let told = read(Format::Goose, "", path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "User:\nMend the net\n[image]\n\nAssistant (thinking):\nA hole.\n\nAssistant:\nI sew.\n\nTool call developer__shell:\ncommand: sew\n\n\
             Tool output:\nsewn\n\nTool output (error):\nno thread\n\nContext:\nOnly for the model",
            "User:\nAgain",
        ]
    );
    assert_eq!(
        told.pieces()[0].speakers,
        ["user", "assistant", "tool", "system"]
    );
    let about = told.conversations();
    assert_eq!(about[0].title.as_deref(), Some("Net"));
    assert_eq!(about[0].folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about[0].started_at.as_deref(), Some("2025-12-29T09:20:00Z"));
    assert_eq!(about[1].title.as_deref(), Some("An old title"));
}

#[test]
fn a_kilo_code_database_is_read_like_that_of_opencode() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("kilo.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        r#"CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `slug` text NOT NULL, `directory` text NOT NULL, `title` text NOT NULL, `version` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL);
           CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
           CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
           INSERT INTO session VALUES ('ses_1', 'p', NULL, 's', '/home/mo/boat', 'Keel', 'v', 1767000000000, 1);
           INSERT INTO message VALUES ('msg_1', 'ses_1', 1767000000000, 1, '{"role":"user"}');
           INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1, 1, '{"type":"text","text":"Scrape the keel"}');"#,
    )
    .unwrap();
    assert_eq!(
        recognise(&path, b"SQLite format 3\0"),
        Some(Format::KiloCodeDb)
    );
    let told = read(Format::KiloCodeDb, "", path.to_str().unwrap());
    assert_eq!(told.texts(), ["User:\nScrape the keel"]);
    assert_eq!(told.conversations()[0].title.as_deref(), Some("Keel"));
}

#[test]
fn a_damaged_database_of_an_agent_is_no_error() {
    let home = tempfile::tempdir().unwrap();
    for (format, name) in [
        (Format::Crush, "crush.db"),
        (Format::Goose, "sessions.db"),
        (Format::KiloCodeDb, "kilo.db"),
    ] {
        let path = home.path().join(name);
        std::fs::write(&path, b"SQLite format 3\0 and then nothing good").unwrap();
        let mut reader = Reader::new(format, &b""[..], &path);
        assert!(reader.next().unwrap().is_none(), "{format:?}");
    }
}

#[test]
fn databases_of_other_programs_are_not_claimed() {
    for path in ["sessions.db", "x/data.db", "crush.sqlite", "kilometres.db"] {
        let found = recognise(Path::new(path), b"SQLite format 3\0");
        assert_eq!(found, None, "{path}");
    }
}
