//! The count of what was read and what became of it.
//!
//! Two books are kept apart: records are counted where they are read, filed messages where a piece
//! is handed out. A message that gets lost in between shows as a difference.

use std::collections::BTreeMap;

/// More reasons than this come only from files that are not what they seem.
const MAX_REASONS: usize = 100;
const MAX_REASON_BYTES: usize = 120;

/// What was read and what became of it. `messages == filed + skipped.values().sum()`, always; what
/// waits to be handed out is in neither. A picture or file inside a message counts as a message of
/// its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages and other records that were read.
    pub messages: u64,
    /// Those whose words have all been handed out in pieces.
    pub filed: u64,
    /// The others, by reason.
    pub skipped: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
pub(super) struct RecordTally {
    read: u64,
    tally: Tally,
}

impl RecordTally {
    /// A record was read; exactly one `skip` or one message must come of it.
    pub(super) fn read(&mut self) {
        self.read += 1;
    }

    pub(super) fn skip(&mut self, reason: &str) {
        let reason = clip(reason, MAX_REASON_BYTES);
        if let Some(count) = self.tally.skipped.get_mut(reason) {
            *count += 1;
            return;
        }
        let reason = if self.tally.skipped.len() < MAX_REASONS {
            reason
        } else {
            "other"
        };
        *self.tally.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Something inside a record that is not filed, though the record is.
    pub(super) fn aside(&mut self, reason: &str) {
        self.read();
        self.skip(reason);
    }

    pub(super) fn file(&mut self, messages: u32) {
        self.tally.filed += u64::from(messages);
    }

    /// Brings the public count up to date; `waiting` messages are read but not handed out.
    pub(super) fn settle(&mut self, waiting: u64) {
        self.tally.messages = self.read.saturating_sub(waiting);
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// The start of `text`, at most `limit` bytes.
pub(super) fn clip(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
