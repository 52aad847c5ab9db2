//! Connections to SQLite: their settings, the wait for other writers, and the functions that SQL
//! may call. Every connection of the pool is opened by [`Db::open`].

use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use loci_core::Durability;
use loci_files::palace::HeldFiles;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, OpenFlags};

use crate::collection::passage;
use crate::fault::Attempt;
use crate::store::palace_files::{Marks, PalaceFiles};

/// How long a writer waits for other writers before it returns `Busy`.
pub(crate) const BUSY_LIMIT: Duration = Duration::from_secs(30);
/// Log target for every statement that SQLite runs: `LOCI_LOG=loci_sqlite::statements=trace`.
const STATEMENTS: &str = "loci_sqlite::statements";

/// A connection to the database of a palace.
pub(crate) struct Db {
    pub(crate) sql: Connection,
    /// The epoch of the database file. Values that were cached in another epoch are not used.
    pub(crate) epoch: u64,
    /// Whether the vocabulary tables exist on this connection.
    vocabulary: Cell<bool>,
    /// Dropped after the connection. Until then no other code may close these files, because
    /// closing one drops SQLite's locks on it.
    held: HeldFiles,
}

impl Drop for Db {
    fn drop(&mut self) {
        self.held.close_begins();
    }
}

impl Db {
    /// Opens an existing file. SQLite never creates the file; Loci creates it beforehand with its
    /// own mode.
    #[expect(clippy::disallowed_methods, reason = "the palace itself")]
    pub(crate) fn open(path: &Path, durability: Durability) -> Attempt<Self> {
        let mut sql = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        if tracing::enabled!(target: STATEMENTS, tracing::Level::TRACE) {
            sql.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(log_statement))?;
        }
        sql.busy_handler(Some(wait_for_others))?;
        sql.set_prepared_statement_cache_capacity(96);
        // By default the last connection removes the log by name when it closes, and by then the
        // name may belong to another palace's log. So closing changes no file, and the log is
        // emptied explicitly.
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Query plans do not depend on bound values. Otherwise SQLite would prepare statements over
        // partial indexes again for every value.
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // No user value reaches SQL text, and deep expressions are never generated. The schema
        // itself is not trusted: its views and triggers may call only functions that are marked
        // innocuous, as `loci_terms` is.
        sql.pragma_update(None, "trusted_schema", false)?;
        // A process that reads a mapped file dies of SIGBUS if another program truncates the file.
        sql.pragma_update(None, "mmap_size", 0)?;
        // Deleted text is overwritten in its page. `maintenance::purge` handles the places that
        // this does not reach.
        sql.pragma_update(None, "secure_delete", true)?;
        keep_temporary_in_memory(&sql)?;
        sql.pragma_update(None, "cache_size", -4_096)?;
        // 32 MB of log: a page that changes often is copied to the database once, not at every
        // change.
        sql.pragma_update(None, "wal_autocheckpoint", 4_000)?;
        sql.pragma_update(None, "journal_size_limit", 64 << 20)?;
        sql.pragma_update(None, "foreign_keys", false)?;
        // NORMAL syncs the log at checkpoints only: a power cut can lose the newest commits, but
        // the palace stays consistent. FULL syncs it at every commit.
        let synchronous = match durability {
            Durability::Normal => "NORMAL",
            Durability::Full => "FULL",
        };
        sql.pragma_update(None, "synchronous", synchronous)?;
        add_terms_function(&sql)?;
        Ok(Self {
            sql,
            epoch: 0,
            vocabulary: Cell::new(false),
            held: HeldFiles::register([path]),
        })
    }

    /// Whether this connection holds the files that `marks` names.
    pub(crate) fn holds(&self, marks: &Marks) -> bool {
        self.held.ids() == marks.ids()
    }

    /// Registers the log and the log index, which SQLite opens at the first read.
    pub(crate) fn hold(&mut self, place: &PalaceFiles) {
        let [log, log_index] = place.companions();
        self.held = HeldFiles::register([&place.database, &log, &log_index]);
    }

    /// Creates the tables that list the postings term by term, `temp.mentions` and
    /// `temp.frequencies`, once per connection. Creating them again would change nothing, but
    /// SQLite would prepare every statement again.
    pub(crate) fn ensure_vocabulary(&self) -> Attempt<()> {
        if !self.vocabulary.get() {
            self.sql.execute_batch(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.mentions USING fts5vocab('main', 'postings', 'instance');
                 CREATE VIRTUAL TABLE IF NOT EXISTS temp.frequencies USING fts5vocab('main', 'postings', 'row');",
            )?;
            self.vocabulary.set(true);
        }
        Ok(())
    }

    /// Runs work that needs more temporary space than memory should hold, outside a transaction,
    /// such as a rebuild of the file. Its temporary files are in `directory`, which is private.
    /// SQLite unlinks them when it opens them, so a kill leaves none.
    pub(crate) fn with_temporary_files<T>(
        &self,
        directory: &Path,
        work: impl FnOnce() -> Attempt<T>,
    ) -> Attempt<T> {
        // The directory is a setting of the whole process, so only one caller at a time uses it.
        static DIRECTORY: Mutex<()> = Mutex::new(());
        let Some(name) = directory.to_str() else {
            return work();
        };
        let _alone = DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner);
        self.sql.pragma_update(None, "temp_store", "FILE")?;
        self.sql.pragma_update(None, "temp_store_directory", name)?;
        let result = work();
        // Back to the default, because only this function uses temporary files.
        self.sql.pragma_update(None, "temp_store_directory", "")?;
        keep_temporary_in_memory(&self.sql)?;
        result
    }

    /// Restores SQLite's default: the last connection to close removes the log.
    pub(crate) fn remove_log_on_close(&self) {
        let _ = self
            .sql
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }

    /// Moves the log into the database and empties it, as far as no reader needs it. Never waits.
    pub(crate) fn checkpoint(&mut self) -> Attempt<()> {
        self.sql.busy_timeout(Duration::ZERO)?;
        // SQLite syncs the log before it copies pages, and the database before it truncates the
        // log. So a crash during the checkpoint loses no commit: it is in the log or the database.
        self.sql
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}

/// Logs a statement without its bound values, which may be texts of drawers.
fn log_statement(event: TraceEvent<'_>) {
    if let TraceEvent::Stmt(statement, _) = event {
        let sql = statement.sql();
        let words: Vec<&str> = sql.split_whitespace().collect();
        tracing::trace!(target: STATEMENTS, "{}", words.join(" "));
    }
}

/// Keeps SQLite's temporary data in memory. It holds words of the drawers, and SQLite would write
/// it to the system's temporary directory. Called on every connection.
pub(crate) fn keep_temporary_in_memory(sql: &Connection) -> Attempt<()> {
    Ok(sql.pragma_update(None, "temp_store", "MEMORY")?)
}

/// Registers the function that gives the terms of a drawer. The postings get their content from a
/// view that calls it, so every connection that uses them needs it.
pub(crate) fn add_terms_function(sql: &Connection) -> Attempt<()> {
    sql.create_scalar_function(
        "loci_terms",
        2,
        FunctionFlags::SQLITE_UTF8
            | FunctionFlags::SQLITE_DETERMINISTIC
            | FunctionFlags::SQLITE_INNOCUOUS,
        |context| {
            // A damaged row may hold any value; it has no terms.
            let text = context.get_raw(0).as_str_or_null().ok().flatten();
            let metadata = context
                .get_raw(1)
                .as_str()
                .ok()
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default();
            Ok(text.map(|text| passage::terms(text, &passage::context(&metadata)).joined))
        },
    )?;
    Ok(())
}

thread_local! {
    static PATIENCE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// How long this thread waits for other processes.
pub(crate) fn patience() -> Duration {
    PATIENCE.get().unwrap_or(BUSY_LIMIT)
}

/// Runs `work` with this limit on the wait for other writers.
pub(crate) fn with_patience<T>(patience: Duration, work: impl FnOnce() -> T) -> T {
    let outer = PATIENCE.replace(Some(patience));
    let result = work();
    PATIENCE.set(outer);
    result
}

/// Sleeps with jitter while another process writes. Returns false at the limit, and SQLite reports
/// busy.
fn wait_for_others(attempt: i32) -> bool {
    thread_local! {
        static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    let now = Instant::now();
    if attempt == 0 {
        SINCE.set(Some(now));
    }
    let waited = SINCE
        .get()
        .map_or(Duration::ZERO, |since| now.duration_since(since));
    if waited > patience() {
        return false;
    }
    // Short sleeps come first, because most writes take well under a millisecond. Jitter keeps
    // processes that failed together from retrying together.
    let ceiling = (200_u64 << attempt.clamp(0, 6)).min(8_000);
    std::thread::sleep(Duration::from_micros(fastrand::u64(100..=ceiling)));
    true
}
