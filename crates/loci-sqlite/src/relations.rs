//! Facts and links of a palace, in the same file and under the same numbers as its drawers.
//!
//! `facts` and `links` each know one table: how a row is written, checked and read back. A row whose bytes are not those that
//! were written is left out of every answer; `verify` names it and `repair` sets it aside.

pub(crate) mod facts;
pub(crate) mod links;

use std::sync::Arc;

use loci_core::{
    Fact, FactQuery, Link, LinkEnd, Related, Relations, Result, validate_facts, validate_links,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use crate::fault::Attempt;
use crate::store::{Head, Store, now_ms};

/// Damaged facts and links that are named.
const NAMED: usize = 100;

/// What was read from a row; an error is the name of what is damaged.
pub(crate) type Decoded<T> = std::result::Result<T, String>;

/// The facts and links of one open palace.
pub(crate) struct SqliteRelations {
    pub(crate) store: Arc<Store>,
}

impl SqliteRelations {
    /// Writes items in one transaction. `insert` is given the number of the row and the time, and tells whether it was new.
    fn add<T>(
        &self,
        doing: &str,
        items: &[T],
        insert: impl Fn(&Connection, i64, i64, &T) -> Attempt<bool>,
    ) -> Result<Related> {
        self.store.ensure_open()?;
        if items.is_empty() {
            return Ok(Related::default());
        }
        self.store.write(doing, |db| {
            let mut seq = Head::read(&db.sql)?.seq as i64;
            let now = now_ms();
            let mut related = Related::default();
            for item in items {
                if insert(&db.sql, seq + 1, now, item)? {
                    seq += 1;
                    related.added += 1;
                } else {
                    related.known += 1;
                }
            }
            if related.added > 0 {
                db.sql
                    .prepare_cached("UPDATE palace SET seq = ?1 WHERE id = 1")?
                    .execute([seq])?;
            }
            Ok(related)
        })
    }
}

impl Relations for SqliteRelations {
    fn add_facts(&self, facts: &[Fact]) -> Result<Related> {
        validate_facts(facts)?;
        self.add("adding facts", facts, facts::insert)
    }

    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>> {
        self.store.read("reading facts", |db| {
            facts::select(&db.sql, query, limit, offset)
        })
    }

    fn add_links(&self, links: &[Link]) -> Result<Related> {
        validate_links(links)?;
        self.add("adding links", links, links::insert)
    }

    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        self.store.read("reading links", |db| {
            links::select(&db.sql, end, limit, offset)
        })
    }

    fn counts(&self) -> Result<(u64, u64)> {
        self.store
            .read("counting facts and links", |db| counts(&db.sql))
    }

    fn damaged(&self) -> Result<Vec<String>> {
        self.store.read("checking facts and links", |db| {
            let mut names = Vec::new();
            let mut note = |_: i64, name: String| {
                if names.len() < NAMED {
                    names.push(name);
                }
            };
            facts::each_damaged(&db.sql, &mut note)?;
            links::each_damaged(&db.sql, &mut note)?;
            Ok(names)
        })
    }
}

/// Number of facts and of links.
pub(crate) fn counts(db: &Connection) -> Attempt<(u64, u64)> {
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok((
        count("SELECT count(*) FROM facts")? as u64,
        count("SELECT count(*) FROM links")? as u64,
    ))
}

/// What `forget` removes with a drawer, also what a repair kept of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Forgotten {
    pub(crate) facts: usize,
    pub(crate) links: usize,
}

impl std::ops::Add for Forgotten {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            facts: self.facts + other.facts,
            links: self.links + other.links,
        }
    }
}

/// Removes the facts that were taken from a drawer and the links that end at it.
pub(crate) fn forget(db: &Connection, collection: &str, id: &str) -> Attempt<Forgotten> {
    Ok(Forgotten {
        facts: facts::remove_of_drawer(db, collection, id)?,
        links: links::remove_of_drawer(db, collection, id)?
            + links::remove_damaged_of_drawer(db, collection, id)?,
    })
}

/// The intact ones of `rows` from `offset` on, at most `limit`.
fn page<T>(
    mut rows: Rows<'_>,
    limit: usize,
    offset: usize,
    decode: impl Fn(&Row<'_>) -> Decoded<T>,
) -> Attempt<Vec<T>> {
    let mut found = Vec::new();
    let mut skipped = 0;
    while found.len() < limit
        && let Some(columns) = rows.next()?
    {
        match decode(columns) {
            Ok(_) if skipped < offset => skipped += 1,
            Ok(item) => found.push(item),
            Err(name) => {
                tracing::warn!("{name} is damaged and left out; `loci repair` sets it aside");
            }
        }
    }
    Ok(found)
}

/// Calls `note` with row and name of every damaged one.
fn each_damaged<T>(
    mut rows: Rows<'_>,
    note: &mut dyn FnMut(i64, String),
    decode: impl Fn(&Row<'_>) -> Decoded<T>,
) -> Attempt<()> {
    while let Some(columns) = rows.next()? {
        if let Err(name) = decode(columns) {
            note(columns.get(0)?, name);
        }
    }
    Ok(())
}

/// A column that holds text.
fn text<'a>(columns: &'a Row<'_>, at: usize) -> Option<&'a str> {
    columns.get_ref(at).ok()?.as_str().ok()
}

/// A value is of another kind than its column's.
pub(crate) struct Unreadable;

/// A column that holds text or nothing.
fn text_or_null<'a>(
    columns: &'a Row<'_>,
    at: usize,
) -> std::result::Result<Option<&'a str>, Unreadable> {
    match columns.get_ref(at) {
        Ok(ValueRef::Null) => Ok(None),
        _ => text(columns, at).map(Some).ok_or(Unreadable),
    }
}
