//! The pointer maps of an auto-vacuum database: pages at fixed positions that hold the parent of
//! every other page. Their first byte may be that of an interior page, so they must be recognised.

use crate::bytes::be_u32;
use crate::pages::Pages;

const ENTRY_BYTES: usize = 5;
/// How many maps are checked for their look.
const MAX_MAPS: u32 = 16;
/// If the header is lost, a map must describe this many pages before its look counts.
const MIN_ENTRIES: usize = 8;

/// The number of pages from one map to the next.
fn stride(usable: usize) -> u32 {
    (usable / ENTRY_BYTES + 1) as u32
}

/// Whether a map belongs on this page. The lock page is never used and shifts a map by one.
pub(crate) fn is_place(number: u32, usable: usize, lock_page: u32) -> bool {
    if number < 2 {
        return false;
    }
    let map = (number - 2) / stride(usable) * stride(usable) + 2;
    number == if map == lock_page { map + 1 } else { map }
}

/// Whether the database has pointer maps. `claimed` is the header's claim, `None` if it is lost. A
/// positive claim needs a map that confirms it, because a false one hides pages.
pub(crate) fn present(pages: &Pages, claimed: Option<bool>) -> bool {
    let enough = match claimed {
        Some(false) => return false,
        Some(true) => 1,
        None => MIN_ENTRIES,
    };
    (0..MAX_MAPS)
        .map(|map| 2 + map * stride(pages.usable))
        .any(|map| looks_like_map(pages, map, enough))
}

fn looks_like_map(pages: &Pages, map: u32, enough: usize) -> bool {
    let Ok(bytes) = pages.read(map) else {
        return false;
    };
    let last = pages.last();
    let described = (last.saturating_sub(map) as usize).min(bytes.len() / ENTRY_BYTES);
    let holds = |entry: &&[u8; ENTRY_BYTES]| {
        let parent = be_u32(*entry, 1).unwrap_or(0);
        match entry.first() {
            Some(1 | 2) => parent == 0,
            Some(3..=5) => (1..=last).contains(&parent),
            _ => false,
        }
    };
    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let sound = entries.iter().take(described).filter(holds).count();
    described >= enough && sound * 10 >= described * 9
}
