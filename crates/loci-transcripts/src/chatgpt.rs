//! ChatGPT export: an array of conversations, each a tree of messages.
//!
//! The path to the current message comes first. Messages off that path (edited prompts, regenerated
//! answers) follow. Each branch is an exchange of its own and is labelled as a branch.

use super::blocks::unknown;
use super::clock;
use super::event::Conversation;
use super::feed::MAX_CONVERSATION_BYTES;
use super::format::{Companions, Layout, Spec};
use super::recognise::Sign;
use super::scalar::{Scalar, or_default};
use super::sink::{Misread, ParseEvent, ParseSink, RecordFormat};
use super::utterance::{Point, RecordSpan, Utterance, one_line};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

#[derive(Debug)]
pub(super) struct ChatGpt {
    /// Messages of the first conversation that were read before the mark.
    skip: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chat<'a> {
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    conversation_id: Scalar<'a>,
    #[serde(borrow)]
    title: Scalar<'a>,
    #[serde(borrow)]
    create_time: Scalar<'a>,
    #[serde(borrow)]
    current_node: Scalar<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    mapping: BTreeMap<String, Node<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    parent: Scalar<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    children: Vec<Scalar<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    author: Value,
    #[serde(borrow)]
    create_time: Scalar<'a>,
    content: Value,
    #[serde(borrow)]
    recipient: Scalar<'a>,
    metadata: Value,
}

/// A message in output order.
struct Turn<'c> {
    id: &'c str,
    /// `None` on the main path; otherwise whether the message is the first of its branch.
    branch: Option<bool>,
}

impl ChatGpt {
    pub(super) fn new(point: Point) -> Self {
        Self { skip: point.line }
    }
}

impl RecordFormat for ChatGpt {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let chat: Chat<'_> = serde_json::from_str(text)?;
        let skip = std::mem::take(&mut self.skip);
        let id = chat.conversation_id.owned().or_else(|| chat.id.owned());
        sink.steps.push_back(ParseEvent::Conversation(Conversation {
            id: id.unwrap_or_default(),
            title: chat.title.owned(),
            started_at: clock::time(&chat.create_time),
            ..Conversation::default()
        }));
        let mut number = 0;
        for turn in order(&chat) {
            let Some(message) = chat
                .mapping
                .get(turn.id)
                .and_then(|node| node.message.as_ref())
            else {
                continue;
            };
            number += 1;
            if number <= skip {
                continue;
            }
            sink.record_tally.read();
            let mut utterance = utterance_of(message, place.message(number - 1), sink);
            if let Some(begins) = turn.branch {
                utterance.prompt |= begins;
                for segment in &mut utterance.segments {
                    segment.label = format!("{} (other branch)", segment.label).into();
                }
            }
            sink.emit(utterance);
        }
        sink.steps.push_back(ParseEvent::Over(place.after()));
        Ok(())
    }

    fn counts_records(&self) -> bool {
        false
    }
}

/// Returns every node once: the path to the current node, then the branches from the root, then
/// nodes that are not connected to the tree.
fn order<'c>(chat: &'c Chat<'_>) -> Vec<Turn<'c>> {
    let mut seen = HashSet::new();
    let mut path = Vec::new();
    let mut at = chat
        .mapping
        .get_key_value(chat.current_node.str())
        .or_else(|| newest_leaf(chat));
    while let Some((id, node)) = at {
        if !seen.insert(id.as_str()) {
            break;
        }
        path.push(id.as_str());
        at = chat.mapping.get_key_value(node.parent.str());
    }
    let main: HashSet<&str> = seen.clone();
    let mut turns: Vec<_> = path
        .into_iter()
        .rev()
        .map(|id| Turn { id, branch: None })
        .collect();
    let roots = chat
        .mapping
        .iter()
        .filter(|(_, node)| !chat.mapping.contains_key(node.parent.str()))
        .chain(&chat.mapping);
    let mut visited_main = HashSet::new();
    for (root, _) in roots {
        let mut stack = vec![root.as_str()];
        let mut last = None;
        while let Some(id) = stack.pop() {
            let Some(node) = chat.mapping.get(id) else {
                continue;
            };
            let is_main = main.contains(id);
            if is_main && !visited_main.insert(id) || !is_main && !seen.insert(id) {
                continue;
            }
            if !is_main {
                let begins = last != Some(node.parent.str());
                turns.push(Turn {
                    id,
                    branch: Some(begins),
                });
                last = Some(id);
            }
            let children = node.children.iter().rev().filter_map(Scalar::text);
            stack.extend(
                children
                    .filter_map(|child| chat.mapping.get_key_value(child))
                    .map(|(id, _)| id.as_str()),
            );
        }
        if seen.len() == chat.mapping.len() {
            break;
        }
    }
    turns
}

/// The newest leaf, for exports that do not name the current node.
fn newest_leaf<'c, 'a>(chat: &'c Chat<'a>) -> Option<(&'c String, &'c Node<'a>)> {
    let time = |node: &Node<'_>| match node.message.as_ref().map(|message| &message.create_time) {
        Some(Scalar::Number(time)) => *time,
        _ => 0.0,
    };
    chat.mapping
        .iter()
        .filter(|(_, node)| node.children.is_empty())
        .max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b)))
}

fn utterance_of(message: &Message<'_>, place: RecordSpan, sink: &mut ParseSink) -> Utterance {
    let field = |value: &Value, key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let role = field(&message.author, "role");
    let (speaker, label): (&'static str, &'static str) = match role.as_str() {
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Assistant"),
        "tool" => ("tool", "Tool output"),
        _ => ("system", "System"),
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.prompt = role == "user";
    utterance.at = clock::time(&message.create_time);
    utterance.model = Some(field(&message.metadata, "model_slug"))
        .filter(|model| role == "assistant" && !model.is_empty());
    let content = &message.content;
    let kind = field(content, "content_type");
    let recipient = message.recipient.str();
    let is_call = role == "assistant" && !recipient.is_empty() && recipient != "all";
    match kind.as_str() {
        "user_editable_context" => {
            utterance.prompt = false;
            utterance.speaker = "system".into();
            for key in ["user_profile", "user_instructions"] {
                utterance.push("Context", field(content, key));
            }
        }
        "thoughts" => {
            for thought in list(content, "thoughts") {
                let words = format!(
                    "{}\n{}",
                    field(thought, "summary"),
                    field(thought, "content")
                );
                utterance.push(format!("{label} (thinking)"), words.trim());
            }
        }
        _ if is_call => utterance.call(recipient, call_words(content)),
        _ => {
            for part in list(content, "parts") {
                write_part(part, label, &mut utterance, sink);
            }
            for key in [
                "title",
                "text",
                "result",
                "summary",
                "content",
                "output_str",
                "model_set_context",
                "url",
            ] {
                utterance.push(label, field(content, key));
            }
            if !utterance.has_words()
                && !kind.is_empty()
                && list(content, "parts").is_empty()
                && kind != "text"
            {
                unknown(
                    &kind,
                    Some(content.to_string()),
                    label,
                    &mut utterance,
                    &mut sink.record_tally,
                );
            }
        }
    }
    for file in list(&message.metadata, "attachments") {
        let name = field(file, "name");
        if !name.is_empty() && !field(file, "mime_type").starts_with("image/") {
            utterance.note(label, &format!("[file {}]", one_line(&name)));
            sink.record_tally.skip_inner("file");
        }
    }
    utterance
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn call_words(content: &Value) -> String {
    let parts = list(content, "parts").iter().filter_map(Value::as_str);
    let words: Vec<&str> = parts
        .chain(content.get("text").and_then(Value::as_str))
        .collect();
    words.join("\n")
}

fn write_part(part: &Value, label: &'static str, utterance: &mut Utterance, sink: &mut ParseSink) {
    if let Some(words) = part.as_str() {
        utterance.push(label, words);
        return;
    }
    let kind = part
        .get("content_type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match (kind, part.get("text").and_then(Value::as_str)) {
        (_, Some(words)) => utterance.push(label, words),
        ("image_asset_pointer", None) => {
            utterance.note(label, "[image]");
            sink.record_tally.skip_inner("image");
        }
        (kind, None) if kind.ends_with("asset_pointer") => {
            utterance.note(label, "[audio]");
            sink.record_tally.skip_inner("audio");
        }
        (kind, None) => unknown(
            kind,
            Some(part.to_string()),
            label,
            utterance,
            &mut sink.record_tally,
        ),
    }
}

/// ChatGPT's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "chatgpt",
    is_export: true,
    sign: Sign::Array(|keys, _| {
        keys.has("mapping") && (keys.has("title") || keys.has("current_node"))
    }),
    layout: Layout::Elements {
        key: None,
        limit: MAX_CONVERSATION_BYTES,
        reader: |file| Box::new(ChatGpt::new(file.point)),
    },
    companions: Companions::NONE,
};
