//! Matches ids and rows by their order.
//!
//! ChromaDB 1.x assigns row numbers and labels in the order of its queue, and never one below
//! another that is in use. So between two known records, the rows without an id and the ids without
//! a row match one to one if their numbers are equal.

use super::expected::{Anchor, Gap, Key};

/// The rows of other collections, sorted. They are between the rows of this one and have no label
/// in it.
pub(super) struct Others(pub(super) Vec<i64>);

impl Others {
    /// The position of a row in the unit of its key: labels count the rows of one collection, the
    /// queue counts those of all.
    fn place(&self, anchor: Anchor) -> i64 {
        match anchor.key {
            Key::Queue(_) => anchor.row,
            Key::Label(_) => {
                let before = self.0.partition_point(|other| *other < anchor.row);
                anchor.row.saturating_sub(before as i64)
            }
        }
    }

    /// The number of rows and the number of keys between two anchors; `None` if they cannot be
    /// compared.
    fn distances(&self, one: Anchor, next: Anchor) -> Option<(u64, u64)> {
        let keys = next.key.since(one.key)?;
        Some((self.place(next).abs_diff(self.place(one)), keys))
    }
}

/// The certain pairs of a gap. `by_count` means that no other row was lost, so that equal counts
/// are evidence. `compressed` means that labels were renumbered at some time and grow more slowly
/// than rows.
pub(super) fn pairs<'a>(
    gap: &Gap<'a>,
    rows: &[i64],
    others: &Others,
    (by_count, compressed): (bool, bool),
) -> Vec<(&'a str, i64)> {
    // Without a neighbour there is no evidence that labels were assigned in order. ChromaDB up to
    // 0.6 did not do so.
    if rows.is_empty() || gap.before.is_none() && gap.after.is_none() {
        return Vec::new();
    }
    if let Some(pairs) = by_distance(gap, rows, others) {
        return pairs;
    }
    // Deleted rows of other collections are unknown, so rows may be farther apart than labels.
    let labels_count = others.0.is_empty() && !compressed;
    if !by_count || rows.len() != gap.missing.len() || !is_possible(gap, rows, others, labels_count)
    {
        return Vec::new();
    }
    let ids = gap.missing.iter().map(|missing| missing.id.as_str());
    ids.zip(rows.iter().copied()).collect()
}

/// Matches by distance. If the rows and the keys of both neighbours are equally far apart, every
/// key in between has its row. Records without metadata, which leave no row, do not matter then.
/// `None` if the distances differ.
fn by_distance<'a>(gap: &Gap<'a>, rows: &[i64], others: &Others) -> Option<Vec<(&'a str, i64)>> {
    let after = gap.after?;
    // The first record of a directory has row 1 and label 1.
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
        // Rows and keys both increase, so passed keys are not needed again.
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
                // A row that matches no key shows that another assumption is wrong.
                std::cmp::Ordering::Greater => return None,
            }
        };
        pairs.push((missing.id.as_str(), *row));
    }
    Some(pairs)
}

/// Whether the rows are possible. Each row used up a label or a queue number, so rows never run
/// ahead of them.
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
