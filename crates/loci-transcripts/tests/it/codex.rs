use super::support::{lines, read};
use loci_transcripts::Format;
use serde_json::{Value, json};

const PATH: &str = "/home/mo/.codex/sessions/2026/03/04/rollout-2026-03-04T05-06-07-0198.jsonl";

fn record(n: u32, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-03-04T05:06:{n:02}.000Z"), "type": kind, "payload": payload})
}

fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

#[test]
fn a_rollout_is_read_and_nothing_is_filed_twice() {
    let records = [
        record(
            0,
            "session_meta",
            json!({"id": "0198-a", "timestamp": "2026-03-04T05:06:00Z", "cwd": "/home/mo/boat", "originator": "cli",
            "cli_version": "0.80", "instructions": "Be brief.", "git": {"commit_hash": "abc", "branch": "keel"}}),
        ),
        record(
            1,
            "response_item",
            message("developer", "<permissions instructions>ask first"),
        ),
        record(
            2,
            "response_item",
            message("user", "<environment_context>\n<cwd>/home/mo/boat</cwd>"),
        ),
        record(3, "response_item", message("user", "Count the planks")),
        record(
            3,
            "event_msg",
            json!({"type": "user_message", "message": "Count the planks", "images": []}),
        ),
        record(
            4,
            "turn_context",
            json!({"cwd": "/home/mo/boat", "model": "gpt-test", "effort": "high"}),
        ),
        record(
            5,
            "event_msg",
            json!({"type": "agent_reasoning", "text": "**Counting**"}),
        ),
        record(
            5,
            "response_item",
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Counting**"}], "content": null,
            "encrypted_content": "gAAAA"}),
        ),
        record(
            6,
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\",\"-l\"],\"workdir\":\"/home/mo\"}", "call_id": "c1"}),
        ),
        record(
            7,
            "response_item",
            json!({"type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"plank 1\\nplank 2\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}),
        ),
        record(
            8,
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch", "call_id": "c2", "status": "completed"}),
        ),
        record(
            9,
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "{\"output\":\"refused\",\"metadata\":{\"exit_code\":1}}"}),
        ),
        record(
            10,
            "event_msg",
            json!({"type": "token_count", "info": null}),
        ),
        record(
            11,
            "event_msg",
            json!({"type": "agent_message", "message": "Two planks."}),
        ),
        record(11, "response_item", message("assistant", "Two planks.")),
        record(
            12,
            "compacted",
            json!({"message": "They counted planks.", "replacement_history": []}),
        ),
        record(
            13,
            "event_msg",
            json!({"type": "user_message", "message": "Thanks"}),
        ),
        record(13, "response_item", message("user", "Thanks")),
    ];
    let told = read(Format::Codex, lines(&records), PATH);
    assert_eq!(
        told.texts(),
        [
            "System:\nBe brief.\n\nDeveloper:\n<permissions instructions>ask first\n\nContext:\n<environment_context>\n<cwd>/home/mo/boat</cwd>",
            "User:\nCount the planks\n\nAssistant (thinking):\n**Counting**\n\nTool call shell:\ncommand: [\"ls\",\"-l\"]\nworkdir: /home/mo\n\n\
             Tool output:\nplank 1\nplank 2\n\nTool call apply_patch:\n*** Begin Patch\n*** End Patch\n\nTool output (error):\nrefused\n\n\
             Assistant:\nTwo planks.\n\nSummary of the conversation so far:\nThey counted planks.",
            "User:\nThanks",
        ]
    );
    assert_eq!(told.skipped("said twice"), 4);
    assert_eq!(told.skipped("event `token_count`"), 1);
    assert_eq!(told.pieces()[1].model.as_deref(), Some("gpt-test"));
    assert_eq!(told.pieces()[1].tools, ["shell", "apply_patch"]);
    let conversation = told.conversations()[0];
    assert_eq!(conversation.id, "0198-a");
    assert_eq!(conversation.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(conversation.branch.as_deref(), Some("keel"));
}

#[test]
fn the_same_words_said_again_later_are_filed_again() {
    let records = [
        record(1, "response_item", message("user", "go on")),
        record(
            1,
            "event_msg",
            json!({"type": "user_message", "message": "go on"}),
        ),
        record(2, "response_item", message("user", "go on")),
        record(
            2,
            "event_msg",
            json!({"type": "user_message", "message": "go on"}),
        ),
    ];
    let told = read(Format::Codex, lines(&records), PATH);
    assert_eq!(told.texts(), ["User:\ngo on", "User:\ngo on"]);
    assert_eq!(told.skipped("said twice"), 2);
}

#[test]
fn an_old_rollout_has_bare_items() {
    let records = [
        json!({"id": "old-1", "timestamp": "2025-06-01T10:00:00Z", "instructions": null, "git": {"branch": "main"}}),
        message("user", "Hello"),
        json!({"record_type": "state"}),
        json!({"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "function_call_output", "call_id": "c", "output": {"content": "a file", "success": false}}),
        message("assistant", "Hi"),
    ];
    let told = read(Format::Codex, lines(&records), PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nHello\n\nTool call local_shell:\ncommand: [\"ls\"]\ntype: exec\n\nTool output (error):\na file\n\nAssistant:\nHi"
        ]
    );
    assert_eq!(told.conversations()[0].id, "old-1");
    assert_eq!(told.skipped("record type `state`"), 1);
    assert_eq!(told.skipped("record type `session`"), 1);
}

#[test]
fn reasoning_that_cannot_be_read_is_counted() {
    let item = json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"});
    let told = read(
        Format::Codex,
        lines(&[record(1, "response_item", item)]),
        PATH,
    );
    assert_eq!(told.skipped("encrypted reasoning"), 1);
}

#[test]
fn a_picture_in_a_prompt_is_counted() {
    let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": "data:..."}]});
    let told = read(
        Format::Codex,
        lines(&[record(1, "response_item", item)]),
        PATH,
    );
    assert_eq!(told.texts(), ["User:\nLook\n[image]"]);
    assert_eq!(told.skipped("image"), 1);
}
