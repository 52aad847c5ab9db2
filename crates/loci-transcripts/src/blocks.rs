//! Message content in the shape of Anthropic's API, which several formats share. Content is a
//! string, or blocks of text, thinking, tool calls and tool results.

use super::input;
use super::record_tally::RecordTally;
use super::scalar::Scalar;
use super::utterance::{Utterance, output_label};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The content of a message.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Scalar<'a>,
    #[serde(borrow)]
    pub(super) text: Scalar<'a>,
    #[serde(borrow)]
    thinking: Scalar<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    is_error: Scalar<'a>,
    #[serde(borrow)]
    title: Scalar<'a>,
    #[serde(borrow)]
    url: Scalar<'a>,
}

/// Returns the source JSON of a block. The first number is the index of the block, and the second
/// is the index of a block nested in it.
pub(super) type Source<'s> = &'s dyn Fn(usize, Option<usize>) -> Option<String>;

impl Content<'_> {
    /// Adds the content to the message; `label` marks its text.
    pub(super) fn write_to(
        self,
        label: &str,
        utterance: &mut Utterance,
        record_tally: &mut RecordTally,
        source: Source<'_>,
    ) {
        match self {
            Self::Nothing => {}
            Self::Text(text) => utterance.push(label.to_owned(), text),
            Self::Blocks(blocks) => {
                for (i, block) in blocks.into_iter().enumerate() {
                    block.write_to(label, utterance, record_tally, &|inner| source(i, inner));
                }
            }
        }
    }

    /// Whether the content holds text that a person may have written, not only tool results.
    pub(super) fn has_prompt(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Text(text) => !text.trim().is_empty(),
            Self::Blocks(blocks) => {
                !blocks.iter().any(|block| block.kind.str() == "tool_result")
                    && blocks
                        .iter()
                        .any(|block| matches!(block.kind.str(), "text" | "image" | "document"))
            }
        }
    }

    /// The first text of the content.
    pub(super) fn first_text(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Text(text) => text,
            Self::Blocks(blocks) => blocks
                .iter()
                .find_map(|block| block.text.text())
                .unwrap_or_default(),
        }
    }
}

impl Block<'_> {
    fn write_to(
        self,
        label: &str,
        utterance: &mut Utterance,
        record_tally: &mut RecordTally,
        source: &dyn Fn(Option<usize>) -> Option<String>,
    ) {
        match self.kind.str() {
            "text" | "input_text" | "output_text" | "voice_note" => {
                utterance.push(label.to_owned(), self.text.into_text().unwrap_or_default());
            }
            "thinking" => {
                let thinking = self.thinking.into_text().unwrap_or_default();
                utterance.push(format!("{label} (thinking)"), thinking);
            }
            "redacted_thinking" => record_tally.skip_inner("redacted thinking"),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                utterance.call(
                    self.name.str(),
                    self.input.map(input::render).unwrap_or_default(),
                );
            }
            kind if kind.ends_with("tool_result") => {
                let label = output_label(self.is_error.is_true());
                match self.content {
                    Content::Nothing => {}
                    Content::Text(text) => utterance.push(label, text),
                    Content::Blocks(blocks) => {
                        for (i, block) in blocks.into_iter().enumerate() {
                            block.write_to(label, utterance, record_tally, &|_| source(Some(i)));
                        }
                    }
                }
            }
            "web_search_result" => {
                let text = format!("{}\n{}", self.title.str(), self.url.str());
                utterance.push(label.to_owned(), text.trim());
            }
            "image" | "input_image" => {
                utterance.note(label, "[image]");
                record_tally.skip_inner("image");
            }
            "document" => match source(None)
                .filter(|json| json.len() < 4_000_000 && !json.contains("\"base64\""))
            {
                Some(json) => utterance.push(label.to_owned(), format!("[block document]\n{json}")),
                None => {
                    utterance.note(label, "[document]");
                    record_tally.skip_inner("document");
                }
            },
            kind => unknown(kind, source(None), label, utterance, record_tally),
        }
    }
}

/// Keeps the JSON of a block of an unknown kind, if it contains text.
pub(super) fn unknown(
    kind: &str,
    json: Option<String>,
    label: &str,
    utterance: &mut Utterance,
    record_tally: &mut RecordTally,
) {
    let kind = if kind.is_empty() { "unnamed" } else { kind };
    match json.filter(|json| serde_json::from_str(json).is_ok_and(|value| holds_text(&value))) {
        Some(json) => utterance.push(label.to_owned(), format!("[block {kind}]\n{json}")),
        None => record_tally.skip_inner(&format!("block `{kind}`")),
    }
}

/// Whether the value contains a string that is more than a name, an id or a digest.
fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(char::is_whitespace),
        Value::Array(items) => items.iter().any(holds_text),
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            holds_text(field) || (key == "text" && field.as_str().is_some_and(|t| !t.is_empty()))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Content::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Content::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Content::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(Item(block)) = seq.next_element()? {
            blocks.push(block);
        }
        Ok(Content::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let block = Block::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Content::Blocks(vec![block]))
    }
}

/// An element of a list of blocks. A bare string becomes a text block.
struct Item<'a>(Block<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Content::deserialize(deserializer)? {
            Content::Text(text) => Block {
                kind: Scalar::Text(Cow::Borrowed("text")),
                text: Scalar::Text(text),
                ..Block::default()
            },
            Content::Blocks(mut blocks) if blocks.len() == 1 => blocks.pop().unwrap_or_default(),
            Content::Blocks(_) | Content::Nothing => Block::default(),
        }))
    }
}
