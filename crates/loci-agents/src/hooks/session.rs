//! What a session was told already, so that nothing is said twice. Bounded: the oldest is forgotten
//! first.

use serde::{Deserialize, Serialize};

use super::harness::Harness;
use super::lock;
use super::shelf::{Shelf, key_of};

/// Ids and signatures that are remembered.
const MOST: usize = 500;

/// What one session was told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionMemory {
    #[serde(default)]
    drawers: Vec<String>,
    #[serde(default)]
    failures: Vec<String>,
}

/// A session by its id.
pub(super) struct Session {
    shelf: Shelf,
    name: String,
}

impl Session {
    pub(super) fn of(shelf: &Shelf, harness: Harness, id: &str) -> Self {
        let key = key_of(format!("{} {id}", harness.name()).as_bytes());
        Self {
            shelf: shelf.clone(),
            name: format!("session-{key}.json"),
        }
    }

    pub(super) fn remembered(&self) -> SessionMemory {
        self.shelf.read(&self.name).unwrap_or_default()
    }

    /// The context is empty: whatever was told is gone from it.
    pub(super) fn forget(&self) {
        let _ = std::fs::remove_file(self.shelf.path(&self.name));
    }

    /// Notes what is about to be told; false if that cannot be noted, and then it should not be
    /// told.
    pub(super) fn tell(&self, drawers: &[String], failure: Option<&str>) -> bool {
        let Some(_held) = lock::moment(&self.shelf) else {
            return false;
        };
        let mut remembered = self.remembered();
        remembered.drawers.extend_from_slice(drawers);
        remembered.failures.extend(failure.map(str::to_owned));
        keep_last(&mut remembered.drawers);
        keep_last(&mut remembered.failures);
        self.shelf.write(&self.name, &remembered).is_ok()
    }
}

impl SessionMemory {
    pub(super) fn has_drawer(&self, id: &str) -> bool {
        self.drawers.iter().any(|remembered| remembered == id)
    }

    pub(super) fn has_failure(&self, signature: &str) -> bool {
        self.failures
            .iter()
            .any(|remembered| remembered == signature)
    }
}

fn keep_last(list: &mut Vec<String>) {
    if list.len() > MOST {
        list.drain(..list.len() - MOST);
    }
}
