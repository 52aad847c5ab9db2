use super::support::{lines, read, words};
use loci_transcripts::Format;
use serde_json::{Value, json};

const PATH: &str =
    "/home/mo/.claude/projects/-home-mo-boat/0b9d6c8e-1111-4222-8333-944455566677.jsonl";

pub(super) fn record(kind: &str, n: u32, message: Value) -> Value {
    json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/mo/boat",
        "sessionId": "0b9d6c8e-1111-4222-8333-944455566677", "version": "2.1.0", "gitBranch": "sails",
        "type": kind, "message": message, "uuid": format!("00000000-0000-4000-8000-{n:012}"),
        "timestamp": format!("2026-03-04T05:06:{:02}.{:03}Z", n / 1000 % 60, n % 1000),
    })
}

pub(super) fn prompt(n: u32, text: &str) -> Value {
    record("user", n, json!({"role": "user", "content": text}))
}

pub(super) fn answer(n: u32, blocks: Value) -> Value {
    record(
        "assistant",
        n,
        json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-test-1", "content": blocks,
               "usage": {"input_tokens": 3}}),
    )
}

pub(super) fn result(n: u32, content: Value, is_error: bool) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": is_error});
    let mut record = record("user", n, json!({"role": "user", "content": [block]}));
    record["toolUseResult"] = json!({"stdout": "not read"});
    record
}

fn session() -> Vec<Value> {
    vec![
        json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": false}),
        prompt(1, "Why does the mast creak?"),
        answer(
            2,
            json!([{"type": "thinking", "thinking": "Wood or rope?", "signature": "x"}]),
        ),
        answer(
            3,
            json!([{"type": "text", "text": "Let me look.\n\nOne moment."}]),
        ),
        answer(
            4,
            json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash",
                          "input": {"command": "grep -r creak .\necho done", "description": "Look for creaks"}}]),
        ),
        result(5, json!("hull.txt: creak\n  mast.txt: creak"), false),
        result(6, json!([{"type": "text", "text": "no such file"}]), true),
        answer(7, json!([{"type": "text", "text": "The rope is dry."}])),
        json!({"type": "progress", "uuid": "p", "sessionId": "s", "data": {}}),
        prompt(8, "Oil it."),
        answer(9, json!([{"type": "text", "text": "Done."}])),
        json!({"type": "ai-title", "aiTitle": "A creaking mast", "sessionId": "s"}),
    ]
}

#[test]
fn an_exchange_is_a_prompt_and_everything_until_the_next() {
    let told = read(Format::ClaudeCode, lines(&session()), PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nWhy does the mast creak?\n\nAssistant (thinking):\nWood or rope?\n\nAssistant:\nLet me look.\n\nOne moment.\n\n\
             Tool call Bash:\ncommand:\ngrep -r creak .\necho done\ndescription: Look for creaks\n\n\
             Tool output:\nhull.txt: creak\n  mast.txt: creak\n\nTool output (error):\nno such file\n\nAssistant:\nThe rope is dry.",
            "User:\nOil it.\n\nAssistant:\nDone.",
        ]
    );
    let first = told.pieces()[0];
    assert_eq!(
        (first.start_line, first.end_line, first.exchange, first.part),
        (2, 8, 1, 1)
    );
    assert_eq!(
        first.authored_at.as_deref(),
        Some("2026-03-04T05:06:00.001Z")
    );
    assert_eq!(first.ended_at.as_deref(), Some("2026-03-04T05:06:00.007Z"));
    assert_eq!(first.speakers, ["user", "assistant", "tool"]);
    assert_eq!(first.tools, ["Bash"]);
    assert_eq!(first.model.as_deref(), Some("claude-test-1"));
    assert_eq!(told.pieces()[1].exchange, 2);
    assert_eq!(told.tally.messages, 12);
    assert_eq!(told.tally.filed, 9);
    assert_eq!(told.skipped("record type `file-history-snapshot`"), 1);
    assert_eq!(told.skipped("record type `progress`"), 1);
}

#[test]
fn the_session_says_where_and_when_it_was() {
    let told = read(Format::ClaudeCode, lines(&session()), PATH);
    let [conversation] = told.conversations()[..] else {
        panic!("one conversation")
    };
    assert_eq!(conversation.id, "0b9d6c8e-1111-4222-8333-944455566677");
    assert_eq!(conversation.folder.as_deref(), Some("/home/mo/boat"));
    assert_eq!(conversation.branch.as_deref(), Some("sails"));
    assert_eq!(
        conversation.started_at.as_deref(),
        Some("2026-03-04T05:06:00.001Z")
    );
    assert_eq!(told.conversation.title.as_deref(), Some("A creaking mast"));
}

#[test]
fn the_last_exchange_comes_behind_the_last_rest() {
    let told = read(Format::ClaudeCode, lines(&session()), PATH);
    let marks = told.marks();
    assert_eq!(marks.len(), 1);
    assert_eq!((marks[0].line, marks[0].exchange, marks[0].part), (9, 1, 0));
}

#[test]
fn a_repeated_record_is_filed_once() {
    let mut records = session();
    records.extend(session());
    records.push(prompt(50, "And now?"));
    let told = read(Format::ClaudeCode, lines(&records), PATH);
    assert_eq!(told.skipped("repeated record"), 10);
    assert_eq!(told.texts().len(), 3);
}

#[test]
fn pictures_are_counted_and_leave_a_line() {
    let content = json!([{"type": "text", "text": "See this"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]);
    let told = read(
        Format::ClaudeCode,
        lines(&[record(
            "user",
            1,
            json!({"role": "user", "content": content}),
        )]),
        PATH,
    );
    assert_eq!(told.texts(), ["User:\nSee this\n[image]"]);
    assert_eq!(told.skipped("image"), 1);
    assert_eq!((told.tally.messages, told.tally.filed), (2, 1));
}

#[test]
fn an_unknown_block_is_kept_if_it_has_words_and_counted_if_not() {
    let blocks = json!([{"type": "poem", "verse": "two words"}, {"type": "ping", "id": "x1"}, {"type": "text", "text": "end"}]);
    let told = read(Format::ClaudeCode, lines(&[answer(1, blocks)]), PATH);
    let text = told.texts()[0];
    assert!(text.starts_with("Assistant:\n[block poem]\n{"), "{text}");
    assert!(text.contains("two words"));
    assert_eq!(told.skipped("block `ping`"), 1);
}

#[test]
fn an_unknown_block_in_a_tool_result_is_kept() {
    let told = read(
        Format::ClaudeCode,
        lines(&[result(
            1,
            json!([{"type": "odd", "note": "some words"}]),
            false,
        )]),
        PATH,
    );
    assert!(
        told.texts()[0].starts_with("Tool output:\n[block odd]\n{"),
        "{:?}",
        told.texts()
    );
}

#[test]
fn what_the_program_says_in_the_place_of_a_prompt_begins_no_exchange() {
    let mut meta = prompt(2, "Caveat: something");
    meta["isMeta"] = json!(true);
    let mut summary = prompt(3, "This session is being continued.");
    summary["isCompactSummary"] = json!(true);
    let system = json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": "s1",
        "timestamp": "2026-03-04T05:07:00Z"});
    let records = [
        prompt(1, "Go"),
        meta,
        summary,
        system,
        prompt(4, "<local-command-stdout>ok</local-command-stdout>"),
        json!({"type": "system", "subtype": "turn_duration", "durationMs": 5, "uuid": "s2", "timestamp": "2026-03-04T05:08:00Z"}),
    ];
    let told = read(Format::ClaudeCode, lines(&records), PATH);
    assert_eq!(
        told.texts(),
        [
            "User:\nGo\n\nContext:\nCaveat: something\n\nSummary of the conversation so far:\nThis session is being continued.\n\n\
          System:\nConversation compacted\n\nContext:\n<local-command-stdout>ok</local-command-stdout>"
        ]
    );
    assert_eq!(told.skipped("record type `system`, `turn_duration`"), 1);
}

#[test]
fn what_was_typed_while_the_agent_worked_is_a_prompt() {
    let queued = json!({"type": "attachment", "uuid": "q", "sessionId": "s", "timestamp": "2026-03-04T06:00:00Z",
        "attachment": {"type": "queued_command", "prompt": "Stop that"}});
    let other = json!({"type": "attachment", "uuid": "r", "sessionId": "s", "timestamp": "2026-03-04T06:00:01Z",
        "attachment": {"type": "todo_reminder", "content": []}});
    let told = read(
        Format::ClaudeCode,
        lines(&[prompt(1, "Go"), queued, other]),
        PATH,
    );
    assert_eq!(told.texts(), ["User:\nGo", "User:\nStop that"]);
    assert_eq!(told.skipped("attachment `todo_reminder`"), 1);
}

#[test]
fn a_subagent_is_a_conversation_of_its_own_and_a_side_task_inside_a_session_is_marked() {
    let mut task = prompt(1, "Find the leak");
    task["isSidechain"] = json!(true);
    task["agentId"] = json!("a1b2");
    let told = read(
        Format::ClaudeCode,
        lines(&[task.clone()]),
        "/x/subagents/agent-a1b2.jsonl",
    );
    assert_eq!(
        told.conversations()[0].id,
        "0b9d6c8e-1111-4222-8333-944455566677/a1b2"
    );
    assert_eq!(told.texts(), ["User:\nFind the leak"]);

    task["uuid"] = json!("t");
    task["timestamp"] = json!("2026-03-04T05:07:00Z");
    let mut found = answer(5, json!([{"type": "text", "text": "Here"}]));
    found["isSidechain"] = json!(true);
    let told = read(
        Format::ClaudeCode,
        lines(&[prompt(1, "Go"), task, found]),
        PATH,
    );
    assert_eq!(
        told.texts(),
        ["User:\nGo\n\nTask:\nFind the leak\n\nSubagent:\nHere"]
    );
}

#[test]
fn damaged_lines_are_counted_and_cost_nothing_else() {
    let mut text = lines(&session()[..4]).into_bytes();
    text.extend_from_slice(
        b"{\"type\":\"user\", broken\n\n\0\0\0\n[1]\n{\"type\":\"user\",\"message\":7}\n\xff\xfe\n",
    );
    text.extend_from_slice(lines(&session()[7..]).as_bytes());
    let told = read(Format::ClaudeCode, text, PATH);
    assert_eq!(told.skipped("line is not JSON"), 3);
    assert_eq!(told.skipped("record of an unknown shape"), 1);
    assert_eq!(told.skipped("record without a type"), 1);
    assert_eq!(told.texts().len(), 2);
}

#[test]
fn half_a_utf_16_pair_costs_one_character() {
    let text = lines(&[prompt(1, "Fish HERE swims")]).replace("HERE", "\\ud83d\\ude00\\ud83d");
    let told = read(Format::ClaudeCode, text, PATH);
    assert_eq!(told.texts(), ["User:\nFish \u{1f600}\u{fffd} swims"]);
}

#[test]
fn a_half_written_last_line_is_left_and_a_whole_one_is_read() {
    let text = lines(&session());
    let whole = read(Format::ClaudeCode, text.trim_end(), PATH);
    assert_eq!(whole.tally.messages, 12);
    let half = read(Format::ClaudeCode, &text[..text.len() - 5], PATH);
    assert_eq!(half.tally.messages, 11);
    assert!(
        half.tally
            .skipped
            .keys()
            .all(|reason| !reason.contains("JSON"))
    );
}

#[test]
fn a_line_longer_than_64_mib_is_skipped_and_counted() {
    let long = format!("{{\"type\":\"user\",\"x\":\"{}\"}}\n", "y".repeat(64 << 20));
    let text = lines(&[prompt(1, "before")]) + &long + &lines(&[prompt(2, "after")]);
    let told = read(Format::ClaudeCode, text, PATH);
    assert_eq!(told.texts(), ["User:\nbefore", "User:\nafter"]);
    assert_eq!(told.pieces()[1].start_line, 3);
    assert_eq!(told.skipped("line longer than 64 MiB"), 1);
}

#[test]
fn a_long_answer_is_cut_into_parts_that_hold_all_of_it() {
    let long: String = (0..900)
        .map(|i| format!("Line {i} of the answer.\n"))
        .collect();
    let told = read(
        Format::ClaudeCode,
        lines(&[
            prompt(1, "Tell me"),
            answer(2, json!([{"type": "text", "text": long}])),
        ]),
        PATH,
    );
    let pieces = told.pieces();
    assert!(pieces.len() > 4);
    assert!(pieces.iter().all(|piece| piece.text.len() <= 4_000));
    assert!(
        pieces[0]
            .text
            .starts_with("User:\nTell me\n\nAssistant:\nLine 0 of")
    );
    assert!(pieces[1].text.starts_with("Assistant (continued):\nLine "));
    assert_eq!(
        pieces.iter().map(|piece| piece.part).collect::<Vec<_>>(),
        (1..=pieces.len() as u32).collect::<Vec<_>>()
    );
    assert!(words(&pieces).contains(long.trim_end()));
}
