use super::support::read;
use loci_transcripts::{Format, Reader};
use serde_json::{Value, json};

pub(super) fn claude_ai() -> Value {
    json!([
        {"uuid": "c-1", "name": "Knots", "created_at": "2026-01-02T03:04:05.000000Z", "updated_at": "2026-01-02T04:00:00Z", "account": {"uuid": "x"},
         "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "Which knot holds?", "created_at": "2026-01-02T03:04:05.123456Z",
             "content": [{"type": "text", "text": "Which knot holds?"}],
             "attachments": [{"file_name": "list.txt", "file_size": 9, "extracted_content": "bowline\nreef"}], "files": [{"file_name": "knot.png"}]},
            {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2026-01-02T03:04:09Z", "content": [
                {"type": "thinking", "thinking": "A bowline."},
                {"type": "tool_use", "name": "web_search", "input": {"query": "bowline"}},
                {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "It holds."}], "is_error": false},
                {"type": "text", "text": "The bowline."}], "attachments": [], "files": []},
            {"uuid": "m3", "sender": "human", "text": "An old message", "created_at": "2026-01-02T03:05:00Z", "content": []},
         ]},
        {"uuid": "c-2", "name": "", "created_at": "2026-01-03T00:00:00Z", "chat_messages": []},
        {"uuid": "c-3", "name": "Tides", "created_at": "2026-01-04T00:00:00Z", "chat_messages": [
            {"uuid": "m4", "sender": "human", "text": "When is high tide?", "created_at": "2026-01-04T00:00:01Z", "content": null, "attachments": null}]},
    ])
}

#[test]
fn a_claude_ai_export_gives_each_conversation_with_its_messages() {
    let told = read(
        Format::ClaudeAi,
        claude_ai().to_string(),
        "conversations.json",
    );
    assert_eq!(
        told.conversations()
            .iter()
            .map(|c| c.id.as_str())
            .collect::<Vec<_>>(),
        ["c-1", "c-3"]
    );
    assert_eq!(told.conversations()[0].title.as_deref(), Some("Knots"));
    assert_eq!(
        told.texts(),
        [
            "User:\nWhich knot holds?\n\nAttachment list.txt:\nbowline\nreef\n\nUser:\n[file knot.png]\n\nAssistant (thinking):\nA bowline.\n\n\
             Tool call web_search:\nquery: bowline\n\nTool output:\nIt holds.\n\nAssistant:\nThe bowline.",
            "User:\nAn old message",
            "User:\nWhen is high tide?",
        ]
    );
    let pieces = told.pieces();
    assert_eq!((pieces[0].start_line, pieces[0].end_line), (1, 2));
    assert_eq!((pieces[1].start_line, pieces[1].exchange), (3, 2));
    assert_eq!((pieces[2].start_line, pieces[2].exchange), (1, 1));
    assert_eq!(
        pieces[0].authored_at.as_deref(),
        Some("2026-01-02T03:04:05.123456Z")
    );
    assert_eq!(
        (told.tally.messages, told.tally.filed, told.skipped("file")),
        (5, 4, 1)
    );
}

fn node(
    id: &str,
    parent: Option<&str>,
    children: &[&str],
    role: &str,
    text: &str,
    time: f64,
) -> (String, Value) {
    let message = json!({"id": id, "author": {"role": role, "name": null}, "create_time": time, "recipient": "all",
        "content": {"content_type": "text", "parts": [text]}, "metadata": {"model_slug": "gpt-test"}});
    (
        id.to_owned(),
        json!({"id": id, "message": message, "parent": parent, "children": children}),
    )
}

pub(super) fn chatgpt() -> Value {
    let mut mapping: serde_json::Map<String, Value> = [
        node(
            "u1",
            Some("root"),
            &["a1", "a2"],
            "user",
            "Name a star",
            1_767_000_001.0,
        ),
        node("a1", Some("u1"), &[], "assistant", "Vega", 1_767_000_002.0),
        node(
            "a2",
            Some("u1"),
            &["u2", "u3"],
            "assistant",
            "Sirius",
            1_767_000_003.0,
        ),
        node(
            "u2",
            Some("a2"),
            &["a3"],
            "user",
            "How far is it?",
            1_767_000_004.0,
        ),
        node("a3", Some("u2"), &[], "assistant", "Near.", 1_767_000_005.0),
        node(
            "u3",
            Some("a2"),
            &["t1"],
            "user",
            "How bright is it?",
            1_767_000_006.0,
        ),
    ]
    .into_iter()
    .collect();
    mapping.insert(
        "root".into(),
        json!({"id": "root", "message": null, "parent": null, "children": ["u1"]}),
    );
    mapping.insert("t1".into(), json!({"id": "t1", "parent": "u3", "children": ["t2"], "message": {"author": {"role": "assistant"},
        "create_time": null, "recipient": "python", "content": {"content_type": "code", "language": "python", "text": "print(1)"}}}));
    mapping.insert("t2".into(), json!({"id": "t2", "parent": "t1", "children": ["a4"], "message": {"author": {"role": "tool", "name": "python"},
        "recipient": "all", "content": {"content_type": "execution_output", "text": "1"}}}));
    mapping.insert("a4".into(), json!({"id": "a4", "parent": "t2", "children": [], "message": {"author": {"role": "assistant"}, "recipient": "all",
        "content": {"content_type": "multimodal_text", "parts": ["Very.", {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}]}}}));
    json!([
        {"title": "Stars", "create_time": 1_767_000_000.5, "update_time": 1.0, "mapping": mapping, "current_node": "a4", "conversation_id": "g-1", "id": "g-1"},
        {"title": "Empty", "create_time": null, "mapping": {}, "current_node": null, "id": "g-2"},
    ])
}

#[test]
fn a_chatgpt_tree_gives_the_current_path_and_then_its_branches() {
    let told = read(Format::ChatGpt, chatgpt().to_string(), "conversations.json");
    assert_eq!(
        told.texts(),
        [
            "User:\nName a star\n\nAssistant:\nSirius",
            "User:\nHow bright is it?\n\nTool call python:\nprint(1)\n\nTool output:\n1\n\nAssistant:\nVery.\n[image]",
            "Assistant (other branch):\nVega",
            "User (other branch):\nHow far is it?\n\nAssistant (other branch):\nNear.",
        ]
    );
    assert_eq!(told.conversations().len(), 1);
    assert_eq!(
        told.conversations()[0].started_at.as_deref(),
        Some("2025-12-29T09:20:00.5Z")
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("gpt-test"));
    assert_eq!((told.tally.filed, told.skipped("image")), (9, 1));
}

#[test]
fn a_tree_with_a_loop_or_without_a_current_node_ends() {
    let mut chats = chatgpt();
    chats[0]["mapping"]["root"]["parent"] = json!("a4");
    chats[0]["mapping"]["a4"]["children"] = json!(["root", "a4", "nowhere"]);
    for current in ["a4", "gone", "root"] {
        chats[0]["current_node"] = json!(current);
        let told = read(Format::ChatGpt, chats.to_string(), "conversations.json");
        assert_eq!(told.tally.filed, 9, "{current}");
    }
}

pub(super) fn slack() -> Value {
    json!([
        {"type": "message", "user": "U1", "text": "Who has the oars?", "ts": "1767000000.000100"},
        {"type": "message", "user": "U2", "text": "I do", "ts": "1767000060.000200", "thread_ts": "1767000000.000100"},
        {"type": "message", "subtype": "bot_message", "username": "weather", "text": "", "ts": "1767000070.000200",
         "attachments": [{"title": "Wind", "text": "Strong from the west", "fallback": "Wind: strong"}]},
        {"type": "message", "user": "U3", "user_profile": {"real_name": "Ida Holm"}, "text": "Lunch?", "ts": "1767009000.000300",
         "files": [{"id": "F1", "name": "menu.pdf"}]},
    ])
}

#[test]
fn a_day_of_a_slack_channel_is_cut_where_nobody_spoke() {
    let export = tempfile::tempdir().unwrap();
    std::fs::create_dir(export.path().join("general")).unwrap();
    let users = json!([{"id": "U1", "name": "bo", "profile": {"display_name": "Bo", "real_name": "Bo Lind"}}, {"id": "U2", "name": "eva", "profile": {}}]);
    std::fs::write(export.path().join("users.json"), users.to_string()).unwrap();
    let path = export.path().join("general/2025-12-29.json");
    let told = read(Format::Slack, slack().to_string(), path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "Bo:\nWho has the oars?\n\neva (in thread):\nI do\n\nweather:\nWind\n\nweather:\nStrong from the west",
            "Ida Holm:\nLunch?\n[file menu.pdf]"
        ]
    );
    assert_eq!(told.pieces()[0].speakers, ["Bo", "eva", "weather"]);
    assert_eq!(told.conversations()[0].id, "general/2025-12-29");
    assert_eq!(
        loci_transcripts::companions(Format::Slack, &path),
        [export.path().join("users.json")]
    );
}

#[test]
fn an_export_is_read_one_conversation_at_a_time() {
    // An endless array. Reading it must return pieces without reaching the end.
    struct Endless {
        element: Vec<u8>,
        at: usize,
    }
    impl std::io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let rest = &self.element[self.at..];
            let length = rest.len().min(out.len());
            out[..length].copy_from_slice(&rest[..length]);
            self.at = if self.at + length == self.element.len() {
                1
            } else {
                self.at + length
            };
            Ok(length)
        }
    }
    let element = format!("[{},", claude_ai()[0]).into_bytes();
    let input = std::io::BufReader::new(Endless { element, at: 0 });
    let mut reader = Reader::new(Format::ClaudeAi, input, "conversations.json".as_ref());
    for _ in 0..1_000 {
        assert!(reader.next().unwrap().is_some());
    }
}
