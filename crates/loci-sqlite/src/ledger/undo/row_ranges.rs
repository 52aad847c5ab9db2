//! Finds the recorded step that added a row. The table has no index by rows, so the ranges of all
//! steps are read once per transaction instead of once per drawer.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::fault::Attempt;

/// The rows that each recorded step added.
pub(super) struct RowRanges {
    /// By first row.
    ranges: Vec<Range>,
    /// Steps whose record has been removed since.
    pub(super) removed: HashSet<i64>,
}

struct Range {
    first: i64,
    last: i64,
    /// The largest `last` of this range and those before it. It tells where to stop looking.
    furthest: i64,
    step: i64,
}

impl RowRanges {
    /// The steps of all runs, as of this transaction.
    pub(super) fn load(db: &Connection) -> Attempt<Self> {
        let mut statement = db
            .prepare_cached("SELECT first_row, last_row, id FROM run_sources ORDER BY first_row")?;
        let mut rows = statement.query([])?;
        let mut loaded = Self {
            ranges: Vec::new(),
            removed: HashSet::new(),
        };
        while let Some(columns) = rows.next()? {
            loaded.push(columns.get(0)?, columns.get(1)?, columns.get(2)?);
        }
        Ok(loaded)
    }

    /// Adds a step that added one row, newer than all rows of the palace.
    pub(super) fn add(&mut self, row: i64, step: i64) {
        self.push(row, row, step);
    }

    fn push(&mut self, first: i64, last: i64, step: i64) {
        let furthest = self
            .ranges
            .last()
            .map_or(last, |before| before.furthest.max(last));
        self.ranges.push(Range {
            first,
            last,
            furthest,
            step,
        });
    }

    /// The first recorded step whose range contains a row.
    pub(super) fn first_step_of(&self, row: i64) -> Option<i64> {
        let end = self.ranges.partition_point(|range| range.first <= row);
        let (before, _) = self.ranges.split_at(end);
        before
            .iter()
            .rev()
            .take_while(|range| range.furthest >= row)
            .filter(|range| range.last >= row && !self.removed.contains(&range.step))
            .map(|range| range.step)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brute(ranges: &[(i64, i64, i64)], row: i64) -> Option<i64> {
        let holding = ranges
            .iter()
            .filter(|(first, last, _)| (*first..=*last).contains(&row));
        holding.map(|(_, _, step)| *step).min()
    }

    #[test]
    fn the_first_step_that_holds_a_row_is_found_also_where_ranges_overlap() {
        let mut steps = [
            (1, 10, 7),
            (2, 3, 5),
            (4, 4, 9),
            (12, 20, 2),
            (15, 16, 1),
            (30, 29, 3),
            (30, 31, 4),
        ];
        steps.sort_unstable();
        let mut ranges = RowRanges {
            ranges: Vec::new(),
            removed: HashSet::new(),
        };
        for (first, last, step) in steps {
            ranges.push(first, last, step);
        }
        for row in 0..35 {
            assert_eq!(ranges.first_step_of(row), brute(&steps, row), "{row}");
        }
        ranges.removed.insert(1);
        assert_eq!(ranges.first_step_of(15), Some(2));
        ranges.add(40, 50);
        assert_eq!(ranges.first_step_of(40), Some(50));
        assert_eq!(ranges.first_step_of(41), None);
    }
}
