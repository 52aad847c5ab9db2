//! Aider: Markdown in which prompts are headings of level four and what Aider itself says is quoted.

use super::clock;
use super::desk::{Desk, Misread, RecordFormat};
use super::said::{Place, Said};
use super::turns::Turns;

pub(super) const SESSION_START: &str = "# aider chat started at ";

#[derive(Debug, Default)]
pub(super) struct Aider {
    turns: Turns,
}

impl Aider {
    fn turn(&mut self, who: &'static str, label: &str, words: &str, place: Place, desk: &mut Desk) {
        if self.turns.speaks(label) {
            self.turns.add(words, place, desk);
        } else if !words.trim().is_empty() {
            let mut said = Said::new(place, who);
            said.prompt = who == "user";
            said.at.clone_from(&desk.state.latest);
            self.turns.begin(said, label, words, desk);
        }
    }
}

impl RecordFormat for Aider {
    fn record(&mut self, line: &str, place: Place, desk: &mut Desk) -> Result<(), Misread> {
        if let Some(time) = line.strip_prefix(SESSION_START) {
            self.turns.end(desk);
            desk.state.latest = clock::from_text(time);
            Desk::learn(&mut desk.conversation.started_at, desk.state.latest.clone());
            desk.books.aside("session start");
        } else if let Some(words) = line.strip_prefix("#### ") {
            self.turn("user", "User", words, place, desk);
        } else if let Some(words) = line.strip_prefix("> ") {
            self.turn("system", "Aider", words, place, desk);
        } else if self.turns.speaks("Assistant") {
            self.turns.add(line, place, desk);
        } else if line.trim().is_empty() {
            self.turns.end(desk);
        } else {
            self.turn("assistant", "Assistant", line, place, desk);
        }
        Ok(())
    }

    fn end(&mut self, desk: &mut Desk) {
        self.turns.end(desk);
    }

    fn held(&self) -> u64 {
        self.turns.held()
    }

    fn counts_records(&self) -> bool {
        false
    }
}
