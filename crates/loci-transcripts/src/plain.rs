//! Reads plain text in which each turn begins with its speaker (`User:` and `Assistant:`), or each
//! prompt with `> `.

use super::format::{Companions, Layout, Spec};
use super::recognise::{Sign, file_name};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::turns::Turns;
use super::utterance::{RecordSpan, Utterance};
use std::path::Path;

/// Only this much of a file is examined.
const HEAD_BYTES: usize = 8 * 1_024;

#[derive(Debug, Default)]
pub(super) struct Plain {
    turns: Turns,
}

/// Returns the speaker that a line begins with, as written and as a role, and the rest of the line.
fn speaker(line: &str) -> Option<(&str, &'static str, &str)> {
    let start = line.strip_prefix("**").unwrap_or(line);
    let is_bold = start.len() < line.len();
    let (name, rest) = start.split_once(':')?;
    let rest = if is_bold {
        rest.strip_prefix("**")?
    } else {
        rest
    };
    let who = match name.to_ascii_lowercase().as_str() {
        "user" | "human" | "you" | "me" => "user",
        "assistant" | "ai" | "claude" | "chatgpt" | "gemini" | "gpt" | "bot" | "model" => {
            "assistant"
        }
        "system" => "system",
        _ => return None,
    };
    Some((name, who, rest.strip_prefix(' ').unwrap_or(rest)))
}

fn quoted(line: &str) -> Option<&str> {
    line.strip_prefix("> ")
        .or(if line == ">" { Some("") } else { None })
}

/// Whether the text is a conversation. It must have, near its start, at least two turns of each of
/// two alternating speakers. A text with headings needs twice as many. Quoted prompts count only if
/// the text begins with one.
pub(super) fn is_conversation(head: &str, is_markdown: bool) -> bool {
    let head = super::record_tally::clip(head, HEAD_BYTES);
    let mut turns: Vec<&str> = Vec::new();
    let mut has_headings = false;
    for line in head.lines() {
        has_headings |= is_markdown && line.starts_with('#');
        if let Some((_, who, _)) = speaker(line)
            && turns.last() != Some(&who)
        {
            turns.push(who);
        }
    }
    let count = |who: &str| turns.iter().filter(|turn| **turn == who).count();
    let least = if has_headings { 4 } else { 2 };
    if count("user") >= least && count("assistant") >= least {
        return true;
    }
    if is_markdown || turns.len() > 1 {
        return false;
    }
    let mut prompts = 0;
    let mut answers = 0;
    let mut was_quoted = false;
    for line in head.lines().filter(|line| !line.trim().is_empty()) {
        let is_quoted = quoted(line).is_some();
        if prompts == 0 && !is_quoted {
            return false;
        }
        prompts += usize::from(is_quoted && !was_quoted);
        answers += usize::from(!is_quoted && was_quoted);
        was_quoted = is_quoted;
    }
    prompts >= 2 && answers >= 2
}

impl RecordFormat for Plain {
    fn record(
        &mut self,
        line: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        // The first line decides: a file with quoted prompts begins with one.
        if sink.state.quotes.is_none() && !line.trim().is_empty() {
            sink.state.quotes = Some(quoted(line).is_some());
        }
        let quotes = sink.state.quotes == Some(true);
        if let Some((name, who, words)) = speaker(line).filter(|_| !quotes) {
            let mut utterance = Utterance::new(place, who);
            utterance.prompt = who == "user";
            self.turns.begin(utterance, name, words, sink);
        } else if let Some(words) = quoted(line).filter(|_| quotes) {
            if self.turns.speaks("User") {
                self.turns.add(words, place, sink);
            } else {
                let mut utterance = Utterance::new(place, "user");
                utterance.prompt = true;
                self.turns.begin(utterance, "User", words, sink);
            }
        } else if self.turns.is_open() && !(quotes && self.turns.speaks("User")) {
            self.turns.add(line, place, sink);
        } else if !line.trim().is_empty() {
            let (who, label) = if quotes {
                ("assistant", "Assistant")
            } else {
                ("system", "Note")
            };
            self.turns
                .begin(Utterance::new(place, who), label, line, sink);
        }
        Ok(())
    }

    fn end(&mut self, sink: &mut ParseSink) {
        self.turns.end(sink);
    }

    fn held(&self) -> u64 {
        self.turns.held()
    }

    fn counts_records(&self) -> bool {
        false
    }
}

/// The entry of plain text in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "plain",
    is_export: false,
    sign: Sign::Text(is_plain),
    layout: Layout::Lines(|_| Box::new(Plain::default())),
    companions: Companions::NONE,
};

fn is_plain(head: &[u8], path: &Path) -> bool {
    let name = file_name(path);
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
    is_text && !head.contains(&0) && is_conversation(&String::from_utf8_lossy(head), is_markdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_turns_of_two_speakers_make_a_conversation() {
        assert!(is_conversation(
            "User: a\nAssistant: b\nUser: c\nAssistant: d\n",
            false
        ));
        assert!(is_conversation(
            "**Human:** a\n\n**AI:** b\n\n**Human:** c\n\n**AI:** d\n",
            true
        ));
        assert!(is_conversation("> a\nb\n\n> c\nd\n", false));
        assert!(!is_conversation("User: a\nAssistant: b\n", false));
        assert!(!is_conversation(
            "User: a\nUser: b\nUser: c\nUser: d\n",
            false
        ));
        assert!(!is_conversation(
            "A letter.\n> quoted\nanswer\n> quoted\nanswer\n",
            false
        ));
    }

    #[test]
    fn a_document_that_mentions_users_is_no_conversation() {
        let guide = "# Guide\n\nUser: the one who asks.\n\n## Roles\n\nAssistant: the one who answers.\nUser: see above.\nAssistant: see above.\n";
        assert!(!is_conversation(guide, true));
        assert!(!is_conversation(
            "> a quote\n\ntext\n\n> another\n\ntext\n",
            true
        ));
    }
}
