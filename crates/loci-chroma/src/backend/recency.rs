//! Restores the order of last changes. A mirror is filled in the order of insertion. Drawers that
//! were changed later than drawers added after them get a mark, and the marks are removed in the
//! order of the changes.

use std::collections::{HashMap, HashSet};

use loci_core::{Batch, Collection, MAX_BATCH_RECORDS, MetaValue, MetadataPatch, Result};
use loci_foreign::chroma::{Directory, SeqId, Survey};
use loci_salvage::snapshot::unreadable;

use super::fitting::Fitted;

/// The key of the mark.
const MARK: &str = "loci:changed";

/// Drawers whose position in the order of changes differs from the order of insertion.
pub(super) struct Recency {
    marked: HashSet<String>,
    /// The marked drawers in the order of their changes.
    order: Vec<String>,
}

impl Recency {
    pub(super) fn of(directory: &Directory, survey: &Survey) -> Result<Self> {
        let numbers = numbers(directory, survey)?;
        let changes: Vec<u64> = survey
            .live
            .iter()
            .map(|live| {
                let number = live.row.and_then(|row| numbers.get(&row).copied());
                // Records that are only in the queue are newer than all stored ones.
                number.filter(|_| !live.pending).unwrap_or(u64::MAX)
            })
            .collect();
        let ids: Vec<&str> = survey.live.iter().map(|live| live.id.as_str()).collect();
        let order: Vec<String> = out_of_order(&changes)
            .into_iter()
            .filter_map(|at| ids.get(at).map(|id| (*id).to_owned()))
            .collect();
        Ok(Self {
            marked: order.iter().cloned().collect(),
            order,
        })
    }

    /// Marks a drawer that is out of order.
    pub(super) fn mark(&self, fitted: &mut Fitted) {
        if self.marked.contains(&fitted.id) && fitted.metadata.get(MARK).is_none() {
            fitted.metadata.0.insert(MARK.into(), MetaValue::Bool(true));
        }
    }

    /// Removes the marks.
    pub(super) fn restore(&self, target: &dyn Collection) -> Result<()> {
        let bare = MetadataPatch([(MARK.to_owned(), None)].into());
        for ids in self.order.chunks(MAX_BATCH_RECORDS) {
            let batch = Batch::new(ids.iter().cloned()).metadatas(vec![bare.clone(); ids.len()]);
            target.update(&batch)?;
        }
        Ok(())
    }
}

/// The positions to touch again, in this order, so that all records end up in the order of their
/// numbers.
fn out_of_order(numbers: &[u64]) -> Vec<usize> {
    let mut least = u64::MAX;
    let mut first_wrong = None;
    for number in numbers.iter().rev() {
        if *number > least {
            first_wrong = Some(first_wrong.map_or(*number, |wrong: u64| wrong.min(*number)));
        }
        least = least.min(*number);
    }
    let Some(from) = first_wrong else {
        return Vec::new();
    };
    let mut late: Vec<(u64, usize)> = numbers
        .iter()
        .enumerate()
        .filter(|(_, number)| **number >= from)
        .map(|(at, number)| (*number, at))
        .collect();
    late.sort_unstable();
    late.into_iter().map(|(_, at)| at).collect()
}

/// The sequence numbers of last changes, by row.
fn numbers(directory: &Directory, survey: &Survey) -> Result<HashMap<i64, u64>> {
    let mut numbers = HashMap::new();
    let Some(segment) = &survey.metadata_segment else {
        return Ok(numbers);
    };
    let snapshot = directory.snapshot();
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = snapshot
            .connection()
            .prepare("SELECT id, seq_id FROM embeddings WHERE segment_id = ?1")?;
        let mut rows = statement.query([segment])?;
        while let Some(row) = rows.next()? {
            let Ok(id) = row.get(0) else { continue };
            if let Some(number) = SeqId::of(row.get_ref(1)?).and_then(|number| number.value()) {
                numbers.insert(id, number);
            }
        }
        Ok(())
    };
    read().map_err(|error| unreadable(snapshot.path(), &error))?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::out_of_order;

    /// The order that results from touching the returned positions one after the other.
    fn touched(numbers: &[u64]) -> Vec<u64> {
        let late = out_of_order(numbers);
        let early = (0..numbers.len()).filter(|at| !late.contains(at));
        early
            .chain(late.iter().copied())
            .map(|at| numbers[at])
            .collect()
    }

    #[test]
    fn touching_what_is_out_of_order_gives_the_order_of_changes() {
        let cases: [&[u64]; 6] = [
            &[],
            &[1, 2, 3],
            &[9, 2, 3],
            &[5, 2, 9, 4, 7],
            &[3, 2, 1],
            &[u64::MAX, 4, u64::MAX],
        ];
        for numbers in cases {
            let mut expected = numbers.to_vec();
            expected.sort_unstable();
            assert_eq!(touched(numbers), expected);
        }
    }

    #[test]
    fn what_is_in_order_is_not_touched() {
        assert!(out_of_order(&[1, 4, 9]).is_empty());
        assert_eq!(out_of_order(&[1, 9, 4]), [1]);
    }
}
