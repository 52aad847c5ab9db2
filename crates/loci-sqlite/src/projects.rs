//! The projects of a collection and their wings. [`choose_wing`] is the rule; this module reads its
//! input and writes its result, in one write transaction per claim. docs/format.md describes the
//! table.

mod moving;

use loci_core::{
    Choice, IncomingProject, Mined, MinedGroup, Moved, PlacedProject, Project, ProjectRecord,
    ProjectView, Projects, Result, WingClaim, WingRequest, adopted_project, choose_wing, is_below,
    keeps_wing, place_project,
};
use rusqlite::{Connection, Row, params};

use crate::collection::SqliteCollection;
use crate::collection::record::{LabelType, find_key};
use crate::fault::{Attempt, Fault};
use crate::store::connection::Db;
use crate::store::{Head, now_ms};

const COLUMNS: &str = "id, wing, name, remote, first_commit, path, since";

/// Metadata key of the folder in which a conversation took place.
const FOLDER: &str = "folder";

impl Projects for SqliteCollection {
    fn wing_of(&self, project: &Project) -> Result<WingClaim> {
        self.read("looking up a project", |db, row| {
            let view = View {
                db: &db.sql,
                collection: row.id,
            };
            Ok(choose_wing(&view, project, now_ms(), None)?.claim)
        })
    }

    fn claim_wing(&self, project: &Project) -> Result<WingClaim> {
        // Usually the record is complete, and no write lock is needed.
        let seen = self.wing_of(project)?;
        if seen.is_complete {
            return Ok(seen);
        }
        let claims = [WingRequest {
            project,
            from: None,
        }];
        let claimed = self.claim_wings(&claims, true)?;
        Ok(claimed.into_iter().next().unwrap_or(seen))
    }

    fn claim_wings(&self, claims: &[WingRequest<'_>], apply: bool) -> Result<Vec<WingClaim>> {
        let claim = |db: &Db| {
            let head = Head::read(&db.sql)?;
            let collection = self.require(&db.sql, &head)?.id;
            let view = View {
                db: &db.sql,
                collection,
            };
            db.sql.execute_batch("SAVEPOINT claims")?;
            let mut claimed = Vec::with_capacity(claims.len());
            for WingRequest { project, from } in claims {
                // Chosen under the write lock, so that the claims of other processes count.
                let Choice {
                    claim,
                    record,
                    ends,
                } = choose_wing(&view, project, now_ms(), *from)?;
                for ended in &ends {
                    remove(&db.sql, collection, ended)?;
                }
                if let Some(record) = &record {
                    record.validate()?;
                    put(&db.sql, collection, record)?;
                }
                if let Some(from) = from {
                    view.take_empty_sources_along(project, from, &claim.wing)?;
                }
                claimed.push(claim);
            }
            // The caller commits the transaction. Committed then: each project has its wing. A
            // crash before that leaves the records as they were, and so does a claim that is not
            // applied.
            db.sql.execute_batch(if apply {
                "RELEASE claims"
            } else {
                "ROLLBACK TO claims; RELEASE claims"
            })?;
            Ok(claimed)
        };
        // For a read-only palace, claims are tried in its private copy.
        if !apply && self.store.read_only().is_some() {
            return self.store.read("claiming wings", claim);
        }
        self.store.write("claiming wings", claim)
    }

    fn projects(&self) -> Result<Vec<ProjectRecord>> {
        self.read("listing projects", |db, row| {
            let mut statement = db.sql.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM projects WHERE collection = ?1 ORDER BY id"
            ))?;
            let found = statement.query_map([row.id], |row| Ok(read(row)?.1))?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn adopt_projects(&self, records: &[ProjectRecord]) -> Result<u64> {
        for record in records {
            record.validate()?;
        }
        self.store.write("taking over projects", |db| {
            let head = Head::read(&db.sql)?;
            let collection = self.require(&db.sql, &head)?.id;
            let view = View {
                db: &db.sql,
                collection,
            };
            let mut added = 0;
            for record in records {
                if let Some(record) = adopted_project(&view, record)? {
                    put(&db.sql, collection, &record)?;
                    added += 1;
                }
            }
            // Committed when this returns: all records of the call. A crash before that leaves none
            // of them.
            Ok(added)
        })
    }

    fn place_projects(&self, incoming: &[IncomingProject]) -> Result<Vec<PlacedProject>> {
        for incoming in incoming {
            incoming.record.validate()?;
        }
        self.store
            .write("recording the projects of an import", |db| {
                let head = Head::read(&db.sql)?;
                let collection = self.require(&db.sql, &head)?.id;
                let view = View {
                    db: &db.sql,
                    collection,
                };
                let mut keeps = Vec::with_capacity(incoming.len());
                for incoming in incoming {
                    keeps.push(keeps_wing(&view, incoming)?);
                }
                let mut all = vec![PlacedProject::default(); incoming.len()];
                for turn in [true, false] {
                    for ((incoming, keeps), answer) in incoming.iter().zip(&keeps).zip(&mut all) {
                        if *keeps != turn {
                            continue;
                        }
                        let (placed, record) = place_project(&view, incoming, *keeps)?;
                        if let Some(record) = &record {
                            record.validate()?;
                            put(&db.sql, collection, record)?;
                        }
                        *answer = placed;
                    }
                }
                // Committed when this returns: all records of the call, and no drawer yet. If the
                // import is killed after that, importing again finds the same wings.
                Ok(all)
            })
    }

    fn mined_groups(&self, wing: &str) -> Result<Vec<MinedGroup>> {
        moving::groups(self, wing)
    }

    fn move_group(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved> {
        moving::move_group(self, group, from, to)
    }

    fn plan_move(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved> {
        moving::plan_move(self, group, from, to)
    }
}

/// The wing of a drawer that an undo restores, if it is not `wing` any more. That is so if `wing`
/// belongs to another project, and the project of the drawer's file or folder has another wing and
/// nothing in `wing`.
pub(crate) fn wing_of_returning(
    db: &Connection,
    collection: i64,
    wing: &str,
    source: &str,
    folder: Option<&str>,
) -> Attempt<Option<String>> {
    let view = View { db, collection };
    let mut place = folder.unwrap_or(source);
    loop {
        let records = view.select("path", place)?;
        if let Some((_, newest)) = records.last() {
            let has_it = records.iter().any(|(_, record)| record.wing == wing);
            let is_anothers = !has_it
                && !view.holders(wing)?.is_empty()
                && view.mined(wing, &[place], &[])? != Mined::Own;
            return Ok(is_anothers.then(|| newest.wing.clone()));
        }
        match place.rfind(['/', '\\']) {
            Some(at) if at > 0 => place = place.get(..at).unwrap_or_default(),
            _ => return Ok(None),
        }
    }
}

/// The input of the rule, as of one transaction.
struct View<'a> {
    db: &'a Connection,
    collection: i64,
}

impl View<'_> {
    fn select(&self, condition: &str, value: &str) -> Attempt<Vec<(i64, ProjectRecord)>> {
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM projects WHERE collection = ?1 AND {condition} = ?2 ORDER BY id"
        ))?;
        let found = statement.query_map(params![self.collection, value], read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Moves the files of a project that leaves a wing and that have no drawers. No group of
    /// drawers takes them along, and later content of them belongs to the new wing.
    fn take_empty_sources_along(&self, project: &Project, from: &str, to: &str) -> Attempt<()> {
        let stay = self.holders(from)?;
        let mut statement = self.db.prepare_cached(
            "SELECT id, name FROM sources s
             WHERE collection = ?1 AND name >= ?2 AND name < ?3 AND wing = ?4 AND kind = 'file'
               AND NOT EXISTS (SELECT 1 FROM sources o JOIN drawers d ON d.origin = o.id AND d.origin <> 0
                               WHERE o.collection = s.collection AND o.name = s.name)",
        )?;
        let folders = [&project.path].into_iter().chain(&project.folders);
        for folder in folders {
            let (first, behind) = range(folder);
            let found = statement
                .query_map(params![self.collection, first, behind, from], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let goes = |name: &str| !stay.iter().any(|other| is_below(name, &other.path));
            for (id, _) in found.iter().filter(|(_, name)| goes(name)) {
                self.db
                    .prepare_cached("UPDATE sources SET wing = ?2 WHERE id = ?1")?
                    .execute(params![id, to])?;
            }
        }
        Ok(())
    }

    /// The first mined file of a wing between two names.
    fn first_mined(&self, wing: &str, from: &str, to: &str) -> Attempt<Option<String>> {
        let mut statement = self.db.prepare_cached(
            "SELECT source_file FROM drawers
             WHERE collection = ?1 AND wing = ?2 AND source_file <> '' AND source_file >= ?3 AND source_file < ?4
             ORDER BY source_file LIMIT 1",
        )?;
        let mut rows = statement.query(params![self.collection, wing, from, to])?;
        Ok(match rows.next()? {
            Some(row) => Some(row.get(0)?),
            None => None,
        })
    }

    fn has_mined(&self, wing: &str) -> Attempt<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM drawers WHERE collection = ?1 AND wing = ?2 AND source_file <> '' LIMIT 1",
        )?;
        Ok(statement.exists(params![self.collection, wing])?)
    }

    /// Whether a file below the folder was mined into the wing.
    fn has_file_below(&self, wing: &str, folder: &str, except: &[&str]) -> Attempt<bool> {
        let (mut from, to) = range(folder);
        while let Some(name) = self.first_mined(wing, &from, &to)? {
            match except.iter().find(|inside| is_below(&name, inside)) {
                None => return Ok(true),
                // Continue after that folder.
                Some(inside) => from = range(inside).1,
            }
        }
        Ok(false)
    }

    /// Whether the wing holds a conversation that took place in the folder or below it.
    fn has_conversation_in(&self, wing: &str, folder: &str, except: &[&str]) -> Attempt<bool> {
        let Some(key) = find_key(self.db, FOLDER)? else {
            return Ok(false);
        };
        let (from, to) = range(folder);
        let mut statement = self.db.prepare_cached(
            "SELECT l.value FROM labels l JOIN drawers d ON d.row = l.row
             WHERE l.collection = ?1 AND l.key = ?2 AND l.type = ?3 AND (l.value = ?4 OR (l.value >= ?5 AND l.value < ?6))
               AND d.wing = ?7 AND d.source_file <> ''",
        )?;
        let mut rows = statement.query(params![
            self.collection,
            key,
            LabelType::TEXT.0,
            folder,
            from,
            to,
            wing
        ])?;
        while let Some(row) = rows.next()? {
            let Ok(held) = row.get_ref(0)?.as_str() else {
                continue;
            };
            if !except
                .iter()
                .any(|inside| held == *inside || is_below(held, inside))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl ProjectView for View<'_> {
    type Error = Fault;

    fn related(&self, project: &Project) -> Attempt<Vec<ProjectRecord>> {
        let mut found = Vec::new();
        if let Some(remote) = &project.remote {
            found.extend(self.select("remote", remote)?);
        }
        if let Some(commit) = &project.first_commit {
            found.extend(self.select("first_commit", commit)?);
        }
        let paths = [&project.path].into_iter();
        for path in paths.chain(&project.folders).chain(&project.above) {
            found.extend(self.select("path", path)?);
        }
        found.sort_by_key(|(id, _)| *id);
        found.dedup_by_key(|(id, _)| *id);
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    fn holders(&self, wing: &str) -> Attempt<Vec<ProjectRecord>> {
        let found = self.select("wing", wing)?;
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    fn mined(&self, wing: &str, folders: &[&str], except: &[&str]) -> Attempt<Mined> {
        if !self.has_mined(wing)? {
            return Ok(Mined::Nothing);
        }
        for folder in folders {
            if self.has_file_below(wing, folder, except)?
                || self.has_conversation_in(wing, folder, except)?
            {
                return Ok(Mined::Own);
            }
        }
        Ok(Mined::Others)
    }
}

/// The range of all names below a folder: from the first, up to but not including the second.
fn range(folder: &str) -> (String, String) {
    let separator = if folder.contains('/') || !folder.contains('\\') {
        '/'
    } else {
        '\\'
    };
    let behind = char::from_u32(u32::from(separator) + 1).unwrap_or(char::MAX);
    let folder = folder.trim_end_matches(separator);
    (format!("{folder}{separator}"), format!("{folder}{behind}"))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(i64, ProjectRecord)> {
    Ok((
        row.get(0)?,
        ProjectRecord {
            wing: row.get(1)?,
            name: row.get(2)?,
            remote: row.get(3)?,
            first_commit: row.get(4)?,
            path: row.get(5)?,
            since: row.get(6)?,
        },
    ))
}

/// Writes the record of a folder and a wing.
fn put(db: &Connection, collection: i64, record: &ProjectRecord) -> Attempt<()> {
    db.prepare_cached(
        "INSERT INTO projects (collection, wing, name, remote, first_commit, path, since)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (collection, path, wing) DO UPDATE SET name = ?3, remote = ?4, first_commit = ?5",
    )?
    .execute(params![
        collection,
        record.wing,
        record.name,
        record.remote,
        record.first_commit,
        record.path,
        record.since
    ])?;
    Ok(())
}

fn remove(db: &Connection, collection: i64, record: &ProjectRecord) -> Attempt<()> {
    db.prepare_cached("DELETE FROM projects WHERE collection = ?1 AND path = ?2 AND wing = ?3")?
        .execute(params![collection, record.path, record.wing])?;
    Ok(())
}
