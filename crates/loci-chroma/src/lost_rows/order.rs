//! Ids and rows that stand in the same order.
//!
//! ChromaDB 1.x gives out row numbers and labels in the order of its queue, and never one below another that is in use. So between two
//! records that are known, the rows without an id and the ids without a row belong together one by one, if there are as many of them.

use super::expected::{Anchor, Gap, Key};

/// Rows that other collections have, in order: they lie between the rows of this one and have no label of it.
pub(super) struct Others(pub(super) Vec<i64>);

impl Others {
    /// Where a row stands in what its key counts: labels count the rows of one collection, the queue those of all.
    fn place(&self, anchor: Anchor) -> i64 {
        match anchor.key {
            Key::Queue(_) => anchor.row,
            Key::Label(_) => {
                let before = self.0.partition_point(|other| *other < anchor.row);
                anchor.row.saturating_sub(before as i64)
            }
        }
    }

    /// How many rows lie from one to the next, and how many keys; nothing if they cannot be compared.
    fn distances(&self, one: Anchor, next: Anchor) -> Option<(u64, u64)> {
        let keys = next.key.since(one.key)?;
        Some((self.place(next).abs_diff(self.place(one)), keys))
    }
}

/// The pairs of a gap that are certain. `by_count`: no other row was lost, so that equal numbers tell something. `compressed`: labels were
/// given out anew at some time, and count less than rows.
pub(super) fn pairs<'a>(
    gap: &Gap<'a>,
    rows: &[i64],
    others: &Others,
    (by_count, compressed): (bool, bool),
) -> Vec<(&'a str, i64)> {
    // Without a neighbour nothing shows that labels were given out in order: ChromaDB up to 0.6 did not.
    if rows.is_empty() || gap.before.is_none() && gap.after.is_none() {
        return Vec::new();
    }
    if let Some(pairs) = by_distance(gap, rows, others) {
        return pairs;
    }
    // Rows of other collections that were deleted are not known: then rows may lie farther apart than labels.
    let labels_count = others.0.is_empty() && !compressed;
    if !by_count || rows.len() != gap.missing.len() || !is_possible(gap, rows, others, labels_count)
    {
        return Vec::new();
    }
    let ids = gap.missing.iter().map(|missing| missing.id.as_str());
    ids.zip(rows.iter().copied()).collect()
}

/// Where the rows and the keys of both neighbours are equally far apart, every key in between has its row. A record without metadata has left
/// no row, and that does not matter then. Nothing if this does not hold here.
fn by_distance<'a>(gap: &Gap<'a>, rows: &[i64], others: &Others) -> Option<Vec<(&'a str, i64)>> {
    let after = gap.after?;
    // The first record of a directory has the row 1 and the label 1.
    let before = match (gap.before, after.key) {
        (Some(before), _) => before,
        (None, Key::Label(_)) => Anchor {
            row: 0,
            key: Key::Label(0),
        },
        (None, Key::Queue(_)) => return None,
    };
    let (places, keys) = others.distances(before, after)?;
    if places != keys {
        return None;
    }
    let mut pairs = Vec::new();
    let mut ids = gap.missing.iter();
    for row in rows {
        // Rows and keys both rise: what was passed once is not needed again.
        let missing = loop {
            let missing = ids.next()?;
            let here = Anchor {
                row: *row,
                key: missing.key,
            };
            let (places, keys) = others.distances(before, here)?;
            match keys.cmp(&places) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => break missing,
                // A row that fits no key shows that something else is wrong.
                std::cmp::Ordering::Greater => return None,
            }
        };
        pairs.push((missing.id.as_str(), *row));
    }
    Some(pairs)
}

/// Rows never run ahead of labels or of the queue: each row took one of them.
fn is_possible(gap: &Gap<'_>, rows: &[i64], others: &Others, labels_count: bool) -> bool {
    let inner = gap.missing.iter().zip(rows).map(|(missing, row)| Anchor {
        row: *row,
        key: missing.key,
    });
    let all: Vec<Anchor> = gap
        .before
        .into_iter()
        .chain(inner)
        .chain(gap.after)
        .collect();
    all.iter().zip(all.iter().skip(1)).all(|(one, next)| {
        let counts = labels_count || matches!(next.key, Key::Queue(_));
        match others.distances(*one, *next) {
            Some((places, keys)) if counts => places <= keys,
            _ => true,
        }
    })
}
