//! Messages that span lines of text: gathers lines until another speaker begins.

use super::desk::Desk;
use super::said::{Place, Said};

/// A longer message is let go in between and goes on as another.
const HOLD_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    said: Said,
    label: String,
    text: String,
}

impl Turns {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn held(&self) -> u64 {
        u64::from(self.open.is_some())
    }

    /// Whether the open message is under this label.
    pub(super) fn speaks(&self, label: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.label == label)
    }

    /// Ends the open message, which ends before `place`, and begins another.
    pub(super) fn begin(&mut self, mut said: Said, label: &str, text: &str, desk: &mut Desk) {
        self.end(desk);
        desk.books.read();
        said.end = Some(said.place.number);
        self.open = Some(Open {
            said,
            label: label.to_owned(),
            text: text.to_owned(),
        });
    }

    /// Adds a line to the open message.
    pub(super) fn add(&mut self, line: &str, place: Place, desk: &mut Desk) {
        let Some(open) = &mut self.open else {
            return;
        };
        open.text.push('\n');
        open.text.push_str(line);
        if !line.trim().is_empty() {
            open.said.end = Some(place.number);
        }
        open.said.place.to = place.to;
        if open.text.len() > HOLD_BYTES {
            let mut next = Said::new(
                Place {
                    from: None,
                    ..place
                },
                open.said.speaker.clone(),
            );
            next.at.clone_from(&open.said.at);
            let label = open.label.trim_end_matches(" (continued)").to_owned() + " (continued)";
            self.begin(next, &label, "", desk);
        }
    }

    pub(super) fn end(&mut self, desk: &mut Desk) {
        if let Some(Open {
            mut said,
            label,
            text,
        }) = self.open.take()
        {
            // A blank line before the next speaker is not said.
            said.push(
                label,
                text.trim_end_matches(['\n', '\r']).trim_start_matches('\n'),
            );
            desk.say(said);
        }
    }
}
