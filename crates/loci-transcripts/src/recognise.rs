//! Which format a file is in, by its first bytes and its name.
//!
//! What could as well be something else is not claimed.

use super::aider::SESSION_START;
use super::format::Format;
use super::keys::Keys;
use super::plain;
use std::path::Path;

/// Recognition looks no further than this.
const HEAD_BYTES: usize = 64 * 1_024;
/// Records at the start of a file that may be of other kinds than talk.
const MAX_LINES: usize = 40;

/// The format of a conversation that begins with `head`. `None`: it is no conversation.
pub fn recognise(path: &Path, head: &[u8]) -> Option<Format> {
    let head = head.get(..HEAD_BYTES).unwrap_or(head);
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if head.starts_with(b"SQLite format 3\0") {
        return database(&name);
    }
    let start = head.trim_ascii_start();
    match start.first()? {
        b'{' => lines(start, path, &name).or_else(|| object(&Keys::of(start), path)),
        b'[' => array(start.get(1..)?.trim_ascii_start(), path, &name),
        _ => text(head, &name),
    }
}

fn database(name: &str) -> Option<Format> {
    let extension = Path::new(name).extension().unwrap_or_default();
    if extension.eq_ignore_ascii_case("vscdb") {
        Some(Format::Cursor)
    } else if name.starts_with("opencode") && extension.eq_ignore_ascii_case("db") {
        Some(Format::OpenCodeDb)
    } else {
        None
    }
}

/// JSON lines: the first record that is surely of one format decides.
fn lines(start: &[u8], path: &Path, name: &str) -> Option<Format> {
    let is_rollout = name.starts_with("rollout-");
    start
        .split(|byte| *byte == b'\n')
        .filter(|line| line.trim_ascii_start().first() == Some(&b'{'))
        .take(MAX_LINES)
        .find_map(|line| record(&Keys::of(line), path, is_rollout))
}

fn record(keys: &Keys, path: &Path, is_rollout: bool) -> Option<Format> {
    let kind = keys.value("type");
    let is_codex_record = matches!(
        kind,
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
    );
    if is_codex_record && keys.has("payload") {
        return Some(Format::Codex);
    }
    let is_old_codex = kind == "message" && keys.has("role") && keys.has("content")
        || keys.has("record_type")
        || keys.has("id") && keys.has("timestamp") && keys.has("instructions");
    if is_rollout && is_old_codex {
        return Some(Format::Codex);
    }
    let is_said = matches!(
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
    // The id stands behind the message, which may be longer than what is looked at.
    let is_linked = keys.has("uuid") || keys.has("parentUuid") && keys.has("isSidechain");
    if is_said && keys.has("sessionId") && is_linked || is_aside {
        return Some(Format::ClaudeCode);
    }
    let is_lines = path
        .extension()
        .is_some_and(|extension| extension == "jsonl");
    if is_lines && is_gemini(keys) {
        return Some(Format::GeminiLog);
    }
    None
}

fn is_gemini(keys: &Keys) -> bool {
    keys.has("sessionId")
        && keys.has("startTime")
        && (keys.has("projectHash") || keys.has("messages"))
}

fn object(keys: &Keys, path: &Path) -> Option<Format> {
    if is_gemini(keys) && keys.has("messages") {
        return Some(Format::GeminiCli);
    }
    if keys.has("sessionId") && keys.has("history") && keys.has("workspaceDirectory") {
        return Some(Format::Continue);
    }
    let is_session = path
        .ancestors()
        .nth(2)
        .and_then(Path::file_name)
        .is_some_and(|name| name == "session");
    let has_session = keys.value("id").starts_with("ses_") || keys.has("projectID");
    if is_session && has_session && keys.has("time") {
        return Some(Format::OpenCode);
    }
    None
}

fn array(first: &[u8], path: &Path, name: &str) -> Option<Format> {
    if first.first() != Some(&b'{') {
        return None;
    }
    let keys = Keys::of(first);
    if keys.has("chat_messages") && keys.has("uuid") {
        return Some(Format::ClaudeAi);
    }
    if keys.has("mapping") && (keys.has("title") || keys.has("current_node")) {
        return Some(Format::ChatGpt);
    }
    if ["sessionId", "messageId", "type", "message"]
        .iter()
        .all(|key| keys.has(key))
        && name == "logs.json"
    {
        return Some(Format::GeminiPrompts);
    }
    let is_day = path
        .extension()
        .is_some_and(|extension| extension == "json")
        && path
            .file_stem()
            .is_some_and(|stem| is_date(&stem.to_string_lossy()));
    if is_day && keys.value("type") == "message" && keys.has("ts") {
        return Some(Format::Slack);
    }
    None
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(i, byte)| match i {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn text(head: &[u8], name: &str) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    if name.ends_with(".aider.chat.history.md") || text.trim_start().starts_with(SESSION_START) {
        return Some(Format::Aider);
    }
    let extension = name
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
        .to_ascii_lowercase();
    let is_markdown = matches!(extension.as_str(), "md" | "markdown");
    let is_text = is_markdown
        || matches!(
            extension.as_str(),
            "" | "txt" | "text" | "log" | "chat" | "transcript"
        );
    (is_text && !head.contains(&0) && plain::is_conversation(&text, is_markdown))
        .then_some(Format::Plain)
}
