use super::{agents, claude_code, exports, gemini};
use loci_transcripts::{Format, recognise};
use serde_json::json;
use std::path::Path;

fn of(path: &str, head: &str) -> Option<Format> {
    recognise(Path::new(path), head.as_bytes())
}

#[test]
fn each_format_is_known_by_its_first_bytes() {
    let claude = claude_code::prompt(1, "hello").to_string();
    assert_eq!(of("a.jsonl", &claude), Some(Format::ClaudeCode));
    assert_eq!(
        of("a.jsonl", &claude[..claude.len() - 20]),
        Some(Format::ClaudeCode)
    );
    let late = format!("{{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}}\n{claude}\n");
    assert_eq!(of("a.jsonl", &late), Some(Format::ClaudeCode));
    let codex = json!({"timestamp": "t", "type": "session_meta", "payload": {}}).to_string();
    assert_eq!(of("rollout-1.jsonl", &codex), Some(Format::Codex));
    let old = json!({"id": "x", "timestamp": "t", "instructions": null}).to_string();
    assert_eq!(of("rollout-1.jsonl", &old), Some(Format::Codex));
    assert_eq!(
        of("conversations.json", &exports::claude_ai().to_string()),
        Some(Format::ClaudeAi)
    );
    assert_eq!(
        of("conversations.json", &exports::chatgpt().to_string()),
        Some(Format::ChatGpt)
    );
    assert_eq!(
        of("session-1.json", &gemini::session_text()),
        Some(Format::GeminiCli)
    );
    let header = json!({"sessionId": "g", "projectHash": "h", "startTime": "t"}).to_string();
    assert_eq!(of("session-1.jsonl", &header), Some(Format::GeminiLog));
    assert_eq!(
        of("logs.json", &gemini::prompts().to_string()),
        Some(Format::GeminiPrompts)
    );
    assert_eq!(
        of("general/2026-01-02.json", &exports::slack().to_string()),
        Some(Format::Slack)
    );
    let session = json!({"id": "ses_1", "projectID": "p", "directory": "/x", "title": "t", "time": {"created": 1}}).to_string();
    assert_eq!(
        of("/s/storage/session/p/ses_1.json", &session),
        Some(Format::OpenCode)
    );
    let session =
        json!({"sessionId": "c", "title": "t", "workspaceDirectory": "/x", "history": []})
            .to_string();
    assert_eq!(of("c.json", &session), Some(Format::Continue));
    assert_eq!(
        of(
            ".aider.chat.history.md",
            "\n# aider chat started at 2026-01-01 00:00:00\n"
        ),
        Some(Format::Aider)
    );
    assert_eq!(of("state.vscdb", "SQLite format 3\0"), Some(Format::Cursor));
    assert_eq!(
        of("opencode.db", "SQLite format 3\0"),
        Some(Format::OpenCodeDb)
    );
    assert_eq!(
        of("talk.txt", "User: a\nAssistant: b\nUser: c\nAssistant: d\n"),
        Some(Format::Plain)
    );
}

#[test]
fn the_file_of_an_agent_is_not_taken_for_that_of_another() {
    for (format, path, text) in agents::fixtures() {
        assert_eq!(of(path, &text), Some(format), "{path}");
        // The place alone does not decide.
        assert_eq!(of(path, "{\"a\":1}\n"), None, "{path}");
        assert_eq!(of(path, "[{\"a\":1}]"), None, "{path}");
    }
}

#[test]
fn the_records_of_an_agent_are_known_wherever_the_file_lies() {
    for (format, _, text) in agents::fixtures() {
        let name = match format {
            Format::CopilotChat => "a.json",
            Format::QwenCode
            | Format::CopilotCli
            | Format::CopilotChatLog
            | Format::Factory
            | Format::Pi
            | Format::KimiCli => "a.jsonl",
            _ => continue,
        };
        assert_eq!(of(name, &text), Some(format), "{format:?}");
    }
}

#[test]
fn every_format_is_in_the_list_of_a_test() {
    let listed = agents::fixtures();
    let is_listed = |format: &Format| listed.iter().any(|(known, ..)| known == format);
    let elsewhere = [
        "codex",
        "claude-code",
        "gemini-cli",
        "continue",
        "opencode",
        "claude-ai",
        "chatgpt",
        "slack",
        "cursor",
        "aider",
        "plain",
        "crush",
        "goose",
        "openhands",
    ];
    for format in Format::ALL {
        let is_known = is_listed(format) || elsewhere.contains(&format.name());
        assert!(is_known || *format == Format::KiloCodeDb, "{format:?}");
    }
}

#[test]
fn ordinary_files_are_not_claimed() {
    for (path, head) in [
        (
            "a.json",
            r#"{"name":"loci","version":"1.0","dependencies":{}}"#,
        ),
        (
            "a.jsonl",
            "{\"type\":\"user\",\"id\":1}\n{\"type\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n",
        ),
        (
            "train.jsonl",
            r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}"#,
        ),
        (
            "log.jsonl",
            r#"{"timestamp":"t","type":"event","payload":{"x":1}}"#,
        ),
        ("a.json", r#"[{"id":1,"title":"x"},{"id":2}]"#),
        ("2026-01-02.json", r#"[{"date":"x","value":3}]"#),
        (
            "general/notes.json",
            r#"[{"type":"message","ts":"1.0","text":"x"}]"#,
        ),
        ("map.json", r#"[{"mapping":{"a":"b"}}]"#),
        (
            "README.md",
            "# User guide\n\nUser: the person.\n\nAssistant: the program.\n",
        ),
        ("notes.md", "> a quote\n\nwords\n\n> a quote\n\nwords\n"),
        (
            "config.yaml",
            "User: a\nAssistant: b\nUser: c\nAssistant: d\n",
        ),
        ("main.rs", "fn main() {}\n"),
        ("data.db", "SQLite format 3\0"),
        ("empty", ""),
        ("blank.txt", "\n\n"),
        ("a.json", "{"),
        ("a.json", "["),
        ("/x/session/p/a.json", r#"{"id":"ses_1"}"#),
        (
            "messages.jsonl",
            r#"{"role":"user","content":"a line of a training set"}"#,
        ),
        (
            "events.jsonl",
            r#"{"type":"user.message","data":{},"id":"1"}"#,
        ),
        ("log.jsonl", r#"{"kind":0,"v":{"version":"1"}}"#),
        (
            "bus.jsonl",
            r#"{"timestamp":1,"message":{"type":"a","body":"b"}}"#,
        ),
        (
            "web.jsonl",
            r#"{"type":"session_start","id":"1","user":"u"}"#,
        ),
        ("T-1.json", r#"{"id":"1","created":1,"messages":[]}"#),
        ("requests.json", r#"{"version":1,"requests":[{"url":"x"}]}"#),
        ("chat.json", r#"[{"role":"user","content":"hi"}]"#),
    ] {
        assert_eq!(of(path, head), None, "{path}: {head}");
    }
}

#[test]
fn names_and_exports_are_as_promised() {
    let all = [
        (Format::ClaudeCode, "claude-code", false),
        (Format::Codex, "codex", false),
        (Format::ClaudeAi, "claude-ai", true),
        (Format::ChatGpt, "chatgpt", true),
        (Format::GeminiCli, "gemini-cli", false),
        (Format::Cursor, "cursor", true),
        (Format::Slack, "slack", false),
        (Format::OpenCode, "opencode", false),
        (Format::QwenCode, "qwen-code", false),
        (Format::KimiCli, "kimi-cli", false),
        (Format::CopilotCli, "copilot-cli", false),
        (Format::CopilotChat, "copilot-chat", false),
        (Format::CopilotChatLog, "copilot-chat", false),
        (Format::Factory, "factory", false),
        (Format::Pi, "pi", false),
        (Format::OpenClaw, "openclaw", false),
        (Format::MistralVibe, "mistral-vibe", false),
        (Format::Amp, "amp", false),
        (Format::Cline, "cline", false),
        (Format::ClineSession, "cline", false),
        (Format::RooCode, "roo-code", false),
        (Format::KiloCode, "kilo-code", false),
        (Format::KiloCodeDb, "kilo-code", true),
        (Format::OpenHands, "openhands", false),
        (Format::Crush, "crush", true),
        (Format::Goose, "goose", true),
        (Format::Plain, "plain", false),
    ];
    for (format, name, is_export) in all {
        assert_eq!((format.name(), format.is_export()), (name, is_export));
    }
}
