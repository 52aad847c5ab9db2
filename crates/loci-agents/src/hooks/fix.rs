//! Chooses, from what was said after an error, the part that shows how it was solved: a statement of
//! the cause or the solution, and the command or change before it. Plans, failed attempts and
//! repetitions of the error do not count.

use super::excerpt::floor;
use super::fix_words::{CAUSE, FAILED, PLAN, SOLUTION, SUCCESS};
use super::signature::Signature;

/// The most parts after an error that are read, and the most bytes of one.
const MAX_PARTS: usize = 60;
const MAX_PART_BYTES: usize = 6_000;
/// The most bytes of a statement and of a command.
const MAX_STATEMENT: usize = 360;
const MAX_CHANGE: usize = 240;
/// A statement is less probably about the error, the more parts lie between.
const DISTANCE: f32 = 0.06;
/// The least score of a statement of a fix.
const LEAST: f32 = 1.0;

/// Who speaks in a part of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The user or the assistant, or the author of a file or note.
    Person,
    /// The call of a tool.
    Call,
    Output,
    Failure,
    /// Thoughts, summaries, and what a program added.
    Other,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) speaker: Speaker,
    /// The line that names the speaker; empty in files and notes.
    label: &'t str,
    pub(super) text: &'t str,
    /// Where the text begins in its drawer.
    pub(super) start: usize,
}

/// What followed an error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fix {
    pub(super) text: String,
    /// How clearly it is a fix; larger is better.
    pub(super) score: f32,
    /// The number of the drawer that it is in, and where it ends there. Drawer 0 has the error.
    pub(super) drawer: usize,
    pub(super) end: usize,
}

/// Splits a drawer into its parts. A text without marks of speakers is one part.
pub(super) fn parts_of(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut open = (Speaker::Person, "", 0);
    let (mut at, mut is_after_gap) = (0, true);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(speaker) = is_after_gap.then(|| speaker_of(bare)).flatten() {
            parts.extend(part_of(text, open, at));
            open = (speaker, bare, at + line.len());
        }
        is_after_gap = bare.is_empty();
        at += line.len();
    }
    parts.extend(part_of(text, open, text.len()));
    parts
}

fn part_of<'t>(text: &'t str, open: (Speaker, &'t str, usize), end: usize) -> Option<Part<'t>> {
    let (speaker, label, start) = open;
    let text = text.get(start..end)?;
    (!text.trim().is_empty()).then_some(Part {
        speaker,
        label,
        text,
        start,
    })
}

/// The speaker that a line of a mined conversation names.
fn speaker_of(line: &str) -> Option<Speaker> {
    let name = line.strip_suffix(':')?;
    let name = name.strip_suffix(" (continued)").unwrap_or(name);
    Some(match name {
        "User" | "Assistant" => Speaker::Person,
        "Tool output" => Speaker::Output,
        "Tool output (error)" => Speaker::Failure,
        "Assistant (thinking)" | "System" | "Summary" | "Context" => Speaker::Other,
        _ if name.starts_with("Tool call ") => Speaker::Call,
        _ => return None,
    })
}

/// What the fix is chosen from: the drawer with the error and the drawers after it.
pub(super) struct Aftermath<'a> {
    pub(super) signature: &'a Signature,
    /// The text of the drawer with the error.
    pub(super) text: &'a str,
    /// Where the error begins and ends in it.
    pub(super) error: std::ops::Range<usize>,
    /// The texts of the drawers after it, in order.
    pub(super) following: &'a [&'a str],
}

/// A part after the error, with the number of its drawer.
struct Later<'a> {
    drawer: usize,
    part: Part<'a>,
}

impl Aftermath<'_> {
    /// Returns what followed the error, if it contains a fix.
    pub(super) fn fix(&self) -> Option<Fix> {
        let later = self.later();
        let mut best: Option<(f32, usize, std::ops::Range<usize>)> = None;
        for (at, one) in later.iter().enumerate() {
            if one.part.speaker != Speaker::Person {
                continue;
            }
            let text = one.part.text;
            let read = text.get(..floor(text, MAX_PART_BYTES)).unwrap_or_default();
            // Most parts contain no statement, and then their sentences need not be looked at.
            let lower = read.to_lowercase();
            if !has_any(&lower, &SOLUTION) && !has_any(&lower, &CAUSE) {
                continue;
            }
            for sentence in sentences(read) {
                let words = text.get(sentence.clone()).unwrap_or_default();
                let score = score_of(words) - DISTANCE * at as f32;
                if score >= LEAST
                    && best.as_ref().is_none_or(|(most, _, _)| score > *most)
                    && !self.signature.is_in(words)
                {
                    best = Some((score, at, sentence));
                }
            }
        }
        match best {
            Some((score, at, sentence)) => self.fix_at(&later, score, at, sentence),
            None => self.succeeded(&later),
        }
    }

    /// The parts after the error.
    fn later(&self) -> Vec<Later<'_>> {
        let mut later = Vec::new();
        for part in parts_of(self.text) {
            let end = part.start + part.text.len();
            if end <= self.error.end {
                continue;
            }
            let start = part.start.max(self.error.end);
            let Some(text) = self.text.get(start..end) else {
                continue;
            };
            // The rest of the output that has the error is not what followed it.
            if start > part.start && matches!(part.speaker, Speaker::Output | Speaker::Failure) {
                continue;
            }
            let part = Part {
                text,
                start,
                ..part
            };
            later.push(Later { drawer: 0, part });
        }
        for (number, text) in self.following.iter().enumerate() {
            let parts = parts_of(text).into_iter();
            later.extend(parts.map(|part| Later {
                drawer: number + 1,
                part,
            }));
        }
        later.truncate(MAX_PARTS);
        later
    }

    /// The statement, with the change before it.
    fn fix_at(
        &self,
        later: &[Later<'_>],
        score: f32,
        at: usize,
        sentence: std::ops::Range<usize>,
    ) -> Option<Fix> {
        let one = later.get(at)?;
        let statement = around(one.part.text, sentence.clone(), self.signature);
        let before = later.get(..at).unwrap_or_default();
        let failing = self.failing_call();
        let change = before
            .iter()
            .enumerate()
            .rev()
            .find(|(place, other)| {
                let answer = later.get(place + 1).map(|next| next.part.speaker);
                other.part.speaker == Speaker::Call
                    && answer != Some(Speaker::Failure)
                    && Some(other.part.text.trim()) != failing
            })
            .map(|(_, other)| call_in_short(&other.part));
        let text = match change {
            Some(change) => format!("{change}\n{statement}"),
            None => statement,
        };
        Some(Fix {
            text,
            score,
            drawer: one.drawer,
            end: one.part.start + sentence.end,
        })
    }

    /// The call that failed: the last one before the error.
    fn failing_call(&self) -> Option<&str> {
        let parts = parts_of(self.text).into_iter();
        let before = parts.filter(|part| part.start <= self.error.start);
        let mut calls = before.filter(|part| part.speaker == Speaker::Call);
        calls.next_back().map(|part| part.text.trim())
    }

    /// Another form of the command that failed, which succeeded.
    fn succeeded(&self, later: &[Later<'_>]) -> Option<Fix> {
        let failing = self.failing_call()?;
        let verb = |text: &str| {
            text.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let found = later.iter().enumerate().find(|(at, one)| {
            let output = later.get(at + 1);
            one.part.speaker == Speaker::Call
                && one.part.text.trim() != failing
                && verb(one.part.text) == verb(failing)
                && output.is_some_and(|output| self.is_success(&output.part))
        });
        let (_, one) = found?;
        Some(Fix {
            text: call_in_short(&one.part),
            score: LEAST / 2.0,
            drawer: one.drawer,
            end: one.part.start + one.part.text.len(),
        })
    }

    fn is_success(&self, part: &Part<'_>) -> bool {
        let lower = part.text.to_lowercase();
        part.speaker == Speaker::Output
            && !self.signature.is_in(part.text)
            && SUCCESS.iter().any(|word| lower.contains(word))
            && !["error", "failed", "exception"]
                .iter()
                .any(|word| lower.contains(word))
    }
}

/// The call of a tool, with its name.
fn call_in_short(part: &Part<'_>) -> String {
    let name = part.label.strip_prefix("Tool call ").unwrap_or(part.label);
    let text = part.text.trim();
    let end = floor(text, MAX_CHANGE);
    let more = if end < text.len() { "…" } else { "" };
    format!(
        "{name} {}{more}",
        text.get(..end).unwrap_or(text).trim_end()
    )
}

/// How clearly a sentence states a cause or a solution.
fn score_of(sentence: &str) -> f32 {
    let lower = sentence.to_lowercase();
    let has = |words: &[&str]| has_any(&lower, words);
    let mut score = 0.0;
    if has(&SOLUTION) {
        score += 2.0;
    }
    if has(&CAUSE) {
        score += 1.3;
    }
    if score > 0.0 && sentence.contains(['`', '/', '=']) {
        score += 0.3;
    }
    if has(&PLAN) || sentence.trim_end().ends_with(['?', '？']) {
        score -= 1.5;
    }
    if has(&FAILED) {
        score -= 3.0;
    }
    score
}

fn has_any(lower: &str, words: &[&str]) -> bool {
    words.iter().any(|word| contains(lower, word))
}

/// Whether a text contains a word, which begins where no other word goes on.
fn contains(lower: &str, word: &str) -> bool {
    lower.match_indices(word).any(|(at, _)| {
        let before = lower.get(..at).unwrap_or_default();
        let is_wide = word.chars().any(|letter| u32::from(letter) > 0x2e7f);
        is_wide || !before.ends_with(char::is_alphanumeric)
    })
}

/// The sentences of a text, as places. A line is at least one sentence.
fn sentences(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let is_end = match letter {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if is_end {
            let end = at + letter.len_utf8();
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..text.len());
    found.retain(|place| {
        !text
            .get(place.clone())
            .unwrap_or_default()
            .trim()
            .is_empty()
    });
    found
}

/// A sentence with those after it, and the one before it, as far as they fit. Plans and repetitions
/// of the error are left out.
fn around(text: &str, sentence: std::ops::Range<usize>, signature: &Signature) -> String {
    let all = sentences(text);
    let at = all
        .iter()
        .position(|place| *place == sentence)
        .unwrap_or_default();
    let words = |place: &std::ops::Range<usize>| text.get(place.clone()).unwrap_or_default();
    let is_useful = |place: &std::ops::Range<usize>| {
        score_of(words(place)) > -1.0 && !signature.is_in(words(place))
    };
    let (mut first, mut last) = (at, at);
    let length = |first: usize, last: usize| {
        let end = all.get(last).map_or(text.len(), |place| place.end);
        end - all.get(first).map_or(0, |place| place.start)
    };
    while let Some(next) = all.get(last + 1) {
        if length(first, last + 1) > MAX_STATEMENT || !is_useful(next) {
            break;
        }
        last += 1;
    }
    if let Some(before) = at.checked_sub(1)
        && all.get(before).is_some_and(is_useful)
        && length(before, last) <= MAX_STATEMENT
    {
        first = before;
    }
    let start = all.get(first).map_or(0, |place| place.start);
    let end = all.get(last).map_or(text.len(), |place| place.end);
    let whole = text.get(start..end).unwrap_or_default();
    let whole = whole
        .trim()
        .trim_start_matches([',', ';', '.', ':', ')', ' ']);
    let end = floor(whole, MAX_STATEMENT);
    let more = if end < whole.len() { "…" } else { "" };
    format!("{}{more}", whole.get(..end).unwrap_or(whole).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str = "error E4711: fuse_box overload in LampDriver";

    fn fix_in(text: &str, following: &[&str]) -> Option<Fix> {
        let signature = Signature::of(ERROR).unwrap();
        let error = text.find(ERROR).unwrap();
        let aftermath = Aftermath {
            signature: &signature,
            text,
            error: error..error + ERROR.len(),
            following,
        };
        aftermath.fix()
    }

    #[test]
    fn the_statement_of_the_cause_and_the_change_before_it_are_the_fix() {
        let text = format!(
            "User:\nWhy is it dark?\n\nTool call Bash:\ncommand: make lamp\n\nTool output (error):\n{ERROR}\nmake: *** [lamp] Error 1"
        );
        let following = "Assistant:\nLet me look at the driver.\n\nTool call Edit:\nfile: lamp.toml\nfuse: 16\n\nTool output:\nok\n\nAssistant:\nFixed by raising the fuse to 16 A in `lamp.toml`. The cause was the inrush current.";
        let fix = fix_in(&text, &[following]).unwrap();
        assert!(
            fix.text.contains("Fixed by raising the fuse to 16 A"),
            "{fix:?}"
        );
        assert!(fix.text.contains("inrush current"), "{fix:?}");
        assert!(fix.text.contains("file: lamp.toml"), "{fix:?}");
        assert!(!fix.text.contains("Let me look"), "{fix:?}");
        assert_eq!(fix.drawer, 1);
    }

    #[test]
    fn plans_questions_and_failed_attempts_are_no_fix() {
        for after in [
            "Let me fix it.",
            "Is it fixed by a new fuse?",
            "A new fuse did not help, it is not fixed.",
            "The lamp is blue.",
            "error E4711: fuse_box overload in LampDriver again, the cause was the LampDriver.",
            "",
        ] {
            let text = format!("Tool output (error):\n{ERROR}\n\nAssistant:\n{after}");
            assert_eq!(fix_in(&text, &[]), None, "{after}");
        }
    }

    #[test]
    fn a_changed_command_that_succeeded_is_a_weak_fix() {
        let text = format!(
            "Tool call Bash:\ncommand: make lamp\n\nTool output (error):\n{ERROR}\n\nTool call Bash:\ncommand: make lamp FUSE=16\n\nTool output:\nFinished, 3 tests passed"
        );
        let fix = fix_in(&text, &[]).unwrap();
        assert_eq!(fix.text, "Bash: command: make lamp FUSE=16");
        assert!(fix.score < LEAST);
    }

    #[test]
    fn the_rest_of_the_sentence_with_the_error_can_be_the_fix() {
        let fix = fix_in(&format!("It said {ERROR}, and a slow fuse cured it."), &[]);
        assert_eq!(fix.unwrap().text, "and a slow fuse cured it.");
    }

    #[test]
    fn odd_texts_have_parts_and_do_no_harm() {
        for text in [
            "",
            "\n",
            "User:",
            "User:\n",
            ":\n\n:",
            "é:\nü",
            "Tool call :\nx",
        ] {
            let parts = parts_of(text);
            let all: usize = parts.iter().map(|part| part.text.len()).sum();
            assert!(all <= text.len());
            let _ = sentences(text);
        }
        let signature = Signature::of(ERROR).unwrap();
        for error in [0..0, 0..99, 99..100] {
            let aftermath = Aftermath {
                signature: &signature,
                text: "éé fixed by ü",
                error,
                following: &["", "é"],
            };
            let _ = aftermath.fix();
        }
    }
}
