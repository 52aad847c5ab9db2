use super::support::{lines, read};
use loci_transcripts::Format;
use serde_json::{Value, json};

fn answer() -> Value {
    json!({"id": "g1", "timestamp": "2026-02-03T04:05:07.000Z", "type": "gemini", "model": "gemini-test", "content": "It floats.",
        "thoughts": [{"subject": "Buoyancy", "description": "Think of water.", "timestamp": "2026-02-03T04:05:06Z"}],
        "toolCalls": [{"id": "t1", "name": "read_file", "args": {"path": "boat.md"}, "status": "success",
            "result": [{"functionResponse": {"id": "t1", "name": "read_file", "response": {"output": "# Boat\nfloats"}}}]}]})
}

/// As the program writes it: the facts of the session come before its messages.
pub(super) fn session_text() -> String {
    let session = session();
    format!(
        r#"{{"sessionId":{},"projectHash":"abc","startTime":{},"messages":{},"summary":{}}}"#,
        session["sessionId"], session["startTime"], session["messages"], session["summary"]
    )
}

pub(super) fn session() -> Value {
    json!({"sessionId": "gem-1", "projectHash": "abc", "startTime": "2026-02-03T04:05:06.000Z", "lastUpdated": "2026-02-03T05:00:00Z",
        "messages": [
            {"id": "u1", "timestamp": "2026-02-03T04:05:06.000Z", "type": "user", "content": "Does it float?"},
            answer(),
            {"id": "i1", "timestamp": "2026-02-03T04:05:08Z", "type": "info", "content": "Update available."},
            {"id": "u2", "timestamp": "2026-02-03T04:06:00Z", "type": "user", "content": [{"text": "And this?"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]}],
        "summary": "On floating"})
}

const FIRST: &str = "User:\nDoes it float?\n\nAssistant (thinking):\nBuoyancy\nThink of water.\n\nAssistant:\nIt floats.\n\n\
                     Tool call read_file:\npath: boat.md\n\nTool output:\n# Boat\nfloats\n\nInfo:\nUpdate available.";

#[test]
fn a_session_in_one_object_is_read_message_by_message() {
    let told = read(Format::GeminiCli, session_text(), "session-2026.json");
    assert_eq!(told.texts(), [FIRST, "User:\nAnd this?\n[image]"]);
    assert_eq!(told.conversations()[0].id, "gem-1");
    assert_eq!(told.conversation.title.as_deref(), Some("On floating"));
    assert_eq!(told.pieces()[0].model.as_deref(), Some("gemini-test"));
    assert_eq!((told.tally.messages, told.tally.filed), (5, 4));
}

#[test]
fn a_message_written_anew_is_filed_once_in_its_last_form() {
    let mut early = answer();
    early["content"] = json!("");
    early["toolCalls"][0]["status"] = json!("executing");
    early["toolCalls"][0]["result"] = Value::Null;
    let records = [
        json!({"sessionId": "gem-2", "projectHash": "abc", "startTime": "2026-02-03T04:05:06Z", "kind": "main", "directories": ["/home/mo/boat"]}),
        json!({"$set": {"messages": [{"id": "s0", "type": "user", "content": [{"text": "<session_context>\nToday is Tuesday."}]}]}}),
        session()["messages"][0].clone(),
        early,
        json!({"id": "r1", "type": "user", "content": [{"functionResponse": {"name": "read_file", "response": {"output": "seen"}}}]}),
        answer(),
        session()["messages"][2].clone(),
        json!({"$rewindTo": "u1"}),
        session()["messages"][3].clone(),
    ];
    let told = read(Format::GeminiLog, lines(&records), "session-2026.jsonl");
    assert_eq!(
        told.texts(),
        [
            "Context:\n<session_context>\nToday is Tuesday.".to_owned(),
            FIRST.replace("\n\nInfo:", "\n\nTool output:\nseen\n\nInfo:"),
            "User:\nAnd this?\n[image]".to_owned()
        ]
    );
    assert_eq!(told.skipped("rewritten record"), 1);
    assert_eq!(told.skipped("record `$rewindTo`"), 1);
    assert_eq!(
        told.conversations()[0].folder.as_deref(),
        Some("/home/mo/boat")
    );
    assert_eq!(told.pieces()[1].start_line, 3);
}

pub(super) fn prompts() -> Value {
    let prompt = |session: &str, n: u32, text: &str| json!({"sessionId": session, "messageId": n, "type": "user", "message": text, "timestamp": format!("2026-02-03T04:05:{n:02}Z")});
    json!([
        prompt("a", 0, "one"),
        prompt("a", 1, "two"),
        prompt("b", 0, "three"),
        prompt("b", 1, "four")
    ])
}

#[test]
fn the_prompts_of_each_session_are_a_conversation() {
    let told = read(Format::GeminiPrompts, prompts().to_string(), "logs.json");
    assert_eq!(
        told.conversations()
            .iter()
            .map(|c| c.id.as_str())
            .collect::<Vec<_>>(),
        ["logs/a", "logs/b"]
    );
    assert_eq!(
        told.texts(),
        ["User:\none", "User:\ntwo", "User:\nthree", "User:\nfour"]
    );
    assert_eq!(
        told.pieces()
            .iter()
            .map(|piece| piece.exchange)
            .collect::<Vec<_>>(),
        [1, 2, 1, 2]
    );
}

#[test]
fn a_continue_session_is_read_entry_by_entry() {
    let session = json!({"sessionId": "con-1", "title": "Ropes", "workspaceDirectory": "/home/mo/boat", "history": [
        {"message": {"role": "user", "content": [{"type": "text", "text": "Which rope?"}]}, "contextItems": [{"name": "rope.md", "content": "hemp"}]},
        {"message": {"role": "assistant", "content": "Hemp.", "toolCalls": [{"function": {"name": "read", "arguments": "{\"path\":\"rope.md\"}"}}]}},
        {"message": {"role": "tool", "content": "hemp"}}]});
    let told = read(Format::Continue, session.to_string(), "con-1.json");
    assert_eq!(
        told.texts(),
        [
            "User:\nWhich rope?\n\nContext rope.md:\nhemp\n\nAssistant:\nHemp.\n\nTool call read:\npath: rope.md\n\nTool output:\nhemp"
        ]
    );
    assert_eq!(told.conversations()[0].title.as_deref(), Some("Ropes"));
    assert_eq!(
        told.conversations()[0].folder.as_deref(),
        Some("/home/mo/boat")
    );
}
