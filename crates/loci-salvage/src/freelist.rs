//! The freelist: pages whose content was deleted. If a walk visits as many pages as the header
//! counts, all inside the file and none twice, the list is proven and overrides everything else.

use crate::bytes::be_u32;
use crate::pages::Pages;
use std::collections::HashSet;

/// The readable part of the freelist.
#[derive(Debug, Default)]
pub(crate) struct Freelist {
    pub(crate) pages: HashSet<u32>,
    /// Whether the walk visited exactly as many pages as the header counts.
    pub(crate) proven: bool,
    /// The problem that stopped the walk, and its page.
    pub(crate) damage: Option<(u32, String)>,
}

/// Walks the list that page 1 names. If `header_holds` is false, only a proven list is kept.
pub(crate) fn read(pages: &Pages, header_holds: bool) -> Freelist {
    let Ok(first_page) = pages.read(1) else {
        return Freelist::default();
    };
    let first_trunk = be_u32(&first_page, 32).unwrap_or(0);
    let expected = be_u32(&first_page, 36).unwrap_or(0) as usize;
    let mut list = Freelist::default();
    let walked = walk(pages, first_trunk, &mut list.pages);
    list.proven = walked.is_ok() && list.pages.len() == expected;
    if !header_holds && !list.proven {
        return Freelist::default();
    }
    list.damage = match walked {
        Err((page, what)) => Some((page, format!("freelist is broken: {what}"))),
        Ok(()) if !list.proven => Some((
            1,
            format!(
                "freelist has {} pages, header counts {expected}",
                list.pages.len()
            ),
        )),
        Ok(()) => None,
    };
    list
}

fn walk(pages: &Pages, first: u32, seen: &mut HashSet<u32>) -> Result<(), (u32, &'static str)> {
    let mut trunk = first;
    let mut named_by = 1;
    while trunk != 0 {
        let mut add = |page: u32, named_by: u32| {
            if page < 2 || !pages.has(page) || pages.is_bookkeeping(page) {
                return Err((named_by, "it names a page that cannot be free"));
            }
            if seen.insert(page) {
                Ok(())
            } else {
                Err((named_by, "it names a page twice"))
            }
        };
        let bytes = pages
            .read(trunk)
            .map_err(|_| (named_by, "it names a page that is missing"))?;
        let next = be_u32(&bytes, 0).unwrap_or(0);
        let leaves = be_u32(&bytes, 4).unwrap_or(0) as usize;
        if leaves > pages.usable / 4 - 2 || (next != 0 && !pages.has(next)) {
            return Err((trunk, "the page is not a trunk page"));
        }
        add(trunk, named_by)?;
        for leaf in 0..leaves {
            add(be_u32(&bytes, 8 + 4 * leaf).unwrap_or(0), trunk)?;
        }
        named_by = trunk;
        trunk = next;
    }
    Ok(())
}
