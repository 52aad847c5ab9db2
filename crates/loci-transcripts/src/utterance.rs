//! One message, between its record and its piece.

use std::borrow::Cow;

use loci_core::RECALLED;

/// A position to resume from: a byte offset, and the number of lines, or of messages of a
/// conversation, before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) offset: u64,
    pub(super) line: u64,
}

/// The position of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RecordSpan {
    /// The number that pieces cite.
    pub(super) number: u32,
    /// `None` when reading cannot resume before the record.
    pub(super) from: Option<Point>,
    /// `None` when reading cannot resume after the record.
    pub(super) to: Option<Point>,
}

impl RecordSpan {
    /// The position of a message in a record that holds a whole conversation; `before` messages
    /// precede it.
    pub(super) fn message(self, before: u64) -> Self {
        let line = |line| self.from.map(|from| Point { line, ..from });
        Self {
            number: u32::try_from(before + 1).unwrap_or(u32::MAX),
            from: line(before),
            to: line(before + 1),
        }
    }

    /// The position after such a record.
    pub(super) fn after(self) -> Self {
        Self {
            to: self.to.map(|to| Point { line: 0, ..to }),
            ..self
        }
    }
}

/// The text under one marker line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// The marker without its colon.
    pub(super) label: Cow<'static, str>,
    pub(super) text: String,
}

/// One message. A message without text is never emitted; see [`Utterance::has_words`].
#[derive(Debug, Clone, Default)]
pub(super) struct Utterance {
    pub(super) place: RecordSpan,
    /// The number on which the message ends, if it differs from the first.
    pub(super) end: Option<u32>,
    /// Whether the message begins an exchange.
    pub(super) prompt: bool,
    pub(super) speaker: Cow<'static, str>,
    pub(super) at: Option<String>,
    pub(super) model: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) segments: Vec<Segment>,
}

/// The maximum number of tools listed for a message or a piece. Every piece of a message repeats
/// the list.
pub(super) const MAX_TOOLS: usize = 32;

/// Replaces the output of a memory search, so that recalled text is not filed again.
const RECALLED_NOTE: &str = "[recalled from memory]";

impl Utterance {
    pub(super) fn new(place: RecordSpan, speaker: impl Into<Cow<'static, str>>) -> Self {
        Self {
            place,
            speaker: speaker.into(),
            ..Self::default()
        }
    }

    /// Adds text. Blank text is left out.
    pub(super) fn push(&mut self, label: impl Into<Cow<'static, str>>, text: impl Into<String>) {
        let mut text = text.into();
        if !text.trim().is_empty() {
            let label = label.into();
            if text.contains(RECALLED) && is_from_program(&label) {
                RECALLED_NOTE.clone_into(&mut text);
            }
            self.segments.push(Segment { label, text });
        }
    }

    /// Adds a line such as `[image]` in the place of content that is not text.
    pub(super) fn note(&mut self, label: &str, note: &str) {
        match self.segments.last_mut().filter(|last| last.label == label) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(note);
            }
            None => self.push(label.to_owned(), note),
        }
    }

    pub(super) fn call(&mut self, tool: &str, input: String) {
        let tool = one_line(if tool.is_empty() { "unknown" } else { tool });
        if self.tools.len() < MAX_TOOLS && !self.tools.contains(&tool) {
            self.tools.push(tool.clone());
        }
        let input = if input.trim().is_empty() {
            "(no input)".to_owned()
        } else {
            input
        };
        self.push(format!("Tool call {tool}"), input);
    }

    pub(super) fn output(&mut self, error: bool, text: impl Into<String>) {
        self.push(output_label(error), text);
    }

    pub(super) fn has_words(&self) -> bool {
        !self.segments.is_empty()
    }
}

/// Whether a program wrote the text, not a person or a model.
fn is_from_program(label: &str) -> bool {
    label.starts_with("Tool output") || matches!(label, "Context" | "System")
}

pub(super) fn output_label(error: bool) -> &'static str {
    if error {
        "Tool output (error)"
    } else {
        "Tool output"
    }
}

/// A name that is safe in a marker line: without control characters, and short.
pub(super) fn one_line(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    super::record_tally::clip(name.trim(), 100).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_answered_is_not_remembered_again() {
        let mut utterance = Utterance::new(RecordSpan::default(), "tool");
        utterance.output(
            false,
            format!("{{\"about\":\"{RECALLED}\",\"hits\":[\"secret\"]}}"),
        );
        utterance.push("Context", format!("[x] is {RECALLED}.\nsecret"));
        utterance.push("User", format!("What does \"{RECALLED}\" mean?"));
        let texts: Vec<&str> = utterance
            .segments
            .iter()
            .map(|one| one.text.as_str())
            .collect();
        assert_eq!(texts[..2], [RECALLED_NOTE; 2]);
        assert!(texts[2].starts_with("What does"), "people may quote it");
    }
}
