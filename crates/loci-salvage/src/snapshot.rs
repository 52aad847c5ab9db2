//! A read-only view of a foreign SQLite file at one moment.
//!
//! It takes no lock and writes nothing beside the file, so a program that has the file open neither
//! waits nor notices. A file at rest is read in place (`immutable`). A file with a journal or a log
//! beside it is copied, and SQLite recovers the private copy. A file that SQLite cannot read is
//! read page by page into a private database with the same tables.

mod rebuild;
#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests make and damage files"
)]
mod tests;

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};
use loci_files::Stamp;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::record::Value;
pub use rebuild::{KeyIndex, Rebuilt, Table};

/// How often the copy of a file that changes in the meantime is retried.
const ATTEMPTS: usize = 10;
/// The maximum number of messages of a check.
const MESSAGES: usize = 20;
/// The suffixes of files that belong to a database.
pub const COMPANIONS: [&str; 2] = ["-journal", "-wal"];

/// How the content is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Access {
    /// From the file itself, which has nothing pending beside it.
    InPlace,
    /// From a private copy that SQLite has recovered.
    Copied {
        /// The companion files of the database, such as `-journal`.
        companions: Vec<String>,
    },
    /// From a private database that was filled page by page, because SQLite could not read the
    /// file.
    Salvaged(Rebuilt),
}

/// A database that is open for reading. Dropping it removes the private files.
#[derive(Debug)]
pub struct Snapshot {
    connection: Connection,
    path: PathBuf,
    access: Access,
    /// The messages of SQLite's own check, without virtual tables.
    damage: Vec<String>,
    /// Its messages about virtual tables.
    index_damage: Vec<String>,
    taken: Vec<Option<Stamp>>,
    _private: Option<TempDir>,
}

impl Snapshot {
    /// Opens the database at `path`. `tables` are the tables to salvage if SQLite cannot read the
    /// file.
    pub fn take(path: &Path, tables: &[Table]) -> Result<Self> {
        Self::taken(path, tables, false)
    }

    /// Always opens a private copy, so that later reads cannot see changes.
    pub fn copy(path: &Path, tables: &[Table]) -> Result<Self> {
        Self::taken(path, tables, true)
    }

    fn taken(path: &Path, tables: &[Table], copy: bool) -> Result<Self> {
        let path = path
            .canonicalize()
            .map_err(|source| Error::io("cannot open", path, source))?;
        loci_files::foreign::check(&path)
            .map_err(|source| Error::io("cannot open", &path, source))?;
        if !path.is_file() {
            return Err(Error::invalid(
                format!("`{}`", path.display()),
                "is not a regular file",
            ));
        }
        let taken = stamps(&path)?;
        let mut companions = Vec::new();
        for companion in COMPANIONS {
            let file = beside(&path, companion);
            if is_pending(&file, companion).map_err(|source| Error::reading(file, source))? {
                companions.push(companion.to_owned());
            }
        }
        let (connection, private, taken, access) = if companions.is_empty() && !copy {
            let opened = open_in_place(&path);
            (opened, None, taken, Access::InPlace)
        } else {
            let (private, taken) = copied(&path)?;
            let opened = open_copy(&private.path().join(name(&path)));
            (opened, Some(private), taken, Access::Copied { companions })
        };
        let checked = connection.and_then(|connection| {
            let (damage, index_damage) = check(&connection)?;
            Ok((connection, damage, index_damage))
        });
        let (problem, index_damage) = match checked {
            Ok((connection, damage, index_damage)) if damage.is_empty() => {
                return Ok(Self {
                    connection,
                    path,
                    access,
                    damage,
                    index_damage,
                    taken,
                    _private: private,
                });
            }
            Ok((_, damage, index_damage)) => (damage, index_damage),
            Err(error) => (vec![error.to_string()], Vec::new()),
        };
        // A rolled-back copy is closer to the truth than the file with half a transaction in it.
        let readable = private
            .as_ref()
            .map_or_else(|| path.clone(), |private| private.path().join(name(&path)));
        // A file that this user may not open is not damaged.
        loci_files::foreign::open(&readable).map_err(|source| Error::reading(&readable, source))?;
        let salvaged = new_private()?;
        let (connection, rebuilt) =
            rebuild::rebuild(&readable, &salvaged.path().join("salvaged.sqlite3"), tables)?;
        Ok(Self {
            connection,
            path,
            access: Access::Salvaged(rebuilt),
            damage: problem,
            index_damage,
            taken,
            _private: Some(salvaged),
        })
    }

    /// The connection. Writing fails, or changes only private files.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The path of the original file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the content is read.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The entries of the [`KeyIndex`] of a table whose row could not be read. Empty unless the
    /// content was salvaged.
    pub fn lost_entries(&self, table: &str) -> &[Vec<Value>] {
        match &self.access {
            Access::Salvaged(rebuilt) => rebuilt.lost_entries.get(table).map_or(&[], Vec::as_slice),
            Access::InPlace | Access::Copied { .. } => &[],
        }
    }

    /// Whether every row of a table could be read.
    pub fn is_whole(&self, table: &str) -> bool {
        match &self.access {
            Access::Salvaged(rebuilt) => rebuilt.whole.contains(&table),
            Access::InPlace | Access::Copied { .. } => true,
        }
    }

    /// The problems that SQLite's check found. If there are any, the content was salvaged.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// The problems that SQLite's check found in full-text indexes.
    pub fn index_damage(&self) -> &[String] {
        &self.index_damage
    }

    /// Whether the file is unchanged since the snapshot was taken.
    pub fn is_unchanged(&self) -> bool {
        stamps(&self.path).is_ok_and(|now| now == self.taken)
    }

    /// Whether a table of this name exists.
    pub fn has_table(&self, name: &str) -> bool {
        self.connection
            .query_row(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1",
                [name],
                |_| Ok(()),
            )
            .is_ok()
    }

    /// The columns of a table, in order. Empty if there is no such table.
    pub fn columns(&self, table: &str) -> Vec<String> {
        // A view has columns too, and reading it might never end.
        if !self.has_table(table) {
            return Vec::new();
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection
                .prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
                .query_map([table], |row| row.get(0))?
                .collect()
        };
        read().unwrap_or_default()
    }
}

/// An SQLite error while reading a foreign database.
pub fn unreadable(path: &Path, error: &rusqlite::Error) -> Error {
    Error::Corrupt {
        what: "the database".into(),
        path: path.to_owned(),
        detail: error.to_string(),
    }
}

fn stamps(path: &Path) -> Result<Vec<Option<Stamp>>> {
    let mut paths = vec![path.to_owned()];
    paths.extend(COMPANIONS.iter().map(|companion| beside(path, companion)));
    paths
        .iter()
        .map(|path| Stamp::of(path).map_err(|source| Error::io("cannot read", path, source)))
        .collect()
}

/// Whether SQLite would use this companion file, because it starts like a journal or log. Fails if
/// permission is denied: without a log that exists, the content would be an older one.
fn is_pending(path: &Path, companion: &str) -> io::Result<bool> {
    const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    const LOGS: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
    let mut start = [0; 8];
    let mut read = || -> io::Result<bool> {
        if !std::fs::metadata(path)?.is_file() {
            return Ok(false);
        }
        loci_files::foreign::open(path)?.read_exact(&mut start)?;
        Ok(true)
    };
    let complete = match read() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        result => result.unwrap_or(false),
    };
    Ok(complete
        && if companion == "-wal" {
            LOGS.iter().any(|log| start.starts_with(log))
        } else {
            start == JOURNAL
        })
}

fn name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or_default()
}

/// The name of a companion file.
pub fn beside(path: &Path, companion: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(companion);
    name.into()
}

fn new_private() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("loci-").tempdir().map_err(|source| {
        Error::io(
            "cannot create a private copy in",
            std::env::temp_dir(),
            source,
        )
    })
}

/// Copies the database and its companion files as of one moment. Retries if anything changed in the
/// meantime.
fn copied(path: &Path) -> Result<(TempDir, Vec<Option<Stamp>>)> {
    for _ in 0..ATTEMPTS {
        let private = new_private()?;
        let before = stamps(path)?;
        let mut complete = true;
        for source in std::iter::once(path.to_owned())
            .chain(COMPANIONS.iter().map(|companion| beside(path, companion)))
        {
            let target = private.path().join(name(&source));
            match copy_bytes(&source, &target) {
                Ok(()) => {}
                // Another program has just removed the journal.
                Err(error) if error.kind() == io::ErrorKind::NotFound && source != path => {
                    complete = false;
                }
                Err(error) => return Err(Error::io("cannot copy", source, error)),
            }
        }
        let after = stamps(path)?;
        let wanted = before.iter().skip(1).flatten().count();
        let there = COMPANIONS
            .iter()
            .filter(|companion| beside(&private.path().join(name(path)), companion).exists())
            .count();
        if before == after && (complete || wanted == there) {
            return Ok((private, after));
        }
    }
    Err(Error::Busy {
        what: format!(
            "copying `{}`: another program keeps writing to it; stop it and try again",
            path.display()
        ),
        waited: std::time::Duration::ZERO,
    })
}

/// Copies only the content. A copy of a read-only file must be writable for the recovery.
fn copy_bytes(source: &Path, target: &Path) -> io::Result<()> {
    let mut from = loci_files::foreign::open(source)?;
    let mut to = loci_files::own::create_new(target)?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}

/// Opens `path`, which [`Snapshot::taken`] has checked.
#[expect(clippy::disallowed_methods, reason = "the path was checked")]
fn open_in_place(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    careful(Connection::open_with_flags(uri, flags)?)
}

#[expect(clippy::disallowed_methods, reason = "a private copy")]
fn open_copy(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    careful(Connection::open_with_flags(path, flags)?)
}

/// Configures a connection so that nothing of a foreign schema runs, neither functions nor views
/// nor triggers, and every cell is checked.
fn careful(connection: Connection) -> rusqlite::Result<Connection> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        false,
    )?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Runs SQLite's own check. Returns messages about tables, and messages about full-text indexes.
fn check(connection: &Connection) -> rusqlite::Result<(Vec<String>, Vec<String>)> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MESSAGES})"))?;
    let messages: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let (index, tables) = messages
        .into_iter()
        .flat_map(|message| message.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|message| message != "ok")
        .partition(|message| message.contains("FTS5") || message.contains("virtual table"));
    Ok((tables, index))
}
