//! verify: checks that everything derived agrees with the database, and that the database holds
//! what was written.
//!
//! It changes nothing. The only file that it writes is a private copy for the check of the
//! postings, which would otherwise need a write transaction.

use std::fs;
use std::path::PathBuf;

use loci_core::{FindingKind, PalaceRef, Result, VerifyReport};
use rusqlite::Connection;

use super::index_check::Unusable;
use super::working_copy::{self, Purpose, WorkingCopy};
use super::{index_check, relation_check, row_check};
use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::other;
use crate::fault::Attempt;
use crate::index::{recover, registry};
use crate::store::connection::{Db, add_terms_function};
use crate::store::opening::DAMAGED_LOG;
use crate::store::palace_files::PalaceFiles;
use crate::store::schema::PAGE_SIZE;
use crate::store::schema_check::{self, Difference};
use crate::store::{Head, Store};

/// Attempts of the comparison. It starts again if another process replaces an index in the
/// meantime.
const ATTEMPTS: usize = 5;
/// Compares indexes and counters with the database; with `deep`, recomputes everything. A database
/// that SQLite cannot read is a finding, not an error.
pub(crate) fn verify(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    deep: bool,
) -> Result<VerifyReport> {
    let mut report = VerifyReport {
        deep,
        ..VerifyReport::default()
    };
    let store = match backend.store(palace, false) {
        Err(error) => match error.plain() {
            loci_core::Error::Corrupt { detail, .. } => {
                report.push("database", None, None, detail.clone());
                return Ok(report);
            }
            _ => return Err(error),
        },
        Ok(store) => store,
    };
    working_copy::tidy(&store.place);
    let mut run = || {
        for _ in 0..ATTEMPTS {
            report = VerifyReport {
                deep,
                ..VerifyReport::default()
            };
            let unusable = verify_store(&store, deep, &mut report)?;
            if report_unusable(&store, unusable, &mut report)? {
                break;
            }
        }
        report_damaged_logs(&store, &mut report);
        if deep {
            check_postings_deep(&store, &mut report)?;
        }
        Ok(())
    };
    match run() {
        Err(loci_core::Error::Corrupt { detail, .. }) => {
            report.push(kind_of([detail.as_str()]), None, None, detail);
            Ok(report)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(report),
    }
}

/// Reports logs that had lost commits when the palace was opened.
fn report_damaged_logs(store: &Store, report: &mut VerifyReport) {
    let mut logs = damaged_logs(&store.place);
    if store.read_only().is_some() {
        logs.extend(damaged_logs(store.origin()));
    }
    for path in logs {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let detail = format!(
            "the log was damaged, and the commits after the damage are lost; it is kept as `{name}`"
        );
        report.push("log", None, None, detail);
    }
}

/// The kept logs that no repair has renamed yet.
pub(crate) fn damaged_logs(place: &PalaceFiles) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(&place.directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(DAMAGED_LOG))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

/// Reports index files that failed their check. Returns false if one of them has been replaced
/// since; the comparison then starts again.
fn report_unusable(
    store: &Store,
    unusable: Vec<Unusable>,
    report: &mut VerifyReport,
) -> Result<bool> {
    for Unusable {
        collection,
        registration,
    } in unusable
    {
        let current = store.read("looking at the index again", |db| {
            let head = Head::read(&db.sql)?;
            registry::find(&db.sql, &head, registration.identity.collection as i64)
        })?;
        if current.as_ref() != Some(&registration) {
            return Ok(false);
        }
        if let Err(damage) = recover::check(&store.place.index_directory(), &registration) {
            report.push(
                "index",
                Some(&collection),
                None,
                format!("`{}`: {damage}", registration.name),
            );
        }
    }
    Ok(true)
}

/// Returns the registered index files that could not be used.
fn verify_store(store: &Store, deep: bool, report: &mut VerifyReport) -> Result<Vec<Unusable>> {
    if !schema_holds(store, report)? {
        return Ok(Vec::new());
    }
    if deep {
        // Uses a connection of its own: FTS5 checks the postings against what its connection last
        // knew of them, and a pooled connection may not know what others wrote since.
        let doing = "checking the database";
        let db = store.connect(doing)?;
        let checked = check_database(&db.sql, report);
        if report
            .findings
            .iter()
            .any(|finding| finding.kind == FindingKind::Database)
        {
            store.leave_files_alone();
        }
        checked.map_err(|fault| fault.into_error(&store.place.database, doing))?;
    }
    store.read("verifying", |db| {
        let head = Head::read(&db.sql)?;
        let collections = CollectionRow::all(&db.sql, &head)?;
        let mut unusable = Vec::new();
        for row in &collections {
            report.drawers += row.drawers;
            check_counts(&db.sql, row, &head, report)?;
            if deep {
                row_check::check(&db.sql, row, report)?;
            }
            unusable.extend(index_check::check(
                &db.sql,
                &store.place,
                &head,
                row,
                deep,
                report,
            )?);
        }
        check_orphans(db, report)?;
        if deep {
            relation_check::check(&db.sql, report)?;
        }
        Ok(unusable)
    })
}

/// Reports differences in the schema. Returns false if the schema is damaged, because no other
/// check can be trusted then, and their statements would fail.
fn schema_holds(store: &Store, report: &mut VerifyReport) -> Result<bool> {
    let differences = store.read("checking the schema", |db| {
        schema_check::differences(&db.sql)
    })?;
    let damaged = differences.iter().any(Difference::is_damage);
    if damaged {
        store.leave_files_alone();
    }
    let kind = if damaged { "database" } else { "schema" };
    for difference in differences {
        report.push(kind, None, None, difference.to_string());
    }
    Ok(!damaged)
}

fn check_database(db: &Connection, report: &mut VerifyReport) -> Attempt<()> {
    let mut statement = db.prepare("PRAGMA integrity_check(100)")?;
    let lines: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let found: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
    let whole = db
        .path()
        .and_then(|path| fs::metadata(path).ok())
        .is_some_and(|file| file.len() % u64::from(PAGE_SIZE) == 0);
    let kind = if whole {
        kind_of(found.iter().map(String::as_str))
    } else {
        "database"
    };
    for line in found {
        report.push(kind, None, None, line);
    }
    Ok(())
}

/// The postings are derived, so damage to them alone is not damage to the database.
fn kind_of<'a>(lines: impl IntoIterator<Item = &'a str>) -> &'static str {
    let of_postings = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.contains("fts5") && !line.contains("malformed database schema")
    };
    if lines.into_iter().all(of_postings) {
        "postings"
    } else {
        "database"
    }
}

fn check_counts(
    db: &Connection,
    row: &CollectionRow,
    head: &Head,
    report: &mut VerifyReport,
) -> Attempt<()> {
    for (what, kept, sql) in [
        (
            "drawers",
            row.drawers,
            "SELECT count(*) FROM drawers WHERE collection = ?1",
        ),
        (
            "vectors",
            row.vectors,
            "SELECT count(*) FROM vectors WHERE collection = ?1",
        ),
        (
            "terms",
            row.terms,
            "SELECT CAST(total(CAST(terms AS INTEGER)) AS INTEGER) FROM passages WHERE collection = ?1",
        ),
    ] {
        let found = db.query_row(sql, [row.id], |columns| columns.get::<_, i64>(0))? as u64;
        if found != kept {
            report.push(
                "count",
                Some(&row.name),
                None,
                format!("there are {found} {what}, but the counter says {kept}"),
            );
        }
    }
    let newest: Option<i64> = db.query_row(
        "SELECT max(seq) FROM drawers WHERE collection = ?1",
        [row.id],
        |columns| columns.get(0),
    )?;
    if newest.is_some_and(|seq| seq as u64 > head.seq) {
        report.push(
            "count",
            Some(&row.name),
            None,
            format!(
                "a drawer is newer than the palace's sequence number {}",
                head.seq
            ),
        );
    }
    Ok(())
}

fn check_orphans(db: &Db, report: &mut VerifyReport) -> Attempt<()> {
    let count = |sql: &str| -> Attempt<i64> { Ok(db.sql.query_row(sql, [], |row| row.get(0))?) };
    let orphans = count(
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = v.row)",
    )?;
    if orphans > 0 {
        report.push(
            "orphan",
            None,
            None,
            format!("{orphans} vector(s) belong to no drawer"),
        );
    }
    let without_source = count(
        "SELECT count(*) FROM drawers d WHERE d.origin <> 0 AND NOT EXISTS
             (SELECT 1 FROM sources s WHERE s.id = d.origin AND s.collection = d.collection)",
    )?;
    if without_source > 0 {
        report.push(
            "orphan",
            None,
            None,
            format!("{without_source} mined drawer(s) belong to no source of the ledger"),
        );
    }
    let drawers = count("SELECT count(*) FROM drawers")?;
    let passages = count("SELECT count(*) FROM passages p JOIN drawers d ON d.row = p.row")?;
    if drawers != passages || passages != count("SELECT count(*) FROM passages")? {
        report.push(
            "passages",
            None,
            None,
            format!("{passages} drawers have a passage, but there are {drawers} drawers"),
        );
    }
    let strays = count(
        "SELECT count(*) FROM other_vectors v WHERE
             NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = v.row AND d.collection = v.collection)
             OR NOT EXISTS (SELECT 1 FROM embedders e WHERE e.id = v.embedder)
             OR EXISTS (SELECT 1 FROM vectors own WHERE own.row = v.row)",
    )?;
    if strays > 0 {
        report.push(
            "passages",
            None,
            None,
            format!(
                "{strays} vector(s) of other embedders belong to no drawer or to no known embedder"
            ),
        );
    }
    let identities: Vec<Option<String>> = db
        .sql
        .prepare("SELECT identity FROM embedders")?
        .query_map([], |row| Ok(row.get(0).ok()))?
        .collect::<rusqlite::Result<_>>()?;
    if !identities
        .iter()
        .all(|json| other::is_identity(json.as_deref()))
    {
        report.push(
            "passages",
            None,
            None,
            "the record of an embedder cannot be read, so its vectors cannot be compared",
        );
    }
    let postings = count("SELECT count(*) FROM postings_docsize")?;
    if drawers != postings {
        report.push(
            "postings",
            None,
            None,
            format!("{postings} drawers have postings, but there are {drawers} drawers"),
        );
    }
    Ok(())
}

/// Compares the postings with the texts. FTS5 does this only through an INSERT, which takes the
/// write lock for as long as it runs, so it runs on a copy.
fn check_postings_deep(store: &Store, report: &mut VerifyReport) -> Result<()> {
    if report
        .findings
        .iter()
        .any(|finding| finding.kind == FindingKind::Database)
    {
        return Ok(());
    }
    let copy = WorkingCopy::of_palace(store, Purpose::Verify)?;
    let check = || -> Attempt<()> {
        let db = copy.into_connection()?;
        add_terms_function(&db)?;
        db.execute(
            "INSERT INTO postings (postings, rank) VALUES ('integrity-check', 1)",
            [],
        )?;
        Ok(())
    };
    match check() {
        Err(fault) if fault.is_damage() => {
            report.push(
                "postings",
                None,
                None,
                "the postings do not match the texts",
            );
            Ok(())
        }
        checked => checked
            .map_err(|fault| fault.into_error(&store.place.database, "checking the postings")),
    }
}
