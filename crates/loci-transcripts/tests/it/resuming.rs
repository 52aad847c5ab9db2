//! Reading a file that grows: resuming from a mark gives the same as reading the whole file.

use super::claude_code::{prompt, result};
use super::composing::{short, transcript};
use super::support::{ReadSource, adds_up, lines, read_from};
use loci_transcripts::{Error, Event, Format, Mark, Reader};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Reads the first part of a file, then resumes from the last mark, and compares with the whole.
fn check_growth(whole: &ReadSource, format: Format, text: &[u8], path: &Path, cut: usize) {
    let first = read_from(format, &text[..cut], path, &Mark::default());
    let mark = first.marks().last().copied().cloned().unwrap_or_default();
    assert!(usize::try_from(mark.offset).unwrap() <= cut);
    let rest = read_from(format, text, path, &mark);
    let is_mark = |event: &Event| matches!(event, Event::Rest(found) if **found == mark);
    let split = |told: &ReadSource| {
        let at = told.events.iter().position(is_mark).map_or(0, |at| at + 1);
        let pieces = |events: &[Event]| {
            let piece = |event: &&Event| matches!(event, Event::Piece(_));
            events.iter().filter(piece).cloned().collect::<Vec<_>>()
        };
        (pieces(&told.events[..at]), pieces(&told.events[at..]))
    };
    if mark != Mark::default() {
        assert!(
            whole.events.iter().any(is_mark),
            "the whole has no such rest: {mark:?}"
        );
    }
    let (before, after) = split(whole);
    assert_eq!(split(&first).0, before);
    let (early, late) = split(&rest);
    assert_eq!([early, late].concat(), after, "cut at {cut}");
}

fn check_every_line_end(format: Format, text: &[u8], path: &Path) {
    let whole = read_from(format, text, path, &Mark::default());
    let ends: Vec<_> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    for at in ends.iter().step_by(ends.len() / 40 + 1) {
        check_growth(&whole, format, text, path, at + 1);
    }
    check_growth(&whole, format, text, path, text.len().saturating_sub(3));
}

fn codex_transcript() -> impl Strategy<Value = Vec<Value>> {
    let record = (0usize..8, short());
    proptest::collection::vec(record, 1..14).prop_map(|records| {
        let mut made = vec![json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}})];
        for (n, (kind, text)) in records.into_iter().enumerate() {
            let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
            let (kind, payload) = match kind {
                0 => ("response_item", message("user", &text)),
                1 => ("event_msg", json!({"type": "user_message", "message": text})),
                2 => ("event_msg", json!({"type": "agent_message", "message": text})),
                3 => ("response_item", message("assistant", &text)),
                4 => ("turn_context", json!({"model": format!("m{n}"), "cwd": "/w"})),
                5 => ("response_item", json!({"type": "function_call_output", "call_id": "c", "output": text})),
                6 => ("event_msg", json!({"type": "user_message", "message": made.last().map(|r| r["payload"]["content"][0]["text"].clone())})),
                _ => ("response_item", message("assistant", made.last().and_then(|r| r["payload"]["message"].as_str()).unwrap_or("x"))),
            };
            made.push(json!({"timestamp": format!("2026-01-01T00:00:{n:02}Z"), "type": kind, "payload": payload}));
        }
        made
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_claude_code_session_may_grow_at_every_line_end(records in transcript(short)) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let text = lines(&records);
        file.write_all(text.as_bytes()).unwrap();
        check_every_line_end(Format::ClaudeCode, text.as_bytes(), file.path());
    }

    #[test]
    fn a_codex_rollout_may_grow_at_every_line_end(records in codex_transcript()) {
        check_every_line_end(Format::Codex, lines(&records).as_bytes(), Path::new("rollout-x.jsonl"));
    }

    #[test]
    fn a_plain_text_may_grow_at_every_line_end(turns in proptest::collection::vec((any::<bool>(), short()), 1..10), quotes in any::<bool>()) {
        let mut text = String::new();
        for (is_user, said) in turns {
            match (is_user, quotes) {
                (true, false) => text += &format!("User: {said}\n"),
                (false, false) => text += &format!("Assistant: {said}\n"),
                (true, true) => text += &format!("> {}\n", said.replace('\n', "\n> ")),
                (false, true) => text += &format!("{said}\n"),
            }
        }
        check_every_line_end(Format::Plain, text.as_bytes(), Path::new("talk.txt"));
        check_every_line_end(Format::Aider, text.as_bytes(), Path::new(".aider.chat.history.md"));
    }

    #[test]
    fn a_gemini_log_may_grow_at_every_line_end(records in proptest::collection::vec((0usize..4, 0usize..4, short()), 1..14)) {
        let mut made = vec![json!({"sessionId": "g", "startTime": "2026-01-01T00:00:00Z", "projectHash": "h"})];
        for (n, (kind, back, text)) in records.into_iter().enumerate() {
            let id = format!("m{}", n.saturating_sub(back));
            let kind = ["user", "gemini", "gemini", "info"][kind];
            made.push(json!({"id": id, "type": kind, "content": text, "timestamp": format!("2026-01-01T00:00:{n:02}Z")}));
        }
        check_every_line_end(Format::GeminiLog, lines(&made).as_bytes(), Path::new("session-1.jsonl"));
    }
}

#[test]
fn an_exchange_that_rests_inside_may_grow_at_every_line_end() {
    let output: String = (0..3_000)
        .map(|i| format!("Page {i} of the log of the boat.\n"))
        .collect();
    let mut records = vec![prompt(1, "Read the log")];
    records.extend((2..9).map(|n| result(n, json!(output), false)));
    records.push(prompt(20, "Enough"));
    check_every_line_end(
        Format::ClaudeCode,
        lines(&records).as_bytes(),
        Path::new("x.jsonl"),
    );
}

#[test]
fn a_session_of_an_agent_may_grow_at_every_line_end() {
    for (format, path, text) in super::agents::fixtures() {
        let path = Path::new(path);
        if path.extension().unwrap() == "jsonl" && format != Format::CopilotChatLog {
            check_every_line_end(format, text.as_bytes(), path);
        }
    }
}

#[test]
fn a_mark_before_a_prompt_does_not_remember_the_prompt() {
    let record = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload});
    let item = record(
        "response_item",
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}),
    );
    let event = record(
        "event_msg",
        json!({"type": "user_message", "message": "go on"}),
    );
    let begin = record(
        "event_msg",
        json!({"type": "user_message", "message": "begin"}),
    );
    let text = lines(&[begin, item, event.clone(), event]);
    check_every_line_end(Format::Codex, text.as_bytes(), Path::new("rollout-x.jsonl"));
}

#[test]
fn a_record_repeated_behind_the_mark_is_still_known() {
    let records: Vec<_> = (1..6).map(|n| prompt(n, &format!("prompt {n}"))).collect();
    let mut repeated = records.clone();
    repeated.extend(records.iter().cloned());
    repeated.push(prompt(9, "new"));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines(&repeated).as_bytes()).unwrap();
    let first = read_from(
        Format::ClaudeCode,
        lines(&records).as_bytes(),
        file.path(),
        &Mark::default(),
    );
    let mark = first.marks().last().copied().unwrap();
    let rest = read_from(
        Format::ClaudeCode,
        lines(&repeated).as_bytes(),
        file.path(),
        mark,
    );
    assert_eq!(rest.texts(), ["User:\nprompt 5", "User:\nnew"]);
    assert_eq!(rest.skipped("repeated record"), 5);
}

#[test]
fn every_rest_of_an_export_can_be_resumed_from() {
    let day = "general/2026-01-02.json";
    let mut files = vec![
        (
            Format::ClaudeAi,
            day,
            super::exports::claude_ai().to_string(),
        ),
        (Format::ChatGpt, day, super::exports::chatgpt().to_string()),
        (Format::Slack, day, super::exports::slack().to_string()),
        (
            Format::GeminiPrompts,
            day,
            super::gemini::prompts().to_string(),
        ),
        (Format::GeminiCli, day, super::gemini::session_text()),
    ];
    let objects = super::agents::fixtures().into_iter();
    files.extend(objects.filter(|(_, path, _)| Path::new(path).extension().unwrap() == "json"));
    for (format, path, text) in files {
        let path = Path::new(path);
        let whole = read_from(format, text.as_bytes(), path, &Mark::default());
        assert!(!whole.marks().is_empty(), "{format:?}");
        for mark in whole.marks() {
            let at = whole
                .events
                .iter()
                .position(|event| matches!(event, Event::Rest(found) if **found == *mark))
                .unwrap();
            let rest = read_from(format, text.as_bytes(), path, mark);
            let pieces = |events: &[Event]| {
                events
                    .iter()
                    .filter(|e| matches!(e, Event::Piece(_)))
                    .cloned()
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                pieces(&rest.events),
                pieces(&whole.events[at..]),
                "{format:?} {mark:?}"
            );
        }
    }
}

#[test]
fn an_export_that_is_cut_off_gives_what_it_holds_and_then_an_error() {
    let text = super::exports::claude_ai().to_string();
    let text = &text[..text.len() - 10];
    let mut reader = Reader::new(
        Format::ClaudeAi,
        text.as_bytes(),
        Path::new("conversations.json"),
    );
    let mut pieces = 0;
    let error = loop {
        match reader.next() {
            Ok(Some(Event::Piece(_))) => pieces += 1,
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Broken { .. }), "{error}");
    assert!(pieces >= 1);
    adds_up(reader.tally());
    assert!(reader.next().unwrap().is_none());
}
