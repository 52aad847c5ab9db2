//! The table `facts`: one row per fact, with a checksum over all its fields. Every function runs in
//! the caller's transaction.

use loci_core::{DrawerRef, Error, Fact, FactQuery};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::{Decoded, each_damaged as damaged_rows, each_intact, names, page, text, text_or_null};
use crate::collection::record::checksum_of;
use crate::fault::Attempt;
use crate::store::now_ms;
use crate::store::palace_files::DATABASE;

/// Columns that [`decode`] expects, in order.
const COLUMNS: &str = "row, id, subject, predicate, object, valid_from, valid_to, confidence,
    source_collection, source_id, metadata, checksum";

/// The table of damaged facts: the time, then [`COLUMNS`].
pub(crate) const SIDE_TABLE: &str =
    "damaged_facts (removed_at, row, fact_id, subject, predicate, object, valid_from,
    valid_to, confidence, source_collection, source_id, metadata, checksum)";

/// A fact as stored in the table, from any source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) predicate: &'a str,
    pub(crate) object: &'a str,
    pub(crate) valid_from: Option<&'a str>,
    pub(crate) valid_to: Option<&'a str>,
    pub(crate) confidence: Option<f64>,
    pub(crate) source_collection: Option<&'a str>,
    pub(crate) source_id: Option<&'a str>,
    /// JSON.
    pub(crate) metadata: &'a str,
}

impl<'a> FactRow<'a> {
    fn of(fact: &'a Fact, id: &'a str, metadata: &'a str) -> Self {
        let source = fact.source.as_ref();
        Self {
            id,
            subject: &fact.subject,
            predicate: &fact.predicate,
            object: &fact.object,
            valid_from: fact.valid_from.as_deref(),
            valid_to: fact.valid_to.as_deref(),
            // SQLite stores no negative zero.
            confidence: fact.confidence.map(|confidence| confidence + 0.0),
            source_collection: source.map(|drawer| drawer.collection.as_str()),
            source_id: source.map(|drawer| drawer.id.as_str()),
            metadata,
        }
    }

    fn read(columns: &'a Row<'_>) -> Option<Self> {
        Some(Self {
            id: text(columns, 1)?,
            subject: text(columns, 2)?,
            predicate: text(columns, 3)?,
            object: text(columns, 4)?,
            valid_from: text_or_null(columns, 5).ok()?,
            valid_to: text_or_null(columns, 6).ok()?,
            confidence: match columns.get_ref(7).ok()? {
                ValueRef::Null => None,
                ValueRef::Real(number) => Some(number),
                _ => return None,
            },
            source_collection: text_or_null(columns, 8).ok()?,
            source_id: text_or_null(columns, 9).ok()?,
            metadata: text(columns, 10)?,
        })
    }

    /// The checksum over everything in a fact. SQLite's own checks do not detect a flipped byte
    /// inside a value; this checksum does.
    pub(crate) fn checksum(&self) -> i64 {
        let confidence = self.confidence.map(f64::to_le_bytes);
        checksum_of([
            Some(self.id.as_bytes()),
            Some(self.subject.as_bytes()),
            Some(self.predicate.as_bytes()),
            Some(self.object.as_bytes()),
            self.valid_from.map(str::as_bytes),
            self.valid_to.map(str::as_bytes),
            confidence.as_ref().map(<[u8; 8]>::as_slice),
            self.source_collection.map(str::as_bytes),
            self.source_id.map(str::as_bytes),
            Some(self.metadata.as_bytes()),
        ])
    }

    /// The fact, if its bytes match `checksum`.
    pub(crate) fn fact(&self, checksum: i64) -> Option<Fact> {
        if self.checksum() != checksum {
            return None;
        }
        Some(Fact {
            id: self.id.to_owned(),
            subject: self.subject.to_owned(),
            predicate: self.predicate.to_owned(),
            object: self.object.to_owned(),
            valid_from: self.valid_from.map(str::to_owned),
            valid_to: self.valid_to.map(str::to_owned),
            confidence: self.confidence,
            source: self
                .source_collection
                .zip(self.source_id)
                .map(|(collection, id)| DrawerRef {
                    collection: collection.to_owned(),
                    id: id.to_owned(),
                }),
            metadata: serde_json::from_str(self.metadata).ok()?,
        })
    }
}

/// Adds a fact with a row number. Returns false if its id exists, or if it has none and a fact that
/// says the same exists.
pub(crate) fn insert(db: &Connection, row: i64, now: i64, fact: &Fact) -> Attempt<bool> {
    if fact.id.is_empty() && is_stated(db, fact)? {
        return Ok(false);
    }
    let (id, metadata) = (fact.key(), fact.metadata.to_json_text());
    let stored = FactRow::of(fact, &id, &metadata);
    let inserted = db
        .prepare_cached(
            "INSERT INTO facts (row, id, subject, predicate, object, valid_from, valid_to, confidence,
                                source_collection, source_id, metadata, seq, checksum, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?1, ?12, ?13, ?13)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            row,
            stored.id,
            stored.subject,
            stored.predicate,
            stored.object,
            stored.valid_from,
            stored.valid_to,
            stored.confidence,
            stored.source_collection,
            stored.source_id,
            stored.metadata,
            stored.checksum(),
            now,
        ])?;
    Ok(inserted > 0)
}

/// Whether a stored fact says the same. The rows of its subject and those of its object are read in
/// turn, and the shorter list decides, so that a name with many facts does not make this slow.
fn is_stated(db: &Connection, fact: &Fact) -> Attempt<bool> {
    let subjects = names::spellings(db, &fact.subject)?;
    let objects = names::spellings(db, &fact.object)?;
    let of = |name: &str, spellings: &[String]| {
        let places = vec!["?"; spellings.len()].join(", ");
        format!("SELECT {COLUMNS} FROM facts WHERE {name} IN ({places})")
    };
    let mut by_subject = db.prepare_cached(&of("subject", &subjects))?;
    let mut by_object = db.prepare_cached(&of("object", &objects))?;
    let mut rows = [
        by_subject.query(params_from_iter(&subjects))?,
        by_object.query(params_from_iter(&objects))?,
    ];
    loop {
        for rows in &mut rows {
            let Some(columns) = rows.next()? else {
                return Ok(false);
            };
            // A damaged fact says nothing.
            if decode(columns).is_ok_and(|stored| stored.says_the_same(fact)) {
                return Ok(true);
            }
        }
    }
}

fn decode(columns: &Row<'_>) -> Decoded<Fact> {
    let checksum = columns
        .get_ref(11)
        .ok()
        .and_then(|value| value.as_i64().ok());
    FactRow::read(columns)
        .zip(checksum)
        .and_then(|(row, checksum)| row.fact(checksum))
        .ok_or_else(|| match text(columns, 1) {
            Some(id) => format!("fact `{id}`"),
            None => format!("the fact in row {}", columns.get(0).unwrap_or(0_i64)),
        })
}

/// Facts in the order added.
pub(crate) fn select(
    db: &Connection,
    query: &FactQuery,
    limit: usize,
    offset: usize,
) -> Attempt<Vec<Fact>> {
    page(limit, offset, |visit| each(db, query, visit))
}

/// Passes facts in the order added to `visit` until it returns false.
pub(crate) fn each(
    db: &Connection,
    query: &FactQuery,
    visit: &mut dyn FnMut(Fact) -> bool,
) -> Attempt<()> {
    let wanted = FactConditions::of(db, query)?;
    let Some((sql, values)) = statement(&wanted) else {
        return Ok(());
    };
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query(params_from_iter(values))?;
    each_intact(rows, decode, &mut |fact| {
        !query.matches(&fact) || visit(fact)
    })
}

/// Conditions on a row: one of the values for each column.
#[derive(Debug, Default)]
struct FactConditions<'a> {
    id: Option<&'a str>,
    subjects: Option<Vec<String>>,
    predicate: Option<&'a str>,
    objects: Option<Vec<String>>,
    entities: Option<Vec<String>>,
}

impl<'a> FactConditions<'a> {
    fn of(db: &Connection, query: &'a FactQuery) -> Attempt<Self> {
        let spelled = |name: &Option<String>| -> Attempt<Option<Vec<String>>> {
            Ok(match name {
                None => None,
                Some(name) if query.any_case => Some(names::spellings(db, name)?),
                Some(name) => Some(vec![name.clone()]),
            })
        };
        Ok(Self {
            id: query.id.as_deref(),
            subjects: spelled(&query.subject)?,
            // No index begins with the predicate.
            predicate: query.predicate.as_deref().filter(|_| !query.any_case),
            objects: spelled(&query.object)?,
            entities: spelled(&query.entity)?,
        })
    }
}

/// The statement and its values, or `None` if no row can match.
fn statement<'a>(wanted: &'a FactConditions<'_>) -> Option<(String, Vec<&'a str>)> {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    for (column, value) in [("id", wanted.id), ("predicate", wanted.predicate)] {
        if let Some(value) = value {
            conditions.push(format!("{column} = ?"));
            values.push(value);
        }
    }
    let entity = ["subject", "object"].as_slice();
    for (columns, names) in [
        (&["subject"] as &[&str], &wanted.subjects),
        (&["object"], &wanted.objects),
        (entity, &wanted.entities),
    ] {
        let Some(names) = names else { continue };
        if names.is_empty() {
            return None;
        }
        let places = vec!["?"; names.len()].join(", ");
        let any: Vec<String> = columns
            .iter()
            .map(|column| format!("{column} IN ({places})"))
            .collect();
        conditions.push(format!("({})", any.join(" OR ")));
        for _ in columns {
            values.extend(names.iter().map(String::as_str));
        }
    }
    let condition = match conditions.as_slice() {
        [] => String::new(),
        conditions => format!("WHERE {}", conditions.join(" AND ")),
    };
    Some((
        format!("SELECT {COLUMNS} FROM facts {condition} ORDER BY row"),
        values,
    ))
}

/// The row and the fact of an id. A damaged fact is an error, because writing it again would hide
/// the damage.
pub(super) fn find(db: &Connection, id: &str) -> Attempt<Option<(i64, Fact)>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM facts WHERE id = ?1"))?;
    let mut rows = statement.query([id])?;
    let Some(columns) = rows.next()? else {
        return Ok(None);
    };
    let row = columns.get(0)?;
    match decode(columns) {
        Ok(fact) => Ok(Some((row, fact))),
        Err(what) => Err(Error::Corrupt {
            what,
            path: DATABASE.into(),
            detail: "its checksum does not match".into(),
        }
        .into()),
    }
}

/// Writes the end of a fact, with a sequence number.
pub(super) fn write_end(db: &Connection, row: i64, seq: i64, fact: &Fact) -> Attempt<()> {
    let metadata = fact.metadata.to_json_text();
    let stored = FactRow::of(fact, &fact.id, &metadata);
    db.prepare_cached(
        "UPDATE facts SET valid_to = ?2, metadata = ?3, checksum = ?4, seq = ?5, updated_at = ?6 WHERE row = ?1",
    )?
    .execute(params![
        row,
        stored.valid_to,
        stored.metadata,
        stored.checksum(),
        seq,
        now_ms()
    ])?;
    Ok(())
}

/// Calls `note` with row and name of every damaged fact.
pub(crate) fn each_damaged(db: &Connection, note: &mut dyn FnMut(i64, String)) -> Attempt<()> {
    let mut statement = db.prepare(&format!("SELECT {COLUMNS} FROM facts ORDER BY row"))?;
    damaged_rows(statement.query([])?, note, decode)
}

/// Moves a row to the side table, byte for byte.
pub(crate) fn set_aside(db: &Connection, row: i64) -> Attempt<()> {
    let sql = format!("INSERT INTO {SIDE_TABLE} SELECT ?2, {COLUMNS} FROM facts WHERE row = ?1");
    db.execute(&sql, params![row, now_ms()])?;
    db.execute("DELETE FROM facts WHERE row = ?1", [row])?;
    Ok(())
}

/// Removes the facts that were taken from a drawer, including those in the side table.
pub(crate) fn remove_of_drawer(db: &Connection, collection: &str, id: &str) -> Attempt<usize> {
    let mut removed = 0;
    for sql in [
        "DELETE FROM facts WHERE source_collection = ?1 AND source_id = ?2",
        "DELETE FROM damaged_facts WHERE source_collection = ?1 AND source_id = ?2",
    ] {
        removed += db.prepare_cached(sql)?.execute([collection, id])?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    /// A scan of all facts per question would be noticeable at a hundred thousand facts.
    #[test]
    fn questions_about_an_entity_and_the_facts_of_a_drawer_use_an_index() {
        let db = Connection::open_in_memory().unwrap();
        crate::store::connection::add_terms_function(&db).unwrap();
        schema::migrate(&db, 0, &loci_core::Machine::default()).unwrap();
        let named = || Some(vec!["x".to_owned()]);
        let of = |wanted: FactConditions<'_>| statement(&wanted).unwrap().0;
        let entity = of(FactConditions {
            entities: named(),
            ..FactConditions::default()
        });
        let pair = of(FactConditions {
            subjects: named(),
            predicate: Some("x"),
            ..FactConditions::default()
        });
        for (sql, index) in [
            (entity.as_str(), "facts_subject (subject=?)"),
            (&entity, "facts_object (object=?)"),
            (&pair, "facts_subject (subject=? AND predicate=?)"),
            (
                "DELETE FROM facts WHERE source_collection = ?1 AND source_id = ?2",
                "facts_source",
            ),
            (
                &names::next_name("subject"),
                "USING COVERING INDEX facts_subject (subject>?)",
            ),
            (
                &names::next_name("object"),
                "USING COVERING INDEX facts_object (object>?)",
            ),
        ] {
            let plan: Vec<String> = db
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map(
                    params_from_iter(vec!["x"; db.prepare(sql).unwrap().parameter_count()]),
                    |row| row.get(3),
                )
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(plan.join("\n").contains(index), "{sql}: {plan:?}");
        }
    }
}
