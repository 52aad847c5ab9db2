//! Codex: JSON lines, in the newer shape each with a type and a payload, in the older one the payload alone.
//!
//! The same words often stand twice, as an event and as an item of the model's conversation; the first is filed.

use super::blocks::{Block, Content};
use super::clock;
use super::desk::{Desk, Misread, RecordFormat};
use super::input;
use super::said::{Place, Said};
use super::scalar::Scalar;
use serde::Deserialize;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

/// How many texts are remembered that may come a second time.
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

/// The two ways in which the same words are written.
#[derive(Clone, Copy)]
enum Origin {
    Event = 0,
    Item = 1,
}

impl Codex {
    fn begin(payload: &Payload<'_>, at: Option<String>, desk: &mut Desk) {
        let facts = &mut desk.conversation;
        if facts.id.is_empty() {
            facts.id = payload.id.owned().unwrap_or_default();
        }
        Desk::learn(&mut facts.folder, payload.cwd.owned());
        let branch = payload.git.as_ref().and_then(|git| git.branch.owned());
        Desk::learn(&mut facts.branch, branch);
        Desk::learn(
            &mut facts.started_at,
            clock::time(&payload.timestamp).or(at),
        );
    }
}

impl RecordFormat for Codex {
    fn record(&mut self, text: &str, place: Place, desk: &mut Desk) -> Result<(), Misread> {
        let line: Line<'_> = serde_json::from_str(text)?;
        let payload: Payload<'_> = serde_json::from_str(line.payload.map_or(text, RawValue::get))?;
        let at = clock::time(&line.timestamp);
        let mut said = Said::new(place, "assistant");
        said.at.clone_from(&at);
        match line.kind.str() {
            "session_meta" => {
                Self::begin(&payload, at, desk);
                said.speaker = "system".into();
                payload
                    .base_instructions
                    .tell("System", &mut said, &mut desk.books, &|_, _| None);
                said.push("System", payload.instructions.str());
                desk.say_or_skip(said, "record type `session_meta`");
            }
            "turn_context" => {
                if let Some(model) = payload.model.owned() {
                    desk.state.model = Some(model);
                }
                Desk::learn(&mut desk.conversation.folder, payload.cwd.owned());
                desk.books.skip("record type `turn_context`");
            }
            "compacted" => {
                said.speaker = "system".into();
                said.push("Summary of the conversation so far", payload.message.str());
                desk.say_or_skip(said, "record type `compacted`");
            }
            "event_msg" => event(&payload, said, desk),
            "response_item" => item(payload, said, desk),
            "" if !line.record_type.str().is_empty() => {
                desk.books
                    .skip(&format!("record type `{}`", line.record_type.str()));
            }
            "" if !payload.id.str().is_empty() => {
                Self::begin(&payload, at, desk);
                said.speaker = "system".into();
                said.push("System", payload.instructions.str());
                desk.say_or_skip(said, "record type `session`");
            }
            _ if line.payload.is_none() => item(payload, said, desk),
            kind => desk.skip_kind(kind),
        }
        Ok(())
    }
}

fn event(payload: &Payload<'_>, mut said: Said, desk: &mut Desk) {
    let (label, speaker, words) = match payload.kind.str() {
        "user_message" => ("User", "user", &payload.message),
        "agent_message" => ("Assistant", "assistant", &payload.message),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            ("Assistant (thinking)", "assistant", &payload.text)
        }
        kind => {
            desk.books.skip(&format!("event `{kind}`"));
            return;
        }
    };
    if said_before(label, words.str(), Origin::Event, desk) {
        desk.books.skip("said twice");
        return;
    }
    let is_context = speaker == "user" && is_injected(words.str());
    said.speaker = if is_context { "system" } else { speaker }.into();
    said.prompt = speaker == "user" && !is_context;
    said.model = desk.state.model.clone().filter(|_| speaker == "assistant");
    said.push(if is_context { "Context" } else { label }, words.str());
    desk.say(said);
}

fn item(payload: Payload<'_>, mut said: Said, desk: &mut Desk) {
    said.model.clone_from(&desk.state.model);
    let kind = payload.kind.str();
    match kind {
        "message" => message(payload, said, desk),
        "reasoning" => {
            let mut twice = false;
            for content in [payload.summary, payload.content] {
                for text in texts(&content) {
                    if said_before("Assistant (thinking)", text, Origin::Item, desk) {
                        twice = true;
                    } else {
                        said.push("Assistant (thinking)", text);
                    }
                }
            }
            desk.say_or_skip(
                said,
                if twice {
                    "said twice"
                } else {
                    "encrypted reasoning"
                },
            );
        }
        "function_call" | "custom_tool_call" => {
            let words = payload.arguments.text().or(payload.input.text());
            said.call(
                payload.name.str(),
                words.map(input::render_text).unwrap_or_default(),
            );
            desk.say(said);
        }
        "local_shell_call" | "web_search_call" => {
            let words = payload.action.map(input::render).unwrap_or_default();
            said.call(kind.trim_end_matches("_call"), words);
            desk.say(said);
        }
        "function_call_output" | "custom_tool_call_output" => {
            said.speaker = "tool".into();
            said.model = None;
            output(payload.output, &mut said, desk);
            desk.say(said);
        }
        _ => desk.books.skip(&format!("item `{kind}`")),
    }
}

fn message(payload: Payload<'_>, mut said: Said, desk: &mut Desk) {
    let whole = texts(&payload.content).join("\n");
    let (speaker, label): (&'static str, &'static str) = match payload.role.str() {
        "user" if is_injected(&whole) => ("system", "Context"),
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Assistant"),
        "developer" => ("system", "Developer"),
        _ => ("system", "System"),
    };
    let twin = if speaker == "system" { "User" } else { label };
    if said_before(twin, &whole, Origin::Item, desk) {
        // Pictures stand only in the item.
        let mut pictures = Said::new(said.place, speaker);
        if let Content::Blocks(blocks) = payload.content {
            let pictures_only = blocks
                .into_iter()
                .filter(|block| block.kind.str() == "input_image")
                .collect();
            Content::Blocks(pictures_only)
                .tell(label, &mut pictures, &mut desk.books, &|_, _| None);
        }
        desk.books.skip("said twice");
        return;
    }
    said.speaker = speaker.into();
    said.prompt = speaker == "user";
    if speaker != "assistant" {
        said.model = None;
    }
    payload
        .content
        .tell(label, &mut said, &mut desk.books, &|_, _| None);
    desk.say(said);
}

/// What a tool gave back: text, blocks, or text and exit code wrapped in JSON.
fn output(output: Option<&RawValue>, said: &mut Said, desk: &mut Desk) {
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
            said.output(false, json);
            return;
        };
        let error = wrapped.success == Scalar::Bool(false);
        match wrapped.content {
            Content::Nothing => said.output(error, wrapped.output.text().unwrap_or(json)),
            content => content.tell(
                super::said::output_label(error),
                said,
                &mut desk.books,
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
                said.output(metadata.is_some_and(|exit| exit.exit_code != 0.0), words);
            }
            _ => said.output(false, text),
        },
        Ok(content) => content.tell("Tool output", said, &mut desk.books, &|_, _| None),
        Err(_) => said.output(false, json),
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

/// Whether the words were said lately in the other of the two ways.
fn said_before(label: &str, words: &str, origin: Origin, desk: &mut Desk) -> bool {
    let words = words.trim();
    if words.is_empty() {
        return false;
    }
    let digest = (xxh3_64(format!("{label}\n{words}").as_bytes()) & !1) | origin as u64;
    let said = &mut desk.state.said;
    if let Some(at) = said.iter().position(|&known| known == digest ^ 1) {
        said.remove(at);
        return true;
    }
    if said.len() == REMEMBERED {
        said.remove(0);
    }
    said.push(digest);
    false
}

/// Text that the program put into the place of a prompt.
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
