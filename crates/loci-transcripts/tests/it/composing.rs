//! Properties that hold for the pieces of any conversation.

use super::claude_code::{answer, prompt, result};
use super::support::{lines, read, words};
use loci_transcripts::{Event, Format};
use proptest::prelude::*;
use serde_json::{Value, json};

const PATH: &str = "talk.jsonl";

#[test]
fn pieces_of_one_message_never_have_the_same_text() {
    for unit in ["a", "ab ", "word\n", "a sentence. ", "paragraph\n\n", "é"] {
        let text = unit.repeat(60_000 / unit.len());
        let told = read(Format::ClaudeCode, lines(&[prompt(1, &text)]), PATH);
        let pieces = told.pieces();
        assert!(pieces.len() > 10);
        assert!(
            pieces.iter().all(|piece| piece.text.len() < 4_200),
            "{unit:?}"
        );
        assert!(words(&pieces).ends_with(&text), "{unit:?}");
    }
}

#[test]
fn a_last_part_that_would_repeat_another_joins_the_one_before() {
    // The parts after the first are as long as a part can be, so a text of exactly this length
    // consists of equal parts.
    for extra in 0..3 {
        let part = 4_000 - "User (continued):\n".len();
        let length = 4_000 - "User:\n".len() + part * 2 + extra;
        let text = "x".repeat(length);
        let told = read(Format::ClaudeCode, lines(&[prompt(1, &text)]), PATH);
        assert!(words(&told.pieces()).ends_with(&text));
    }
}

#[test]
fn equal_calls_in_one_record_make_pieces_that_differ() {
    let call = json!({"type": "tool_use", "id": "t", "name": "Write", "input": {"content": "z ".repeat(1_500)}});
    let told = read(
        Format::ClaudeCode,
        lines(&[answer(1, json!(vec![call; 9]))]),
        PATH,
    );
    assert_eq!(words(&told.pieces()).matches("z ").count(), 9 * 1_500);
}

#[test]
fn a_very_long_exchange_rests_inside() {
    let output = "All of the log of the boat, page after page.\n".repeat(1_000);
    let mut records = vec![prompt(1, "Read the log")];
    records.extend((2..40).map(|n| result(n, json!(output), false)));
    let told = read(Format::ClaudeCode, lines(&records), PATH);
    let marks = told.marks();
    assert!(marks.len() >= 5, "{}", marks.len());
    assert!(marks.iter().all(|mark| mark.exchange == 1 && mark.part > 0));
    let mut since = 0;
    for event in &told.events {
        match event {
            Event::Piece(piece) => since += piece.text.len(),
            Event::Rest(_) => since = 0,
            Event::Conversation(_) => {}
        }
        assert!(since < 400_000);
    }
}

pub(super) fn said() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-zäß .!?\n]{1,120}",
        2 => ("[a-z ]{1,30}", 20usize..400).prop_map(|(unit, times)| unit.repeat(times)),
        1 => ("[a-z \n.]{5,60}", 300usize..1500).prop_map(|(unit, times)| unit.repeat(times)),
        1 => Just("   ".to_owned()),
        1 => "(?s).{0,60}",
    ]
}

/// Short words, and sometimes words that fill a piece or two.
pub(super) fn short() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => "[a-zäß .!?\n]{1,40}",
        1 => ("[a-z \n]{1,30}", 20usize..300).prop_map(|(unit, times)| unit.repeat(times)),
        1 => Just("   ".to_owned()),
    ]
}

pub(super) fn transcript<S: Strategy<Value = String>>(
    said: fn() -> S,
) -> impl Strategy<Value = Vec<Value>> {
    let record = prop_oneof![
        3 => said().prop_map(|text| (0, text)),
        3 => said().prop_map(|text| (1, text)),
        2 => said().prop_map(|text| (2, text)),
        2 => said().prop_map(|text| (3, text)),
        1 => said().prop_map(|text| (4, text)),
        1 => Just((5, String::new())),
        1 => Just((6, String::new())),
    ];
    proptest::collection::vec(record, 1..14).prop_map(|records| {
        let mut made: Vec<Value> = Vec::new();
        for (n, (kind, text)) in records.into_iter().enumerate() {
            let n = n as u32 + 1;
            let next = match kind {
                0 => prompt(n, &text),
                1 => answer(n, json!([{"type": "text", "text": text}])),
                2 => answer(n, json!([{"type": "thinking", "thinking": text}, {"type": "tool_use", "name": "Bash", "input": {"command": text}}])),
                3 => result(n, json!(text), n.is_multiple_of(2)),
                4 => result(n, json!([{"type": "text", "text": text}, {"type": "text", "text": "more"}]), false),
                5 => json!({"type": "progress", "uuid": format!("p{n}")}),
                _ => made.first().cloned().unwrap_or(json!({"type": "nothing"})),
            };
            made.push(next);
        }
        made
    })
}

/// The texts of a generated transcript.
fn texts(record: &Value) -> Vec<String> {
    let content = &record["message"]["content"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .flat_map(|block| {
                let inner = block["content"].as_array().into_iter().flatten();
                [
                    text(&block["text"]),
                    text(&block["thinking"]),
                    text(&block["input"]["command"]),
                    text(&block["content"]),
                ]
                .into_iter()
                .chain(inner.map(|block| text(&block["text"])))
                .flatten()
                .collect::<Vec<_>>()
            })
            .collect(),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_word_of_every_message_is_in_the_pieces(records in transcript(said)) {
        let told = read(Format::ClaudeCode, lines(&records), PATH);
        let words = words(&told.pieces());
        for text in records.iter().flat_map(texts).filter(|text| !text.trim().is_empty()) {
            prop_assert!(words.contains(&text), "{text:?} is not in {words:?}");
        }
        prop_assert_eq!(told.tally.messages, records.len() as u64);
        for piece in told.pieces() {
            prop_assert!(piece.text.len() <= 4_600, "{}", piece.text.len());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), format in 0usize..11) {
        use loci_transcripts::Reader;
        let formats = [Format::ClaudeCode, Format::Codex, Format::ClaudeAi, Format::ChatGpt, Format::GeminiCli, Format::GeminiLog,
            Format::GeminiPrompts, Format::Slack, Format::Continue, Format::Aider, Format::Plain];
        let mut reader = Reader::new(formats[format], &*bytes, PATH.as_ref());
        while let Ok(Some(_)) = reader.next() {}
        super::support::adds_up(reader.tally());
    }

    #[test]
    fn no_json_makes_a_reader_panic(value in json_value(), format in 0usize..9) {
        use loci_transcripts::Reader;
        let formats = [Format::ClaudeCode, Format::Codex, Format::GeminiLog, Format::ClaudeAi, Format::ChatGpt, Format::GeminiPrompts,
            Format::Slack, Format::GeminiCli, Format::Continue];
        let text = match format {
            0..3 => format!("{value}\n"),
            3..7 => format!("[{value}]"),
            _ => format!("{{\"messages\":[{value}],\"history\":[{value}]}}"),
        };
        let mut reader = Reader::new(formats[format], text.as_bytes(), PATH.as_ref());
        while let Ok(Some(_)) = reader.next() {}
        super::support::adds_up(reader.tally());
    }
}

/// JSON of any shape, made of keys and words that the formats know.
fn json_value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "text",
        "tool_use",
        "tool_result",
        "message",
        "response_item",
        "event_msg",
        "image",
        "reasoning",
        "function_call_output",
        "some words",
        "",
        "session_meta",
        "user_message",
        "human",
        "gemini",
        "a",
        "thinking",
        "system",
    ]);
    let leaf = prop_oneof![
        6 => word.prop_map(|word| json!(word)),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(|b| json!(b)),
        1 => any::<f64>().prop_map(|n| json!(n)),
        1 => any::<i64>().prop_map(|n| json!(n)),
    ];
    let key = prop::sample::select(vec![
        "type",
        "message",
        "content",
        "role",
        "text",
        "payload",
        "uuid",
        "timestamp",
        "mapping",
        "chat_messages",
        "parent",
        "children",
        "a",
        "current_node",
        "parts",
        "input",
        "name",
        "sender",
        "ts",
        "id",
        "$set",
        "messages",
        "toolCalls",
        "result",
        "author",
        "output",
        "summary",
        "isSidechain",
        "metadata",
        "attachments",
        "files",
        "thinking",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            4 => proptest::collection::vec((key.clone(), inner), 0..7)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}
