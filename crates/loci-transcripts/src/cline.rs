//! Reads the tasks of Cline and of its forks Roo Code and Kilo Code: `api_conversation_history.json`,
//! a list of messages in the shape of Anthropic's API. The folder of the file is named after the
//! task. Newer versions of Cline write an object with the same messages.
//!
//! The messages of the user hold what was typed, tool results, and context from the program. Tags
//! and headers in the text tell them apart.

use super::beside::read_json;
use super::clock;
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Opening, Spec};
use super::keys::Keys;
use super::recognise::{Sign, file_name, folder_name, is_below};
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, one_line, output_label};
use super::values::{asking_speaker, has_prompt, is_reminder, write_block, write_content};
use serde_json::Value;
use std::path::Path;

#[derive(Debug)]
struct Cline {
    /// The name of the folder, which is the id of the task and begins with its time.
    task: String,
    /// The facts of a session of the newer form.
    about: Value,
}

impl Cline {
    fn new(file: &Opening<'_>) -> Self {
        let stem = file_name(file.path);
        let about = match stem.strip_suffix(MESSAGES_SUFFIX) {
            Some(id) => read_json(file.path.parent(), &format!("{id}.json"), file.allowed),
            None => Value::Null,
        };
        Self {
            task: folder_name(file.path),
            about,
        }
    }

    fn learn(&self, sink: &mut ParseSink) {
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            facts.id.clone_from(&self.task);
        }
        let milliseconds = self.task.split('_').next().unwrap_or_default();
        let started = time(&self.about, "started_at").or_else(|| {
            let is_time = milliseconds.len() == 13;
            clock::from_text(milliseconds).filter(|_| is_time)
        });
        ParseSink::learn(&mut facts.started_at, started);
        ParseSink::learn(&mut facts.folder, fact(&self.about, "cwd"));
        let title = fact(inner(&self.about, "metadata"), "title");
        ParseSink::learn(&mut facts.title, title);
    }
}

impl RecordFormat for Cline {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let message: Value = serde_json::from_str(text)?;
        self.learn(sink);
        let content = inner(&message, "content");
        let is_user = word(&message, "role") == "user";
        let mut utterance = Utterance::new(place, "assistant");
        utterance.at = time(&message, "ts");
        if inner(&message, "isSummary") == &Value::Bool(true) {
            utterance.speaker = "system".into();
            let label = |_: &str| "Summary of the conversation so far";
            write_content(content, &label, &mut utterance, &mut sink.record_tally);
        } else if is_user {
            write_request(content, &mut utterance, sink);
        } else {
            let model = inner(&message, "modelInfo");
            utterance.model = fact(model, "modelId").or_else(|| fact(model, "id"));
            utterance.push("Assistant (thinking)", word(&message, "reasoning_content"));
            for part in list(&message, "summary") {
                utterance.push("Assistant (thinking)", word(part, "text"));
            }
            let label = |_: &str| "Assistant";
            write_content(content, &label, &mut utterance, &mut sink.record_tally);
        }
        sink.emit(utterance);
        Ok(())
    }

    fn frame(&mut self, json: &str, sink: &mut ParseSink) {
        if let Ok(session) = serde_json::from_str::<Value>(json)
            && sink.conversation.id.is_empty()
        {
            word(&session, "sessionId").clone_into(&mut sink.conversation.id);
        }
    }
}

/// Adds a message that is sent to the model.
fn write_request(content: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        _ => std::slice::from_ref(content),
    };
    let mut in_result = false;
    let mut has_result = false;
    for block in blocks {
        let words = block.as_str().unwrap_or_else(|| word(block, "text"));
        match word(block, "type") {
            "tool_result" => {
                has_result = true;
                let error = inner(block, "is_error") == &Value::Bool(true);
                let label = |words: &str| {
                    if is_reply(words) {
                        "User"
                    } else {
                        output_label(error)
                    }
                };
                let content = inner(block, "content");
                write_content(content, &label, utterance, &mut sink.record_tally);
            }
            "file" => {
                let name = one_line(word(block, "path"));
                utterance.push(format!("Attachment {name}"), word(block, "content"));
            }
            "text" | "" => {
                in_result |= is_result_header(words);
                has_result |= in_result;
                learn_folder(words, sink);
                utterance.push(text_label(words, in_result), words);
            }
            _ => write_block(block, &|_| "User", utterance, &mut sink.record_tally),
        }
    }
    utterance.prompt = has_prompt(utterance);
    utterance.speaker = asking_speaker(utterance.prompt, has_result).into();
}

fn text_label(words: &str, in_result: bool) -> &'static str {
    let start = words.trim_start();
    let is_context = start.starts_with("<environment_details>")
        || start.starts_with("[ERROR]")
        || start.starts_with("[TASK RESUMPTION]")
        || is_reminder(words);
    if is_reply(words) {
        "User"
    } else if is_context {
        "Context"
    } else if in_result {
        "Tool output"
    } else {
        "User"
    }
}

/// Whether the text holds words of the user, which the program puts into a tag. Other text may stand
/// before or after the tag, but not on both sides.
fn is_reply(words: &str) -> bool {
    let words = words.trim();
    ["task", "user_message", "feedback", "answer"]
        .iter()
        .any(|tag| {
            let is_begun = words.starts_with(&format!("<{tag}>"));
            is_begun || words.ends_with(&format!("</{tag}>"))
        })
}

/// Whether the following text is the result of a tool, such as `[read_file for 'a.rs'] Result:`.
fn is_result_header(words: &str) -> bool {
    let words = words.trim();
    words.starts_with('[')
        && words
            .lines()
            .next()
            .unwrap_or_default()
            .ends_with("Result:")
}

/// Takes the working directory from the details of the environment.
fn learn_folder(words: &str, sink: &mut ParseSink) {
    let folder = [
        "# Current Workspace Directory (",
        "# Current Working Directory (",
    ]
    .iter()
    .filter(|_| words.trim_start().starts_with("<environment_details>"))
    .find_map(|heading| words.split_once(heading))
    .and_then(|(_, rest)| rest.lines().next()?.split_once(") Files"))
    .map(|(folder, _)| folder.to_owned());
    ParseSink::learn(&mut sink.conversation.folder, folder);
}

const MESSAGES_SUFFIX: &str = ".messages.json";

const LAYOUT: Layout = Layout::Elements {
    key: None,
    limit: MAX_RECORD_BYTES,
    reader: |file| Box::new(Cline::new(file)),
};

/// A task of Cline.
pub(super) const SPEC: Spec = Spec {
    name: "cline",
    is_export: false,
    sign: Sign::Array(is_history),
    layout: LAYOUT,
    companions: Companions::NONE,
};

/// A session of Cline's newer form.
pub(super) const SESSION_SPEC: Spec = Spec {
    name: "cline",
    is_export: false,
    sign: Sign::Object(|keys, path| {
        let members = ["version", "sessionId", "agent", "messages"];
        file_name(path).ends_with(MESSAGES_SUFFIX) && members.iter().all(|key| keys.has(key))
    }),
    layout: Layout::Elements {
        key: Some("messages"),
        limit: MAX_RECORD_BYTES,
        reader: |file| Box::new(Cline::new(file)),
    },
    companions: Companions::NONE,
};

/// A task of Roo Code.
pub(super) const ROO_SPEC: Spec = Spec {
    name: "roo-code",
    is_export: false,
    sign: Sign::Array(|keys, path| {
        is_below(path, "rooveterinaryinc.roo-cline") && is_history(keys, path)
    }),
    layout: LAYOUT,
    companions: Companions::NONE,
};

/// A task of Kilo Code.
pub(super) const KILO_SPEC: Spec = Spec {
    name: "kilo-code",
    is_export: false,
    sign: Sign::Array(|keys, path| is_below(path, "kilocode.kilo-code") && is_history(keys, path)),
    layout: LAYOUT,
    companions: Companions::NONE,
};

fn is_history(keys: &Keys, path: &Path) -> bool {
    file_name(path) == "api_conversation_history.json" && keys.has("role") && keys.has("content")
}
