//! The state directory of hooks. It holds small files, each replaced atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loci_files::own;
use loci_palace::clock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_128;

use crate::home::Home;

/// The size limit of a file. A larger one was not written by Loci.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// How many files trigger a clean-up, and the age of the files that it removes.
const MANY: usize = 400;
const OLD: Duration = Duration::from_secs(30 * 24 * 3_600);

/// `$XDG_STATE_HOME/loci/hooks`.
#[derive(Debug, Clone)]
pub(super) struct StateDir {
    folder: PathBuf,
}

impl StateDir {
    pub(super) fn of(home: &Home) -> Self {
        Self {
            folder: home.state.join("hooks"),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Creates the directory, accessible only by its owner.
    pub(super) fn ensure(&self) -> std::io::Result<()> {
        loci_files::create_directory(&self.folder)
    }

    /// Opens a file, and creates it if necessary. Its content is not changed. A link is refused:
    /// it may lead to a file of a palace.
    pub(super) fn open(&self, name: &str) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).truncate(false);
        private(&mut options);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
        );
        own::open_or_create(&self.path(name), &options)
    }

    /// Reads a file; `None` if it is missing or invalid.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        read_json(&self.path(name))
    }

    /// Replaces a file atomically.
    pub(super) fn write(&self, name: &str, value: &impl Serialize) -> std::io::Result<()> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        self.ensure()?;
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let fresh = self.path(&format!("{name}.{}-{count}.new", std::process::id()));
        let written = (|| {
            let mut options = OpenOptions::new();
            options.write(true).truncate(true);
            private(&mut options);
            own::open_or_create(&fresh, &options)?.write_all(&serde_json::to_vec(value)?)?;
            // Readers see the old file or the new one, never a part of it. Neither the file nor the
            // directory is synced, because a hook must be quick and this state may be lost: after a
            // power cut the file can be old, empty or missing. `read` takes an invalid file as
            // missing, and then a memory is recalled or a transcript saved once more.
            fs::rename(&fresh, self.path(name))
        })();
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    /// Removes files that were not touched for a month, if there are many. Old lock files are safe
    /// to remove, because a lock is held for minutes at most.
    pub(super) fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let files: Vec<_> = entries.flatten().take(100 * MANY).collect();
        if files.len() < MANY {
            return;
        }
        let now = clock::system_time();
        for file in files {
            let age = file
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()
                .and_then(|modified| now.duration_since(modified).ok());
            if age.is_some_and(|age| age > OLD) {
                // No session of this age continues. One that does gets some memories again.
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    own::open(path)
        .ok()?
        .take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns a file name for any bytes: their hash.
pub(super) fn key_of(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}
