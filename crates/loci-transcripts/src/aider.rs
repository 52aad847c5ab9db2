//! Reads Aider's Markdown. Prompts are level-four headings, and Aider's own output is quoted.

use super::clock;
use super::format::{Companions, Layout, Spec};
use super::recognise::{Sign, file_name};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::turns::Turns;
use super::utterance::{RecordSpan, Utterance};

pub(super) const SESSION_START: &str = "# aider chat started at ";

#[derive(Debug, Default)]
pub(super) struct Aider {
    turns: Turns,
}

impl Aider {
    fn turn(
        &mut self,
        who: &'static str,
        label: &str,
        words: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) {
        if self.turns.speaks(label) {
            self.turns.add(words, place, sink);
        } else if !words.trim().is_empty() {
            let mut utterance = Utterance::new(place, who);
            utterance.prompt = who == "user";
            utterance.at.clone_from(&sink.state.latest);
            self.turns.begin(utterance, label, words, sink);
        }
    }
}

impl RecordFormat for Aider {
    fn record(
        &mut self,
        line: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        if let Some(time) = line.strip_prefix(SESSION_START) {
            self.turns.end(sink);
            sink.state.latest = clock::from_text(time);
            ParseSink::learn(&mut sink.conversation.started_at, sink.state.latest.clone());
            sink.record_tally.skip_inner("session start");
        } else if let Some(words) = line.strip_prefix("#### ") {
            self.turn("user", "User", words, place, sink);
        } else if let Some(words) = line.strip_prefix("> ") {
            self.turn("system", "Aider", words, place, sink);
        } else if self.turns.speaks("Assistant") {
            self.turns.add(line, place, sink);
        } else if line.trim().is_empty() {
            self.turns.end(sink);
        } else {
            self.turn("assistant", "Assistant", line, place, sink);
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

/// Aider's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "aider",
    is_export: false,
    sign: Sign::Text(|head, path| {
        let text = String::from_utf8_lossy(head);
        file_name(path).ends_with(".aider.chat.history.md")
            || text.trim_start().starts_with(SESSION_START)
    }),
    layout: Layout::Lines(|_| Box::new(Aider::default())),
    companions: Companions::NONE,
};
