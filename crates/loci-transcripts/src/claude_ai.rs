//! Claude.ai export: an array of conversations, each with its messages in one list.

use super::blocks::Content;
use super::clock;
use super::event::Conversation;
use super::feed::MAX_CONVERSATION_BYTES;
use super::format::{Companions, Layout, Spec};
use super::recognise::Sign;
use super::scalar::{Scalar, or_default};
use super::sink::{Misread, ParseEvent, ParseSink, RecordFormat};
use super::utterance::{Point, RecordSpan, Utterance, one_line};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(super) struct ClaudeAi {
    /// Messages of the first conversation that were read before the mark.
    skip: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chat<'a> {
    #[serde(borrow)]
    uuid: Scalar<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    created_at: Scalar<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    #[serde(rename = "chat_messages")]
    messages: Vec<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    sender: Scalar<'a>,
    #[serde(borrow)]
    text: Scalar<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    created_at: Scalar<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    attachments: Vec<Attachment<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    files: Vec<Attachment<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow)]
    file_name: Scalar<'a>,
    #[serde(borrow)]
    extracted_content: Scalar<'a>,
}

impl ClaudeAi {
    pub(super) fn new(point: Point) -> Self {
        Self { skip: point.line }
    }
}

impl RecordFormat for ClaudeAi {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let chat: Chat<'_> = serde_json::from_str(text)?;
        let skip = std::mem::take(&mut self.skip);
        sink.steps.push_back(ParseEvent::Conversation(Conversation {
            id: chat.uuid.str().to_owned(),
            title: chat.name.owned(),
            started_at: clock::time(&chat.created_at),
            ..Conversation::default()
        }));
        for (i, json) in (0_u64..).zip(chat.messages) {
            if i < skip {
                continue;
            }
            sink.record_tally.read();
            let place = place.message(i);
            match serde_json::from_str(json.get()) {
                Ok(utterance) => message(utterance, json.get(), place, sink),
                Err(_) => sink.record_tally.skip("record of an unknown shape"),
            }
        }
        sink.steps.push_back(ParseEvent::Over(place.after()));
        Ok(())
    }

    fn counts_records(&self) -> bool {
        false
    }
}

fn message(message: Message<'_>, json: &str, place: RecordSpan, sink: &mut ParseSink) {
    let is_user = message.sender.str() == "human";
    let (speaker, label) = if is_user {
        ("user", "User")
    } else {
        ("assistant", "Assistant")
    };
    let mut utterance = Utterance::new(place, speaker);
    utterance.prompt = is_user;
    utterance.at = clock::time(&message.created_at);
    let source = |block: usize, inner: Option<usize>| json_of(json, block, inner);
    message
        .content
        .write_to(label, &mut utterance, &mut sink.record_tally, &source);
    if !utterance.has_words() {
        utterance.push(label, message.text.str());
    }
    for attachment in &message.attachments {
        let name = one_line(attachment.file_name.str());
        let words = attachment.extracted_content.str();
        if words.trim().is_empty() {
            utterance.note(label, &format!("[attachment {name}]"));
            sink.record_tally.skip_inner("attachment");
        } else {
            utterance.push(format!("Attachment {name}"), words);
        }
    }
    for file in &message.files {
        utterance.note(label, &format!("[file {}]", one_line(file.file_name.str())));
        sink.record_tally.skip_inner("file");
    }
    sink.emit(utterance);
}

fn json_of(message: &str, block: usize, inner: Option<usize>) -> Option<String> {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let holder: Holder<'_> = serde_json::from_str(message).ok()?;
    let block = holder.content.get(block)?;
    let Some(inner) = inner else {
        return Some(block.get().to_owned());
    };
    let holder: Holder<'_> = serde_json::from_str(block.get()).ok()?;
    holder
        .content
        .get(inner)
        .map(|inner| inner.get().to_owned())
}

/// Claude.ai's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "claude-ai",
    is_export: true,
    sign: Sign::Array(|keys, _| keys.has("chat_messages") && keys.has("uuid")),
    layout: Layout::Elements {
        key: None,
        limit: MAX_CONVERSATION_BYTES,
        reader: |file| Box::new(ClaudeAi::new(file.point)),
    },
    companions: Companions::NONE,
};
