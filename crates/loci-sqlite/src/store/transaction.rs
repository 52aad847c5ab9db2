//! Read and write transactions. Every other module reads and writes through [`Store::read`] and
//! [`Store::write`].

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use loci_core::Result;
use rusqlite::Connection;

use super::Store;
use super::connection::{Db, patience};
use super::lock::FileLock;
use super::palace_files::Marks;
use crate::fault::{Attempt, Fault};

/// The pause between two writes of a process that writes a lot.
const ROOM: Duration = Duration::from_millis(4);

/// How one attempt at a write transaction ended, unless with an error.
enum Turn<T> {
    Committed(T),
    /// The connection works on files that are not the palace's. Nothing was written to the palace.
    Replaced,
    /// Another process is creating, migrating or replacing the palace. Nothing was written.
    Locked,
}

impl Store {
    /// Runs `work` in one read transaction.
    pub(crate) fn read<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        let (marks, db) = self
            .begin_read(doing)
            .map_err(|error| self.at_origin(error))?;
        let result = self.watch(work(&db));
        // Ends the read transaction. It wrote nothing, so a ROLLBACK ends it as well if COMMIT
        // fails.
        let ended = db
            .sql
            .execute_batch("COMMIT")
            .or_else(|_| db.sql.execute_batch("ROLLBACK"));
        let result = result.and_then(|value| Ok(ended.map(|()| value)?));
        self.refuse_second_log_index(&marks, doing)?;
        if !matches!(&result, Err(Fault::Sql(_))) {
            self.keep(marks, db);
        }
        result.map_err(|fault| self.at_origin(fault.into_error(&self.place.database, doing)))
    }

    /// Returns a connection inside a read transaction whose snapshot is already fixed.
    fn begin_read(&self, doing: &str) -> Result<(Marks, Db)> {
        loop {
            let (marks, db) = self.reader(doing)?;
            // The first read of a transaction fixes the state that it sees.
            let begun = begin(&db.sql);
            match self.watch(begun) {
                Ok(pending) => {
                    self.note_purge(pending);
                    return Ok((marks, db));
                }
                Err(fault) => self.unless_replaced(&marks, fault, doing)?,
            }
        }
    }

    /// Runs `work` in one write transaction. All of it is committed, or nothing. If the palace was
    /// replaced, `work` runs again on the new one.
    pub(crate) fn write<T>(&self, doing: &str, work: impl FnMut(&Db) -> Attempt<T>) -> Result<T> {
        self.write_embedded(doing, work)?
            .ok_or_else(|| Fault::EmbedAgain.into_error(&self.place.directory, doing))
    }

    /// Like [`Store::write`], for work that needs a vector for each text. If a vector is missing,
    /// nothing is written and the result is `None`; the caller embeds more texts and tries again.
    pub(crate) fn write_embedded<T>(
        &self,
        doing: &str,
        mut work: impl FnMut(&Db) -> Attempt<T>,
    ) -> Result<Option<T>> {
        self.refuse_read_only()?;
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Instant::now();
        loop {
            let current = self.current_marks()?;
            self.leave_replaced_log(&current, &mut slot, doing)?;
            if slot.as_ref().is_none_or(|(opened, _)| *opened != current) {
                *slot = None;
                // An idle read connection to the same files can write too, and is already open.
                *slot = match self.idle(&current) {
                    Some(db) => Some((current, db)),
                    None => self.connect_once(doing, since)?,
                };
            }
            // The files of the connection count, because they may be newer than those checked
            // above.
            let Some((marks, db)) = slot.as_ref().map(|(marks, db)| (*marks, db)) else {
                continue;
            };
            let result = self.watch(self.in_transaction(&marks, db, &mut work));
            if matches!(&result, Err(Fault::Sql(_))) {
                // A connection that saw a failed write or a damaged page is not used again.
                *slot = None;
            }
            match result {
                Ok(Turn::Committed(value)) => return Ok(Some(value)),
                Ok(Turn::Replaced) => *slot = None,
                Ok(Turn::Locked) => FileLock::wait(&self.place.lock(), patience())?,
                Err(Fault::EmbedAgain) => return Ok(None),
                Err(fault) => self.unless_replaced(&marks, fault, doing)?,
            }
        }
    }

    /// Runs `work` between BEGIN IMMEDIATE and COMMIT. Rolls back if anything fails.
    fn in_transaction<T>(
        &self,
        marks: &Marks,
        db: &Db,
        work: &mut impl FnMut(&Db) -> Attempt<T>,
    ) -> Attempt<Turn<T>> {
        db.sql.execute_batch("BEGIN IMMEDIATE")?;
        let roll_back = || {
            // SQLite has already rolled back after some errors, so a failure here is ignored.
            let _ = db.sql.execute_batch("ROLLBACK");
        };
        // This must not wait: a process that holds the lock exclusively may be waiting for SQLite's
        // write lock, which this transaction holds.
        let lock = match FileLock::try_shared(&self.place.lock()) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                roll_back();
                return Ok(Turn::Locked);
            }
            Err(error) => {
                roll_back();
                return Err(error.into());
            }
        };
        // Until the lock is released, no Loci process swaps the files or creates a second log or
        // log index. Another program may still remove them.
        match self.is_current(marks, &lock) {
            Ok(true) => {}
            Ok(false) => {
                roll_back();
                return Ok(Turn::Replaced);
            }
            Err(error) => {
                roll_back();
                return Err(error.into());
            }
        }
        let result = work(db).and_then(|value| {
            // The write is in the log when COMMIT returns, and on the disk with durability `full`.
            // A crash before that leaves nothing of the write. Index files follow later, because they
            // are derived from the database. `palace.lock` is still held, so the checked files are the
            // ones written to.
            db.sql.execute_batch("COMMIT")?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                // Checked after the commit and before the lock is released. If another program
                // removed the database in between, the commit went to a file that is not part of
                // the palace, and the caller must not report it as written.
                let kept = self.is_kept(marks, db)?;
                drop(lock);
                Ok(if kept {
                    Turn::Committed(value)
                } else {
                    Turn::Replaced
                })
            }
            Err(fault) => {
                roll_back();
                Err(fault)
            }
        }
    }

    /// Runs `work` on a connection of its own, outside any transaction, for VACUUM and checkpoints.
    /// The shared lock keeps other processes from swapping the files while it runs.
    pub(crate) fn alone<T>(&self, doing: &str, work: impl FnOnce(&Db) -> Attempt<T>) -> Result<T> {
        self.refuse_read_only()?;
        loop {
            let (marks, db) = self.connect_marked(doing)?;
            let Some(lock) = FileLock::try_shared(&self.place.lock())? else {
                FileLock::wait(&self.place.lock(), patience())?;
                continue;
            };
            if !self.is_current(&marks, &lock)? {
                continue;
            }
            return self
                .watch(work(&db))
                .map_err(|fault| fault.into_error(&self.place.database, doing));
        }
    }

    /// Lets writers of other processes in between two long writes of this process. They sleep for
    /// some milliseconds between their attempts, and would otherwise hardly ever find the write
    /// lock free.
    pub(crate) fn make_room(&self) {
        let _slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(ROOM);
    }
}

/// Begins a read transaction and returns whether a purge is pending.
fn begin(db: &Connection) -> Attempt<bool> {
    db.prepare_cached("BEGIN")?.execute([])?;
    let mut statement = db.prepare_cached("SELECT purge_pending > 0 FROM palace WHERE id = 1")?;
    let mut rows = statement.query([])?;
    Ok(match rows.next()? {
        Some(row) => row.get_ref(0)?.as_i64().unwrap_or_default() != 0,
        None => false,
    })
}
