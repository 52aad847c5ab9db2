//! Sessions of agents, each in the form that its program writes.

use super::support::{ReadSource, lines, read};
use loci_transcripts::Format;
use serde_json::{Value, json};

/// One file of each format: the format, its path, and its text.
pub(super) fn fixtures() -> Vec<(Format, &'static str, String)> {
    vec![
        (Format::QwenCode, QWEN_PATH, qwen()),
        (Format::KimiCli, KIMI_PATH, kimi()),
        (Format::CopilotCli, COPILOT_CLI_PATH, copilot_cli()),
        (Format::CopilotChat, COPILOT_CHAT_PATH, copilot_chat()),
        (Format::CopilotChatLog, COPILOT_LOG_PATH, copilot_chat_log()),
        (Format::Factory, FACTORY_PATH, factory()),
        (Format::Pi, PI_PATH, pi()),
        (Format::OpenClaw, OPENCLAW_PATH, pi()),
        (Format::MistralVibe, VIBE_PATH, vibe()),
        (Format::Amp, AMP_PATH, amp()),
        (Format::Cline, CLINE_PATH, cline().to_string()),
        (Format::ClineSession, CLINE_SESSION_PATH, cline_session()),
        (Format::RooCode, ROO_PATH, roo().to_string()),
        (Format::KiloCode, KILO_PATH, roo().to_string()),
    ]
}

fn speakers(told: &ReadSource) -> Vec<&str> {
    let pieces = told.pieces();
    let speakers = pieces.iter().flat_map(|piece| &piece.speakers);
    speakers.map(String::as_str).collect()
}

const QWEN_PATH: &str = "/home/mo/.qwen/projects/-home-mo-boat/chats/0198-q.jsonl";

fn qwen() -> String {
    let record = |n: u32, kind: &str, rest: Value| {
        let mut record = json!({"uuid": format!("q{n}"), "parentUuid": null, "sessionId": "0198-q", "timestamp": format!("2026-05-06T07:08:{n:02}.000Z"),
            "type": kind, "cwd": "/home/mo/boat", "version": "0.15.0", "gitBranch": "keel"});
        record
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        record
    };
    lines(&[
        record(
            0,
            "system",
            json!({"subtype": "session_source", "systemPayload": {"sourceType": "cli"}}),
        ),
        record(
            1,
            "user",
            json!({"message": {"role": "user", "parts": [{"text": "<system-reminder>\nToday is Tuesday.\n</system-reminder>"}, {"text": "Paint the hull"}]}}),
        ),
        record(
            2,
            "assistant",
            json!({"model": "qwen-test", "message": {"role": "model", "parts": [{"text": "Which colour?", "thought": true}, {"text": "I look first."},
                {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "hull.md"}}}]}, "usageMetadata": {"totalTokenCount": 9}}),
        ),
        record(
            3,
            "tool_result",
            json!({"message": {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "red"}}}]},
                "toolCallResult": {"callId": "c1", "status": "success", "resultDisplay": "1 line"}}),
        ),
        record(
            4,
            "system",
            json!({"subtype": "custom_title", "systemPayload": {"customTitle": "Hull", "titleSource": "auto"}}),
        ),
        record(
            5,
            "user",
            json!({"subtype": "notification", "message": {"role": "user", "parts": [{"text": "A task ended."}]}, "systemPayload": {"displayText": "ended"}}),
        ),
        record(
            6,
            "user",
            json!({"subtype": "mid_turn_user_message", "message": {"role": "user", "parts": [{"text": "Make it red"}]}, "systemPayload": {"displayText": "Make it red"}}),
        ),
    ])
}

#[test]
fn a_qwen_code_session_is_read_and_not_taken_for_claude_code() {
    let told = read(Format::QwenCode, qwen(), QWEN_PATH);
    assert_eq!(
        told.texts(),
        [
            "Context:\n<system-reminder>\nToday is Tuesday.\n</system-reminder>\n\nUser:\nPaint the hull\n\nAssistant (thinking):\nWhich colour?\n\n\
             Assistant:\nI look first.\n\nTool call read_file:\npath: hull.md\n\nTool output:\nred\n\nContext:\nA task ended.",
            "User:\nMake it red",
        ]
    );
    assert_eq!(
        speakers(&told),
        ["user", "assistant", "tool", "system", "user"]
    );
    assert_eq!(told.skipped("record type `system`, `custom_title`"), 1);
    assert_eq!(told.pieces()[0].model.as_deref(), Some("qwen-test"));
    assert_eq!(
        told.pieces()[1].authored_at.as_deref(),
        Some("2026-05-06T07:08:06.000Z")
    );
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("0198-q", Some("Hull"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about.branch.as_deref(), Some("keel"));
}

const KIMI_PATH: &str = "/home/mo/.kimi/sessions/0a1b/kimi-1/wire.jsonl";

fn kimi() -> String {
    let record = |n: u32, kind: &str, payload: Value| json!({"timestamp": 1_767_000_000.5 + f64::from(n), "message": {"type": kind, "payload": payload}});
    lines(&[
        json!({"type": "metadata", "protocol_version": "1.3"}),
        record(0, "TurnBegin", json!({"user_input": "Check the rope"})),
        record(1, "StepBegin", json!({"n": 1})),
        record(
            2,
            "ContentPart",
            json!({"type": "think", "think": "Ropes fray.", "encrypted": null}),
        ),
        record(
            3,
            "ContentPart",
            json!({"type": "text", "text": "I look at it."}),
        ),
        record(
            4,
            "ToolCall",
            json!({"type": "function", "id": "c1", "function": {"name": "Shell", "arguments": "{\"command\":\"cat rope\"}"}, "extras": null}),
        ),
        record(
            5,
            "SubagentEvent",
            json!({"parent_tool_call_id": "c1", "agent_id": "a", "subagent_type": "coder", "event": {"type": "TurnEnd", "payload": {}}}),
        ),
        record(
            6,
            "ToolResult",
            json!({"tool_call_id": "c1", "return_value": {"is_error": true, "output": "frayed\n", "message": "Exit code 1.", "display": [], "extras": null}}),
        ),
        record(
            7,
            "SteerInput",
            json!({"user_input": [{"type": "text", "text": "Splice it"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "id": null}}]}),
        ),
        record(8, "TurnEnd", json!({})),
    ])
}

#[test]
fn a_kimi_cli_session_is_read_from_its_wire_log() {
    let told = read(Format::KimiCli, kimi(), KIMI_PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nCheck the rope\n\nAssistant (thinking):\nRopes fray.\n\nAssistant:\nI look at it.\n\nTool call Shell:\ncommand: cat rope\n\n\
             Tool output (error):\nfrayed\n\nTool output (error):\nExit code 1.",
            "User:\nSplice it\n[image]",
        ]
    );
    assert_eq!(speakers(&told), ["user", "assistant", "tool", "user"]);
    assert_eq!(told.conversation.id, "kimi-1");
    assert_eq!(
        told.pieces()[0].authored_at.as_deref(),
        Some("2025-12-29T09:20:00.5Z")
    );
    for kind in ["metadata", "StepBegin", "SubagentEvent", "TurnEnd"] {
        assert_eq!(told.skipped(&format!("record type `{kind}`")), 1, "{kind}");
    }
}

const COPILOT_CLI_PATH: &str = "/home/mo/.copilot/session-state/cop-1/events.jsonl";

fn copilot_cli() -> String {
    let event = |n: u32, kind: &str, data: Value| json!({"type": kind, "data": data, "id": format!("e{n}"), "timestamp": format!("2026-03-26T17:50:{n:02}.000Z"), "parentId": null});
    lines(&[
        event(
            0,
            "session.start",
            json!({"sessionId": "cop-1", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.77", "startTime": "2026-03-26T17:50:00.000Z",
                "selectedModel": "m", "context": {"cwd": "/home/mo/boat", "gitRoot": "/home/mo/boat", "branch": "keel"}}),
        ),
        event(
            1,
            "user.message",
            json!({"content": "List the sails", "transformedContent": "<now>\nList the sails", "interactionId": "i",
                "attachments": [{"type": "file", "path": "/home/mo/boat/sails.md", "displayName": "sails.md"}]}),
        ),
        event(2, "assistant.turn_start", json!({"turnId": "0"})),
        event(
            3,
            "assistant.message",
            json!({"messageId": "m1", "content": "I list them.", "reasoningText": "Two masts.", "model": "cop-test",
                "toolRequests": [{"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}, "type": "function"}]}),
        ),
        event(
            4,
            "tool.execution_start",
            json!({"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls"}}),
        ),
        event(
            5,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": true, "result": {"content": "jib\nmain\n", "detailedContent": "long"}}),
        ),
        event(
            6,
            "tool.execution_complete",
            json!({"toolCallId": "c2", "success": false, "error": {"message": "no such sail", "code": "failure"}}),
        ),
        event(
            7,
            "assistant.message",
            json!({"messageId": "m2", "content": "", "parentToolCallId": "c1",
                "toolRequests": [{"toolCallId": "c3", "name": "view", "arguments": "{\"path\":\"a\"}"}]}),
        ),
        event(
            8,
            "session.compaction_complete",
            json!({"success": true, "summaryContent": "They listed sails."}),
        ),
        event(9, "session.title_changed", json!({"title": "Sails"})),
        event(10, "user.message", json!({"content": "Thanks"})),
    ])
}

#[test]
fn a_copilot_cli_session_is_read_event_by_event() {
    let told = read(Format::CopilotCli, copilot_cli(), COPILOT_CLI_PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nList the sails\n[file sails.md]\n\nAssistant (thinking):\nTwo masts.\n\nAssistant:\nI list them.\n\nTool call bash:\ncommand: ls\n\n\
             Tool output:\njib\nmain\n\nTool output (error):\nno such sail\n\nTool call view:\npath: a\n\n\
             Summary of the conversation so far:\nThey listed sails.",
            "User:\nThanks",
        ]
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("cop-test"));
    assert_eq!(told.skipped("record type `tool.execution_start`"), 1);
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("cop-1", Some("Sails"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about.branch.as_deref(), Some("keel"));
}

const COPILOT_CHAT_PATH: &str = "/c/Code/User/workspaceStorage/5f/chatSessions/chat-1.json";
const COPILOT_LOG_PATH: &str = "/c/Code/User/workspaceStorage/5f/chatSessions/chat-1.jsonl";

fn chat_requests() -> Value {
    json!([
        {"requestId": "request_1", "timestamp": 1_767_000_000_000_u64, "modelId": "copilot/test", "message": {"text": "Where is the anchor?", "parts": []},
         "variableData": {"variables": [{"kind": "file", "id": "v", "name": "anchor.md"}]},
         "response": [
            {"kind": "thinking", "value": "Look below.", "id": "t"},
            {"value": "See ", "supportThemeIcons": false},
            {"kind": "inlineReference", "inlineReference": {"$mid": 1, "path": "/home/mo/boat/anchor.md", "scheme": "file"}},
            {"value": " for it."},
            {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "toolCallId": "call_1", "invocationMessage": {"value": "Reading"}, "isComplete": true},
            {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "call_9", "invocationMessage": "Running",
             "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls -l"}, "language": "sh"},
             "resultDetails": {"input": "{}", "output": [{"type": "embed", "isText": true, "value": "total 0"}]}},
            {"kind": "undoStop", "id": "u"},
            {"value": "It is at the bow."}],
         "result": {"timings": {"totalElapsed": 5}, "metadata": {
            "toolCallRounds": [{"response": "", "toolCalls": [{"id": "call_1__vscode-17", "name": "read_file", "arguments": "{\"filePath\":\"anchor.md\"}"}]}],
            "toolCallResults": {"call_1__vscode-17": {"content": [{"$mid": 20, "value": "at the bow"}, {"$mid": 21, "value": {"node": {}}}]}}}}},
        {"requestId": "request_2", "timestamp": 1_767_000_100_000_u64, "message": {"text": "Thanks", "parts": []}, "response": [],
         "result": {"errorDetails": {"message": "Cancelled"}}},
    ])
}

/// As VS Code writes it: the id and the title follow the requests.
fn copilot_chat() -> String {
    format!(
        r#"{{"version": 3, "responderUsername": "GitHub Copilot", "initialLocation": "panel", "requests": {}, "sessionId": "chat-1", "creationDate": 1767000000000, "isImported": false, "lastMessageDate": 1767000100000, "customTitle": "Anchor"}}"#,
        chat_requests()
    )
}

fn copilot_chat_log() -> String {
    let requests = chat_requests();
    let mut first = requests[0].clone();
    let parts = first["response"].take();
    first["response"] = json!([]);
    first["result"].take();
    lines(&[
        json!({"kind": 0, "v": {"version": 3, "creationDate": 1_767_000_000_000_u64, "initialLocation": "panel", "responderUsername": "GitHub Copilot",
            "sessionId": "chat-1", "requests": [], "pendingRequests": []}}),
        json!({"kind": 2, "k": ["requests"], "v": [first]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [parts[0], {"value": "wrong"}]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": parts.as_array().unwrap()[1..], "i": 1}),
        json!({"kind": 1, "k": ["requests", 0, "result"], "v": requests[0]["result"]}),
        json!({"kind": 1, "k": ["customTitle"], "v": "Anchor"}),
        json!({"kind": 1, "k": ["inputState"], "v": {"inputText": "half a thou"}}),
        json!({"kind": 3, "k": ["inputState"]}),
        json!({"kind": 2, "k": ["requests"], "v": [requests[1]]}),
    ])
}

const CHAT: [&str; 2] = [
    "User:\nWhere is the anchor?\n[file anchor.md]\n\nAssistant (thinking):\nLook below.\n\nAssistant:\nSee anchor.md for it.\n\n\
     Tool call read_file:\nfilePath: anchor.md\n\nTool output:\nat the bow\n\nTool call run_in_terminal:\nls -l\n\nTool output:\ntotal 0\n\n\
     Assistant:\nIt is at the bow.",
    "User:\nThanks\n\nError:\nCancelled",
];

#[test]
fn a_copilot_chat_session_is_read_request_by_request() {
    let told = read(Format::CopilotChat, copilot_chat(), COPILOT_CHAT_PATH);
    assert_eq!(told.texts(), CHAT);
    assert_eq!(told.skipped("block `undoStop`"), 1);
    assert_eq!(told.skipped("tool output that is not text"), 1);
    assert_eq!(told.pieces()[0].tools, ["read_file", "run_in_terminal"]);
    assert_eq!(told.pieces()[0].model.as_deref(), Some("copilot/test"));
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("chat-1", Some("Anchor"))
    );
    assert_eq!(about.started_at.as_deref(), Some("2025-12-29T09:20:00Z"));
}

#[test]
fn a_copilot_chat_log_gives_the_same_as_the_object_it_describes() {
    let told = read(Format::CopilotChatLog, copilot_chat_log(), COPILOT_LOG_PATH);
    assert_eq!(told.texts(), CHAT);
    assert_eq!(told.skipped("change of the session"), 9);
    assert!(
        told.marks().is_empty(),
        "a later line may change any request"
    );
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("chat-1", Some("Anchor"))
    );
}

#[test]
fn a_damaged_copilot_chat_log_is_read_as_far_as_it_makes_sense() {
    let log = lines(&[
        json!({"kind": 2, "k": ["requests"], "v": [{"message": {"text": "lost"}}]}),
        json!({"kind": 0, "v": {"version": 3, "creationDate": 1, "requests": {"not": "a list"}}}),
        json!({"kind": 2, "k": ["requests"], "v": [{"message": {"text": "kept"}}]}),
        json!({"kind": 1, "k": ["requests", 7, "message"], "v": "nowhere"}),
        json!({"kind": 1, "k": ["requests", "a", "b"], "v": 1}),
        json!({"kind": 1, "k": [], "v": 1}),
        json!({"kind": 2, "k": ["requests"], "i": 18_446_744_073_709_551_615_u64}),
        json!({"kind": 3, "k": ["requests", 0]}),
        json!({"kind": 9}),
    ]);
    let told = read(
        Format::CopilotChatLog,
        log + "{\"kind\":0,\"v\":{\"requ",
        COPILOT_LOG_PATH,
    );
    assert_eq!(told.texts(), ["User:\nkept"]);
}

#[test]
fn the_folder_of_a_copilot_chat_comes_from_its_workspace() {
    let storage = tempfile::tempdir().unwrap();
    let path = storage.path().join("chatSessions/chat-1.json");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(
        storage.path().join("workspace.json"),
        r#"{"folder": "file:///home/mo/my%20boat"}"#,
    )
    .unwrap();
    let told = read(Format::CopilotChat, copilot_chat(), path.to_str().unwrap());
    assert_eq!(
        told.conversations()[0].folder.as_deref(),
        Some("/home/mo/my boat")
    );
}

const FACTORY_PATH: &str = "/home/mo/.factory/sessions/-home-mo-boat/droid-1.jsonl";

fn factory() -> String {
    let message = |n: u32, message: Value| json!({"type": "message", "id": format!("m{n}"), "parentId": null, "timestamp": format!("2026-01-02T03:04:{n:02}.000Z"), "message": message});
    lines(&[
        json!({"type": "session_start", "id": "droid-1", "title": "Bilge", "sessionTitle": "Bilge", "owner": "mo", "version": 2, "cwd": "/home/mo/boat"}),
        message(
            1,
            json!({"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nBe brief.\n</system-reminder>"}, {"type": "text", "text": "Pump the bilge"}]}),
        ),
        message(
            2,
            json!({"role": "assistant", "model": "droid-test", "content": [{"type": "thinking", "thinking": "It is wet.", "signature": "s"}, {"type": "text", "text": "Pumping."},
                {"type": "tool_use", "id": "t1", "name": "Execute", "input": {"command": "pump"}}]}),
        ),
        message(
            3,
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no power"}]}),
        ),
        json!({"type": "todo_state", "id": "x", "timestamp": "2026-01-02T03:04:04.000Z", "todos": []}),
        message(5, json!({"role": "user", "content": "Use the hand pump"})),
    ])
}

#[test]
fn a_factory_session_is_read_message_by_message() {
    let told = read(Format::Factory, factory(), FACTORY_PATH);
    assert_eq!(
        told.texts(),
        [
            "Context:\n<system-reminder>\nBe brief.\n</system-reminder>\n\nUser:\nPump the bilge\n\nAssistant (thinking):\nIt is wet.\n\n\
             Assistant:\nPumping.\n\nTool call Execute:\ncommand: pump\n\nTool output (error):\nno power",
            "User:\nUse the hand pump",
        ]
    );
    assert_eq!(speakers(&told), ["user", "assistant", "tool", "user"]);
    assert_eq!(told.skipped("record type `todo_state`"), 1);
    assert_eq!(told.pieces()[0].model.as_deref(), Some("droid-test"));
    let about = told.conversations()[0];
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("droid-1", Some("Bilge"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(
        about.started_at.as_deref(),
        Some("2026-01-02T03:04:01.000Z")
    );
}

const PI_PATH: &str = "/home/mo/.pi/agent/sessions/--home-mo-boat--/2026-01-02_pi-1.jsonl";
const OPENCLAW_PATH: &str = "/home/mo/.openclaw/agents/main/sessions/pi-1.jsonl";

fn pi() -> String {
    let entry = |n: u32, kind: &str, rest: Value| {
        let mut entry = json!({"type": kind, "id": format!("{n:08x}"), "parentId": null, "timestamp": format!("2026-01-02T03:04:{n:02}.000Z")});
        entry
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        entry
    };
    let message = |n: u32, message: Value| entry(n, "message", json!({ "message": message }));
    lines(&[
        json!({"type": "session", "version": 3, "id": "pi-1", "timestamp": "2026-01-02T03:04:00.000Z", "cwd": "/home/mo/boat"}),
        entry(
            1,
            "model_change",
            json!({"provider": "p", "modelId": "pi-test"}),
        ),
        message(
            2,
            json!({"role": "user", "content": "Trim the sail", "timestamp": 1_767_000_000_000_u64}),
        ),
        message(
            3,
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Wind?"}, {"type": "text", "text": "I measure."},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "wind"}}], "provider": "p", "model": "pi-test", "stopReason": "toolUse"}),
        ),
        message(
            4,
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [{"type": "text", "text": "12 knots"}], "isError": false}),
        ),
        message(
            5,
            json!({"role": "bashExecution", "command": "make sail", "output": "failed", "exitCode": 2, "cancelled": false, "truncated": false}),
        ),
        entry(
            6,
            "custom",
            json!({"customType": "x", "data": {"text": "state of an extension"}}),
        ),
        entry(
            7,
            "custom_message",
            json!({"customType": "x", "content": "Mind the boom.", "display": true}),
        ),
        entry(
            8,
            "compaction",
            json!({"summary": "They trimmed.", "firstKeptEntryId": "00000003", "tokensBefore": 5}),
        ),
        entry(9, "session_info", json!({"name": "Sail"})),
        message(
            10,
            json!({"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "data": "AA", "mimeType": "image/png"}]}),
        ),
        message(
            11,
            json!({"role": "assistant", "content": [], "model": "pi-test", "stopReason": "error", "errorMessage": "overloaded"}),
        ),
    ])
}

#[test]
fn a_pi_session_is_read_entry_by_entry() {
    let told = read(Format::Pi, pi(), PI_PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nTrim the sail\n\nAssistant (thinking):\nWind?\n\nAssistant:\nI measure.\n\nTool call bash:\ncommand: wind\n\nTool output:\n12 knots\n\n\
             Tool call bash:\nmake sail\n\nTool output (error):\nfailed\n\nContext:\nMind the boom.\n\nSummary of the conversation so far:\nThey trimmed.",
            "User:\nLook\n[image]\n\nError:\noverloaded",
        ]
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("pi-test"));
    assert_eq!(told.skipped("record type `custom`"), 1);
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("pi-1", Some("Sail"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    let again = read(Format::OpenClaw, pi(), OPENCLAW_PATH);
    assert_eq!(again.texts(), told.texts());
}

const VIBE_PATH: &str = "/home/mo/.vibe/logs/session/session_20260102_030405_vib/messages.jsonl";

fn vibe() -> String {
    lines(&[
        json!({"role": "user", "content": "Wax the deck", "injected": false, "message_id": "m1"}),
        json!({"role": "assistant", "content": "With bees' wax.", "injected": false, "reasoning_content": "Which wax?", "message_id": "m2", "reasoning_message_id": "r",
            "tool_calls": [{"id": "c1", "index": 0, "function": {"name": "bash", "arguments": "{\"command\":\"wax\"}"}, "type": "function"}]}),
        json!({"role": "tool", "content": "shiny", "injected": false, "name": "bash", "tool_call_id": "c1"}),
        json!({"role": "user", "content": "The plan changed.", "injected": true, "message_id": "m3"}),
        json!({"role": "user", "content": "Good", "injected": false, "message_id": "m4"}),
    ])
}

#[test]
fn a_mistral_vibe_session_is_read_with_the_facts_beside_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home
        .path()
        .join("session_20260102_030405_vib/messages.jsonl");
    let told = read(Format::MistralVibe, vibe(), path.to_str().unwrap());
    assert_eq!(told.conversation.id, "session_20260102_030405_vib");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(
        path.with_file_name("meta.json"),
        json!({"session_id": "vibe-1", "start_time": "2026-01-02T03:04:05+00:00", "end_time": null, "git_commit": null, "git_branch": "keel",
            "environment": {"working_directory": "/home/mo/boat"}, "username": "mo", "title": "Deck", "title_source": "auto", "total_messages": 5})
        .to_string(),
    )
    .unwrap();
    let told = read(Format::MistralVibe, vibe(), path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "User:\nWax the deck\n\nAssistant (thinking):\nWhich wax?\n\nAssistant:\nWith bees' wax.\n\nTool call bash:\ncommand: wax\n\n\
             Tool output:\nshiny\n\nContext:\nThe plan changed.",
            "User:\nGood",
        ]
    );
    let about = told.conversations()[0];
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("vibe-1", Some("Deck"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about.branch.as_deref(), Some("keel"));
    assert_eq!(about.started_at.as_deref(), Some("2026-01-02T03:04:05Z"));
}

const AMP_PATH: &str = "/home/mo/.local/share/amp/threads/T-019d38dd.json";

/// As Amp writes it: the messages come before the title and the environment.
fn amp() -> String {
    let messages = json!([
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Ring the bell"}], "meta": {"sentAt": 1_767_000_000_000_u64}},
        {"role": "assistant", "messageId": 1, "state": {"type": "complete", "stopReason": "tool_use"}, "usage": {"model": "amp-test", "inputTokens": 3},
         "content": [{"type": "thinking", "thinking": "Loud.", "signature": "s"}, {"type": "text", "text": "Ringing."},
            {"type": "tool_use", "complete": true, "id": "toolu_1", "name": "Bash", "input": {"cmd": "ring"}}]},
        {"role": "user", "messageId": 2, "content": [
            {"type": "tool_result", "toolUseID": "toolu_1", "run": {"status": "done", "result": {"output": "ding\n", "exitCode": 0}}},
            {"type": "tool_result", "toolUseID": "toolu_2", "run": {"status": "error", "error": {"message": "no clapper"}}},
            {"type": "tool_result", "toolUseID": "toolu_3", "run": {"status": "error", "result": "cracked"}}]},
        {"role": "info", "messageId": 3, "content": [{"type": "summary", "summary": {"type": "message", "summary": "They rang."}}]},
        {"role": "user", "messageId": 4, "content": [{"type": "text", "text": "Again"}], "meta": {"sentAt": 1_767_000_100_000_u64}},
    ]);
    format!(
        r#"{{"v": 9, "id": "T-019d38dd", "created": 1767000000000, "messages": {messages}, "agentMode": "smart", "title": "Bell", "env": {{"initial": {{"trees": [{{"displayName": "boat", "uri": "file:///home/mo/boat"}}]}}}}}}"#
    )
}

#[test]
fn an_amp_thread_is_read_message_by_message() {
    let told = read(Format::Amp, amp(), AMP_PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nRing the bell\n\nAssistant (thinking):\nLoud.\n\nAssistant:\nRinging.\n\nTool call Bash:\ncmd: ring\n\nTool output:\nding\n\n\
             Tool output (error):\nno clapper\n\nTool output (error):\ncracked\n\nSummary of the conversation so far:\nThey rang.",
            "User:\nAgain",
        ]
    );
    assert_eq!(
        speakers(&told),
        ["user", "assistant", "tool", "system", "user"]
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("amp-test"));
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("T-019d38dd", Some("Bell"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about.started_at.as_deref(), Some("2025-12-29T09:20:00Z"));
}

const CLINE_PATH: &str = "/c/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1767000000000/api_conversation_history.json";
const ROO_PATH: &str = "/c/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/0198-r/api_conversation_history.json";
const KILO_PATH: &str =
    "/c/Code/User/globalStorage/kilocode.kilo-code/tasks/0198-k/api_conversation_history.json";
const ENVIRONMENT: &str = "<environment_details>\n# Current Working Directory (/home/mo/boat) Files\nmast.md\n</environment_details>";

fn cline() -> Value {
    json!([
        {"role": "user", "content": [{"type": "text", "text": "<task>\nRaise the mast\n</task>"}, {"type": "text", "text": ENVIRONMENT}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I read it.\n<read_file>\n<path>mast.md</path>\n</read_file>"}], "modelInfo": {"modelId": "cline-test", "providerId": "p"}},
        {"role": "user", "content": [{"type": "text", "text": "[read_file for 'mast.md'] Result:"}, {"type": "text", "text": "tall"}, {"type": "text", "text": ENVIRONMENT}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": "[attempt_completion] Result:"}, {"type": "text", "text": "The user has given feedback:\n<feedback>\nHigher\n</feedback>"}]},
    ])
}

#[test]
fn a_cline_task_tells_prompts_from_results_and_context() {
    let told = read(Format::Cline, cline().to_string(), CLINE_PATH);
    assert_eq!(
        told.texts(),
        [
            format!(
                "User:\n<task>\nRaise the mast\n</task>\n\nContext:\n{ENVIRONMENT}\n\nAssistant:\nI read it.\n<read_file>\n<path>mast.md</path>\n</read_file>\n\n\
                 Tool output:\n[read_file for 'mast.md'] Result:\n\nTool output:\ntall\n\nContext:\n{ENVIRONMENT}\n\nAssistant:\nDone."
            ),
            "Tool output:\n[attempt_completion] Result:\n\nUser:\nThe user has given feedback:\n<feedback>\nHigher\n</feedback>".to_owned(),
        ]
    );
    assert_eq!(speakers(&told), ["user", "assistant", "tool", "user"]);
    assert_eq!(told.pieces()[0].model.as_deref(), Some("cline-test"));
    let about = &told.conversation;
    assert_eq!(about.id, "1767000000000");
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(about.started_at.as_deref(), Some("2025-12-29T09:20:00Z"));
}

fn roo() -> Value {
    json!([
        {"role": "user", "content": [{"type": "text", "text": "<user_message>\nLower the mast\n</user_message>"}], "ts": 1_767_000_000_000_u64},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "lower"}}], "reasoning_content": "Slowly.", "ts": 1_767_000_001_000_u64},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "it is stuck", "is_error": true}, {"type": "text", "text": ENVIRONMENT}], "ts": 1_767_000_002_000_u64},
        {"role": "assistant", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Oil it."}], "encrypted_content": "gAAA", "ts": 1_767_000_003_000_u64},
        {"role": "user", "content": [{"type": "text", "text": "## Conversation Summary\nThe mast is stuck."}], "isSummary": true, "condenseId": "x", "ts": 1_767_000_004_000_u64},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "<user_message>\nTry again\n</user_message>"}], "ts": 1_767_000_005_000_u64},
    ])
}

#[test]
fn a_roo_code_task_is_read_with_the_time_of_each_message() {
    for (format, path) in [(Format::RooCode, ROO_PATH), (Format::KiloCode, KILO_PATH)] {
        let told = read(format, roo().to_string(), path);
        assert_eq!(
            told.texts(),
            [
                format!(
                    "User:\n<user_message>\nLower the mast\n</user_message>\n\nAssistant (thinking):\nSlowly.\n\nTool call execute_command:\ncommand: lower\n\n\
                     Tool output (error):\nit is stuck\n\nContext:\n{ENVIRONMENT}\n\nAssistant (thinking):\nOil it.\n\n\
                     Summary of the conversation so far:\n## Conversation Summary\nThe mast is stuck."
                ),
                "User:\n<user_message>\nTry again\n</user_message>".to_owned(),
            ]
        );
        assert_eq!(
            told.pieces()[1].authored_at.as_deref(),
            Some("2025-12-29T09:20:05Z")
        );
        assert!(path.contains(&told.conversation.id));
    }
}

const CLINE_SESSION_PATH: &str =
    "/home/mo/.cline/data/sessions/1767000000000_abc/1767000000000_abc.messages.json";

fn cline_session() -> String {
    let messages = json!([
        {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Stow the oars"}, {"type": "file", "path": "/home/mo/boat/oars.md", "content": "two oars"}]},
        {"id": "m2", "role": "assistant", "ts": 1_767_000_001_000_u64, "modelInfo": {"id": "cline-test", "provider": "p"},
         "content": [{"type": "thinking", "thinking": "Where?"}, {"type": "tool_use", "id": "t1", "name": "stow", "input": {"n": 2}}]},
        {"id": "m3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "name": "stow", "content": "stowed", "is_error": false}]},
        {"id": "m4", "role": "user", "content": [{"type": "text", "text": "Thanks"}]},
    ]);
    format!(
        r#"{{"version": 1, "updated_at": "2026-07-15T05:42:04.818Z", "agent": "lead", "sessionId": "1767000000000_abc", "messages": {messages}}}"#
    )
}

#[test]
fn a_cline_session_is_read_with_the_facts_beside_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("1767000000000_abc.messages.json");
    std::fs::write(
        home.path().join("1767000000000_abc.json"),
        json!({"version": 1, "session_id": "1767000000000_abc", "started_at": "2026-07-15T05:42:04.609Z", "cwd": "/home/mo/boat", "metadata": {"title": "Oars"}}).to_string(),
    )
    .unwrap();
    let told = read(
        Format::ClineSession,
        cline_session(),
        path.to_str().unwrap(),
    );
    assert_eq!(
        told.texts(),
        [
            "User:\nStow the oars\n\nAttachment /home/mo/boat/oars.md:\ntwo oars\n\nAssistant (thinking):\nWhere?\n\nTool call stow:\nn: 2\n\nTool output:\nstowed",
            "User:\nThanks",
        ]
    );
    assert_eq!(told.pieces()[0].model.as_deref(), Some("cline-test"));
    let about = &told.conversation;
    assert_eq!(
        (about.id.as_str(), about.title.as_deref()),
        ("1767000000000_abc", Some("Oars"))
    );
    assert_eq!(about.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(
        about.started_at.as_deref(),
        Some("2026-07-15T05:42:04.609Z")
    );
}

#[test]
fn a_session_that_is_cut_anywhere_is_read_without_a_panic() {
    use loci_transcripts::{Event, Reader, recognise};
    for (format, path, text) in fixtures() {
        let mut most = 0;
        for cut in (0..text.len()).step_by(7) {
            let head = &text.as_bytes()[..cut];
            recognise(path.as_ref(), head);
            let mut reader = Reader::new(format, head, path.as_ref());
            let mut pieces = 0;
            while let Ok(Some(event)) = reader.next() {
                pieces += usize::from(matches!(event, Event::Piece(_)));
            }
            super::support::adds_up(reader.tally());
            most = most.max(pieces);
        }
        assert!(most >= 1, "{format:?}");
    }
}

#[test]
fn files_beside_a_conversation_are_known_only_if_there_is_one() {
    use loci_files::allowed::EVERYTHING;
    use loci_transcripts::is_aside;
    let home = tempfile::tempdir().unwrap();
    for (main, text, asides) in [
        (
            "api_conversation_history.json",
            cline().to_string(),
            ["ui_messages.json", "task_metadata.json"],
        ),
        ("wire.jsonl", kimi(), ["context_1.jsonl", "state.json"]),
        ("messages.jsonl", vibe(), ["meta.json", "meta.json"]),
        ("events.jsonl", copilot_cli(), ["workspace.yaml"; 2]),
        ("a.jsonl", factory(), ["a.settings.json"; 2]),
        ("b.jsonl", qwen(), ["b.runtime.json"; 2]),
        ("c.messages.json", cline_session(), ["c.json"; 2]),
    ] {
        for aside in asides {
            let aside = home.path().join(aside);
            assert!(!is_aside(&aside, &EVERYTHING), "{}", aside.display());
            std::fs::write(home.path().join(main), "{}").unwrap();
            assert!(!is_aside(&aside, &EVERYTHING), "{}", aside.display());
            std::fs::write(home.path().join(main), &text).unwrap();
            assert!(is_aside(&aside, &EVERYTHING), "{}", aside.display());
            std::fs::remove_file(home.path().join(main)).unwrap();
        }
    }
    assert!(!is_aside(&home.path().join("notes.md"), &EVERYTHING));
}

#[test]
fn an_openhands_conversation_is_read_from_its_event_files() {
    use loci_files::allowed::EVERYTHING;
    use loci_transcripts::{Error, Reader, companions, is_aside, recognise};
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("base_state.json");
    std::fs::create_dir(home.path().join("events")).unwrap();
    let state = json!({"id": "oh-1", "agent": {"llm": {"model": "m"}, "kind": "Agent"}, "workspace": {"working_dir": "/home/mo/boat", "kind": "LocalWorkspace"},
        "persistence_dir": "/p", "max_iterations": 500, "execution_status": "idle"})
    .to_string();
    std::fs::write(&path, &state).unwrap();
    let add = |n: u32, kind: &str, rest: Value| {
        let mut event = json!({"id": format!("{n:08x}"), "timestamp": format!("2026-01-02T03:04:{:02}.5", n % 60), "kind": kind});
        event
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        let file = home
            .path()
            .join(format!("events/event-{n:05}-{n:08x}.json"));
        std::fs::write(&file, event.to_string()).unwrap();
        file
    };
    let text = |words: &str| json!([{"cache_prompt": false, "type": "text", "text": words}]);
    add(
        0,
        "SystemPromptEvent",
        json!({"source": "agent", "system_prompt": {"type": "text", "text": "You sail."}, "tools": []}),
    );
    let first = add(
        1,
        "MessageEvent",
        json!({"source": "user", "llm_message": {"role": "user", "content": text("Furl the sail")}, "extended_content": text("It is windy.")}),
    );
    add(
        2,
        "ActionEvent",
        json!({"source": "agent", "thought": text("I furl."), "reasoning_content": "Wind.", "thinking_blocks": [], "tool_name": "terminal", "tool_call_id": "c",
            "tool_call": {"id": "c", "name": "terminal", "arguments": "{\"command\":\"furl\"}", "origin": "completion"}, "llm_response_id": "r"}),
    );
    add(
        3,
        "ObservationEvent",
        json!({"source": "environment", "tool_name": "terminal", "tool_call_id": "c", "action_id": "a", "observation": {"content": text("stuck"), "is_error": true, "kind": "TerminalObservation"}}),
    );
    add(
        4,
        "ConversationStateUpdateEvent",
        json!({"source": "environment", "key": "execution_status", "value": "idle"}),
    );
    add(
        99_999,
        "MessageEvent",
        json!({"source": "agent", "llm_message": {"role": "assistant", "content": text("It is stuck.")}}),
    );
    add(
        100_000,
        "MessageEvent",
        json!({"source": "user", "llm_message": {"role": "user", "content": text("Cut it")}}),
    );
    assert_eq!(recognise(&path, state.as_bytes()), Some(Format::OpenHands));
    let told = read(Format::OpenHands, "", path.to_str().unwrap());
    assert_eq!(
        told.texts(),
        [
            "System:\nYou sail.",
            "User:\nFurl the sail\n\nContext:\nIt is windy.\n\nAssistant (thinking):\nWind.\n\nAssistant:\nI furl.\n\nTool call terminal:\ncommand: furl\n\n\
             Tool output (error):\nstuck\n\nAssistant:\nIt is stuck.",
            "User:\nCut it",
        ]
    );
    assert_eq!(told.skipped("event `ConversationStateUpdateEvent`"), 1);
    let about = told.conversations()[0];
    assert_eq!(
        (about.id.as_str(), about.folder.as_deref()),
        ("oh-1", Some("/home/mo/boat"))
    );
    assert_eq!(about.started_at.as_deref(), Some("2026-01-02T03:04:00.5Z"));
    assert_eq!(companions(Format::OpenHands, &path).len(), 7);
    assert!(is_aside(&first, &EVERYTHING));

    let mark = told.marks().last().copied().cloned().unwrap();
    let mut rest = Reader::resume(Format::OpenHands, &b""[..], &path, &mark);
    assert!(rest.next().unwrap().is_some());
    std::fs::remove_file(first).unwrap();
    let mut rest = Reader::resume(Format::OpenHands, &b""[..], &path, &mark);
    assert!(matches!(rest.next(), Err(Error::Rewritten { .. })));
}
