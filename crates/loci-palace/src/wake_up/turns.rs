//! Splits the drawers of a conversation into turns.

use loci_core::{MetaValue, Metadata};

/// Maximum number of bytes of a turn that are read. A person writes short turns; longer text was
/// pasted. An assistant writes long turns, and the beginning matters most.
const MOST_BYTES: usize = 1_200;
const MOST_OF_ASSISTANT: usize = 500;
/// Number of last turns of the assistant in a drawer that are read.
const LAST_OF_ASSISTANT: usize = 2;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
}

/// The text of one speaker.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) speaker: Speaker,
    pub(super) text: String,
    /// The drawer that holds it, as a place in the list of read drawers.
    pub(super) drawer: usize,
}

/// Whether a drawer is a part of a conversation: a mined exchange, a message with its speaker, or a
/// conversation of MemPalace.
pub(super) fn is_conversation(metadata: &Metadata) -> bool {
    metadata.get("exchange").is_some()
        || role_of(metadata).is_some()
        || metadata.get_str("ingest_mode") == Some("convos")
}

fn role_of(metadata: &Metadata) -> Option<Speaker> {
    let role = metadata
        .get_str("role")
        .or_else(|| metadata.get_str("speaker"))?;
    match role.to_ascii_lowercase().as_str() {
        "assistant" | "ai" | "model" => Some(Speaker::Assistant),
        // The user, or a person with a name.
        _ => Some(Speaker::User),
    }
}

/// The turns of a drawer. Calls and outputs of tools, and thoughts, are left out.
pub(super) fn turns_of(text: &str, metadata: &Metadata, drawer: usize) -> Vec<Turn> {
    if let Some(speaker) = role_of(metadata).filter(|_| metadata.get("exchange").is_none()) {
        return vec![turn(speaker, text, drawer)];
    }
    if metadata.get("exchange").is_none() {
        return quoted_turns(text, drawer);
    }
    let mut turns: Vec<(Option<Speaker>, String)> = Vec::new();
    let mut is_after_gap = true;
    for line in text.lines() {
        if let Some(mark) = is_after_gap.then(|| mark_of(line)).flatten() {
            let speaker = match mark {
                Mark::Turn(speaker) => Some(speaker),
                Mark::Other => None,
            };
            turns.push((speaker, String::new()));
        } else if let Some((_, words)) = turns.last_mut()
            && words.len() < MOST_BYTES
        {
            words.push_str(line);
            words.push('\n');
        }
        is_after_gap = line.trim().is_empty();
    }
    let is_assistant = |speaker: &Option<Speaker>| *speaker == Some(Speaker::Assistant);
    let reports = turns
        .iter()
        .filter(|(speaker, _)| is_assistant(speaker))
        .count();
    let mut report = 0;
    turns.retain(|(speaker, _)| {
        report += usize::from(is_assistant(speaker));
        !is_assistant(speaker) || report + LAST_OF_ASSISTANT > reports
    });
    let spoken = turns
        .into_iter()
        .filter_map(|(speaker, words)| Some(turn(speaker?, &words, drawer)));
    spoken.filter(|turn| !turn.text.is_empty()).collect()
}

/// The line before a part of a mined exchange.
enum Mark {
    Turn(Speaker),
    /// A thought, or the call or output of a tool.
    Other,
}

fn mark_of(line: &str) -> Option<Mark> {
    let name = line.strip_suffix(':')?;
    let name = name.strip_suffix(" (continued)").unwrap_or(name);
    match name {
        "User" => Some(Mark::Turn(Speaker::User)),
        "Assistant" => Some(Mark::Turn(Speaker::Assistant)),
        "Assistant (thinking)" | "System" | "Summary" => Some(Mark::Other),
        _ => name.starts_with("Tool ").then_some(Mark::Other),
    }
}

/// The turns of a conversation that MemPalace mined: the user's lines begin with `>`.
fn quoted_turns(text: &str, drawer: usize) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for line in text.lines() {
        let (speaker, words) = match line.strip_prefix('>') {
            Some(words) => (Speaker::User, words.trim()),
            None => (Speaker::Assistant, line.trim()),
        };
        if words.is_empty() {
            continue;
        }
        match turns.last_mut().filter(|last| last.speaker == speaker) {
            Some(last) if last.text.len() < MOST_BYTES => {
                last.text.push('\n');
                last.text.push_str(words);
            }
            Some(_) => {}
            None => turns.push(turn(speaker, words, drawer)),
        }
    }
    turns
}

fn turn(speaker: Speaker, text: &str, drawer: usize) -> Turn {
    let most = match speaker {
        Speaker::User => MOST_BYTES,
        Speaker::Assistant => MOST_OF_ASSISTANT,
    };
    let cut = (0..=most.min(text.len())).rev();
    let end = cut.into_iter().find(|end| text.is_char_boundary(*end));
    Turn {
        speaker,
        text: text
            .get(..end.unwrap_or_default())
            .unwrap_or(text)
            .trim()
            .to_owned(),
        drawer,
    }
}

/// The place of a drawer in its conversation.
pub(super) fn order_of(metadata: &Metadata) -> (i64, i64) {
    let number = |key: &str| match metadata.get(key) {
        Some(MetaValue::Int(number)) => *number,
        _ => 0,
    };
    match metadata.get("exchange") {
        Some(_) => (number("exchange"), number("part")),
        None => (number("start_line"), number("chunk_index")),
    }
}
