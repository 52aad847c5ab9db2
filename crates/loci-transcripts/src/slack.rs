//! Reads a Slack export: the messages of one channel on one day. `users.json`, beside the folders
//! of the channels, maps user ids to names.
//!
//! Slack has no prompts, so an exchange ends after a period of silence.

use super::blocks::unknown;
use super::clock;
use super::field::{list, word};
use super::format::{Companions, Layout, Spec};
use super::keys::Keys;
use super::recognise::Sign;
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, one_line};
use loci_files::allowed::AllowedRoots;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A longer silence ends an exchange.
const SILENCE_SECONDS: f64 = 1_200.0;
/// A larger `users.json` is not read.
const MAX_USERS_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Slack {
    channel: String,
    day: String,
    names: HashMap<String, String>,
}

/// Returns the path of `users.json`, in the directory above the channel's.
pub(super) fn users_file(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.parent()?.join("users.json"))
}

impl Slack {
    pub(super) fn new(path: &Path, allowed: &AllowedRoots) -> Self {
        let name = |part: Option<&std::ffi::OsStr>| {
            part.unwrap_or_default().to_string_lossy().into_owned()
        };
        Self {
            channel: name(path.parent().and_then(Path::file_name)),
            day: name(path.file_stem()),
            names: users_file(path)
                .map(|file| names(&file, allowed))
                .unwrap_or_default(),
        }
    }

    fn name(&self, message: &Value) -> String {
        let profile = message.get("user_profile").unwrap_or(&Value::Null);
        let id = word(message, "user");
        let known = self.names.get(id).map_or("", String::as_str);
        let names = [
            known,
            word(profile, "display_name"),
            word(profile, "real_name"),
            word(message, "username"),
            id,
            word(message, "bot_id"),
        ];
        let name = names.into_iter().find(|name| !name.trim().is_empty());
        one_line(name.unwrap_or("Slack"))
    }
}

impl RecordFormat for Slack {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let message: Value = serde_json::from_str(text)?;
        let facts = &mut sink.conversation;
        if facts.id.is_empty() {
            facts.id = format!("{}/{}", self.channel, self.day);
            facts.title = Some(format!("#{} {}", self.channel, self.day));
        }
        let stamp = word(&message, "ts");
        let at = clock::from_text(stamp);
        ParseSink::learn(&mut facts.started_at, at.clone());
        let seconds = |stamp: &str| stamp.parse::<f64>().ok();
        let last = sink.state.latest.as_deref().and_then(seconds);
        let silence = seconds(stamp)
            .zip(last)
            .map_or(0.0, |(now, last)| now - last);
        if !stamp.is_empty() {
            sink.state.latest = Some(stamp.to_owned());
        }
        let name = self.name(&message);
        let thread = word(&message, "thread_ts");
        let label = if thread.is_empty() || thread == stamp {
            name.clone()
        } else {
            format!("{name} (in thread)")
        };
        let mut utterance = Utterance::new(place, name);
        utterance.at = at;
        utterance.prompt = silence > SILENCE_SECONDS;
        utterance.push(label.clone(), word(&message, "text"));
        for attachment in list(&message, "attachments") {
            for key in ["pretext", "title", "text"] {
                utterance.push(label.clone(), word(attachment, key));
            }
            if word(attachment, "text").is_empty() {
                utterance.push(label.clone(), word(attachment, "fallback"));
            }
        }
        if let Some(blocks) = message.get("blocks").filter(|_| !utterance.has_words()) {
            unknown(
                "blocks",
                Some(blocks.to_string()),
                &label,
                &mut utterance,
                &mut sink.record_tally,
            );
        }
        for file in list(&message, "files") {
            utterance.note(&label, &format!("[file {}]", one_line(word(file, "name"))));
            sink.record_tally.skip_inner("file");
        }
        sink.emit(utterance);
        Ok(())
    }
}

/// Reads `users.json`. A symbolic link in its place is not followed.
fn read_users(file: &Path, allowed: &AllowedRoots) -> Option<Vec<u8>> {
    let name = Path::new(file.file_name()?);
    let opened = allowed.open_below(file.parent()?, name).ok()?;
    let about = opened.metadata().ok()?;
    if !about.is_file() || about.len() > MAX_USERS_BYTES {
        return None;
    }
    let mut json = Vec::new();
    opened.take(MAX_USERS_BYTES).read_to_end(&mut json).ok()?;
    Some(json)
}

fn names(file: &Path, allowed: &AllowedRoots) -> HashMap<String, String> {
    let users: Vec<Value> = read_users(file, allowed)
        .and_then(|json| serde_json::from_slice(&json).ok())
        .unwrap_or_default();
    users
        .iter()
        .map(|user| {
            let profile = user.get("profile").unwrap_or(&Value::Null);
            let names = [
                word(profile, "display_name"),
                word(user, "real_name"),
                word(profile, "real_name"),
                word(user, "name"),
            ];
            let name = names.into_iter().find(|name| !name.trim().is_empty());
            (
                word(user, "id").to_owned(),
                name.unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

/// Slack's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "slack",
    is_export: false,
    sign: Sign::Array(is_day),
    layout: Layout::Elements {
        key: None,
        limit: MAX_RECORD_BYTES,
        reader: |file| Box::new(Slack::new(file.path, file.allowed)),
    },
    companions: Companions {
        files: |path, _| users_file(path).into_iter().collect(),
        places: |path| users_file(path).into_iter().collect(),
    },
};

/// Whether this is the file of one day: its name is a date, and it contains messages.
fn is_day(keys: &Keys, path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|found| found == "json");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    is_json && is_date(&stem) && keys.value("type") == "message" && keys.has("ts")
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(i, byte)| match i {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
