//! Counts what was read and what became of it.
//!
//! Records are counted where they are read, and filed messages where a piece is returned. The two
//! counts are independent, so a message that gets lost in between shows as a difference.

use std::collections::BTreeMap;

/// Only malformed files have more reasons than this.
const MAX_REASONS: usize = 100;
const MAX_REASON_BYTES: usize = 120;

/// The number of messages read, filed and skipped. `messages == filed + skipped.values().sum()`
/// always holds, because messages that wait to be returned are in neither count. A picture or file
/// inside a message counts as a message of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages and other records that were read.
    pub messages: u64,
    /// The messages whose text has been returned completely in pieces.
    pub filed: u64,
    /// The messages that were not filed, by reason.
    pub skipped: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
pub(super) struct RecordTally {
    read: u64,
    tally: Tally,
}

impl RecordTally {
    /// Counts a record. Exactly one `skip` or one message must follow.
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

    /// Counts a part of a record that is not filed, although the record is.
    pub(super) fn skip_inner(&mut self, reason: &str) {
        self.read();
        self.skip(reason);
    }

    pub(super) fn file(&mut self, messages: u32) {
        self.tally.filed += u64::from(messages);
    }

    /// Updates the public count; `waiting` messages are read but not returned yet.
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
