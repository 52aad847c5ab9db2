//! Reads the schema table, as far as the tree under page 1 is readable.

use crate::btree::{BtreePage, Kind};
use crate::chain::Chains;
use crate::pages::Pages;
use crate::record::Value;
use crate::scan::read_cell;

/// One row of `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaEntry {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The table it belongs to.
    pub table_name: String,
    /// The root page of its tree; `None` for views, triggers and virtual tables.
    pub root_page: Option<u32>,
    /// The statement that created it; `None` for automatic indexes.
    pub sql: Option<String>,
}

/// The entries on the given leaf pages, by rowid. Rows that do not look like schema entries are
/// skipped.
pub(crate) fn read(pages: &Pages, leaves: impl Iterator<Item = u32>) -> Vec<SchemaEntry> {
    let mut chains = Chains::new(pages);
    let limit = pages.payload_limit();
    let mut entries = Vec::new();
    for number in leaves {
        let Ok(bytes) = pages.read(number) else {
            continue;
        };
        let Some(page) = BtreePage::parse(number, &bytes).filter(|p| p.kind == Kind::TableLeaf)
        else {
            continue;
        };
        for index in 0..page.cells {
            let Ok(cell) = page.cell(index, limit) else {
                continue;
            };
            let values = read_cell(&page, &cell, &mut chains).ok();
            entries.extend(values.and_then(entry).map(|entry| (cell.rowid, entry)));
        }
    }
    entries.sort_by_key(|(rowid, _)| *rowid);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn entry(values: Vec<Value>) -> Option<SchemaEntry> {
    let [
        Value::Text(kind),
        Value::Text(name),
        Value::Text(table_name),
        root_page,
        sql,
    ] = <[Value; 5]>::try_from(values).ok()?
    else {
        return None;
    };
    let root_page = match root_page {
        Value::Integer(page) => u32::try_from(page).ok().filter(|&page| page > 1),
        _ => None,
    };
    let sql = match sql {
        Value::Text(sql) => Some(sql),
        _ => None,
    };
    Some(SchemaEntry {
        kind,
        name,
        table_name,
        root_page,
        sql,
    })
}
