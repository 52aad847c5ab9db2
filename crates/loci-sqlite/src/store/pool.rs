//! The connections of an open palace. A connection is used only while its files are the ones that
//! have the palace's names and that `palace.lock` names.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use loci_core::{Error, Result};
use loci_files::palace::holds_with_others;

use super::Store;
use super::connection::Db;
use super::lost::is_empty;
use super::opening::{Opened, ensure_ready, open_named};
use super::palace_files::Marks;
use super::replaced::give_up_after;
use crate::fault::Fault;

/// The largest number of idle connections kept for reading.
const IDLE_READERS: usize = 4;

/// The idle connections, and the files that they have open.
pub(super) struct Connections {
    pub(super) marks: Option<Marks>,
    pub(super) epoch: u64,
    pub(super) idle: Vec<Db>,
}

impl Store {
    pub(super) fn current_marks(&self) -> Result<Marks> {
        self.ensure_open()?;
        loop {
            if let Some(marks) = self.place.marks()? {
                return Ok(marks);
            }
            // The database was deleted or moved, or a restore is between its renames. A restore
            // holds the lock, so it has ended once `ensure_ready` has taken it.
            match ensure_ready(&self.place, false, self.durability, &self.machine) {
                Ok(_) => {}
                Err(Error::PalaceNotFound { path }) => return Err(Error::PalaceGone { path }),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn reader(&self, doing: &str) -> Result<(Marks, Db)> {
        let current = self.current_marks()?;
        self.leave_replaced_log_as_reader(&current, doing)?;
        match self.idle(&current).or_else(|| self.idle_writer(&current)) {
            Some(db) => Ok((current, db)),
            None => self.connect_marked(doing),
        }
    }

    /// The writer's connection, if nobody is writing. A process that does one thing at a time needs
    /// no second connection. It joins the pool after the read.
    pub(super) fn idle_writer(&self, current: &Marks) -> Option<Db> {
        let mut slot = self.writer.try_lock().ok()?;
        let (_, db) = slot.take_if(|(marks, _)| marks == current)?;
        Some(db)
    }

    /// A pooled connection to these files, if they are the ones that `palace.lock` names.
    pub(super) fn idle(&self, current: &Marks) -> Option<Db> {
        if !current.are_complete() || !self.is_named(current) {
            return None;
        }
        self.note(*current);
        self.lock_connections().idle.pop()
    }

    /// Opens a connection outside the pool, for long work in small steps.
    ///
    /// SQLite opens the log by name, and only at the first read. The palace lock is held shared
    /// until then, so that no restore swaps the files in between.
    pub(crate) fn connect(&self, doing: &str) -> Result<Db> {
        self.connect_marked(doing).map(|(_, db)| db)
    }

    /// Like [`Store::connect`], and returns the identity of the files that were opened.
    pub(super) fn connect_marked(&self, doing: &str) -> Result<(Marks, Db)> {
        let since = Instant::now();
        loop {
            let current = self.current_marks()?;
            self.leave_replaced_log_as_reader(&current, doing)?;
            if let Some(connected) = self.connect_once(doing, since)? {
                return Ok(connected);
            }
        }
    }

    /// Makes one attempt at [`Store::connect_marked`]. Returns `None` if a file was replaced in
    /// between, and an error if that has been going on for too long since `since`.
    pub(super) fn connect_once(&self, doing: &str, since: Instant) -> Result<Option<(Marks, Db)>> {
        let current = self.current_marks()?;
        if is_empty(&self.place) {
            // Another process is creating the database, or the file was emptied and its log must
            // not be touched.
            ensure_ready(&self.place, false, self.durability, &self.machine)?;
            return Ok(None);
        }
        match open_named(&self.place, self.durability) {
            Ok(Some(opened)) if !opened.has_current_format() => {
                // A palace that was replaced may have another format or be incomplete.
                drop(opened);
                ensure_ready(&self.place, false, self.durability, &self.machine)?;
            }
            Ok(Some(Opened { mut db, .. })) => {
                let now = self.place.marks()?.filter(|now| db.holds(now));
                if let Some(marks) = now {
                    db.epoch = self.note(marks);
                    return Ok(Some((marks, db)));
                }
            }
            // A backup was copied over the database, so it has no log yet.
            Ok(None) if !holds_with_others(&current.ids()) => {
                ensure_ready(&self.place, false, self.durability, &self.machine)?;
            }
            Ok(None) => {}
            Err(fault) => self.unless_replaced(&current, fault, doing)?,
        }
        give_up_after(since, doing)?;
        Ok(None)
    }

    /// Returns the epoch of the files. Other files start a new epoch and end the idle connections.
    pub(super) fn note(&self, marks: Marks) -> u64 {
        let mut connections = self.lock_connections();
        if connections.marks != Some(marks) {
            let epoch = connections.epoch + 1;
            *connections = Connections {
                marks: Some(marks),
                epoch,
                idle: Vec::new(),
            };
        }
        connections.epoch
    }

    /// Ignores an error of SQLite if the palace was replaced in the meantime; the call then starts
    /// again.
    pub(super) fn unless_replaced(&self, marks: &Marks, fault: Fault, doing: &str) -> Result<()> {
        if matches!(fault, Fault::Sql(_)) && self.place.marks()? != Some(*marks) {
            return Ok(());
        }
        Err(fault.into_error(&self.place.database, doing))
    }

    pub(super) fn keep(&self, marks: Marks, db: Db) {
        let mut connections = self.lock_connections();
        if connections.marks == Some(marks)
            && connections.idle.len() < IDLE_READERS
            && !self.closed.load(Ordering::Acquire)
        {
            connections.idle.push(db);
        }
    }

    pub(super) fn lock_connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops every connection of this process to the database, after one of them has emptied the
    /// log. The log of a damaged database is not emptied.
    pub(crate) fn release(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (idle_marks, mut idle) = {
            let mut connections = self.lock_connections();
            (connections.marks, std::mem::take(&mut connections.idle))
        };
        let last = writer
            .take()
            .or_else(|| idle_marks.zip(idle.pop()))
            .filter(|_| !self.damaged.load(Ordering::Acquire));
        drop(idle);
        if let Some((marks, mut db)) = last
            && let Err(fault) = self.empty_log(&marks, &mut db)
        {
            tracing::debug!(?fault, "the log was not emptied; the next process does it");
        }
    }
}
