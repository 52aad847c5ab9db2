//! Checks facts and links against their checksums. `verify` reports the damaged ones, and `repair`
//! moves them to the side tables.

use rusqlite::Connection;

use crate::fault::Attempt;
use crate::relations::{facts, links};
use loci_core::VerifyReport;

/// Reports every damaged fact and link.
pub(crate) fn check(db: &Connection, report: &mut VerifyReport) -> Attempt<()> {
    let mut note = |row: i64, name: String| {
        let detail = format!("{name} (row {row}): the checksum over all its fields does not match");
        report.push("damaged", None, None, detail);
    };
    facts::each_damaged(db, &mut note)?;
    links::each_damaged(db, &mut note)
}

/// Number of damaged facts and links that were moved to the side tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SetAside {
    pub(crate) facts: usize,
    pub(crate) links: usize,
}

/// Moves damaged facts and links to the side tables, byte for byte.
pub(crate) fn set_aside(db: &Connection) -> Attempt<SetAside> {
    let mut rows = (Vec::new(), Vec::new());
    facts::each_damaged(db, &mut |row, _| rows.0.push(row))?;
    links::each_damaged(db, &mut |row, _| rows.1.push(row))?;
    for row in &rows.0 {
        facts::set_aside(db, *row)?;
    }
    for row in &rows.1 {
        links::set_aside(db, *row)?;
    }
    Ok(SetAside {
        facts: rows.0.len(),
        links: rows.1.len(),
    })
}
