//! The record of the last backup: `palace.backup.json` in the directory of the palace.
//!
//! It is not in the database, because a backup would carry it into a restored palace, which would
//! then claim a backup that it never had. Losing the file loses nothing but the knowledge of when
//! the last backup was made.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use loci_core::clock::{new_id, now_ms};
use loci_core::{Error, PalaceState, Result, path_text};
use loci_files::own;
use loci_recall::date_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Published;
use crate::palace::Palace;

const FILE: &str = "palace.backup.json";
const TEMPORARY: &str = "palace.backup-";
/// A larger file is not a record.
const MAX_BYTES: u64 = 64 << 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The bytes of the file. docs/format.md describes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The palace that it is about.
    identity: String,
    path: String,
    /// The path, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<Vec<u8>>,
    made_at: i64,
    bytes: u64,
    drawers: u64,
    /// Number of the last change before it was made.
    seq: u64,
    verified: bool,
    /// Whether something was forgotten since.
    #[serde(default)]
    holds_forgotten: bool,
}

/// The last backup that was made of a palace.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each a member of the JSON"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LastBackup {
    /// Where it was written.
    pub path: String,
    /// When it was made (RFC 3339).
    pub made_at: String,
    /// Its age in whole days.
    pub days: u64,
    /// Its size.
    pub bytes: u64,
    /// Number of its drawers.
    pub drawers: u64,
    /// Whether it was read back and checked.
    pub verified: bool,
    /// Whether the file is gone, or has another size.
    pub missing: bool,
    /// Whether the palace has changed since.
    pub changed_since: bool,
    /// Whether texts were forgotten since, which it still holds.
    pub holds_forgotten: bool,
    /// Its age in seconds.
    #[serde(skip)]
    pub seconds: u64,
}

/// Records a backup. A record of a later one stays.
pub(super) fn write(palace: &Palace, made: &Published, state: &PalaceState) -> Result<()> {
    let Some(directory) = palace.directory() else {
        return Ok(());
    };
    // Files that another user creates in a palace would lock its owner out.
    if let Some(read_only) = palace.read_only()? {
        return Err(Error::Conflict {
            what: read_only.message(),
        });
    }
    let answer = &made.answer;
    let path = std::path::absolute(&answer.backup).unwrap_or_else(|_| answer.backup.clone());
    let bytes = path.as_os_str().as_bytes();
    put(
        directory,
        &Record {
            identity: state.identity.clone(),
            path: path_text(&path),
            path_bytes: std::str::from_utf8(bytes).is_err().then(|| bytes.to_vec()),
            made_at: made.made_at,
            bytes: answer.bytes,
            drawers: answer.drawers,
            seq: state.seq,
            verified: answer.verified,
            holds_forgotten: false,
        },
    )
}

/// The last backup of a palace, if one is recorded.
pub(crate) fn last_backup(directory: &Path, state: &PalaceState) -> Option<LastBackup> {
    let record = read(directory, &state.identity)?;
    let age = now_ms().saturating_sub(record.made_at).max(0);
    let there = fs::metadata(record.path());
    let missing = match &there {
        Ok(metadata) => !metadata.is_file() || metadata.len() != record.bytes,
        // A folder that this user may not read can still hold it.
        Err(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ),
    };
    Some(LastBackup {
        made_at: date_of(record.made_at),
        days: (age / DAY_MS) as u64,
        seconds: (age / 1000) as u64,
        bytes: record.bytes,
        drawers: record.drawers,
        verified: record.verified,
        missing,
        changed_since: state.seq > record.seq,
        holds_forgotten: record.holds_forgotten,
        path: record.path,
    })
}

/// Records that texts were forgotten after the last backup, which may still hold them. Returns its
/// path, unless the file is gone.
pub(crate) fn note_forgotten(directory: &Path, identity: &str) -> Result<Option<String>> {
    let Some(record) = read(directory, identity) else {
        return Ok(None);
    };
    let there = fs::metadata(record.path()).is_ok();
    let path = there.then(|| record.path.clone());
    if !record.holds_forgotten {
        put(
            directory,
            &Record {
                holds_forgotten: true,
                ..record
            },
        )?;
    }
    Ok(path)
}

impl Record {
    fn path(&self) -> PathBuf {
        match &self.path_bytes {
            Some(bytes) => OsString::from_vec(bytes.clone()).into(),
            None => PathBuf::from(&self.path),
        }
    }
}

/// The record in a directory, if it is about this palace. A file that is no record counts as none.
fn read(directory: &Path, identity: &str) -> Option<Record> {
    let file = directory.join(FILE);
    if fs::symlink_metadata(&file).ok()?.len() > MAX_BYTES {
        return None;
    }
    let record: Record = serde_json::from_slice(&own::read(&file).ok()?).ok()?;
    (record.identity == identity).then_some(record)
}

fn put(directory: &Path, record: &Record) -> Result<()> {
    let file = directory.join(FILE);
    let fail = |source| Error::io("cannot write", &file, source);
    let mut json = serde_json::to_vec_pretty(record).map_err(|error| Error::Internal {
        doing: "recording a backup".into(),
        detail: error.to_string(),
    })?;
    json.push(b'\n');
    let temporary = directory.join(format!("{TEMPORARY}{}.tmp", new_id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    let written = own::create_with(&temporary, &options)
        .and_then(|mut out| {
            out.write_all(&json)?;
            out.sync_all()
        })
        // The new record is complete and durable. A crash before the rename leaves the old record
        // and a temporary file, which nothing reads.
        .and_then(|()| fs::rename(&temporary, &file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(fail)?;
    loci_files::sync_directory(directory).map_err(fail)
}
