//! Reads whole sources, and checks the properties of every source.

use loci_transcripts::{Conversation, Event, Format, Mark, Piece, Reader, Tally};
use serde_json::Value;
use std::collections::HashSet;
use std::io::BufReader;
use std::path::Path;

pub(super) struct ReadSource {
    pub(super) events: Vec<Event>,
    pub(super) tally: Tally,
    pub(super) conversation: Conversation,
}

impl ReadSource {
    pub(super) fn pieces(&self) -> Vec<&Piece> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Piece(piece) => Some(piece),
                _ => None,
            })
            .collect()
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        self.pieces()
            .iter()
            .map(|piece| piece.text.as_str())
            .collect()
    }

    pub(super) fn conversations(&self) -> Vec<&Conversation> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Conversation(conversation) => Some(conversation),
                _ => None,
            })
            .collect()
    }

    pub(super) fn marks(&self) -> Vec<&Mark> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Rest(mark) => Some(&**mark),
                _ => None,
            })
            .collect()
    }

    pub(super) fn skipped(&self, reason: &str) -> u64 {
        self.tally.skipped.get(reason).copied().unwrap_or(0)
    }
}

pub(super) fn adds_up(tally: &Tally) {
    assert_eq!(
        tally.messages,
        tally.filed + tally.skipped.values().sum::<u64>(),
        "{tally:?}"
    );
}

/// Reads to the end from a mark.
pub(super) fn read_from(format: Format, bytes: &[u8], path: &Path, mark: &Mark) -> ReadSource {
    let bytes = &bytes[usize::try_from(mark.offset).unwrap()..];
    let mut reader = Reader::resume(format, BufReader::with_capacity(997, bytes), path, mark);
    let mut events = Vec::new();
    let mut announced = false;
    let mut texts = HashSet::new();
    adds_up(reader.tally());
    while let Some(event) = reader.next().unwrap() {
        adds_up(reader.tally());
        match &event {
            Event::Conversation(_) => {
                announced = true;
                texts.clear();
            }
            Event::Piece(piece) => {
                assert!(announced, "a piece before its conversation");
                assert!(
                    piece.start_line >= 1 && piece.start_line <= piece.end_line,
                    "{piece:?}"
                );
                assert!(piece.exchange >= 1 && piece.part >= 1);
                assert!(!piece.speakers.is_empty());
                let key = (piece.exchange, piece.start_line, piece.text.clone());
                assert!(texts.insert(key), "two pieces are the same: {piece:?}");
            }
            Event::Rest(mark) => {
                let json = serde_json::to_string(mark).unwrap();
                assert!(json.len() < 1_024, "{json}");
                assert_eq!(serde_json::from_str::<Mark>(&json).unwrap(), **mark);
            }
        }
        events.push(event);
    }
    assert_eq!(reader.next().unwrap(), None);
    adds_up(reader.tally());
    ReadSource {
        events,
        tally: reader.tally().clone(),
        conversation: reader.conversation().clone(),
    }
}

pub(super) fn read(format: Format, text: impl AsRef<[u8]>, path: &str) -> ReadSource {
    read_from(format, text.as_ref(), Path::new(path), &Mark::default())
}

/// JSON lines of the given records.
pub(super) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// All words of all pieces, without the markers of later parts.
pub(super) fn words(pieces: &[&Piece]) -> String {
    let mut words = String::new();
    for piece in pieces {
        let (marker, rest) = piece.text.split_once('\n').unwrap();
        if marker.ends_with("(continued):") {
            words.push_str(rest);
        } else {
            words.push_str("\n\n");
            words.push_str(&piece.text);
        }
    }
    words
}
