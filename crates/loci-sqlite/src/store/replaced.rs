//! Handles files of an open palace that another program removes or replaces: the log, the log
//! index, or the database. No acknowledged write is lost, and no read mixes two states.

use std::time::{Duration, Instant};

use loci_core::{Error, Result};
use loci_files::palace::holds_with_others;
use rusqlite::Connection;

use super::Store;
use super::connection::Db;
use super::lock::FileLock;
use super::log_files::LogFiles;
use super::palace_files::{Marks, PalaceFiles};
use crate::fault::Attempt;
use crate::maintenance::free_path;

/// How long a call waits until the other calls of this process have dropped removed files.
const RENEWAL: Duration = Duration::from_secs(5);

impl Store {
    /// Refuses an answer that was read through a log index that has been replaced. Writers that use
    /// the new one do not see this read lock, and may have overwritten pages of the log.
    pub(super) fn refuse_second_log_index(&self, marks: &Marks, doing: &str) -> Result<()> {
        let replaced = self.place.marks()?.is_some_and(|now| {
            now.database == marks.database
                && now.log_index.is_some()
                && now.log_index != marks.log_index
        });
        if replaced {
            return Err(Error::Busy {
                what: format!("{doing}: the files of the palace were replaced during the call"),
                waited: Duration::ZERO,
            });
        }
        Ok(())
    }

    /// Whether these are the current files of the palace, and the ones that `palace.lock` names.
    pub(super) fn is_current(&self, marks: &Marks, lock: &FileLock) -> Result<bool> {
        Ok(self.place.marks()? == Some(*marks) && LogFiles::of(marks) == LogFiles::named_in(lock))
    }

    /// Whether a commit is part of this palace. Another program may have removed files after the
    /// last check. If the database is gone, the commit is not in this palace. If only the log is
    /// gone, its commits are moved into the database.
    pub(super) fn is_kept(&self, marks: &Marks, db: &Db) -> Attempt<bool> {
        let Some(now) = self.place.marks()? else {
            return Ok(false);
        };
        if now.database != marks.database {
            return Ok(false);
        }
        if now.log != marks.log {
            // The commit is in a log without a name, which goes with this process. It is moved into
            // the database before it is acknowledged.
            checkpoint_all(&db.sql, &self.place)?;
        }
        Ok(true)
    }

    /// Whether `palace.lock` names these files. Reads the record without taking the lock, so it
    /// only serves reads and the early detection of a change.
    pub(super) fn is_named(&self, marks: &Marks) -> bool {
        LogFiles::named_at(&self.place.lock())
            .is_none_or(|named| Some(named) == LogFiles::of(marks))
    }

    /// Whether connections to `known` must not be used any more although the database is the same.
    /// Either a file was replaced, or it came back after other processes had continued with another
    /// one.
    fn is_left(&self, known: &Marks, now: &Marks) -> bool {
        known.database == now.database
            && (known != now || (now.are_complete() && !self.is_named(now)))
    }

    /// Closes every connection of this process if the log or the log index was replaced while the
    /// database is the same. As long as one connection is open, SQLite gives its old log index to
    /// every new connection to the same database.
    pub(super) fn leave_replaced_log(
        &self,
        now: &Marks,
        slot: &mut Option<(Marks, Db)>,
        doing: &str,
    ) -> Result<()> {
        let (known, idle) = {
            let mut connections = self.lock_connections();
            match connections.marks {
                Some(known) if self.is_left(&known, now) => {
                    connections.marks = None;
                    connections.epoch += 1;
                    (known, std::mem::take(&mut connections.idle))
                }
                _ => return Ok(()),
            }
        };
        let any = slot.as_ref().map(|(_, db)| db).or(idle.first());
        if let Some(db) = any
            && let Err(error) = self.save_removed_log(&known, db)
        {
            // These connections may hold the only copy of some commits, so they stay open and the
            // next call tries again.
            let mut connections = self.lock_connections();
            connections.marks = Some(known);
            connections.idle = idle;
            return Err(error);
        }
        *slot = None;
        drop(idle);
        let since = Instant::now();
        while holds_with_others(&now.ids()) {
            give_up_after(since, doing)?;
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Like [`Store::leave_replaced_log`], for a reader.
    pub(super) fn leave_replaced_log_as_reader(&self, now: &Marks, doing: &str) -> Result<()> {
        let known_is_replaced = || {
            let known = self.lock_connections().marks;
            known.is_some_and(|known| self.is_left(&known, now))
        };
        let since = Instant::now();
        while known_is_replaced() {
            // A writer at work notices the change itself, and holds the slot until then.
            if let Ok(mut slot) = self.writer.try_lock() {
                return self.leave_replaced_log(now, &mut slot, doing);
            }
            give_up_after(since, doing)?;
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Moves a log that another program removed into the database. This works only as long as this
    /// process has the log open, and its commits are nowhere else.
    pub(super) fn save_removed_log(&self, marks: &Marks, db: &Db) -> Result<()> {
        let is_removed = |now: Option<Marks>| {
            now.is_some_and(|now| now.database == marks.database && now.log != marks.log)
        };
        if !is_removed(self.place.marks()?) {
            return Ok(());
        }
        // The exclusive lock keeps every process from starting another log. A log that is not named
        // has already been saved, or was given up by a process that found no user of it.
        let lock = FileLock::exclusive(&self.place.lock())?;
        let named = LogFiles::named_in(&lock).is_some_and(|named| named.has_log_of(marks));
        if !named || !is_removed(self.place.marks()?) {
            return Ok(());
        }
        tracing::warn!("the log was removed; moving its commits into the database");
        // A crash before this checkpoint loses the commits of the removed log, unless another process
        // has it open, because the log has no name. So the checkpoint comes first, and the record in
        // the lock changes last.
        checkpoint_all(&db.sql, &self.place)
            .map_err(|fault| fault.into_error(&self.place.database, "saving a removed log"))?;
        // All commits are in the database. A log that has appeared under the name in the meantime
        // belongs to an older state, and SQLite would apply it. So it is renamed and kept.
        let [log, _] = self.place.companions();
        if self.place.marks()?.is_some_and(|now| now.log.is_some()) {
            let kept = free_path(&self.place.directory, "palace.sqlite3.kept-log");
            std::fs::rename(&log, kept)
                .map_err(|source| Error::io("cannot rename", log, source))?;
        }
        // Last: the next process may start a new log only when the old one is saved and out of the
        // way. A crash before this leaves the old record, and its commits are in the database
        // already.
        LogFiles::name_in(None, &lock, &self.place)
    }

    /// Moves the log into the database, unless a file was replaced or is being replaced.
    pub(super) fn empty_log(&self, marks: &Marks, db: &mut Db) -> Attempt<()> {
        if let Err(error) = self.save_removed_log(marks, db) {
            tracing::warn!(%error, "the commits of a removed log were not saved");
        }
        let Some(lock) = FileLock::try_shared(&self.place.lock())? else {
            return Ok(());
        };
        if self.is_current(marks, &lock)? {
            // The shared lock keeps a restore from swapping the files. `Db::checkpoint` describes
            // what a crash leaves.
            db.checkpoint()?;
        }
        Ok(())
    }
}

pub(super) fn give_up_after(since: Instant, doing: &str) -> Result<()> {
    if since.elapsed() < RENEWAL {
        return Ok(());
    }
    Err(Error::Busy {
        what: format!(
            "{doing}: the log of the palace was removed, and calls of this process still use it"
        ),
        waited: RENEWAL,
    })
}

/// Moves the whole log into the database and syncs it. Returns an error if readers keep a part of
/// the log.
fn checkpoint_all(db: &Connection, place: &PalaceFiles) -> Attempt<()> {
    // The log has no name, so every frame that stays in it is lost with its last user. A checkpoint
    // that moves only a part is therefore an error, not a delay.
    let (busy, frames, moved): (i64, i64, i64) =
        db.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    if busy == 0 && frames == moved {
        return Ok(());
    }
    let [log, _] = place.companions();
    let source = std::io::Error::other(
        "it was removed by another program, and its commits could not all be moved into the \
         database; the last writes may be lost",
    );
    Err(Error::io("cannot save the log", log, source).into())
}
