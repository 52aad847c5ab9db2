//! Turns messages into pieces.
//!
//! One piece is open at a time. It is closed when the next text does not fit, so its content
//! depends only on earlier messages. Closed pieces with the same start line are held back together,
//! because no two of them may have the same text.

use super::cut::first_part;
use super::event::Piece;
use super::record_tally::clip;
use super::utterance::{MAX_TOOLS, Segment, Utterance};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The target size of a piece.
const PIECE_BYTES: usize = 4_000;
/// A longer exchange gets resume points inside it.
const REST_BYTES: usize = 256 * 1_024;
/// The longest name of a speaker, tool or model. Every piece of a message repeats these names.
const MAX_NAME_BYTES: usize = 200;
/// The minimum that is added to a piece that may not be closed yet.
const MIN_SLICE_BYTES: usize = 500;

/// A piece, and the number of messages that end in it.
#[derive(Debug, Default)]
pub(super) struct Finished {
    pub(super) piece: Piece,
    pub(super) messages: u32,
    /// The length of the marker line, if the piece continues a message that began in an earlier
    /// piece.
    marker_length: usize,
}

#[derive(Debug, Default)]
pub(super) struct Composer {
    exchange: u32,
    part: u32,
    /// Whether the exchange has any text.
    begun: bool,
    open: Option<Finished>,
    /// Closed pieces that begin on the same line, and the digests of their texts.
    group: Vec<Finished>,
    texts: HashSet<u64>,
    /// How many bytes pieces of the group must grow to differ.
    stretch: usize,
    /// Bytes since the last resume point.
    written: usize,
    waiting: u64,
}

impl Composer {
    /// Continues after `exchange`, or inside it if `part` is not 0.
    pub(super) fn resume(exchange: u32, part: u32) -> Self {
        Self {
            exchange: if part > 0 {
                exchange.saturating_sub(1)
            } else {
                exchange
            },
            part,
            begun: part > 0,
            ..Self::default()
        }
    }

    /// The exchange and part after which reading can resume; `part` is 0 between exchanges.
    pub(super) fn position(&self) -> (u32, u32) {
        if self.begun {
            (self.exchange + 1, self.part)
        } else {
            (self.exchange, 0)
        }
    }

    /// Whether an exchange is in progress.
    pub(super) fn has_words(&self) -> bool {
        self.begun
    }

    /// The number of added messages that are not yet in a returned piece.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether the exchange is long enough for a resume point after this message.
    pub(super) fn is_long(&self) -> bool {
        self.written > REST_BYTES
    }

    /// Adds a message to the exchange and moves finished pieces to `out`.
    pub(super) fn add(&mut self, utterance: &Utterance, out: &mut Vec<Finished>) {
        self.begun = true;
        self.waiting += 1;
        for segment in &utterance.segments {
            self.segment(utterance, segment, out);
        }
        if let Some(open) = &mut self.open {
            open.messages += 1;
        }
    }

    /// Closes the open piece without ending the exchange.
    pub(super) fn rest(&mut self, out: &mut Vec<Finished>) {
        self.close(out);
        // No text follows that could make the last piece differ, so a duplicate is merged into the
        // piece before it.
        while let Some(last) = self.group.pop() {
            let digest = xxh3_64(last.piece.text.as_bytes());
            let is_duplicate = self
                .group
                .iter()
                .any(|other| other.piece.text == last.piece.text);
            match self.group.last_mut().filter(|_| is_duplicate) {
                Some(before) => {
                    before.absorb(last);
                    self.part -= 1;
                }
                None => {
                    self.texts.insert(digest);
                    self.group.push(last);
                    break;
                }
            }
        }
        self.flush_group(out);
        self.written = 0;
    }

    /// Ends the exchange; the next message begins another.
    pub(super) fn finish(&mut self, out: &mut Vec<Finished>) {
        self.rest(out);
        if self.begun {
            self.exchange += 1;
        }
        self.begun = false;
        self.part = 0;
    }

    /// Ends the conversation.
    pub(super) fn finish_conversation(&mut self, out: &mut Vec<Finished>) {
        self.finish(out);
        self.exchange = 0;
    }

    fn segment(&mut self, utterance: &Utterance, segment: &Segment, out: &mut Vec<Finished>) {
        let label = segment.label.as_ref();
        let mut rest = segment.text.as_str();
        let whole = label.len() + ":\n".len() + rest.len();
        let used = self
            .open
            .as_ref()
            .map_or(0, |open| open.piece.text.len() + 2);
        let fits = used + whole <= PIECE_BYTES;
        // A short prompt stays with the beginning of a long answer.
        let shares = whole > PIECE_BYTES && used <= PIECE_BYTES / 2;
        if !fits && !shares && self.may_close() {
            self.close(out);
        }
        let mut continued = false;
        while !rest.is_empty() {
            let start = utterance.place.number;
            let same_group = self
                .group
                .first()
                .is_some_and(|g| g.piece.start_line == start);
            let stretch = if same_group { self.stretch } else { 0 };
            let open = self.open.get_or_insert_with(|| Finished::begin(start));
            open.mark(label, continued);
            let room = PIECE_BYTES.saturating_sub(open.piece.text.len());
            let length = first_part(rest, room.max(MIN_SLICE_BYTES) + stretch);
            let (slice, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
            open.piece.text.push_str(slice);
            open.attribute(utterance);
            rest = tail;
            continued = true;
            while !rest.is_empty() && !self.may_close() {
                let (next, tail) = rest
                    .split_at_checked(first_part(rest, 1))
                    .unwrap_or((rest, ""));
                if let Some(open) = &mut self.open {
                    open.piece.text.push_str(next);
                }
                rest = tail;
                self.stretch += 1;
            }
            if !rest.is_empty() {
                self.close(out);
            }
        }
    }

    /// Whether the open piece differs from all closed pieces that begin on the same line.
    fn may_close(&self) -> bool {
        let (Some(open), Some(first)) = (&self.open, self.group.first()) else {
            return true;
        };
        first.piece.start_line != open.piece.start_line
            || !self.texts.contains(&xxh3_64(open.piece.text.as_bytes()))
    }

    fn close(&mut self, out: &mut Vec<Finished>) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let begins = |group: &Finished| group.piece.start_line == open.piece.start_line;
        if !self.group.first().is_some_and(begins) {
            self.flush_group(out);
        }
        self.part += 1;
        open.piece.exchange = self.exchange + 1;
        open.piece.part = self.part;
        self.written += open.piece.text.len();
        self.texts.insert(xxh3_64(open.piece.text.as_bytes()));
        self.group.push(open);
    }

    fn flush_group(&mut self, out: &mut Vec<Finished>) {
        let messages: u32 = self.group.iter().map(|piece| piece.messages).sum();
        self.waiting = self.waiting.saturating_sub(u64::from(messages));
        out.append(&mut self.group);
        self.texts.clear();
        self.stretch = 0;
    }
}

impl Finished {
    fn begin(start: u32) -> Self {
        Self {
            piece: Piece {
                start_line: start,
                text: String::with_capacity(256),
                ..Piece::default()
            },
            ..Self::default()
        }
    }

    fn mark(&mut self, label: &str, continued: bool) {
        let text = &mut self.piece.text;
        let opens = text.is_empty();
        if !opens {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(label);
        text.push_str(if continued { " (continued):\n" } else { ":\n" });
        if opens && continued {
            self.marker_length = text.len();
        }
    }

    fn attribute(&mut self, utterance: &Utterance) {
        let piece = &mut self.piece;
        piece.end_line = utterance.end.unwrap_or(utterance.place.number);
        if piece.authored_at.is_none() {
            piece.authored_at.clone_from(&utterance.at);
        }
        if utterance.at.is_some() {
            piece.ended_at.clone_from(&utterance.at);
        }
        add_new(&mut piece.speakers, &utterance.speaker);
        for tool in &utterance.tools {
            add_new(&mut piece.tools, tool);
        }
        if piece.model.is_none() {
            piece.model = utterance
                .model
                .as_deref()
                .map(|model| clip(model, MAX_NAME_BYTES).to_owned());
        }
    }

    fn absorb(&mut self, later: Self) {
        let words = later
            .piece
            .text
            .get(later.marker_length..)
            .unwrap_or_default();
        if later.marker_length == 0 {
            self.piece.text.push_str("\n\n");
        }
        self.piece.text.push_str(words);
        self.piece.end_line = later.piece.end_line;
        if later.piece.ended_at.is_some() {
            self.piece.ended_at = later.piece.ended_at;
        }
        for speaker in &later.piece.speakers {
            add_new(&mut self.piece.speakers, speaker);
        }
        for tool in &later.piece.tools {
            add_new(&mut self.piece.tools, tool);
        }
        self.messages += later.messages;
    }
}

fn add_new(list: &mut Vec<String>, item: &str) {
    let item = clip(item, MAX_NAME_BYTES);
    if list.len() < MAX_TOOLS && !list.iter().any(|known| known == item) {
        list.push(item.to_owned());
    }
}
