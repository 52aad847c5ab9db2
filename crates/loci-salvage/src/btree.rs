//! Parses one b-tree page: its header, its cell pointers, and the location of each cell's payload.
//! Only fields that reading needs are used. Free space and fragment counts are ignored, so damage
//! there costs no rows.

use crate::bytes::{be_u16, be_u32, varint};
use crate::header::HEADER_BYTES;
use std::ops::Range;

/// The largest plausible payload.
const MAX_PAYLOAD_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    IndexInterior,
    TableInterior,
    IndexLeaf,
    TableLeaf,
}

impl Kind {
    pub(crate) fn is_interior(self) -> bool {
        matches!(self, Kind::IndexInterior | Kind::TableInterior)
    }

    pub(crate) fn is_table(self) -> bool {
        matches!(self, Kind::TableInterior | Kind::TableLeaf)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CellDamage {
    #[error("cell pointer leads outside the cell area")]
    Pointer,
    #[error("cell runs past the end of the page")]
    Extent,
    #[error("payload length {0} is impossible for this file")]
    PayloadLength(u64),
}

/// A cell that lies inside its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The rowid of a table leaf cell, the key of a table interior cell, 0 on index pages.
    pub(crate) rowid: i64,
    /// The child of an interior cell.
    pub(crate) left_child: Option<u32>,
    pub(crate) payload_bytes: usize,
    pub(crate) local: Range<usize>,
    pub(crate) first_overflow: Option<u32>,
}

/// A page that has the shape of a b-tree page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BtreePage<'a> {
    /// The page without its reserved tail.
    bytes: &'a [u8],
    pub(crate) kind: Kind,
    header_at: usize,
    pub(crate) cells: usize,
}

impl<'a> BtreePage<'a> {
    /// Parses a page. `usable` is the page without its reserved tail. `None` if the type byte is
    /// not that of a b-tree page, or the cell pointers do not fit.
    pub(crate) fn parse(number: u32, usable: &'a [u8]) -> Option<Self> {
        let header_at = if number == 1 { HEADER_BYTES } else { 0 };
        let kind = match usable.get(header_at)? {
            0x02 => Kind::IndexInterior,
            0x05 => Kind::TableInterior,
            0x0a => Kind::IndexLeaf,
            0x0d => Kind::TableLeaf,
            _ => return None,
        };
        let cells = usize::from(be_u16(usable, header_at + 3)?);
        let page = Self {
            bytes: usable,
            kind,
            header_at,
            cells,
        };
        (page.pointers_end() <= usable.len()).then_some(page)
    }

    fn pointers_at(&self) -> usize {
        self.header_at + if self.kind.is_interior() { 12 } else { 8 }
    }

    fn pointers_end(&self) -> usize {
        self.pointers_at() + 2 * self.cells
    }

    pub(crate) fn right_child(&self) -> Option<u32> {
        if self.kind.is_interior() {
            be_u32(self.bytes, self.header_at + 8)
        } else {
            None
        }
    }

    /// The cell at `index`. `payload_limit` is what the whole file could hold.
    pub(crate) fn cell(&self, index: usize, payload_limit: u64) -> Result<Cell, CellDamage> {
        let pointer = be_u16(self.bytes, self.pointers_at() + 2 * index);
        let mut at = usize::from(pointer.ok_or(CellDamage::Pointer)?);
        if at < self.pointers_end() || at >= self.bytes.len() {
            return Err(CellDamage::Pointer);
        }
        let mut left_child = None;
        if self.kind.is_interior() {
            left_child = Some(be_u32(self.bytes, at).ok_or(CellDamage::Extent)?);
            at += 4;
        }
        let (mut rowid, mut payload) = (0, 0);
        if self.kind != Kind::TableInterior {
            (payload, at) = varint(self.bytes, at).ok_or(CellDamage::Extent)?;
        }
        if self.kind.is_table() {
            let (number, after) = varint(self.bytes, at).ok_or(CellDamage::Extent)?;
            rowid = number as i64;
            at = after;
        }
        if payload > payload_limit.min(MAX_PAYLOAD_BYTES) {
            return Err(CellDamage::PayloadLength(payload));
        }
        let payload_bytes = payload as usize;
        let local_bytes = local_bytes(self.kind, self.bytes.len(), payload_bytes);
        let local = at..at + local_bytes;
        if local.end > self.bytes.len() {
            return Err(CellDamage::Extent);
        }
        let mut first_overflow = None;
        if local_bytes < payload_bytes {
            first_overflow = Some(be_u32(self.bytes, local.end).ok_or(CellDamage::Extent)?);
        }
        Ok(Cell {
            rowid,
            left_child,
            payload_bytes,
            local,
            first_overflow,
        })
    }

    pub(crate) fn local(&self, cell: &Cell) -> &'a [u8] {
        self.bytes.get(cell.local.clone()).unwrap_or_default()
    }

    /// Every child that this interior page still names. Empty for a leaf.
    pub(crate) fn children(&self) -> impl Iterator<Item = u32> + '_ {
        let cells = if self.kind.is_interior() {
            self.cells
        } else {
            0
        };
        (0..cells)
            .filter_map(|index| self.cell(index, MAX_PAYLOAD_BYTES).ok()?.left_child)
            .chain(self.right_child())
    }
}

/// How much of a payload is on the b-tree page. `usable` is at least 480, so nothing underflows.
fn local_bytes(kind: Kind, usable: usize, payload: usize) -> usize {
    let most = if kind == Kind::TableLeaf {
        usable - 35
    } else {
        (usable - 12) * 64 / 255 - 23
    };
    if payload <= most {
        return payload;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let fitting = least + (payload - least) % (usable - 4);
    if fitting <= most { fitting } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_type_or_with_too_many_cells_is_refused() {
        let mut page = vec![0; 512];
        assert!(BtreePage::parse(2, &page).is_none());
        page[0] = 0x0d;
        assert!(BtreePage::parse(2, &page).is_some());
        page[3..5].copy_from_slice(&253_u16.to_be_bytes());
        assert!(BtreePage::parse(2, &page).is_none());
        assert!(BtreePage::parse(1, &[0; 40]).is_none());
    }

    #[test]
    fn a_payload_splits_at_the_documented_thresholds() {
        assert_eq!(local_bytes(Kind::TableLeaf, 512, 477), 477);
        assert_eq!(local_bytes(Kind::TableLeaf, 512, 478), 39);
        assert_eq!(local_bytes(Kind::TableLeaf, 4096, 4062), 489);
        assert_eq!(local_bytes(Kind::TableLeaf, 4096, 5000), 908);
        assert_eq!(local_bytes(Kind::IndexLeaf, 4096, 1002), 1002);
        assert_eq!(local_bytes(Kind::IndexLeaf, 4096, 1003), 489);
    }
}
