//! The state of a transcript between hooks: the number of stops since it was saved, and the
//! passages and masked secrets that are not yet reported to the user.

use loci_palace::MaskTally;
use serde::{Deserialize, Serialize};

use super::lock::{self, Turn};
use super::state_dir::StateDir;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    #[serde(default)]
    stops: u64,
    #[serde(default)]
    unsaid: u64,
    /// The secrets that were masked at the last read, by kind.
    #[serde(default)]
    masked: MaskTally,
    /// The masked secrets that were not reported yet.
    #[serde(default)]
    unsaid_masked: MaskTally,
    /// How many bytes of it were saved.
    #[serde(default)]
    size: u64,
}

/// A transcript, identified by the hash of its path.
#[derive(Debug, Clone)]
pub(super) struct Transcript {
    state_dir: StateDir,
    name: String,
}

impl Transcript {
    pub(super) fn of(state_dir: &StateDir, turn: &Turn) -> Self {
        Self {
            state_dir: state_dir.clone(),
            name: format!("transcript-{}.json", turn.key()),
        }
    }

    /// Counts a stop and returns the number of stops.
    pub(super) fn stopped(&self) -> u64 {
        self.change(|record| {
            record.stops += 1;
            record.stops
        })
        .unwrap_or_default()
    }

    /// How many bytes of it were saved so far.
    pub(super) fn size(&self) -> u64 {
        let there: Record = self.state_dir.read(&self.name).unwrap_or_default();
        there.size
    }

    /// Records a save: the size of the transcript, the number of new passages, and the masked
    /// secrets. A transcript that grew is read again, so only the secrets beyond those of the last
    /// read are new.
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

    /// Returns the saved passages and masked secrets since the last call.
    pub(super) fn take_unreported(&self) -> (u64, MaskTally) {
        let there: Record = self.state_dir.read(&self.name).unwrap_or_default();
        if there.unsaid == 0 {
            return (0, MaskTally::new());
        }
        self.change(|record| {
            let passages = std::mem::take(&mut record.unsaid);
            (passages, std::mem::take(&mut record.unsaid_masked))
        })
        .unwrap_or_default()
    }

    /// Changes the record. `None` if it could not be changed; then nothing is reported, because it
    /// would be reported again.
    fn change<T>(&self, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        let _held = lock::short_lock(&self.state_dir)?;
        let mut record: Record = self.state_dir.read(&self.name).unwrap_or_default();
        let value = change(&mut record);
        self.state_dir.write(&self.name, &record).ok()?;
        Some(value)
    }
}
