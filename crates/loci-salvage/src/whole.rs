//! Checks whether a whole tree is readable. Only then does a missing row mean that there is none.

use std::collections::HashSet;

use crate::btree::BtreePage;
use crate::chain::Chains;
use crate::pages::Pages;
use crate::scan::read_cell;

/// Walks the tree under `root`. Returns false if a page does not belong to this tree, a cell does
/// not decode, or a page is reached twice.
pub(crate) fn is_whole(pages: &Pages, root: u32) -> bool {
    let limit = pages.payload_limit();
    let mut chains = Chains::new(pages);
    let mut seen = HashSet::new();
    let mut open = vec![root];
    let mut is_table = None;
    while let Some(number) = open.pop() {
        let Ok(bytes) = pages.read(number) else {
            return false;
        };
        let Some(page) = BtreePage::parse(number, &bytes) else {
            return false;
        };
        if !seen.insert(number)
            || *is_table.get_or_insert(page.kind.is_table()) != page.kind.is_table()
        {
            return false;
        }
        // Interior pages of tables hold only keys.
        let holds_records = !(page.kind.is_interior() && page.kind.is_table());
        for index in 0..page.cells {
            let Ok(cell) = page.cell(index, limit) else {
                return false;
            };
            if holds_records && read_cell(&page, &cell, &mut chains).is_err() {
                return false;
            }
        }
        open.extend(page.children());
    }
    true
}
