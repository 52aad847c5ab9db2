//! Keeps the directories in the foreign format in step with the palaces of the reference backend.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use loci_core::PalaceRef;

use crate::memory::{MemoryBackend, Written};

pub(super) struct Mirror {
    pub(super) memory: MemoryBackend,
    write_out: fn(&Written, &Path),
    /// Where replaced directories are kept, so that no inode number is reused.
    away: PathBuf,
    mirrored: Mutex<Mirrored>,
}

#[derive(Default)]
struct Mirrored {
    number: usize,
    palaces: HashMap<PalaceRef, Written>,
}

impl Mirror {
    pub(super) fn new(write_out: fn(&Written, &Path), away: PathBuf) -> Self {
        Self {
            memory: MemoryBackend::new(),
            write_out,
            away,
            mirrored: Mutex::default(),
        }
    }

    /// Writes a palace out unless the directory is up to date.
    pub(super) fn lay_out(&self, palace: &PalaceRef) {
        let Some(written) = self.memory.written(palace) else {
            return;
        };
        let mut mirrored = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
        if mirrored.palaces.get(palace) == Some(&written) {
            return;
        }
        mirrored.number += 1;
        let fresh = self.away.join(format!("fresh-{}", mirrored.number));
        let replaced = self.away.join(format!("replaced-{}", mirrored.number));
        std::fs::create_dir_all(&fresh).expect("a directory for the foreign palace");
        (self.write_out)(&written, &fresh);
        let place = palace.directory().expect("a directory");
        if place.exists() {
            std::fs::rename(place, replaced).expect("the replaced palace is moved away");
        }
        std::fs::rename(fresh, place).expect("the foreign palace is moved into place");
        mirrored.palaces.insert(palace.clone(), written);
    }
}
