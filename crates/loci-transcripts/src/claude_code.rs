//! Reads Claude Code's JSON lines. A record holds a prompt, a block of an answer, a tool result, or
//! bookkeeping that is not part of the conversation.
//!
//! A resumed session may repeat earlier records. A record is a repeat when its id was seen before
//! and its time is not later than all times seen before.

use super::blocks::{Content, Source};
use super::clock;
use super::format::{Companions, Layout, Spec};
use super::keys::Keys;
use super::recognise::Sign;
use super::scalar::Scalar;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{Point, RecordSpan, Utterance};
use loci_files::allowed::AllowedRoots;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug)]
pub(super) struct ClaudeCode {
    path: PathBuf,
    /// The ids of the records read so far.
    seen: HashSet<u64>,
    /// The offset at which this read began. The ids before it are read only when a record looks
    /// old.
    prefix: u64,
    allowed: AllowedRoots,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Scalar<'a>,
    #[serde(borrow)]
    subtype: Scalar<'a>,
    #[serde(borrow)]
    uuid: Scalar<'a>,
    #[serde(borrow)]
    session_id: Scalar<'a>,
    #[serde(borrow)]
    agent_id: Scalar<'a>,
    #[serde(borrow)]
    timestamp: Scalar<'a>,
    #[serde(borrow)]
    cwd: Scalar<'a>,
    #[serde(borrow)]
    git_branch: Scalar<'a>,
    #[serde(borrow)]
    is_sidechain: Scalar<'a>,
    #[serde(borrow)]
    is_meta: Scalar<'a>,
    #[serde(borrow)]
    is_compact_summary: Scalar<'a>,
    #[serde(borrow)]
    summary: Scalar<'a>,
    #[serde(borrow)]
    custom_title: Scalar<'a>,
    #[serde(borrow)]
    ai_title: Scalar<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    attachment: Option<Attachment<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    model: Scalar<'a>,
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(rename = "type", borrow)]
    kind: Scalar<'a>,
    #[serde(borrow)]
    prompt: Content<'a>,
}

impl ClaudeCode {
    pub(super) fn new(path: &Path, point: Point, allowed: &AllowedRoots) -> Self {
        Self {
            path: path.to_owned(),
            seen: HashSet::new(),
            prefix: point.offset,
            allowed: allowed.clone(),
        }
    }

    fn learn(&self, record: &Record<'_>, at: Option<&String>, sink: &mut ParseSink) {
        let facts = &mut sink.conversation;
        ParseSink::learn(&mut facts.folder, record.cwd.owned());
        ParseSink::learn(&mut facts.branch, record.git_branch.owned());
        ParseSink::learn(&mut facts.started_at, at.cloned());
        if facts.id.is_empty() && !record.session_id.str().is_empty() {
            facts.id = self.id(record);
        }
        let kind = record.kind.str();
        if sink.state.sidechain.is_none() && matches!(kind, "user" | "assistant") {
            sink.state.sidechain = Some(record.is_sidechain.is_true());
        }
    }

    /// Returns the id of the conversation. A session's file is named after the session. A
    /// subagent's file is named after the agent, and its records name the session.
    fn id(&self, record: &Record<'_>) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let session = record.session_id.str();
        if is_uuid(&stem) {
            stem.into_owned()
        } else if record.is_sidechain.is_true() && !record.agent_id.str().is_empty() {
            format!("{session}/{}", record.agent_id.str())
        } else {
            session.to_owned()
        }
    }

    fn is_repeated(
        &mut self,
        record: &Record<'_>,
        at: Option<&String>,
        sink: &mut ParseSink,
    ) -> bool {
        let latest = &mut sink.state.latest;
        let is_old = at.is_none_or(|at| latest.as_ref().is_some_and(|latest| at <= latest));
        if let Some(at) = at.filter(|_| !is_old) {
            latest.replace(at.clone());
        }
        let Some(uuid) = record.uuid.text() else {
            return false;
        };
        if is_old && self.prefix > 0 {
            self.read_earlier_ids();
        }
        !self.seen.insert(xxh3_64(uuid.as_bytes())) && is_old
    }

    /// Reads the ids of the records that lie before the start of this read.
    fn read_earlier_ids(&mut self) {
        #[derive(Deserialize)]
        struct Id<'a> {
            #[serde(borrow, default)]
            uuid: Scalar<'a>,
        }
        let length = std::mem::take(&mut self.prefix);
        let Ok(file) = self.allowed.open(&self.path) else {
            return;
        };
        let mut input = BufReader::with_capacity(1 << 16, file.take(length));
        let mut line = Vec::new();
        while input
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line);
            if let Ok(Id { uuid }) = serde_json::from_str(&text)
                && let Some(uuid) = uuid.text()
            {
                self.seen.insert(xxh3_64(uuid.as_bytes()));
            }
            line.clear();
        }
    }
}

impl RecordFormat for ClaudeCode {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let mut record: Record<'_> = serde_json::from_str(text)?;
        let at = clock::time(&record.timestamp);
        self.learn(&record, at.as_ref(), sink);
        if self.is_repeated(&record, at.as_ref(), sink) {
            sink.record_tally.skip("repeated record");
            return Ok(());
        }
        let source: Source<'_> = &|block, inner| json_of(text, block, inner);
        let is_own = sink.state.sidechain == Some(record.is_sidechain.is_true());
        let kind = record.kind.into_text().unwrap_or_default();
        match (
            kind.as_ref(),
            record.message.take(),
            record.attachment.take(),
        ) {
            ("user", Some(message), _) => {
                let first = message.content.first_text();
                let is_context = record.is_meta.is_true() || is_injected(first);
                let (speaker, label) = if record.is_compact_summary.is_true() {
                    ("system", "Summary of the conversation so far")
                } else if is_context {
                    ("system", "Context")
                } else if is_own {
                    ("user", "User")
                } else {
                    ("assistant", "Task")
                };
                let mut utterance = Utterance::new(place, speaker);
                let is_result = !message.content.has_prompt();
                utterance.prompt = label == "User" && !is_result;
                if is_result && label == "User" {
                    utterance.speaker = "tool".into();
                }
                utterance.at = at;
                message
                    .content
                    .write_to(label, &mut utterance, &mut sink.record_tally, source);
                sink.emit(utterance);
            }
            ("assistant", Some(message), _) => {
                let mut utterance = Utterance::new(place, "assistant");
                utterance.at = at;
                utterance.model = message
                    .model
                    .owned()
                    .filter(|model| !model.starts_with('<'));
                let label = if is_own { "Assistant" } else { "Subagent" };
                message
                    .content
                    .write_to(label, &mut utterance, &mut sink.record_tally, source);
                sink.emit(utterance);
            }
            ("system", _, _) => {
                let mut utterance = Utterance::new(place, "system");
                utterance.at = at;
                record.content.write_to(
                    "System",
                    &mut utterance,
                    &mut sink.record_tally,
                    &|_, _| None,
                );
                sink.emit_or_skip(
                    utterance,
                    &format!("record type `system`, `{}`", record.subtype.str()),
                );
            }
            // A prompt that was typed while the agent worked.
            ("attachment", _, Some(attachment)) if attachment.kind.str() == "queued_command" => {
                let mut utterance = Utterance::new(place, "user");
                utterance.at = at;
                utterance.prompt = !is_injected(attachment.prompt.first_text());
                let label = if utterance.prompt { "User" } else { "Context" };
                attachment.prompt.write_to(
                    label,
                    &mut utterance,
                    &mut sink.record_tally,
                    &|_, _| None,
                );
                sink.emit(utterance);
            }
            ("attachment", _, Some(attachment)) => {
                sink.record_tally
                    .skip(&format!("attachment `{}`", attachment.kind.str()));
            }
            (kind, _, _) => {
                let title = match kind {
                    "summary" => record.summary.owned(),
                    "custom-title" => record.custom_title.owned(),
                    "ai-title" => record.ai_title.owned(),
                    _ => None,
                };
                if title.is_some() {
                    sink.conversation.title = title;
                }
                sink.skip_kind(kind);
            }
        }
        Ok(())
    }
}

/// Whether the program, not a person, wrote this text in the place of a prompt.
fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    [
        "<local-command-",
        "<bash-stdout>",
        "<bash-stderr>",
        "<system-reminder>",
        "<task-notification>",
        "<teammate-message",
        "<user-prompt-submit-hook>",
        "[Request interrupted by user",
        "Caveat: The messages below were generated by the user",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns the JSON of one block of the record's message.
fn json_of(record: &str, block: usize, inner: Option<usize>) -> Option<String> {
    #[derive(Deserialize)]
    struct Outer<'a> {
        #[serde(borrow)]
        message: Holder<'a>,
    }
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let outer: Outer<'_> = serde_json::from_str(record).ok()?;
    let block = outer.message.content.get(block)?;
    let Some(inner) = inner else {
        return Some(block.get().to_owned());
    };
    let holder: Holder<'_> = serde_json::from_str(block.get()).ok()?;
    holder
        .content
        .get(inner)
        .map(|inner| inner.get().to_owned())
}

/// Claude Code's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "claude-code",
    is_export: false,
    sign: Sign::Record(|keys, _| is_record(keys)),
    layout: Layout::Lines(|file| Box::new(ClaudeCode::new(file.path, file.point, file.allowed))),
    companions: Companions::NONE,
};

fn is_record(keys: &Keys) -> bool {
    let kind = keys.value("type");
    let is_message = matches!(
        kind,
        "user" | "assistant" | "system" | "attachment" | "progress"
    );
    let is_aside = match kind {
        "summary" => keys.has("leafUuid"),
        "file-history-snapshot" => keys.has("messageId") && keys.has("snapshot"),
        "queue-operation" => keys.has("operation") && keys.has("sessionId"),
        "custom-title" => keys.has("customTitle") && keys.has("sessionId"),
        "ai-title" => keys.has("aiTitle") && keys.has("sessionId"),
        _ => false,
    };
    // The id follows the message, and the message may be longer than the part of the file that is
    // examined.
    let is_linked = keys.has("uuid") || keys.has("parentUuid") && keys.has("isSidechain");
    is_message && keys.has("sessionId") && is_linked || is_aside
}
