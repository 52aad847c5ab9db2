//! The table `facts`.

use loci_core::{DrawerRef, Fact, FactQuery};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::{Decoded, each_damaged as damaged_rows, page, text, text_or_null};
use crate::collection::record::checksum_of;
use crate::fault::Attempt;
use crate::store::now_ms;

/// Columns that [`decode`] expects, in order.
const COLUMNS: &str = "row, id, subject, predicate, object, valid_from, valid_to, confidence,
    source_collection, source_id, metadata, checksum";

/// Where damaged facts are kept: when, then [`COLUMNS`].
pub(crate) const SIDE_TABLE: &str =
    "damaged_facts (removed_at, row, fact_id, subject, predicate, object, valid_from,
    valid_to, confidence, source_collection, source_id, metadata, checksum)";

/// A fact as it stands in the table, wherever it was read from.
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
            // SQLite keeps no negative zero.
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

    /// Over everything the fact is. SQLite's own checks do not notice a flipped byte inside a value; this does.
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

    /// The fact, if the bytes are those that `checksum` was made of.
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

/// Adds a fact under a number; false if its id is there.
pub(crate) fn insert(db: &Connection, row: i64, now: i64, fact: &Fact) -> Attempt<bool> {
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
    let (sql, values) = statement(query);
    let mut statement = db.prepare_cached(&sql)?;
    page(
        statement.query(params_from_iter(values))?,
        limit,
        offset,
        decode,
    )
}

fn statement(query: &FactQuery) -> (String, Vec<&str>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    for (condition, value) in [
        ("id = ?", &query.id),
        ("subject = ?", &query.subject),
        ("predicate = ?", &query.predicate),
        ("object = ?", &query.object),
    ] {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value.as_str());
        }
    }
    if let Some(entity) = &query.entity {
        conditions.push("(subject = ? OR object = ?)");
        values.extend([entity.as_str(); 2]);
    }
    let condition = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE {}", conditions.join(" AND "))
    };
    (
        format!("SELECT {COLUMNS} FROM facts {condition} ORDER BY row"),
        values,
    )
}

/// Calls `note` with row and name of every fact whose bytes are not those that were written.
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

/// Removes the facts that were taken from a drawer, those set aside too.
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

    /// Scanning all facts for every question would be felt at a hundred thousand.
    #[test]
    fn questions_about_an_entity_and_the_facts_of_a_drawer_use_an_index() {
        let db = Connection::open_in_memory().unwrap();
        crate::store::connection::add_terms_function(&db).unwrap();
        schema::migrate(&db, 0).unwrap();
        let named = || Some("x".to_owned());
        let entity = FactQuery {
            entity: named(),
            ..FactQuery::default()
        };
        let pair = FactQuery {
            subject: named(),
            predicate: named(),
            ..FactQuery::default()
        };
        for (sql, index) in [
            (statement(&entity).0, "facts_subject"),
            (statement(&entity).0, "facts_object"),
            (
                statement(&pair).0,
                "facts_subject (subject=? AND predicate=?)",
            ),
            (
                "DELETE FROM facts WHERE source_collection = ?1 AND source_id = ?2".to_owned(),
                "facts_source",
            ),
        ] {
            let plan: Vec<String> = db
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map(params_from_iter(["x"; 2]), |row| row.get(3))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(plan.join("\n").contains(index), "{sql}: {plan:?}");
        }
    }
}
