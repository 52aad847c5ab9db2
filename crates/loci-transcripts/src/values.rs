//! Message content that is already parsed: a string, or blocks of text, thinking, tool calls and
//! tool results. Several agents write blocks in the shape of Anthropic's API, with small variations.

use super::blocks::unknown;
use super::field::{inner, list, word};
use super::input::{render_text, render_value};
use super::record_tally::RecordTally;
use super::utterance::{Utterance, output_label};
use serde_json::Value;

/// Chooses the label of a text by its words.
pub(super) type Label<'l> = &'l dyn Fn(&str) -> &'static str;

/// Adds the content to the message.
pub(super) fn write_content(
    content: &Value,
    label: Label<'_>,
    utterance: &mut Utterance,
    record_tally: &mut RecordTally,
) {
    match content {
        Value::String(words) => utterance.push(label(words), words.as_str()),
        Value::Array(blocks) => {
            for block in blocks {
                write_block(block, label, utterance, record_tally);
            }
        }
        Value::Object(_) => write_block(content, label, utterance, record_tally),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adds one block to the message. A block of an unknown kind is kept as JSON if it contains text.
pub(super) fn write_block(
    block: &Value,
    label: Label<'_>,
    utterance: &mut Utterance,
    record_tally: &mut RecordTally,
) {
    if let Some(words) = block.as_str() {
        utterance.push(label(words), words);
        return;
    }
    match word(block, "type") {
        "text" => {
            let words = word(block, "text");
            utterance.push(label(words), words);
        }
        "thinking" | "think" | "reasoning" => {
            let keys = ["thinking", "think", "text"];
            let words = keys.map(|key| word(block, key));
            let words = words.into_iter().find(|words| !words.is_empty());
            utterance.push(
                format!("{} (thinking)", label("")),
                words.unwrap_or_default(),
            );
        }
        "redacted_thinking" | "redactedThinking" => record_tally.skip_inner("redacted thinking"),
        "tool_use" | "toolCall" => {
            let arguments = [inner(block, "input"), inner(block, "arguments")];
            let arguments = arguments.into_iter().find(|value| !value.is_null());
            utterance.call(
                word(block, "name"),
                arguments.map(render_value).unwrap_or_default(),
            );
        }
        "tool_result" => {
            let error = inner(block, "is_error") == &Value::Bool(true);
            write_content(
                inner(block, "content"),
                &|_| output_label(error),
                utterance,
                record_tally,
            );
        }
        "image" | "image_url" | "input_image" => {
            utterance.note(label(""), "[image]");
            record_tally.skip_inner("image");
        }
        kind => unknown(
            kind,
            Some(block.to_string()),
            label(""),
            utterance,
            record_tally,
        ),
    }
}

/// Adds the tool calls in the shape of OpenAI's API, whose arguments are JSON inside a string.
pub(super) fn write_calls(message: &Value, key: &str, utterance: &mut Utterance) {
    for call in list(message, key) {
        let function = inner(call, "function");
        utterance.call(
            word(function, "name"),
            render_text(word(function, "arguments")),
        );
    }
}

/// Whether the content holds a tool result.
pub(super) fn has_result(content: &Value) -> bool {
    content.as_array().is_some_and(|blocks| {
        let mut kinds = blocks.iter().map(|block| word(block, "type"));
        kinds.any(|kind| kind == "tool_result")
    })
}

/// Whether a program wrote the whole text as a reminder for the model. Words of a person may follow
/// a reminder in the same text.
pub(super) fn is_reminder(words: &str) -> bool {
    let words = words.trim();
    words.starts_with("<system-reminder>") && words.ends_with("</system-reminder>")
}

/// Whether the message holds text under the label `User`, or a picture of the user.
pub(super) fn has_prompt(utterance: &Utterance) -> bool {
    let mut segments = utterance.segments.iter();
    segments.any(|segment| segment.label == "User")
}

/// The speaker of a message in the role of the user, which agents also use for tool results and for
/// context.
pub(super) fn asking_speaker(has_prompt: bool, has_result: bool) -> &'static str {
    if has_prompt {
        "user"
    } else if has_result {
        "tool"
    } else {
        "system"
    }
}
