//! Names of facts: every spelling of one, found by walking the two indexes of names without reading what lies between.

use std::collections::BTreeSet;

use loci_core::{Spellings, same_name};
use rusqlite::{Connection, OptionalExtension};

use crate::fault::Attempt;

/// The columns that hold names, each with an index that begins with it.
const COLUMNS: [&str; 2] = ["subject", "object"];
/// Spellings of one name that are looked for. More would be a statement that SQLite refuses.
const MOST: usize = 1_000;

/// Subjects and objects that equal `name` but for case and surrounding space, in order.
pub(super) fn spellings(db: &Connection, name: &str) -> Attempt<Vec<String>> {
    let mut found = BTreeSet::new();
    for column in COLUMNS {
        walk(db, column, &Spellings::of(name), MOST, &mut found)?;
        behind_space(db, column, name, &mut found)?;
    }
    Ok(found.into_iter().take(MOST).collect())
}

/// Subjects and objects that begin so, whatever their case, in order.
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
        let name: Option<Vec<u8>> = statement
            .query_row([&from], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))
            .optional()?;
        // Bytes that are no text are damage; `verify` names them.
        let Some(Ok(name)) = name.map(String::from_utf8) else {
            break;
        };
        if name < from {
            break;
        }
        bound = wanted.next_from(&name);
        if bound.as_ref() == Some(&name) {
            bound = wanted.next_from(&format!("{name}\0"));
            found.insert(name);
            met += 1;
        }
    }
    Ok(())
}

/// The spellings that begin with space. There are few names that do, so they are read.
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
