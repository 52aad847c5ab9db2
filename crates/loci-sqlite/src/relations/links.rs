//! The table `links`: one row per link, with a checksum over all its fields. Every function runs in
//! the caller's transaction.

use loci_core::{DrawerRef, Link, LinkEnd};
use rusqlite::{Connection, Row, params, params_from_iter};

use super::{Decoded, each_damaged as damaged_rows, each_intact, page, text};
use crate::collection::record::checksum_of;
use crate::fault::Attempt;
use crate::store::now_ms;

/// Columns that [`decode`] expects, in order.
const COLUMNS: &str =
    "row, from_kind, from_place, from_name, to_kind, to_place, to_name, label, metadata, checksum";
/// The table of damaged links: the time, then [`COLUMNS`].
pub(crate) const SIDE_TABLE: &str =
    "damaged_links (removed_at, row, from_kind, from_place, from_name, to_kind, to_place,
    to_name, label, metadata, checksum)";
/// The kind of an end that is a drawer: collection and id.
const DRAWER: &str = "drawer";
/// The kind of an end that is a room: wing and room.
const ROOM: &str = "room";

/// One end as three columns: kind, collection or wing, id or room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End<'a> {
    pub(crate) kind: &'a str,
    pub(crate) place: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> End<'a> {
    fn of(end: &'a LinkEnd) -> Self {
        match end {
            LinkEnd::Drawer(drawer) => Self {
                kind: DRAWER,
                place: &drawer.collection,
                name: &drawer.id,
            },
            LinkEnd::Room { wing, room } => Self {
                kind: ROOM,
                place: wing,
                name: room,
            },
        }
    }

    fn read(columns: &'a Row<'_>, at: usize) -> Option<Self> {
        Some(Self {
            kind: text(columns, at)?,
            place: text(columns, at + 1)?,
            name: text(columns, at + 2)?,
        })
    }

    fn end(&self) -> Option<LinkEnd> {
        let (place, name) = (self.place.to_owned(), self.name.to_owned());
        match self.kind {
            DRAWER => Some(LinkEnd::Drawer(DrawerRef {
                collection: place,
                id: name,
            })),
            ROOM => Some(LinkEnd::Room {
                wing: place,
                room: name,
            }),
            _ => None,
        }
    }
}

/// A link as stored in the table, from any source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkRow<'a> {
    pub(crate) from: End<'a>,
    pub(crate) to: End<'a>,
    pub(crate) label: &'a str,
    /// JSON.
    pub(crate) metadata: &'a str,
}

impl<'a> LinkRow<'a> {
    fn read(columns: &'a Row<'_>) -> Option<Self> {
        Some(Self {
            from: End::read(columns, 1)?,
            to: End::read(columns, 4)?,
            label: text(columns, 7)?,
            metadata: text(columns, 8)?,
        })
    }

    /// The checksum over everything in a link.
    pub(crate) fn checksum(&self) -> i64 {
        let Self {
            from,
            to,
            label,
            metadata,
        } = self;
        checksum_of(
            [
                from.kind, from.place, from.name, to.kind, to.place, to.name, label, metadata,
            ]
            .map(|part| Some(part.as_bytes())),
        )
    }

    /// The link, if its bytes match `checksum`.
    pub(crate) fn link(&self, checksum: i64) -> Option<Link> {
        if self.checksum() != checksum {
            return None;
        }
        Some(Link {
            from: self.from.end()?,
            to: self.to.end()?,
            label: self.label.to_owned(),
            metadata: serde_json::from_str(self.metadata).ok()?,
        })
    }

    /// A description for messages: its ends and its label.
    pub(crate) fn describe(&self) -> String {
        format!(
            "link `{}` from `{}/{}` to `{}/{}`",
            self.label, self.from.place, self.from.name, self.to.place, self.to.name
        )
    }
}

/// Adds a link with a row number. Returns false if one with these ends and label exists.
pub(crate) fn insert(db: &Connection, row: i64, now: i64, link: &Link) -> Attempt<bool> {
    let metadata = link.metadata.to_json_text();
    let stored = LinkRow {
        from: End::of(&link.from),
        to: End::of(&link.to),
        label: &link.label,
        metadata: &metadata,
    };
    let inserted = db
        .prepare_cached(
            "INSERT INTO links (row, from_kind, from_place, from_name, to_kind, to_place, to_name, label, metadata,
                                seq, checksum, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?1, ?10, ?11, ?11)
             ON CONFLICT (from_kind, from_place, from_name, to_kind, to_place, to_name, label) DO NOTHING",
        )?
        .execute(params![
            row,
            stored.from.kind,
            stored.from.place,
            stored.from.name,
            stored.to.kind,
            stored.to.place,
            stored.to.name,
            stored.label,
            stored.metadata,
            stored.checksum(),
            now,
        ])?;
    Ok(inserted > 0)
}

fn decode(columns: &Row<'_>) -> Decoded<Link> {
    let checksum = columns
        .get_ref(9)
        .ok()
        .and_then(|value| value.as_i64().ok());
    let row = LinkRow::read(columns);
    row.zip(checksum)
        .and_then(|(row, checksum)| row.link(checksum))
        .ok_or_else(|| match row {
            Some(row) => row.describe(),
            None => format!("the link in row {}", columns.get(0).unwrap_or(0_i64)),
        })
}

/// Links of an end, or all, in the order added.
pub(crate) fn select(
    db: &Connection,
    end: Option<&LinkEnd>,
    limit: usize,
    offset: usize,
) -> Attempt<Vec<Link>> {
    let condition = match end {
        None => "",
        Some(_) => {
            "WHERE (from_kind = ?1 AND from_place = ?2 AND from_name = ?3)
                OR (to_kind = ?1 AND to_place = ?2 AND to_name = ?3)"
        }
    };
    let values: Vec<&str> = end
        .map(End::of)
        .map_or_else(Vec::new, |end| vec![end.kind, end.place, end.name]);
    let sql = format!("SELECT {COLUMNS} FROM links {condition} ORDER BY row");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query(params_from_iter(values))?;
    page(limit, offset, |visit| each_intact(rows, decode, visit))
}

/// Calls `note` with row and name of every damaged link.
pub(crate) fn each_damaged(db: &Connection, note: &mut dyn FnMut(i64, String)) -> Attempt<()> {
    let mut statement = db.prepare(&format!("SELECT {COLUMNS} FROM links ORDER BY row"))?;
    damaged_rows(statement.query([])?, note, decode)
}

/// Moves a row to the side table, byte for byte.
pub(crate) fn set_aside(db: &Connection, row: i64) -> Attempt<()> {
    let sql = format!("INSERT INTO {SIDE_TABLE} SELECT ?2, {COLUMNS} FROM links WHERE row = ?1");
    db.execute(&sql, params![row, now_ms()])?;
    db.execute("DELETE FROM links WHERE row = ?1", [row])?;
    Ok(())
}

/// Removes a link by ends and label. Returns false if there was none.
pub(crate) fn remove(db: &Connection, link: &Link) -> Attempt<bool> {
    let (from, to) = (End::of(&link.from), End::of(&link.to));
    let removed = db
        .prepare_cached(
            "DELETE FROM links WHERE from_kind = ?1 AND from_place = ?2 AND from_name = ?3
             AND to_kind = ?4 AND to_place = ?5 AND to_name = ?6 AND label = ?7",
        )?
        .execute([
            from.kind,
            from.place,
            from.name,
            to.kind,
            to.place,
            to.name,
            &link.label,
        ])?;
    Ok(removed > 0)
}

/// Removes the links that start or end at a drawer.
pub(crate) fn remove_of_drawer(db: &Connection, collection: &str, id: &str) -> Attempt<usize> {
    let mut removed = 0;
    for sql in [
        "DELETE FROM links WHERE from_kind = 'drawer' AND from_place = ?1 AND from_name = ?2",
        "DELETE FROM links WHERE to_kind = 'drawer' AND to_place = ?1 AND to_name = ?2",
    ] {
        removed += db.prepare_cached(sql)?.execute([collection, id])?;
    }
    Ok(removed)
}

/// Removes the links of a drawer from the side table.
pub(crate) fn remove_damaged_of_drawer(
    db: &Connection,
    collection: &str,
    id: &str,
) -> Attempt<usize> {
    Ok(db
        .prepare_cached(
            "DELETE FROM damaged_links WHERE (from_place = ?1 AND from_name = ?2) OR (to_place = ?1 AND to_name = ?2)",
        )?
        .execute([collection, id])?)
}

/// Removes the links that start or end in a collection.
pub(crate) fn remove_of_collection(db: &Connection, collection: &str) -> Attempt<usize> {
    let mut removed = 0;
    for sql in [
        "DELETE FROM links WHERE from_kind = 'drawer' AND from_place = ?1",
        "DELETE FROM links WHERE to_kind = 'drawer' AND to_place = ?1",
    ] {
        removed += db.execute(sql, [collection])?;
    }
    Ok(removed)
}
