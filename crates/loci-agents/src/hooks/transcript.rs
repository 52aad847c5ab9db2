//! What is remembered of a transcript between hooks: stops since it was saved, and passages that the user was not told of.

use serde::{Deserialize, Serialize};

use super::lock::{self, Turn};
use super::shelf::Shelf;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    #[serde(default)]
    stops: u64,
    #[serde(default)]
    unsaid: u64,
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

    /// Notes that it was saved when it had so many bytes, and how many passages that gave.
    pub(super) fn saved(&self, size: u64, passages: u64) {
        if passages > 0 || size != self.size() {
            self.change(|record| {
                record.unsaid += passages;
                record.size = size;
            });
        }
    }

    /// Passages that were saved since this was asked last.
    pub(super) fn take_unsaid(&self) -> u64 {
        let there: Record = self.shelf.read(&self.name).unwrap_or_default();
        if there.unsaid == 0 {
            return 0;
        }
        self.change(|record| std::mem::take(&mut record.unsaid))
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
