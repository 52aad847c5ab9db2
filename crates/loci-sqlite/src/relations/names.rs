//! Names in facts. Finds every spelling of a name by walking the two indexes of names, without
//! reading the entries in between.

use std::collections::BTreeSet;

use loci_core::{MAX_ENTITY_BYTES, Spellings, same_name};
use rusqlite::Connection;

use crate::fault::Attempt;

/// The columns that hold names, each with an index that begins with it.
const COLUMNS: [&str; 2] = ["subject", "object"];
/// The largest number of spellings of one name. More would make a statement that SQLite refuses.
const MOST: usize = 1_000;

/// Subjects and objects that equal `name` except for case and surrounding space, in order.
pub(super) fn spellings(db: &Connection, name: &str) -> Attempt<Vec<String>> {
    let mut found = BTreeSet::new();
    // A letter has at most four bytes in either case, so a longer name was never accepted.
    if name.trim().len() <= 4 * MAX_ENTITY_BYTES {
        for column in COLUMNS {
            walk(db, column, &Spellings::of(name), MOST, &mut found)?;
            behind_space(db, column, name, &mut found)?;
        }
    }
    Ok(found.into_iter().take(MOST).collect())
}

/// Subjects and objects with this beginning, in any case, in order.
pub(super) fn like(db: &Connection, beginning: &str, limit: usize) -> Attempt<Vec<String>> {
    let mut found = BTreeSet::new();
    for column in COLUMNS {
        let wanted = Spellings::of_beginning(beginning);
        walk(db, column, &wanted, limit, &mut found)?;
    }
    Ok(found.into_iter().take(limit).collect())
}

/// The first name from a place on.
pub(super) fn next_name(column: &str) -> String {
    format!("SELECT {column} FROM facts WHERE {column} >= ?1 ORDER BY {column} LIMIT 1")
}

fn walk(
    db: &Connection,
    column: &str,
    wanted: &Spellings,
    limit: usize,
    found: &mut BTreeSet<String>,
) -> Attempt<()> {
    let mut statement = db.prepare_cached(&next_name(column))?;
    let mut bound = wanted.next_from("");
    let mut met = 0;
    while let Some(from) = bound.filter(|_| met < limit) {
        let mut rows = statement.query([&from])?;
        let Some(row) = rows.next()? else {
            break;
        };
        let name = match row.get_ref(0)?.as_str() {
            Ok(name) if name >= from.as_str() => name.to_owned(),
            // Damaged bytes have no place in the order of names, and the walk cannot get past them.
            _ => return scan(db, column, wanted, limit, found),
        };
        bound = wanted.next_from(&name);
        if bound.as_ref() == Some(&name) {
            bound = wanted.next_from(&format!("{name}\0"));
            found.insert(name);
            met += 1;
        }
    }
    Ok(())
}

/// Reads every name.
fn scan(
    db: &Connection,
    column: &str,
    wanted: &Spellings,
    limit: usize,
    found: &mut BTreeSet<String>,
) -> Attempt<()> {
    let sql = format!("SELECT DISTINCT {column} FROM facts ORDER BY {column}");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut met = 0;
    while let Some(row) = rows.next()?.filter(|_| met < limit) {
        let Ok(name) = row.get_ref(0)?.as_str() else {
            continue;
        };
        if wanted.next_from(name).as_deref() == Some(name) {
            found.insert(name.to_owned());
            met += 1;
        }
    }
    Ok(())
}

/// The spellings that begin with space. Few names do, so they are all read.
fn behind_space(
    db: &Connection,
    column: &str,
    name: &str,
    found: &mut BTreeSet<String>,
) -> Attempt<()> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT DISTINCT {column} FROM facts WHERE {column} >= ?1 AND {column} < ?2"
    ))?;
    for (first, end) in Spellings::space_ranges() {
        let mut rows = statement.query([first, end])?;
        while let Some(row) = rows.next()? {
            match row.get_ref(0)?.as_str() {
                Ok(stored) if found.len() < MOST && same_name(stored, name) => {
                    found.insert(stored.to_owned());
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn damaged_names_hide_no_other_name() {
        let db = Connection::open_in_memory().unwrap();
        crate::store::connection::add_terms_function(&db).unwrap();
        schema::migrate(&db, 0, &loci_core::Machine::default()).unwrap();
        for (row, name) in ["Alice", "alice", "bob", "ALICE"].iter().enumerate() {
            let fact = loci_core::Fact {
                id: (*name).into(),
                subject: (*name).into(),
                predicate: "is".into(),
                ..loci_core::Fact::default()
            };
            super::super::facts::insert(&db, row as i64 + 1, 0, &fact).unwrap();
        }
        let expected = ["ALICE", "Alice", "alice"];
        assert_eq!(spellings(&db, "alice").unwrap(), expected);
        for damage in ["x'616cff'", "x'41ff'", "x'ff'"] {
            for bytes in [format!("CAST({damage} AS TEXT)"), damage.to_owned()] {
                let sql = format!("UPDATE facts SET subject = {bytes} WHERE row = 3");
                db.execute(&sql, []).unwrap();
                assert_eq!(spellings(&db, "alice").unwrap(), expected, "{bytes}");
                assert_eq!(like(&db, "ali", 9).unwrap(), expected, "{bytes}");
            }
        }
    }
}
