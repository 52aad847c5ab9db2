//! Conversations in every format: what becomes of them, and how they go on.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::mine::{drawers, id_of, put, stored};
use crate::support::{Dir, lines, names};

/// One conversation that all formats tell: two exchanges, a tool in the first where the format has tools.
struct Sample {
    agent: &'static str,
    /// What is mined, with the files that it takes.
    path: &'static str,
    files: Vec<(&'static str, String)>,
    /// Speakers of both exchanges.
    speakers: [&'static [&'static str]; 2],
    /// The tool that the first exchange calls.
    tool: Option<&'static str>,
    /// Times of both exchanges, if the format has them.
    times: Option<[&'static str; 2]>,
    /// Messages read and filed.
    messages: (u64, u64),
    title: Option<&'static str>,
    wing: &'static str,
}

const FIRST: &str = "Why is the lamp dark?";
const OUTPUT: &str = "fuse seventeen is blown";
const ANSWER: &str = "A fuse has gone.";
const SECOND: &str = "Replace it then.";
const DONE: &str = "It burns again.";
const TIMES: [&str; 2] = ["2026-02-03T10:00:00Z", "2026-02-03T10:05:00Z"];
const BOTH: &[&str] = &["user", "assistant"];
const THREE: &[&str] = &["user", "assistant", "tool"];

fn claude_code_lines() -> Vec<Value> {
    let record = |kind: &str, n: u32, at: &str, content: Value| {
        json!({
            "type": kind, "uuid": format!("u{n}"), "sessionId": "5e0d6c1a-0000-4000-8000-000000000001",
            "timestamp": at, "cwd": "/home/ada/lighthouse", "gitBranch": "main",
            "message": {"role": kind, "model": "claude-x", "content": content},
        })
    };
    vec![
        json!({"type": "summary", "summary": "The dark lamp", "leafUuid": "u6"}),
        record("user", 1, "2026-02-03T10:00:00Z", json!(FIRST)),
        record(
            "assistant",
            2,
            "2026-02-03T10:00:10Z",
            json!([
                {"type": "thinking", "thinking": "The log will tell."},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cat lamp.log"}}
            ]),
        ),
        record(
            "user",
            3,
            "2026-02-03T10:00:20Z",
            json!([{"type": "tool_result", "tool_use_id": "t", "content": OUTPUT}]),
        ),
        record(
            "assistant",
            4,
            "2026-02-03T10:00:30Z",
            json!([{"type": "text", "text": ANSWER}]),
        ),
        record("user", 5, "2026-02-03T10:05:00Z", json!(SECOND)),
        record(
            "assistant",
            6,
            "2026-02-03T10:05:10Z",
            json!([{"type": "text", "text": DONE}]),
        ),
    ]
}

fn claude_code() -> Sample {
    Sample {
        agent: "claude-code",
        path: "talks",
        files: vec![("talks/session.jsonl", lines(claude_code_lines()))],
        speakers: [THREE, BOTH],
        tool: Some("Bash"),
        times: Some(TIMES),
        messages: (7, 6),
        title: Some("The dark lamp"),
        wing: "lighthouse",
    }
}

fn codex() -> Sample {
    let line = |at: &str, kind: &str, payload: Value| json!({"timestamp": at, "type": kind, "payload": payload});
    let message = |role: &str, kind: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]});
    let at = TIMES[0];
    let records = [
        line(
            at,
            "session_meta",
            json!({"id": "c1", "timestamp": at, "cwd": "/home/ada/lighthouse"}),
        ),
        line(
            at,
            "turn_context",
            json!({"cwd": "/home/ada/lighthouse", "model": "gpt-x"}),
        ),
        line(at, "response_item", message("user", "input_text", FIRST)),
        line(
            at,
            "event_msg",
            json!({"type": "user_message", "message": FIRST}),
        ),
        line(
            at,
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"cat\",\"lamp.log\"]}"}),
        ),
        line(
            at,
            "response_item",
            json!({"type": "function_call_output", "output": json!({"output": OUTPUT, "metadata": {"exit_code": 0}}).to_string()}),
        ),
        line(
            at,
            "event_msg",
            json!({"type": "agent_message", "message": ANSWER}),
        ),
        line(
            at,
            "response_item",
            message("assistant", "output_text", ANSWER),
        ),
        line(
            TIMES[1],
            "event_msg",
            json!({"type": "user_message", "message": SECOND}),
        ),
        line(
            TIMES[1],
            "event_msg",
            json!({"type": "agent_message", "message": DONE}),
        ),
        line(
            TIMES[1],
            "event_msg",
            json!({"type": "token_count", "info": null}),
        ),
    ];
    Sample {
        agent: "codex",
        path: "talks",
        files: vec![("talks/rollout-2026-02-03.jsonl", lines(records))],
        speakers: [THREE, BOTH],
        tool: Some("shell"),
        times: Some(TIMES),
        messages: (11, 6),
        title: None,
        wing: "lighthouse",
    }
}

fn claude_ai() -> Sample {
    let message = |sender: &str, words: &str, at: &str| json!({"uuid": words, "sender": sender, "text": words, "created_at": at, "content": [{"type": "text", "text": words}], "attachments": [], "files": []});
    let mut calling = message("assistant", ANSWER, TIMES[0]);
    calling["content"] = json!([
        {"type": "tool_use", "name": "web_search", "input": {"query": "lamp"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": OUTPUT}]},
        {"type": "text", "text": ANSWER}
    ]);
    let export = json!([{
        "uuid": "chat-1", "name": "The dark lamp", "created_at": TIMES[0],
        "chat_messages": [
            message("human", FIRST, TIMES[0]),
            calling,
            message("human", SECOND, TIMES[1]),
            message("assistant", DONE, TIMES[1]),
        ],
    }]);
    Sample {
        agent: "claude-ai",
        path: "talks",
        files: vec![("talks/conversations.json", export.to_string())],
        speakers: [BOTH, BOTH],
        tool: Some("web_search"),
        times: Some(TIMES),
        messages: (4, 4),
        title: Some("The dark lamp"),
        wing: "general",
    }
}

fn chatgpt_export() -> Value {
    let at = 1_770_112_800.0;
    let node = |id: &str,
                parent: &str,
                child: Option<&str>,
                role: &str,
                to: &str,
                seconds: f64,
                words: &str| {
        json!({
            "id": id, "parent": parent, "children": child.into_iter().collect::<Vec<_>>(),
            "message": {
                "author": {"role": role}, "create_time": at + seconds, "recipient": to,
                "content": {"content_type": "text", "parts": [words]}, "metadata": {},
            },
        })
    };
    json!([{
        "title": "The dark lamp", "create_time": at, "conversation_id": "gpt-1", "current_node": "f",
        "mapping": {
            "root": {"id": "root", "parent": null, "children": ["a"], "message": null},
            "a": node("a", "root", Some("b"), "user", "all", 0.0, FIRST),
            "b": node("b", "a", Some("c"), "assistant", "python", 1.0, "read('lamp.log')"),
            "c": node("c", "b", Some("d"), "tool", "all", 2.0, OUTPUT),
            "d": node("d", "c", Some("e"), "assistant", "all", 3.0, ANSWER),
            "e": node("e", "d", Some("f"), "user", "all", 300.0, SECOND),
            "f": node("f", "e", None, "assistant", "all", 301.0, DONE),
        },
    }])
}

fn chatgpt() -> Sample {
    Sample {
        agent: "chatgpt",
        path: "talks",
        files: vec![("talks/conversations.json", chatgpt_export().to_string())],
        speakers: [THREE, BOTH],
        tool: Some("python"),
        times: Some(TIMES),
        messages: (6, 6),
        title: Some("The dark lamp"),
        wing: "general",
    }
}

fn gemini_messages() -> [Value; 4] {
    [
        json!({"id": "1", "timestamp": TIMES[0], "type": "user", "content": FIRST}),
        json!({
            "id": "2", "timestamp": TIMES[0], "type": "gemini", "content": ANSWER, "model": "gemini-x",
            "toolCalls": [{
                "name": "read_file", "args": {"path": "lamp.log"}, "status": "success",
                "result": [{"functionResponse": {"response": {"output": OUTPUT}}}],
            }],
        }),
        json!({"id": "3", "timestamp": TIMES[1], "type": "user", "content": SECOND}),
        json!({"id": "4", "timestamp": TIMES[1], "type": "gemini", "content": DONE}),
    ]
}

fn gemini() -> Sample {
    let session = json!({
        "sessionId": "g1", "projectHash": "h", "startTime": TIMES[0], "lastUpdated": TIMES[1],
        "messages": gemini_messages(),
    });
    Sample {
        agent: "gemini-cli",
        path: "talks",
        files: vec![("talks/session-g1.json", session.to_string())],
        speakers: [BOTH, BOTH],
        tool: Some("read_file"),
        times: Some(TIMES),
        messages: (4, 4),
        title: None,
        wing: "general",
    }
}

fn gemini_log() -> Sample {
    let head = json!({"sessionId": "g1", "projectHash": "h", "startTime": TIMES[0], "lastUpdated": TIMES[1]});
    let records = [head].into_iter().chain(gemini_messages());
    Sample {
        files: vec![("talks/session-g1.jsonl", lines(records))],
        messages: (5, 4),
        ..gemini()
    }
}

fn gemini_prompts() -> Sample {
    let prompt = |n: u32, words: &str, at: &str| json!({"sessionId": "g1", "messageId": n, "type": "user", "message": words, "timestamp": at});
    let prompts = json!([prompt(0, FIRST, TIMES[0]), prompt(1, SECOND, TIMES[1])]);
    Sample {
        files: vec![("talks/logs.json", prompts.to_string())],
        speakers: [&["user"], &["user"]],
        tool: None,
        messages: (2, 2),
        ..gemini()
    }
}

fn slack() -> Sample {
    let message = |user: &str, seconds: u32, words: &str| json!({"type": "message", "user": user, "ts": format!("{}.000100", 1_770_112_800 + seconds), "text": words});
    let day = json!([
        message("U1", 0, FIRST),
        message("U2", 60, OUTPUT),
        message("U2", 61, ANSWER),
        message("U1", 7_200, SECOND),
        message("U2", 7_260, DONE),
    ]);
    let users = json!([
        {"id": "U1", "profile": {"display_name": "ada"}},
        {"id": "U2", "profile": {"display_name": "ben"}},
    ]);
    Sample {
        agent: "slack",
        path: "slack/keepers",
        files: vec![
            ("slack/keepers/2026-02-03.json", day.to_string()),
            ("slack/users.json", users.to_string()),
        ],
        speakers: [&["ada", "ben"], &["ada", "ben"]],
        tool: None,
        times: Some(["2026-02-03T10:00:00.0001Z", "2026-02-03T12:00:00.0001Z"]),
        messages: (5, 5),
        title: Some("#keepers 2026-02-03"),
        wing: "general",
    }
}

fn opencode() -> Sample {
    let at = 1_770_112_800_000_u64;
    let message = |id: &str, role: &str, seconds: u64| {
        json!({"id": id, "role": role, "sessionID": "ses_1", "time": {"created": at + seconds * 1_000}}).to_string()
    };
    let text = |words: &str| json!({"type": "text", "text": words}).to_string();
    let tool = json!({"type": "tool", "tool": "bash", "state": {"status": "completed", "input": {"command": "cat lamp.log"}, "output": OUTPUT}});
    let session = json!({"id": "ses_1", "projectID": "p", "directory": "/home/ada/lighthouse", "title": "The dark lamp", "time": {"created": at}});
    Sample {
        agent: "opencode",
        path: "storage/session",
        files: vec![
            ("storage/session/p/ses_1.json", session.to_string()),
            (
                "storage/message/ses_1/msg_1.json",
                message("msg_1", "user", 0),
            ),
            (
                "storage/message/ses_1/msg_2.json",
                message("msg_2", "assistant", 1),
            ),
            (
                "storage/message/ses_1/msg_3.json",
                message("msg_3", "user", 300),
            ),
            (
                "storage/message/ses_1/msg_4.json",
                message("msg_4", "assistant", 301),
            ),
            ("storage/part/msg_1/prt_1.json", text(FIRST)),
            ("storage/part/msg_2/prt_2.json", tool.to_string()),
            ("storage/part/msg_2/prt_3.json", text(ANSWER)),
            ("storage/part/msg_3/prt_4.json", text(SECOND)),
            ("storage/part/msg_4/prt_5.json", text(DONE)),
        ],
        speakers: [BOTH, BOTH],
        tool: Some("bash"),
        times: Some(TIMES),
        messages: (4, 4),
        title: Some("The dark lamp"),
        wing: "lighthouse",
    }
}

fn continue_dev() -> Sample {
    let entry = |role: &str, words: &str| json!({"message": {"role": role, "content": words}, "contextItems": []});
    let mut calling = entry("assistant", "");
    calling["message"]["toolCalls"] =
        json!([{"function": {"name": "read_file", "arguments": "{\"path\":\"lamp.log\"}"}}]);
    let session = json!({
        "sessionId": "k1", "title": "The dark lamp", "workspaceDirectory": "/home/ada/lighthouse",
        "history": [entry("user", FIRST), calling, entry("tool", OUTPUT), entry("assistant", ANSWER), entry("user", SECOND), entry("assistant", DONE)],
    });
    Sample {
        agent: "continue",
        path: "talks",
        files: vec![("talks/k1.json", session.to_string())],
        speakers: [THREE, BOTH],
        tool: Some("read_file"),
        times: None,
        messages: (6, 6),
        title: Some("The dark lamp"),
        wing: "lighthouse",
    }
}

fn aider() -> Sample {
    let text = format!(
        "# aider chat started at 2026-02-03 10:00:00\n\n#### {FIRST}\n\n{ANSWER}\n\n> {OUTPUT}\n\n#### {SECOND}\n\n{DONE}\n"
    );
    Sample {
        agent: "aider",
        path: "talks/.aider.chat.history.md",
        files: vec![("talks/.aider.chat.history.md", text)],
        speakers: [&["user", "assistant", "system"], BOTH],
        tool: None,
        times: Some([TIMES[0], TIMES[0]]),
        messages: (6, 5),
        title: None,
        wing: "general",
    }
}

fn plain() -> Sample {
    let text = format!(
        "User: {FIRST}\nAssistant: {ANSWER}\n{OUTPUT}\n\nUser: {SECOND}\nAssistant: {DONE}\n"
    );
    Sample {
        agent: "plain",
        path: "talks",
        files: vec![("talks/chat.txt", text)],
        speakers: [BOTH, BOTH],
        tool: None,
        times: None,
        messages: (4, 4),
        title: None,
        wing: "general",
    }
}

/// Mines one format and checks everything that all of them must have.
fn check(told: &Sample) {
    let dir = Dir::new();
    for (name, text) in &told.files {
        put(&dir, name, text);
    }
    mine_and_check(&dir, told);
}

fn mine_and_check(dir: &Dir, told: &Sample) {
    let agent = told.agent;
    let report = dir.json(0, &["mine", told.path]);
    let messages = &report["messages"];
    let skipped: u64 = messages["skipped"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(
        (
            messages["read"].as_u64().unwrap(),
            messages["filed"].as_u64().unwrap()
        ),
        told.messages,
        "{agent}: {report}"
    );
    assert_eq!(
        told.messages.0,
        told.messages.1 + skipped,
        "{agent}: {report}"
    );
    let all = drawers(dir);
    assert_eq!(all.len(), 2, "{agent}: one drawer per exchange: {all:#?}");
    let texts = stored(dir);
    for (text, words) in texts.iter().zip([[FIRST, ANSWER], [SECOND, DONE]]) {
        let at = words.map(|word| text.find(word));
        let prompts_only = told.speakers[0].len() == 1;
        assert!(at[0].is_some(), "{agent}: {text}");
        assert!(prompts_only || at[1] > at[0], "{agent}: {text}");
    }
    for (n, drawer) in all.iter().enumerate() {
        let metadata = &drawer["metadata"];
        assert_eq!(metadata["agent"], agent, "{drawer:#}");
        assert_eq!(metadata["exchange"], n + 1, "{drawer:#}");
        assert_eq!(
            names(&metadata["speakers"]),
            told.speakers[n],
            "{agent}: {drawer:#}"
        );
        assert_eq!(metadata["wing"], told.wing, "{agent}: {drawer:#}");
        assert_eq!(metadata["room"], "conversations", "{agent}: {drawer:#}");
        match told.times {
            Some(times) => assert_eq!(metadata["authored_at"], times[n], "{agent}: {drawer:#}"),
            None => assert!(metadata.get("authored_at").is_none(), "{agent}: {drawer:#}"),
        }
        if let Some(title) = told.title {
            assert_eq!(metadata["heading"], title, "{agent}: {drawer:#}");
            assert!(!texts[n].contains(title), "{agent}: {}", texts[n]);
        }
    }
    if let Some(tool) = told.tool {
        assert_eq!(names(&all[0]["metadata"]["tools"]), [tool], "{agent}");
        let call = texts[0].find(&format!("Tool call {tool}:\n"));
        let output = texts[0].find(&format!("Tool output:\n{OUTPUT}"));
        assert!(call.is_some() && call < output, "{agent}: {}", texts[0]);
        assert!(all[1]["metadata"].get("tools").is_none(), "{agent}");
    }
    if told.speakers[0].len() > 1 {
        let found = dir.json(0, &["search", "seventeen blown"]);
        assert_eq!(found["hits"][0]["id"], all[0]["id"], "{agent}: {found:#}");
    }
    let again = dir.json(0, &["mine", told.path]);
    assert_eq!(again["run"], Value::Null, "{agent}: {again}");
    assert_eq!(drawers(dir), all, "{agent}");
}

#[test]
fn claude_code_is_filed_by_exchange() {
    check(&claude_code());
}

#[test]
fn codex_is_filed_by_exchange_and_nothing_twice() {
    check(&codex());
}

#[test]
fn an_export_of_claude_ai_is_filed_by_exchange() {
    check(&claude_ai());
}

#[test]
fn an_export_of_chatgpt_is_filed_by_exchange() {
    check(&chatgpt());
}

#[test]
fn gemini_cli_is_filed_by_exchange_in_all_its_formats() {
    check(&gemini());
    check(&gemini_log());
    check(&gemini_prompts());
}

#[test]
fn a_slack_export_is_filed_by_exchange_with_the_names_of_people() {
    check(&slack());
}

#[test]
fn opencode_is_filed_by_exchange() {
    check(&opencode());
}

#[test]
fn continue_is_filed_by_exchange() {
    check(&continue_dev());
}

#[test]
fn aider_is_filed_by_exchange() {
    check(&aider());
}

#[test]
fn plain_text_with_speakers_is_filed_by_exchange() {
    check(&plain());
}

/// Makes a database with the `sqlite3` program; false where there is none.
fn database(path: &std::path::Path, sql: &str) -> bool {
    let child = Command::new("sqlite3")
        .arg(path)
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(sql.as_bytes())
        .unwrap();
    child.wait().unwrap().success()
}

fn quoted(value: &Value) -> String {
    format!("'{}'", value.to_string().replace('\'', "''"))
}

#[test]
fn cursor_is_filed_by_exchange() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("talks")).unwrap();
    let bubble = |id: &str, kind: u32, words: &str, at: &str| json!({"bubbleId": id, "type": kind, "text": words, "createdAt": at});
    let mut calling = bubble("b2", 2, ANSWER, TIMES[0]);
    calling["toolFormerData"] = json!({"name": "read_file", "rawArgs": "{\"path\":\"lamp.log\"}", "status": "completed", "result": OUTPUT});
    let composer = json!({
        "composerId": "k", "name": "The dark lamp", "createdAt": 1_770_112_800_000_u64,
        "fullConversationHeadersOnly": (1..=4).map(|n| json!({"bubbleId": format!("b{n}")})).collect::<Vec<_>>(),
    });
    let mut sql = String::from("create table cursorDiskKV (key text unique, value blob);\n");
    let rows = [
        ("composerData:k", composer),
        ("bubbleId:k:b1", bubble("b1", 1, FIRST, TIMES[0])),
        ("bubbleId:k:b2", calling),
        ("bubbleId:k:b3", bubble("b3", 1, SECOND, TIMES[1])),
        ("bubbleId:k:b4", bubble("b4", 2, DONE, TIMES[1])),
    ];
    for (key, value) in rows {
        let value = quoted(&value);
        sql.extend([
            "insert into cursorDiskKV values ('",
            key,
            "', ",
            &value,
            ");\n",
        ]);
    }
    if !database(&dir.path("talks/state.vscdb"), &sql) {
        println!("SKIPPED: there is no sqlite3");
        return;
    }
    let told = Sample {
        agent: "cursor",
        path: "talks",
        files: Vec::new(),
        speakers: [BOTH, BOTH],
        tool: None,
        times: Some(TIMES),
        messages: (4, 4),
        title: Some("The dark lamp"),
        wing: "general",
    };
    mine_and_check(&dir, &told);
    assert!(stored(&dir)[0].contains("Tool call read_file:\n"));
}

#[test]
fn messages_left_out_are_named_in_the_summary() {
    let dir = Dir::new();
    let mut records = claude_code_lines();
    records.push(json!({
        "type": "user", "uuid": "u9", "sessionId": "s", "timestamp": "2026-02-03T11:00:00Z",
        "message": {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "QUJD"}}, {"type": "text", "text": "Look at this."}]},
    }));
    let mut text = lines(records);
    text.push_str("this line is no JSON\n");
    put(&dir, "talks/session.jsonl", text);
    let ran = dir.run(&["mine", "talks"]).ok();
    let line = ran
        .stdout
        .lines()
        .find(|line| line.starts_with("messages: "))
        .unwrap();
    assert!(
        line.starts_with("messages: 10 read = 7 filed + 3 skipped ("),
        "{line}"
    );
    for named in ["image 1", "line is not JSON 1", "record type `summary` 1"] {
        assert!(line.contains(named), "{line}");
    }
    assert!(stored(&dir)[2].contains("[image]"), "{:?}", stored(&dir));
}

#[test]
fn a_transcript_that_grows_goes_on_in_its_last_drawer_and_earlier_ones_keep_their_ids() {
    let dir = Dir::new();
    let records = claude_code_lines();
    let all = lines(records.clone());
    // Every length of the file that a writer may leave: whole lines and a line half written.
    let mut ends: Vec<usize> = all.match_indices('\n').map(|(at, _)| at + 1).collect();
    ends.extend(ends.clone().iter().map(|end| end.saturating_sub(25)));
    ends.retain(|end| *end > all.len() / 4);
    ends.sort_unstable();
    let mut seen: Vec<Value> = Vec::new();
    for end in ends {
        put(&dir, "talks/session.jsonl", &all[..end]);
        let report = dir.json(0, &["mine", "talks"]);
        assert_eq!(report["files"]["failed"], 0, "{report}");
        let now = drawers(&dir);
        assert!(now.len() >= seen.len(), "{now:#?}");
        for (before, after) in seen.iter().zip(&now) {
            assert_eq!(before["id"], after["id"], "at {end}");
            assert!(
                after["text"]
                    .as_str()
                    .unwrap()
                    .starts_with(before["text"].as_str().unwrap()),
                "at {end}: {after:#}"
            );
        }
        assert_eq!(report["drawers"]["removed"], 0, "{report}");
        seen = now;
    }
    let whole = Dir::new();
    put(&whole, "talks/session.jsonl", &all);
    whole.json(0, &["mine", "talks"]);
    assert_eq!(stored(&dir), stored(&whole));
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_transcript_that_begins_with_a_large_picture_is_one() {
    let dir = Dir::new();
    // The order of keys in which Claude Code writes: the id comes behind the message.
    let picture = "QUJD".repeat(40_000);
    let first = format!(
        r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/ada/lighthouse","sessionId":"s","version":"2.0.1","gitBranch":"main","type":"user","message":{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{picture}"}}}},{{"type":"text","text":"What is this?"}}]}},"uuid":"u0","timestamp":"2026-02-03T09:00:00.000Z"}}"#
    );
    put(
        &dir,
        "talks/session.jsonl",
        format!("{first}\n{}", lines(claude_code_lines())),
    );
    let report = dir.json(0, &["mine", "talks"]);
    assert_eq!(report["messages"]["skipped"]["image"], 1, "{report}");
    assert_eq!(drawers(&dir).len(), 3, "{report}");
}

#[test]
fn a_long_transcript_that_grows_is_continued_and_not_filed_again() {
    let dir = Dir::new();
    let exchange = |n: u32, words: &str| {
        let record = |kind: &str, words: String| {
            json!({
                "type": kind, "uuid": format!("{kind}{n}"), "sessionId": "s",
                "timestamp": format!("2026-02-03T{:02}:{:02}:00Z", n / 60, n % 60),
                "message": {"role": kind, "content": words},
            })
        };
        lines([
            record("user", format!("Question {n}?")),
            record("assistant", format!("Answer {n}. {}", words.repeat(150))),
        ])
    };
    let mut text: String = (0..1_400)
        .map(|n| exchange(n, "The sea is never still. "))
        .collect();
    assert!(text.len() > 4 << 20);
    put(&dir, "talks/long.jsonl", &text);
    let first = dir.json(0, &["mine", "talks"]);
    let ids = |dir: &Dir| -> Vec<Value> {
        drawers(dir)
            .iter()
            .map(|drawer| drawer["id"].clone())
            .collect()
    };
    let before = ids(&dir);
    text.push_str(&exchange(1_400, "A new word: heliograph. "));
    put(&dir, "talks/long.jsonl", &text);
    let then = dir.json(0, &["mine", "talks"]);
    assert_eq!(then["drawers"]["removed"], 0, "{then}");
    assert!(
        then["messages"]["read"].as_u64().unwrap()
            < first["messages"]["read"].as_u64().unwrap() / 2,
        "it was read from the start: {then}"
    );
    let after = ids(&dir);
    assert_eq!(after[..before.len()], before);
    assert!(after.len() > before.len());
    let whole = Dir::new();
    put(&whole, "talks/long.jsonl", &text);
    whole.json(0, &["mine", "talks"]);
    let mut texts = [stored(&dir), stored(&whole)];
    texts[0].sort();
    texts[1].sort();
    assert!(
        texts[0] == texts[1],
        "a continued transcript and a new one differ"
    );
}

#[test]
fn a_session_of_opencode_goes_on_when_only_its_messages_do() {
    let dir = Dir::new();
    let told = opencode();
    let (late, early): (Vec<_>, Vec<_>) = told
        .files
        .iter()
        .partition(|(name, _)| name.contains("msg_3") || name.contains("msg_4"));
    for (name, text) in early {
        put(&dir, name, text);
    }
    dir.json(0, &["mine", "storage/session"]);
    assert_eq!(drawers(&dir).len(), 1);
    let id = id_of(&dir, FIRST);
    for (name, text) in late {
        put(&dir, name, text);
    }
    dir.json(0, &["mine", "storage/session"]);
    assert_eq!(id_of(&dir, FIRST), id);
    id_of(&dir, SECOND);
}

#[test]
fn the_storage_of_opencode_is_filed_as_conversations_only() {
    let dir = Dir::new();
    for (name, text) in opencode().files {
        put(&dir, name, text);
    }
    let report = dir.json(0, &["mine", "storage"]);
    assert_eq!(drawers(&dir).len(), 2, "{report}");
}

#[test]
fn an_export_that_is_mined_again_from_another_name_adds_nothing() {
    let dir = Dir::new();
    let export = chatgpt_export();
    put(
        &dir,
        "exports/january/conversations.json",
        export.to_string(),
    );
    dir.json(0, &["mine", "exports"]);
    let before = drawers(&dir);
    put(
        &dir,
        "exports/february/conversations-2.json",
        export.to_string(),
    );
    let again = dir.json(0, &["mine", "exports"]);
    assert_eq!(again["drawers"]["new"], 0, "{again}");
    assert_eq!(drawers(&dir), before);
    // A later export has more of the same conversation and another one.
    let mut later = export;
    let mapping = &mut later[0]["mapping"];
    mapping["f"]["children"] = json!(["g"]);
    mapping["g"] = json!({
        "id": "g", "parent": "f", "children": [],
        "message": {"author": {"role": "user"}, "create_time": 1_770_113_900.0, "recipient": "all",
            "content": {"content_type": "text", "parts": ["And who pays for the fuse?"]}, "metadata": {}},
    });
    later[0]["current_node"] = json!("g");
    let mut other = later[0].clone();
    other["conversation_id"] = json!("gpt-2");
    later.as_array_mut().unwrap().push(other);
    put(&dir, "exports/march/conversations.json", later.to_string());
    let third = dir.json(0, &["mine", "exports"]);
    assert_eq!(third["drawers"]["new"], 4, "{third}");
    let after = drawers(&dir);
    assert_eq!(after.len(), 6);
    for (old, new) in before.iter().zip(&after) {
        assert_eq!(old["id"], new["id"]);
        assert_eq!(old["text"], new["text"]);
    }
}

#[test]
fn the_transcripts_of_agents_are_found_where_they_keep_them() {
    let dir = Dir::new();
    let none = dir.error(2, &["mine", "--agents"]);
    assert!(
        none["message"].as_str().unwrap().contains("--agents"),
        "{none}"
    );
    assert!(!dir.palace().exists());
    put(
        &dir,
        "home/.claude/projects/-home-ada/s.jsonl",
        lines(claude_code_lines()),
    );
    put(
        &dir,
        "home/.codex/sessions/2026/02/rollout-x.jsonl",
        &codex().files[0].1,
    );
    let report = dir.json(0, &["mine", "--agents"]);
    assert_eq!(report["files"]["read"], 2, "{report}");
    let agents: Vec<Value> = drawers(&dir)
        .iter()
        .map(|drawer| drawer["metadata"]["agent"].clone())
        .collect();
    assert_eq!(
        agents.iter().filter(|agent| **agent == "codex").count(),
        2,
        "{agents:?}"
    );
    assert_eq!(
        agents
            .iter()
            .filter(|agent| **agent == "claude-code")
            .count(),
        2,
        "{agents:?}"
    );
}

#[test]
fn secrets_in_a_conversation_are_masked_and_counted() {
    let dir = Dir::new();
    let token = format!("ghp_{}", "a8Fk29dLw0Qz7XcV5bNm3RtY6uIo1PsEjH4G");
    let text = lines(claude_code_lines()).replace(OUTPUT, &format!("token {token} here"));
    put(&dir, "talks/session.jsonl", text);
    let report = dir.json(0, &["mine", "talks"]);
    let masked: u64 = report["masked"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(masked, 1, "{report}");
    assert_eq!(dir.files_with(&token), Vec::<PathBuf>::new());
    assert!(
        stored(&dir)[0].contains("Tool output:\ntoken [masked: "),
        "{:?}",
        stored(&dir)
    );
}

#[test]
fn an_older_export_takes_nothing_back() {
    let dir = Dir::new();
    let older = chatgpt_export();
    let mut newer = older.clone();
    let mapping = &mut newer[0]["mapping"];
    mapping["f"]["children"] = json!(["g"]);
    mapping["g"] = json!({
        "id": "g", "parent": "f", "children": [],
        "message": {"author": {"role": "user"}, "create_time": 1_770_113_900.0, "recipient": "all",
            "content": {"content_type": "text", "parts": ["And who pays for the fuse?"]}, "metadata": {}},
    });
    newer[0]["current_node"] = json!("g");
    put(&dir, "new/conversations.json", newer.to_string());
    dir.json(0, &["mine", "new"]);
    let before = drawers(&dir);
    put(&dir, "old/conversations.json", older.to_string());
    let report = dir.json(0, &["mine", "old"]);
    assert_eq!(report["drawers"]["removed"], 0, "{report}");
    assert_eq!(drawers(&dir), before);
}

#[test]
fn two_conversations_of_one_id_in_an_export_are_both_filed() {
    let dir = Dir::new();
    let mut export = chatgpt_export();
    let mut second = export[0].clone();
    let told = second.to_string().replace("lamp", "buoy");
    second = serde_json::from_str(&told).unwrap();
    export.as_array_mut().unwrap().push(second);
    put(&dir, "conversations.json", export.to_string());
    let report = dir.json(0, &["mine", "conversations.json"]);
    let texts: String = drawers(&dir)
        .iter()
        .map(|drawer| drawer["text"].to_string())
        .collect();
    assert!(texts.contains("lamp") && texts.contains("buoy"), "{report}");
    let count = drawers(&dir).len();
    let again = dir.json(0, &["mine", "conversations.json", "--force"]);
    assert_eq!(again["drawers"]["new"], 0, "{again}");
    assert_eq!(drawers(&dir).len(), count);
}
