//! Remembers what a session already received, so that nothing is repeated. The oldest entries are
//! dropped first.

use serde::{Deserialize, Serialize};

use super::harness::Harness;
use super::lock;
use super::state_dir::{StateDir, key_of};

/// The most ids and signatures that are remembered.
const MOST: usize = 500;

/// The ids and signatures that one session received.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionMemory {
    #[serde(default)]
    drawers: Vec<String>,
    #[serde(default)]
    failures: Vec<String>,
}

/// A session by its id.
pub(super) struct Session {
    state_dir: StateDir,
    name: String,
}

impl Session {
    pub(super) fn of(state_dir: &StateDir, harness: Harness, id: &str) -> Self {
        let key = key_of(format!("{} {id}", harness.name()).as_bytes());
        Self {
            state_dir: state_dir.clone(),
            name: format!("session-{key}.json"),
        }
    }

    pub(super) fn remembered(&self) -> SessionMemory {
        self.state_dir.read(&self.name).unwrap_or_default()
    }

    /// Forgets everything, because the context of the session is empty.
    pub(super) fn forget(&self) {
        // If the file stays, or comes back after a power cut, some memories are not repeated.
        let _ = std::fs::remove_file(self.state_dir.path(&self.name));
    }

    /// Records what is about to be output. Returns `false` if that fails, or if another hook of the
    /// session has output some of it meanwhile; then it should not be output.
    pub(super) fn record(&self, drawers: &[String], failure: Option<&str>) -> bool {
        let Some(_held) = lock::short_lock(&self.state_dir) else {
            return false;
        };
        let mut remembered = self.remembered();
        let is_repeated = drawers.iter().any(|id| remembered.has_drawer(id))
            || failure.is_some_and(|signature| remembered.has_failure(signature));
        if is_repeated {
            return false;
        }
        remembered.drawers.extend_from_slice(drawers);
        remembered.failures.extend(failure.map(str::to_owned));
        keep_last(&mut remembered.drawers);
        keep_last(&mut remembered.failures);
        self.state_dir.write(&self.name, &remembered).is_ok()
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
