//! repair: corrects everything that verify finds, without losing anything.
//!
//! A database that SQLite can read is copied first. It is then repaired in one transaction, which
//! is committed only if the counts add up. A database that SQLite cannot read is salvaged into a
//! new palace.

use std::collections::BTreeSet;

use loci_core::{
    Error, FindingKind, Metadata, PalaceRef, RepairOptions, RepairReport, Result, VerifyReport,
};
use rusqlite::{Connection, params};

use super::verify::verify;
use super::{free_path, relation_check, replace, salvage, working_copy};
use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::read::fetch;
use crate::collection::rows::{insert_labels, insert_tombstone};
use crate::collection::{other, passage};
use crate::fault::Attempt;
use crate::index::build::{self, When};
use crate::index::registry;
use crate::relations;
use crate::store::lock::FileLock;
use crate::store::palace_files::PalaceFiles;
use crate::store::schema_check::{self, Difference};
use crate::store::{Head, Store, now_ms, schema};
use crate::store::{lost, read_only};

/// Repairs a palace. A healthy palace is not changed.
pub(crate) fn repair(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    options: RepairOptions,
) -> Result<RepairReport> {
    let place = PalaceFiles::of(palace)?;
    read_only::refuse(&place)?;
    lost::refuse_without_log(&place)?;
    let before = verify(backend, palace, true)?;
    let mut report = RepairReport {
        before: before.findings.clone(),
        drawers_before: before.drawers,
        drawers_after: before.drawers,
        ..RepairReport::default()
    };
    if before
        .findings
        .iter()
        .any(|finding| finding.kind == FindingKind::Database)
    {
        repair_by_salvage(backend, palace, options, &mut report)?;
        return Ok(report);
    }
    let store = backend.store(palace, false)?;
    keep_damaged_logs(&store, &mut report)?;
    repair_database(&store, &before, &mut report)?;
    repair_indexes(&store, &before, &mut report)?;
    if !report.actions.is_empty() {
        let after = verify(backend, palace, true)?;
        report.drawers_after = after.drawers;
        report.remaining = after.findings;
    }
    Ok(report)
}

fn repair_by_salvage(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    options: RepairOptions,
    report: &mut RepairReport,
) -> Result<()> {
    let (salvaged, replaced) = if options.replace {
        replace::salvage_and_replace(backend, palace)?
    } else {
        (salvage::salvage(backend, palace)?, None)
    };
    report.drawers_before = salvaged.drawers_before;
    report.drawers_after = salvaged.saved;
    report.actions.push(match &replaced {
        Some(old) => format!(
            "read {} drawer(s) out of the damaged database into a new one, which took its place; the damaged one is kept as `{}`",
            salvaged.saved,
            old.display()
        ),
        None => format!(
            "read {} drawer(s) out of the damaged database into the new palace `{}`; the damaged one is untouched",
            salvaged.saved,
            salvaged.palace.display()
        ),
    });
    report.salvage = Some(salvaged);
    report.replaced = replaced;
    if report.replaced.is_some() {
        let place = PalaceFiles::of(palace)?;
        let earlier = salvage::earlier_palaces(&place).into_iter();
        report.actions.extend(earlier.map(|path| {
            format!(
                "left `{}`, the new palace of an earlier repair; it is not used and can be deleted",
                path.display()
            )
        }));
        keep_damaged_logs(&*backend.store(palace, false)?, report)?;
        let after = verify(backend, palace, true)?;
        report.drawers_after = after.drawers;
        report.remaining = after.findings;
    }
    Ok(())
}

/// Renames damaged logs so that they are not reported again. The commits that they lost cannot be
/// restored.
fn keep_damaged_logs(store: &Store, report: &mut RepairReport) -> Result<()> {
    for path in super::verify::damaged_logs(&store.place) {
        let kept = free_path(&store.place.directory, "palace.sqlite3.kept-log");
        // The content of the log was synced when it was copied, and only its name changes. A crash
        // leaves the old name, which `verify` reports again, or the new one. So the directory need
        // not be synced.
        std::fs::rename(&path, &kept)
            .map_err(|source| Error::io("cannot rename", &path, source))?;
        report.actions.push(format!(
            "kept the damaged log as `{}`; its last commits are lost",
            kept.display()
        ));
    }
    Ok(())
}

fn has(report: &VerifyReport, kinds: &[FindingKind]) -> bool {
    report
        .findings
        .iter()
        .any(|finding| kinds.contains(&finding.kind))
}

fn repair_database(store: &Store, before: &VerifyReport, report: &mut RepairReport) -> Result<()> {
    if !has(
        before,
        &[
            FindingKind::Damaged,
            FindingKind::Orphan,
            FindingKind::Labels,
            FindingKind::Count,
            FindingKind::Postings,
            FindingKind::Passages,
            FindingKind::Schema,
        ],
    ) {
        return Ok(());
    }
    // The copy is complete, synced and has its final name before the transaction below changes
    // anything. A crash in between leaves an unchanged palace and one more copy.
    let copy = working_copy::keep_palace(store, "palace.sqlite3.before-repair")?;
    report
        .actions
        .push(format!("copied the palace to `{}`", copy.display()));
    report.copy = Some(copy);
    let (set_aside, actions) = store.write("repairing", |db| {
        let sql = &db.sql;
        let count = |what: &str| -> Attempt<i64> { Ok(sql.query_row(what, [], |row| row.get(0))?) };
        let drawers = count("SELECT count(*) FROM drawers")?;
        let mut actions = Vec::new();
        let head = Head::read(sql)?;
        let mut seq = head.seq;
        let mut set_aside = Vec::new();
        // Foreign triggers go before anything is written, because they would run at every write.
        actions.extend(drop_foreign(sql)?);
        for collection in CollectionRow::all(sql, &head)? {
            set_aside.extend(set_damaged_aside(sql, &collection, &mut seq)?);
            rebuild_labels(sql, &collection)?;
        }
        if !set_aside.is_empty() {
            actions.push(format!(
                "moved {} damaged drawer(s) to the side table `damaged_drawers`",
                set_aside.len()
            ));
        }
        actions.extend(repair_relations(sql)?);
        let orphans = set_orphans_aside(sql)?;
        if orphans > 0 {
            actions.push(format!(
                "moved {orphans} vector(s) without a drawer to the side table `damaged_drawers`"
            ));
        }
        let without_source = sql.execute(
            "UPDATE drawers SET origin = 0 WHERE origin <> 0 AND NOT EXISTS
                 (SELECT 1 FROM sources s WHERE s.id = drawers.origin AND s.collection = drawers.collection)",
            [],
        )?;
        if without_source > 0 {
            actions.push(format!(
                "detached {without_source} mined drawer(s) from sources that are lost; the next mine attaches them again"
            ));
        }
        // A table that is damaged inside cannot always be rebuilt in place, so it is dropped and
        // created again.
        sql.execute_batch(&format!("DROP TABLE IF EXISTS postings; {}", schema::POSTINGS))?;
        passage::rebuild(sql)?;
        let unusable = remove_unusable_vectors(sql)?;
        if unusable > 0 {
            actions.push(format!(
                "removed {unusable} unusable vector(s) of other embedders; they are made again when the texts are embedded again"
            ));
        }
        sql.execute(
            "UPDATE collections SET
                 drawers = (SELECT count(*) FROM drawers d WHERE d.collection = collections.id),
                 vectors = (SELECT count(*) FROM vectors v WHERE v.collection = collections.id)",
            [],
        )?;
        sql.execute(
            "UPDATE palace SET seq = max(seq, ?1) WHERE id = 1",
            [seq as i64],
        )?;
        actions.push("rebuilt postings, passages, labels and counters from the drawers".into());
        // The last check before the commit. If a drawer is neither left nor in the side table, the
        // error rolls everything back, and a crash before the commit does the same.
        let left = count("SELECT count(*) FROM drawers")?;
        if left + set_aside.len() as i64 != drawers {
            return Err(Error::Internal {
                doing: "repairing".into(),
                detail: format!(
                    "{drawers} drawers before, {left} after and {} set aside; the repair was rolled back",
                    set_aside.len()
                ),
            }
            .into());
        }
        Ok((set_aside, actions))
    })?;
    report.set_aside = set_aside;
    report.actions.extend(actions);
    if report.copy.as_ref().is_some_and(|copy| !copy.exists()) {
        report.copy = None;
        report
            .actions
            .push("a `forget` removed the copy, because it held forgotten text".into());
    }
    Ok(())
}

/// Drops triggers, views and indexes that are not part of a palace; the copy made before still has
/// them. Foreign tables stay, because they hold rows that Loci knows nothing about.
fn drop_foreign(db: &Connection) -> Attempt<Vec<String>> {
    let mut actions = Vec::new();
    for Difference { kind, name, .. } in schema_check::differences(db)? {
        if matches!(kind.as_str(), "trigger" | "view" | "index") {
            let quoted = name.replace('"', "\"\"");
            db.execute_batch(&format!("DROP {kind} IF EXISTS \"{quoted}\""))?;
            actions.push(format!("dropped the foreign {kind} `{name}`"));
        }
    }
    Ok(actions)
}

/// Moves damaged facts and links to the side tables. Returns an error if their numbers do not add
/// up.
fn repair_relations(db: &Connection) -> Attempt<Option<String>> {
    let (facts, links) = relations::counts(db)?;
    let moved = relation_check::set_aside(db)?;
    let left = relations::counts(db)?;
    if (left.0 + moved.facts as u64, left.1 + moved.links as u64) != (facts, links) {
        return Err(Error::Internal {
            doing: "repairing".into(),
            detail: format!(
                "{facts} facts and {links} links before, {} and {} after, {} and {} set aside; the repair was rolled back",
                left.0, left.1, moved.facts, moved.links
            ),
        }
        .into());
    }
    Ok((moved.facts + moved.links > 0).then(|| {
        format!(
            "moved {} damaged fact(s) and {} damaged link(s) to the side tables `damaged_facts` and `damaged_links`",
            moved.facts, moved.links
        )
    }))
}

/// Copies damaged rows to the side table byte for byte, and removes them from the collection. The
/// postings are rebuilt afterwards, so they are not changed here.
fn set_damaged_aside(
    db: &Connection,
    collection: &CollectionRow,
    seq: &mut u64,
) -> Attempt<Vec<String>> {
    let rows: Vec<i64> = {
        let mut statement = db.prepare("SELECT row FROM drawers WHERE collection = ?1")?;
        statement
            .query_map([collection.id], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?
    };
    let mut names = Vec::new();
    for row in rows {
        let name = match fetch(db, row as u64)? {
            Some(Ok(stored)) => {
                let fits = stored
                    .vector
                    .as_ref()
                    .is_none_or(|bytes| collection.is_vector(bytes));
                if stored.is_intact() && stored.metadata().is_some() && fits {
                    continue;
                }
                stored.id
            }
            _ => format!("row {row}"),
        };
        db.execute(
            "INSERT INTO damaged_drawers (removed_at, row, collection, drawer_id, text, metadata, checksum, vector)
             SELECT ?2, d.row, d.collection, d.id, d.text, d.metadata, d.checksum, v.vector
             FROM drawers d LEFT JOIN vectors v ON v.row = d.row WHERE d.row = ?1",
            params![row, now_ms()],
        )?;
        // The next mine reads a source that lost a drawer again, which restores the text.
        db.execute(
            "UPDATE sources SET hash = zeroblob(16), complete = 0 WHERE (collection, name) IN
                 (SELECT s.collection, s.name FROM drawers d JOIN sources s ON s.id = d.origin WHERE d.row = ?1)
               AND (section = 0 OR id = (SELECT origin FROM drawers WHERE row = ?1))",
            [row],
        )?;
        for table in [
            "vectors",
            "other_vectors",
            "fresh_vectors",
            "passages",
            "usage",
            "drawers",
        ] {
            db.execute(&format!("DELETE FROM {table} WHERE row = ?1"), [row])?;
        }
        *seq += 1;
        insert_tombstone(db, *seq, collection.id, row as u64)?;
        db.execute(
            "UPDATE collections SET seq = ?2 WHERE id = ?1",
            params![collection.id, *seq as i64],
        )?;
        names.push(name);
    }
    Ok(names)
}

fn set_orphans_aside(db: &Connection) -> Attempt<usize> {
    let orphan = "NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = vectors.row)";
    db.execute(
        &format!(
            "INSERT INTO damaged_drawers (removed_at, row, collection, vector)
             SELECT ?1, row, collection, vector FROM vectors WHERE {orphan}"
        ),
        [now_ms()],
    )?;
    Ok(db.execute(&format!("DELETE FROM vectors WHERE {orphan}"), [])?)
}

/// Removes vectors of other embedders that are damaged or belong to no drawer. They are derived
/// from the texts.
fn remove_unusable_vectors(db: &Connection) -> Attempt<usize> {
    let mut broken = Vec::new();
    let mut statement = db.prepare(
        "SELECT v.row, v.checksum, v.vector,
                d.row IS NULL OR EXISTS (SELECT 1 FROM vectors own WHERE own.row = v.row), e.identity
         FROM other_vectors v LEFT JOIN drawers d ON d.row = v.row AND d.collection = v.collection
         LEFT JOIN embedders e ON e.id = v.embedder",
    )?;
    let mut rows = statement.query([])?;
    while let Some(columns) = rows.next()? {
        let row: i64 = columns.get(0)?;
        let bytes = columns.get_ref(2)?.as_blob().unwrap_or_default();
        let checksum = columns.get_ref(1)?.as_i64().unwrap_or_default();
        let known = other::is_identity(columns.get_ref(4)?.as_str_or_null().ok().flatten());
        if columns.get::<_, bool>(3)? || !known || !other::is_intact(row as u64, bytes, checksum) {
            broken.push(row);
        }
    }
    for row in &broken {
        other::remove(db, *row as u64)?;
    }
    // An embedder without vectors is not needed any more.
    db.execute(
        "DELETE FROM embedders WHERE id NOT IN (SELECT embedder FROM other_vectors)",
        [],
    )?;
    Ok(broken.len())
}

fn rebuild_labels(db: &Connection, collection: &CollectionRow) -> Attempt<()> {
    db.execute("DELETE FROM labels WHERE collection = ?1", [collection.id])?;
    let mut statement = db.prepare("SELECT row, metadata FROM drawers WHERE collection = ?1")?;
    let mut rows = statement.query([collection.id])?;
    while let Some(columns) = rows.next()? {
        let row: i64 = columns.get(0)?;
        let metadata: Option<Metadata> = columns
            .get_ref(1)?
            .as_str()
            .ok()
            .and_then(|text| serde_json::from_str(text).ok());
        if let Some(metadata) = metadata {
            insert_labels(db, collection.id, row as u64, &metadata)?;
        }
    }
    Ok(())
}

/// Quarantines index files that do not match, and rebuilds them from the vectors in the database.
fn repair_indexes(store: &Store, before: &VerifyReport, report: &mut RepairReport) -> Result<()> {
    let mut names: BTreeSet<String> = before
        .findings
        .iter()
        .filter(|finding| {
            matches!(
                finding.kind,
                FindingKind::Index
                    | FindingKind::Missing
                    | FindingKind::Ghost
                    | FindingKind::Stale
                    | FindingKind::Damaged
                    | FindingKind::Orphan
            )
        })
        .filter_map(|finding| finding.collection.clone())
        .collect();
    // A collection whose index was not rebuilt after repeated failures gets a new attempt.
    names.extend(store.read("looking for indexes that are held back", |db| {
        let head = Head::read(&db.sql)?;
        let mut held_back = Vec::new();
        for row in CollectionRow::all(&db.sql, &head)? {
            if registry::held_back(&db.sql, row.id)?.is_some() {
                held_back.push(row.name);
            }
        }
        Ok(held_back)
    })?);
    for name in &names {
        build::join(store);
        {
            let _lock = FileLock::exclusive(&store.place.index_lock())?;
            build::ensure_directory(&store.place)?;
            let registered = store.read("reading the registered index", |db| {
                let head = Head::read(&db.sql)?;
                let row = CollectionRow::require(&db.sql, &head, name)?;
                registry::find(&db.sql, &head, row.id)
            })?;
            if let Some(registration) = registered {
                // The file is renamed first and unregistered second. A crash in between leaves a
                // registration without a file; the next process finds the file missing, unregisters
                // it and rebuilds the index. No data is lost, because the index is derived.
                let moved =
                    loci_index::set_aside(&store.place.index_directory(), &registration.name)?;
                store.write("unregistering an index", |db| {
                    registry::remove(
                        &db.sql,
                        registration.identity.collection as i64,
                        &registration.name,
                    )
                })?;
                if let Some(moved) = moved {
                    report
                        .actions
                        .push(format!("quarantined the index of `{name}` as `{moved}`"));
                }
            }
        }
        let built = build::build(store, name, When::Must)?;
        let indexed = built.stats.get("indexed").copied().unwrap_or(0);
        report.actions.push(format!(
            "rebuilt the index of `{name}` from {indexed} vector(s) in the database"
        ));
        // Cleared after the rebuild. A crash before this leaves the failures, which only delay
        // automatic rebuilds.
        store.write("clearing index failures", |db| {
            db.sql.execute("DELETE FROM index_failures", [])?;
            Ok(())
        })?;
    }
    Ok(())
}
