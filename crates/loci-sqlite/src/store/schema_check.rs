//! Checks that the schema of a database is the one that Loci creates. It is compared with a new
//! schema in memory, made by the same migrations up to the same format.
//!
//! SQLite trusts the text of its schema: a flipped byte in it can rename a table or a column, and a
//! foreign trigger runs at every write.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use loci_core::Error;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use xxhash_rust::xxh3::xxh3_64;

use super::connection::add_terms_function;
use super::schema;
use crate::fault::{Attempt, Fault};

/// Objects that may be missing: an index that opening creates, and the tables of `ANALYZE`.
const OPTIONAL: [&str; 5] = [
    "drawers_mined",
    "sqlite_stat1",
    "sqlite_stat2",
    "sqlite_stat3",
    "sqlite_stat4",
];

/// Fingerprints of the schemas of formats 1, 2, …, without the optional objects. With them, a new
/// connection checks its schema without creating another one. A format without a fingerprint is
/// compared in full.
const FINGERPRINTS: &[u64] = &[
    0xd483_c6cf_8c7c_caa5,
    0x6a34_39e9_fa80_95fa,
    0x3d8e_de1e_5219_609e,
    0x1322_4ae5_3c05_f1f7,
    0xb59e_d378_d92c_fe72,
    0xa21c_fc4e_6079_9e02,
    0x60ba_8202_ba65_9e72,
    0x60ba_8202_ba65_9e72,
    0x60ba_8202_ba65_9e72,
];

/// How an object of the schema differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deviation {
    /// It is missing.
    Missing,
    /// It exists but differs from what Loci creates.
    Changed,
    /// It is not part of a palace.
    Foreign,
}

/// One object that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) deviation: Deviation,
    /// `table`, `index`, `view` or `trigger`; in a damaged schema anything.
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Difference {
    pub(crate) fn is_damage(&self) -> bool {
        self.deviation != Deviation::Foreign
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match self.deviation {
            Deviation::Missing => write!(out, "the {kind} `{name}` is missing from the schema"),
            Deviation::Changed => write!(out, "the schema of the {kind} `{name}` is damaged"),
            Deviation::Foreign => write!(out, "the {kind} `{name}` is no part of a palace"),
        }
    }
}

/// Joins differences into one line.
pub(crate) fn describe(differences: &[Difference]) -> String {
    let lines: Vec<String> = differences.iter().map(Difference::to_string).collect();
    lines.join("; ")
}

/// Compares the schema with that of the format that the database names. The connection does not
/// need Loci's SQL functions. A schema that SQLite cannot parse is an error and counts as damage.
pub(crate) fn differences(db: &Connection) -> Attempt<Vec<Difference>> {
    let format = match schema::format(db)? {
        known @ 1..=schema::FORMAT => known,
        _ => schema::FORMAT,
    };
    let mut expected = expected(format)?;
    let mut differences = Vec::new();
    for (name, object) in objects(db)? {
        let deviation = match expected.remove(&name) {
            Some(wanted) if wanted == object => continue,
            Some(_) => Deviation::Changed,
            None => Deviation::Foreign,
        };
        differences.push(Difference {
            deviation,
            kind: object.kind,
            name,
        });
    }
    expected.retain(|name, _| !OPTIONAL.contains(&name.as_str()));
    differences.extend(expected.into_iter().map(|(name, object)| Difference {
        deviation: Deviation::Missing,
        kind: object.kind,
        name,
    }));
    Ok(differences)
}

/// Refuses a palace with a damaged schema. Before this check nothing may be written, and nothing
/// may be removed because a column says so: with another schema, the columns have other values.
/// Foreign objects do not affect reads; `verify` reports them. The caller has begun a transaction.
pub(crate) fn refuse_damaged(db: &Connection, path: &Path) -> Attempt<()> {
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = schema::format(db)?;
    if application != schema::APPLICATION_ID || !(1..=schema::FORMAT).contains(&format) {
        return Ok(());
    }
    let known = usize::try_from(format - 1)
        .ok()
        .and_then(|at| FINGERPRINTS.get(at));
    if known == Some(&fingerprint(&objects(db)?)) {
        return Ok(());
    }
    let differences = differences(db)?;
    if !differences.iter().any(Difference::is_damage) {
        return Ok(());
    }
    Err(Error::Corrupt {
        what: "the database".into(),
        path: path.into(),
        detail: describe(&differences),
    }
    .into())
}

/// A fingerprint that does not depend on the order of the objects.
fn fingerprint(objects: &[(String, Object)]) -> u64 {
    let required = objects
        .iter()
        .filter(|(name, _)| !OPTIONAL.contains(&name.as_str()));
    required.fold(0, |sum: u64, (name, object)| {
        let Object { kind, table, sql } = object;
        let line = [kind, name, table, sql].map(String::as_str).join("\0");
        sum.wrapping_add(xxh3_64(line.as_bytes()))
    })
}

/// Describes what is wrong with the schema of a database file, or `None` if nothing is.
#[expect(clippy::disallowed_methods, reason = "the palace itself")]
pub(crate) fn damage_at(path: &Path) -> Option<String> {
    let check = || -> Attempt<Vec<Difference>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        // As on every connection, closing must not remove the log.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        differences(&db)
    };
    match check() {
        Ok(differences) => (!differences.is_empty()).then(|| describe(&differences)),
        Err(Fault::Sql(error)) if Fault::is_damage_of_file(&error) => Some(error.to_string()),
        Err(_) => None,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    table: String,
    /// Without insignificant white space, in which builds may differ.
    sql: String,
}

fn objects(db: &Connection) -> Attempt<Vec<(String, Object)>> {
    let mut statement = db.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut objects = Vec::new();
    while let Some(row) = rows.next()? {
        let object = Object {
            kind: text(row.get_ref(0)?),
            table: text(row.get_ref(2)?),
            sql: collapsed(&text(row.get_ref(3)?)),
        };
        objects.push((text(row.get_ref(1)?), object));
    }
    Ok(objects)
}

/// A damaged value may have any type, and need not be UTF-8.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
    }
}

/// Puts one space between two words, and none beside a sign.
fn collapsed(sql: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut collapsed = String::with_capacity(sql.len());
    for part in sql.split_ascii_whitespace() {
        if collapsed.ends_with(is_word) && part.starts_with(is_word) {
            collapsed.push(' ');
        }
        collapsed.push_str(part);
    }
    collapsed
}

fn expected(format: i64) -> Attempt<BTreeMap<String, Object>> {
    let db = Connection::open_in_memory()?;
    add_terms_function(&db)?;
    schema::make(&db, format)?;
    db.execute_batch("ANALYZE")?;
    Ok(objects(&db)?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(format: i64) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        add_terms_function(&db).unwrap();
        schema::make(&db, format).unwrap();
        db
    }

    #[test]
    fn a_palace_of_every_format_has_no_difference() {
        for format in 1..=schema::FORMAT {
            assert_eq!(differences(&made(format)).unwrap(), [], "format {format}");
            let path = format!(
                "{}/../loci-palace/tests/compat/format-{format}.sqlite3",
                env!("CARGO_MANIFEST_DIR")
            );
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let uri = format!("file://{path}?immutable=1");
            let db = Connection::open_with_flags(uri, flags).unwrap();
            assert_eq!(
                differences(&db).unwrap(),
                [],
                "the fixture of format {format}"
            );
        }
    }

    #[test]
    fn the_fingerprints_are_those_of_the_schemas() {
        let made: Vec<u64> = (1..=schema::FORMAT)
            .map(|format| fingerprint(&objects(&made(format)).unwrap()))
            .collect();
        assert_eq!(FINGERPRINTS, made, "{made:#018x?}");
    }

    #[test]
    fn everything_that_does_not_belong_to_a_palace_is_named() {
        for (sql, named) in [
            (
                "CREATE TRIGGER t AFTER INSERT ON drawers BEGIN SELECT 1; END",
                "trigger `t`",
            ),
            ("CREATE VIEW v AS SELECT 1", "view `v`"),
            ("CREATE TABLE x (a)", "table `x`"),
            ("CREATE INDEX i ON drawers (text)", "index `i`"),
            ("CREATE VIRTUAL TABLE w USING fts5(a)", "table `w`"),
        ] {
            let db = made(schema::FORMAT);
            db.execute_batch(sql).unwrap();
            let found = differences(&db).unwrap();
            assert!(
                !found.is_empty() && !found.iter().any(Difference::is_damage),
                "{found:?}"
            );
            assert!(describe(&found).contains(named), "{}", describe(&found));
        }
    }

    #[test]
    fn what_is_missing_or_changed_is_damage() {
        for sql in [
            "DROP TABLE usage",
            "DROP INDEX facts_subject",
            "DROP VIEW analysed; CREATE VIEW analysed AS SELECT row, text FROM drawers",
            "ALTER TABLE usage RENAME COLUMN use_count TO use_counu",
        ] {
            let db = made(schema::FORMAT);
            db.execute_batch(sql).unwrap();
            let found = differences(&db).unwrap();
            assert!(found.iter().any(Difference::is_damage), "{sql}: {found:?}");
        }
    }
}
