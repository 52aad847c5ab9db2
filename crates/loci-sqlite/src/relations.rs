//! Facts and links of a palace, in the same file and with the same sequence numbers as its drawers.
//!
//! `facts` and `links` each know one table: how a row is written, checked and read back. A damaged
//! row is left out of every answer; `verify` reports it, and `repair` moves it to a side table.

mod ending;
pub(crate) mod facts;
pub(crate) mod links;
mod names;

use std::sync::Arc;

use loci_core::{
    Fact, FactQuery, Link, LinkEnd, Related, Relations, Result, validate_end, validate_facts,
    validate_links,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use crate::fault::Attempt;
use crate::store::{Head, Store, now_ms};

/// The largest number of damaged facts and links that are listed by name.
const NAMED: usize = 100;

/// The value of a row, or the name of the damaged item.
pub(crate) type Decoded<T> = std::result::Result<T, String>;

/// The facts and links of one open palace.
pub(crate) struct SqliteRelations {
    pub(crate) store: Arc<Store>,
}

impl SqliteRelations {
    /// Writes items in one transaction: a crash leaves all of them or none.
    fn add<T>(&self, doing: &str, items: &[T], insert: Insert<T>) -> Result<Related> {
        self.store.ensure_open()?;
        if items.is_empty() {
            return Ok(Related::default());
        }
        self.store
            .write(doing, |db| insert_all(&db.sql, items, insert))
    }
}

/// Writes one item with this row number and time. Returns whether it was new.
type Insert<T> = fn(&Connection, i64, i64, &T) -> Attempt<bool>;

/// Facts and links that are written with drawers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Companions {
    pub(crate) facts: Vec<Fact>,
    pub(crate) links: Vec<Link>,
}

impl Companions {
    /// Writes them inside a transaction.
    pub(crate) fn insert(&self, db: &Connection) -> Attempt<Related> {
        let facts = insert_all(db, &self.facts, facts::insert)?;
        let links = insert_all(db, &self.links, links::insert)?;
        Ok(Related {
            added: facts.added + links.added,
            known: facts.known + links.known,
        })
    }
}

/// Writes items inside a transaction. Each new one draws a sequence number.
fn insert_all<T>(db: &Connection, items: &[T], insert: Insert<T>) -> Attempt<Related> {
    let mut numbers = Numbers::begin(db)?;
    let now = now_ms();
    let mut related = Related::default();
    for item in items {
        if insert(db, numbers.next(), now, item)? {
            numbers.draw();
            related.added += 1;
        } else {
            related.known += 1;
        }
    }
    numbers.finish(db)?;
    Ok(related)
}

/// The palace's sequence numbers inside a write transaction.
struct Numbers {
    first: i64,
    last: i64,
}

impl Numbers {
    fn begin(db: &Connection) -> Attempt<Self> {
        let last = Head::read(db)?.seq as i64;
        Ok(Self { first: last, last })
    }

    /// The number that the next change will draw.
    fn next(&self) -> i64 {
        self.last + 1
    }

    fn draw(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn finish(self, db: &Connection) -> Attempt<()> {
        if self.last > self.first {
            db.prepare_cached("UPDATE palace SET seq = ?1 WHERE id = 1")?
                .execute([self.last])?;
        }
        Ok(())
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

    fn each_fact(&self, query: &FactQuery, visit: &mut dyn FnMut(Fact)) -> Result<()> {
        self.store.read("reading facts", |db| {
            facts::each(&db.sql, query, &mut |fact| {
                visit(fact);
                true
            })
        })
    }

    fn end_facts(&self, ids: &[String], valid_to: &str) -> Result<Vec<Fact>> {
        self.store.ensure_open()?;
        let date = validate_end(valid_to)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.store.write("ending facts", |db| {
            ending::end(&db.sql, ids, valid_to, date)
        })
    }

    fn supersede(&self, ids: &[String], valid_to: &str, new: &Fact) -> Result<Vec<Fact>> {
        self.store.ensure_open()?;
        let date = validate_end(valid_to)?;
        validate_facts(std::slice::from_ref(new))?;
        self.store.write("superseding facts", |db| {
            ending::supersede(&db.sql, ids, valid_to, date, new)
        })
    }

    fn spellings(&self, name: &str) -> Result<Vec<String>> {
        self.store
            .read("looking for a name", |db| names::spellings(&db.sql, name))
    }

    fn names_like(&self, beginning: &str, limit: usize) -> Result<Vec<String>> {
        self.store.read("looking for names", |db| {
            names::like(&db.sql, beginning, limit)
        })
    }

    fn remove_links(&self, links: &[Link]) -> Result<u64> {
        self.store.ensure_open()?;
        validate_links(links)?;
        if links.is_empty() {
            return Ok(0);
        }
        self.store.write("removing links", |db| {
            let mut numbers = Numbers::begin(&db.sql)?;
            let mut removed = 0;
            for link in links {
                if links::remove(&db.sql, link)? {
                    numbers.draw();
                    removed += 1;
                }
            }
            numbers.finish(&db.sql)?;
            Ok(removed)
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

/// Number of facts and links that `forget` removes with a drawer, including those that a repair
/// kept.
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

/// Collects items from `each`, starting at `offset`, at most `limit`. Returns false to `each` to
/// stop it.
fn page<T>(
    limit: usize,
    offset: usize,
    each: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Attempt<()>,
) -> Attempt<Vec<T>> {
    let (mut found, mut skipped) = (Vec::new(), 0);
    if limit == 0 {
        return Ok(found);
    }
    each(&mut |item| {
        if skipped < offset {
            skipped += 1;
        } else {
            found.push(item);
        }
        found.len() < limit
    })?;
    Ok(found)
}

/// Passes the intact items of `rows` to `visit` until it returns false.
fn each_intact<T>(
    mut rows: Rows<'_>,
    decode: impl Fn(&Row<'_>) -> Decoded<T>,
    visit: &mut dyn FnMut(T) -> bool,
) -> Attempt<()> {
    while let Some(columns) = rows.next()? {
        match decode(columns) {
            Ok(item) => {
                if !visit(item) {
                    break;
                }
            }
            Err(name) => {
                tracing::warn!("{name} is damaged and left out; `repair` moves it to a side table");
            }
        }
    }
    Ok(())
}

/// Calls `note` with row and name of every damaged item.
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

/// A value has another type than its column.
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
