//! What is remembered of a transcript between hooks: stops since it was saved, and passages and
//! masked secrets that were not reported to the user yet.

use loci_palace::MaskTally;
use serde::{Deserialize, Serialize};

use super::lock::{self, Turn};
use super::shelf::Shelf;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    #[serde(default)]
    stops: u64,
    #[serde(default)]
    unsaid: u64,
    /// Secrets that were masked when it was read last, by kind.
    #[serde(default)]
    masked: MaskTally,
    /// Of those, the ones that were not reported yet.
    #[serde(default)]
    unsaid_masked: MaskTally,
    /// Bytes of it that were saved.
    #[serde(default)]
    size: u64,
}

/// A transcript by the hash of its path.
#[derive(Debug, Clone)]
pub(super) struct Transcript {
    shelf: Shelf,
    name: String,
}

impl Transcript {
    pub(super) fn of(shelf: &Shelf, turn: &Turn) -> Self {
        Self {
            shelf: shelf.clone(),
            name: format!("transcript-{}.json", turn.key()),
        }
    }

    /// Counts a stop; gives how many there were.
    pub(super) fn stopped(&self) -> u64 {
        self.change(|record| {
            record.stops += 1;
            record.stops
        })
        .unwrap_or_default()
    }

    /// Bytes of it that were saved so far.
    pub(super) fn size(&self) -> u64 {
        let there: Record = self.shelf.read(&self.name).unwrap_or_default();
        there.size
    }

    /// Notes that it was saved when it had so many bytes, how many passages that gave, and what was
    /// masked in it. A transcript is read again when it grew, so only what is more than the last
    /// time is new.
    pub(super) fn saved(&self, size: u64, passages: u64, masked: &MaskTally) {
        if passages > 0 || size != self.size() {
            self.change(|record| {
                record.unsaid += passages;
                record.size = size;
                for (kind, count) in masked {
                    let known = record.masked.entry(kind.clone()).or_default();
                    let new = count.saturating_sub(*known);
                    *known += new;
                    if new > 0 {
                        *record.unsaid_masked.entry(kind.clone()).or_default() += new;
                    }
                }
            });
        }
    }

    /// Passages that were saved, and secrets that were masked, since this was asked last.
    pub(super) fn take_unsaid(&self) -> (u64, MaskTally) {
        let there: Record = self.shelf.read(&self.name).unwrap_or_default();
        if there.unsaid == 0 {
            return (0, MaskTally::new());
        }
        self.change(|record| {
            let passages = std::mem::take(&mut record.unsaid);
            (passages, std::mem::take(&mut record.unsaid_masked))
        })
        .unwrap_or_default()
    }

    /// Nothing, if it could not be changed: then nothing is told that would be told again.
    fn change<T>(&self, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        let _held = lock::moment(&self.shelf)?;
        let mut record: Record = self.shelf.read(&self.name).unwrap_or_default();
        let value = change(&mut record);
        self.shelf.write(&self.name, &record).ok()?;
        Some(value)
    }
}
