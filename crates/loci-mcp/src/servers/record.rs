//! The file that describes a server: its content, and whether the server still runs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{RunningServer, folder};

/// Longer files are ignored.
const MAX_BYTES: u64 = 64 << 10;

/// Links are not followed, and opening a pipe does not block.
const FLAGS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// The content of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) url: String,
    pub(super) address: SocketAddr,
    /// The token; `null` for a server that requires none.
    pub(super) token: Option<String>,
    pub(super) palace: String,
    pub(super) pid: u32,
    pub(super) started_at: String,
}

/// Opens such a file for reading.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(FLAGS.bits().cast_signed());
    let file = loci_files::own::open_with(path, &options)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Creates such a file, readable only by this user. An existing one is an error.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(FLAGS.bits().cast_signed());
    loci_files::own::open_with(path, &options)
}

/// Whether a running server holds the lock on the file.
pub(super) fn is_held(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The server of a file, if it runs. A file that another user owns or could read is ignored.
pub(super) fn read_live(path: &Path) -> Option<RunningServer> {
    let file = open(path).ok()?;
    let about = file.metadata().ok()?;
    if !folder::is_ours(&about) || about.mode() & folder::OTHERS != 0 || !is_held(&file) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    Some(RunningServer {
        url: record.url,
        address: record.address,
        pid: record.pid,
        started_at: record.started_at,
        file: path.to_path_buf(),
        token: record.token,
    })
}
