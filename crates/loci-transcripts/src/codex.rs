//! Reads Codex's JSON lines. In the newer shape each line has a type and a payload; in the older
//! shape a line is the payload alone.
//!
//! The same text is often written twice, as an event and as an item of the model's conversation.
//! Only the first of the two is filed.

use super::blocks::{Block, Content};
use super::clock;
use super::format::{Companions, Layout, Spec};
use super::input;
use super::keys::Keys;
use super::recognise::{Sign, file_name};
use super::scalar::Scalar;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// How many recent texts are remembered to detect the second copy.
pub(super) const REMEMBERED: usize = 8;

#[derive(Debug)]
pub(super) struct Codex;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Scalar<'a>,
    #[serde(rename = "type", borrow)]
    kind: Scalar<'a>,
    #[serde(borrow)]
    record_type: Scalar<'a>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(rename = "type", borrow)]
    kind: Scalar<'a>,
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    timestamp: Scalar<'a>,
    #[serde(borrow)]
    cwd: Scalar<'a>,
    #[serde(borrow)]
    model: Scalar<'a>,
    #[serde(borrow)]
    git: Option<Git<'a>>,
    #[serde(borrow)]
    instructions: Scalar<'a>,
    #[serde(borrow)]
    base_instructions: Content<'a>,
    #[serde(borrow)]
    role: Scalar<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    summary: Content<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    arguments: Scalar<'a>,
    #[serde(borrow)]
    input: Scalar<'a>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Scalar<'a>,
    #[serde(borrow)]
    text: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Git<'a> {
    #[serde(borrow)]
    branch: Scalar<'a>,
}

/// The two records in which Codex writes the same text.
#[derive(Clone, Copy)]
enum Origin {
    Event = 0,
    Item = 1,
}

impl Codex {
    fn begin(payload: &Payload<'_>, at: Option<String>, sink: &mut ParseSink) {
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            facts.id = payload.id.owned().unwrap_or_default();
        }
        ParseSink::learn(&mut facts.folder, payload.cwd.owned());
        let branch = payload.git.as_ref().and_then(|git| git.branch.owned());
        ParseSink::learn(&mut facts.branch, branch);
        ParseSink::learn(
            &mut facts.started_at,
            clock::time(&payload.timestamp).or(at),
        );
    }
}

impl RecordFormat for Codex {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let line: Line<'_> = serde_json::from_str(text)?;
        let payload: Payload<'_> = serde_json::from_str(line.payload.map_or(text, RawValue::get))?;
        let at = clock::time(&line.timestamp);
        let mut utterance = Utterance::new(place, "assistant");
        utterance.at.clone_from(&at);
        match line.kind.str() {
            "session_meta" => {
                Self::begin(&payload, at, sink);
                utterance.speaker = "system".into();
                payload.base_instructions.write_to(
                    "System",
                    &mut utterance,
                    &mut sink.record_tally,
                    &|_, _| None,
                );
                utterance.push("System", payload.instructions.str());
                sink.emit_or_skip(utterance, "record type `session_meta`");
            }
            "turn_context" => {
                if let Some(model) = payload.model.owned() {
                    sink.state.model = Some(model);
                }
                ParseSink::learn(&mut sink.conversation.folder, payload.cwd.owned());
                sink.record_tally.skip("record type `turn_context`");
            }
            "compacted" => {
                utterance.speaker = "system".into();
                utterance.push("Summary of the conversation so far", payload.message.str());
                sink.emit_or_skip(utterance, "record type `compacted`");
            }
            "event_msg" => event(&payload, utterance, sink),
            "response_item" => item(payload, utterance, sink),
            "" if !line.record_type.str().is_empty() => {
                sink.record_tally
                    .skip(&format!("record type `{}`", line.record_type.str()));
            }
            "" if !payload.id.str().is_empty() => {
                Self::begin(&payload, at, sink);
                utterance.speaker = "system".into();
                utterance.push("System", payload.instructions.str());
                sink.emit_or_skip(utterance, "record type `session`");
            }
            _ if line.payload.is_none() => item(payload, utterance, sink),
            kind => sink.skip_kind(kind),
        }
        Ok(())
    }
}

fn event(payload: &Payload<'_>, mut utterance: Utterance, sink: &mut ParseSink) {
    let (label, speaker, words) = match payload.kind.str() {
        "user_message" => ("User", "user", &payload.message),
        "agent_message" => ("Assistant", "assistant", &payload.message),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            ("Assistant (thinking)", "assistant", &payload.text)
        }
        kind => {
            sink.record_tally.skip(&format!("event `{kind}`"));
            return;
        }
    };
    if is_repeated(label, words.str(), Origin::Event, sink) {
        sink.record_tally.skip("said twice");
        return;
    }
    let is_context = speaker == "user" && is_injected(words.str());
    utterance.speaker = if is_context { "system" } else { speaker }.into();
    utterance.prompt = speaker == "user" && !is_context;
    utterance.model = sink.state.model.clone().filter(|_| speaker == "assistant");
    utterance.push(if is_context { "Context" } else { label }, words.str());
    sink.emit(utterance);
}

fn item(payload: Payload<'_>, mut utterance: Utterance, sink: &mut ParseSink) {
    utterance.model.clone_from(&sink.state.model);
    let kind = payload.kind.str();
    match kind {
        "message" => message(payload, utterance, sink),
        "reasoning" => {
            let mut twice = false;
            for content in [payload.summary, payload.content] {
                for text in texts(&content) {
                    if is_repeated("Assistant (thinking)", text, Origin::Item, sink) {
                        twice = true;
                    } else {
                        utterance.push("Assistant (thinking)", text);
                    }
                }
            }
            sink.emit_or_skip(
                utterance,
                if twice {
                    "said twice"
                } else {
                    "encrypted reasoning"
                },
            );
        }
        "function_call" | "custom_tool_call" => {
            let words = payload.arguments.text().or(payload.input.text());
            utterance.call(
                payload.name.str(),
                words.map(input::render_text).unwrap_or_default(),
            );
            sink.emit(utterance);
        }
        "local_shell_call" | "web_search_call" => {
            let words = payload.action.map(input::render).unwrap_or_default();
            utterance.call(kind.trim_end_matches("_call"), words);
            sink.emit(utterance);
        }
        "function_call_output" | "custom_tool_call_output" => {
            utterance.speaker = "tool".into();
            utterance.model = None;
            output(payload.output, &mut utterance, sink);
            sink.emit(utterance);
        }
        _ => sink.record_tally.skip(&format!("item `{kind}`")),
    }
}

fn message(payload: Payload<'_>, mut utterance: Utterance, sink: &mut ParseSink) {
    let whole = texts(&payload.content).join("\n");
    let (speaker, label): (&'static str, &'static str) = match payload.role.str() {
        "user" if is_injected(&whole) => ("system", "Context"),
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Assistant"),
        "developer" => ("system", "Developer"),
        _ => ("system", "System"),
    };
    let event_label = if speaker == "system" { "User" } else { label };
    if is_repeated(event_label, &whole, Origin::Item, sink) {
        // Images are only in the item, never in the event.
        let mut pictures = Utterance::new(utterance.place, speaker);
        if let Content::Blocks(blocks) = payload.content {
            let pictures_only = blocks
                .into_iter()
                .filter(|block| block.kind.str() == "input_image")
                .collect();
            Content::Blocks(pictures_only).write_to(
                label,
                &mut pictures,
                &mut sink.record_tally,
                &|_, _| None,
            );
        }
        sink.record_tally.skip("said twice");
        return;
    }
    utterance.speaker = speaker.into();
    utterance.prompt = speaker == "user";
    if speaker != "assistant" {
        utterance.model = None;
    }
    payload
        .content
        .write_to(label, &mut utterance, &mut sink.record_tally, &|_, _| None);
    sink.emit(utterance);
}

/// Adds the output of a tool: text, blocks, or JSON that wraps text and an exit code.
fn output(output: Option<&RawValue>, utterance: &mut Utterance, sink: &mut ParseSink) {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        output: Scalar<'a>,
        #[serde(borrow)]
        content: Content<'a>,
        #[serde(borrow)]
        success: Scalar<'a>,
        metadata: Option<Exit>,
    }
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Exit {
        exit_code: f64,
    }
    let Some(json) = output.map(RawValue::get) else {
        return;
    };
    if json.starts_with('{') {
        let Ok(wrapped) = serde_json::from_str::<Wrapped<'_>>(json) else {
            utterance.output(false, json);
            return;
        };
        let error = wrapped.success == Scalar::Bool(false);
        match wrapped.content {
            Content::Nothing => utterance.output(error, wrapped.output.text().unwrap_or(json)),
            content => content.write_to(
                super::utterance::output_label(error),
                utterance,
                &mut sink.record_tally,
                &|_, _| None,
            ),
        }
        return;
    }
    match serde_json::from_str(json) {
        Ok(Content::Text(text)) => match serde_json::from_str::<Wrapped<'_>>(&text) {
            Ok(Wrapped {
                output: Scalar::Text(words),
                metadata,
                ..
            }) => {
                utterance.output(metadata.is_some_and(|exit| exit.exit_code != 0.0), words);
            }
            _ => utterance.output(false, text),
        },
        Ok(content) => {
            content.write_to("Tool output", utterance, &mut sink.record_tally, &|_, _| {
                None
            });
        }
        Err(_) => utterance.output(false, json),
    }
}

fn texts<'c>(content: &'c Content<'_>) -> Vec<&'c str> {
    match content {
        Content::Nothing => Vec::new(),
        Content::Text(text) => vec![text],
        Content::Blocks(blocks) => {
            let text =
                |block: &'c Block<'_>| block.text.text().filter(|text| !text.trim().is_empty());
            blocks.iter().filter_map(text).collect()
        }
    }
}

/// Whether the same text was read recently from the other kind of record.
fn is_repeated(label: &str, words: &str, origin: Origin, sink: &mut ParseSink) -> bool {
    let words = words.trim();
    if words.is_empty() {
        return false;
    }
    let digest = (xxh3_64(format!("{label}\n{words}").as_bytes()) & !1) | origin as u64;
    let digests = &mut sink.state.digests;
    if let Some(at) = digests.iter().position(|&known| known == digest ^ 1) {
        digests.remove(at);
        return true;
    }
    if digests.len() == REMEMBERED {
        digests.remove(0);
    }
    digests.push(digest);
    false
}

/// Whether the program, not a person, wrote this text in the place of a prompt.
fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    [
        "<environment_context>",
        "<user_instructions>",
        "# AGENTS.md instructions",
        "<INSTRUCTIONS>",
        "<permissions instructions>",
        "<turn_aborted>",
        "<skill>",
        "<subagent_notification>",
        "<user_shell_command>",
        "<collaboration_mode>",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// Codex's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "codex",
    is_export: false,
    sign: Sign::Record(is_record),
    layout: Layout::Lines(|_| Box::new(Codex)),
    companions: Companions::NONE,
};

fn is_record(keys: &Keys, path: &Path) -> bool {
    let kind = keys.value("type");
    let is_known = matches!(
        kind,
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
    );
    if is_known && keys.has("payload") {
        return true;
    }
    let is_old = kind == "message" && keys.has("role") && keys.has("content")
        || keys.has("record_type")
        || keys.has("id") && keys.has("timestamp") && keys.has("instructions");
    is_old && file_name(path).starts_with("rollout-")
}
