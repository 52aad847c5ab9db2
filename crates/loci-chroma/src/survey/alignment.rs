//! Matches records with labels by their order where some labels belong to records that are gone.
//!
//! Row numbers and labels both count what was added, so they keep their distance except where other collections or reused numbers
//! shift it. Of all ways to leave out the surplus labels the one with the fewest shifts is right, if there is only one.

/// Records times surplus labels squared at most: time grows with it.
const MOST: usize = 200_000_000;
/// What a shift costs besides its size, and what its size counts against a label that comes too early.
const SHIFT: u64 = 1 << 48;
const SIZE: u64 = 1 << 16;

/// A record whose label is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its row number.
    pub(super) row: i64,
    /// Number of its last change.
    pub(super) seq: u64,
}

/// For each row the place of its label in `labels`, or `None` where the best ways differ. Both are in rising order.
pub(super) fn align(rows: &[Place], labels: &[u64]) -> Vec<Option<usize>> {
    let Some(surplus) = labels.len().checked_sub(rows.len()) else {
        return vec![None; rows.len()];
    };
    let states = surplus + 1;
    if rows.len().saturating_mul(states).saturating_mul(states) > MOST {
        return vec![None; rows.len()];
    }
    let grid = Grid {
        rows,
        labels,
        states,
    };
    let mut forward = vec![vec![0; states]];
    for at in 1..rows.len() {
        let next = grid.step(at - 1, at, forward.last().map_or(&[], Vec::as_slice));
        forward.push(next);
    }
    let least = forward.last().and_then(|last| last.iter().min().copied());
    let mut backward = vec![0; states];
    let mut places = vec![None; rows.len()];
    for at in (0..rows.len()).rev() {
        if at + 1 < rows.len() {
            backward = grid.step(at + 1, at, &backward);
        }
        let there = forward.get(at).map_or(&[][..], Vec::as_slice);
        let mut best = there
            .iter()
            .zip(&backward)
            .enumerate()
            .filter(|(_, (before, after))| Some(before.saturating_add(**after)) == least)
            .map(|(skipped, _)| at + skipped);
        let first = best.next();
        if let (Some(place), None) = (places.get_mut(at), best.next()) {
            *place = first;
        }
    }
    places
}

/// Rows against labels. A state of a row is how many labels were left out before it.
struct Grid<'a> {
    rows: &'a [Place],
    labels: &'a [u64],
    states: usize,
}

impl Grid<'_> {
    fn row(&self, at: usize) -> i64 {
        self.rows.get(at).map_or(0, |place| place.row)
    }

    /// Every add has a number of its own, so labels cannot rise faster than the numbers of changes. Records that were changed later
    /// hide that, so it only decides between ways that are equal otherwise.
    fn is_too_early(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        let (first, last) = if one.0 < other.0 {
            (one, other)
        } else {
            (other, one)
        };
        let adds = self
            .label(last.0 + last.1)
            .saturating_sub(self.label(first.0 + first.1));
        match (self.rows.get(first.0), self.rows.get(last.0)) {
            (Some(before), Some(after)) => {
                before.seq < after.seq && adds > (after.seq - before.seq) as i64
            }
            _ => false,
        }
    }

    fn label(&self, at: usize) -> i64 {
        self.labels.get(at).map_or(i64::MAX, |label| *label as i64)
    }

    /// How far row and label are apart.
    fn distance(&self, at: usize, skipped: usize) -> i64 {
        self.row(at).wrapping_sub(self.label(at + skipped))
    }

    /// The least cost to each state of `to`, given those of its neighbour `from`. Labels are only ever left out, so going up a state
    /// stays or rises, going down it stays or falls.
    fn step(&self, from: usize, to: usize, costs: &[u64]) -> Vec<u64> {
        let upwards = from < to;
        (0..self.states)
            .map(|skipped| {
                let here = self.distance(to, skipped);
                let reachable = costs.iter().enumerate().filter(|(before, _)| {
                    if upwards {
                        *before <= skipped
                    } else {
                        *before >= skipped
                    }
                });
                reachable
                    .map(|(before, cost)| {
                        let early = self.is_too_early((from, before), (to, skipped));
                        let shift = match here.abs_diff(self.distance(from, before)) {
                            0 => 0,
                            size => SHIFT.saturating_add(size.saturating_mul(SIZE)),
                        };
                        cost.saturating_add(shift).saturating_add(u64::from(early))
                    })
                    .min()
                    .unwrap_or(u64::MAX)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records that nothing changed since they were added.
    fn rows(rows: &[i64]) -> Vec<Place> {
        let places = rows.iter();
        places
            .map(|row| Place {
                row: *row,
                seq: *row as u64,
            })
            .collect()
    }

    fn all(places: &[usize]) -> Vec<Option<usize>> {
        places.iter().copied().map(Some).collect()
    }

    #[test]
    fn a_label_whose_record_is_gone_is_left_out_where_the_rows_have_a_gap() {
        let rows = rows(&[1, 2, 4, 5, 6]);
        assert_eq!(align(&rows, &[1, 2, 3, 4, 5, 6]), all(&[0, 1, 3, 4, 5]));
    }

    #[test]
    fn shifts_by_other_collections_do_not_matter() {
        let rows = rows(&[1, 2, 3, 14, 15, 17, 18, 40, 41, 42]);
        let labels = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        assert_eq!(align(&rows, &labels), all(&[0, 1, 2, 3, 4, 6, 7, 8, 9, 10]));
    }

    #[test]
    fn what_fits_in_two_ways_is_left_open() {
        // Either the first or the last label belongs to the record that is gone.
        assert_eq!(align(&rows(&[5, 6, 7]), &[1, 2, 3, 4]), [None; 3]);
        // Only the run in the middle is in doubt.
        let rows = rows(&[1, 2, 3, 14, 15, 26, 27, 28]);
        let labels = [1, 2, 3, 14, 15, 16, 37, 38, 39];
        let places = align(&rows, &labels);
        assert_eq!(places[..3], [Some(0), Some(1), Some(2)]);
        assert_eq!(places[5..], [Some(6), Some(7), Some(8)]);
    }

    #[test]
    fn too_few_labels_fit_nothing() {
        assert_eq!(align(&rows(&[1, 2, 3]), &[1, 2]), [None; 3]);
    }

    #[test]
    fn without_surplus_order_alone_decides() {
        assert_eq!(align(&rows(&[3, 9, 11]), &[1, 5, 7]), all(&[0, 1, 2]));
    }

    #[test]
    fn a_label_does_not_come_before_there_was_time_for_it() {
        // Labels 105 and 107 belong to records that are gone, the row of 108 was used again. Shifting by one after 100 would do as well.
        let mut rows = rows(&[157, 158, 159, 160, 162, 163, 164, 166, 168, 169]);
        for late in rows.iter_mut().skip(8) {
            late.seq += 12;
        }
        let labels = [97, 98, 99, 100, 102, 103, 104, 105, 106, 107, 109, 110];
        assert_eq!(
            align(&rows, &labels),
            all(&[0, 1, 2, 3, 4, 5, 6, 8, 10, 11])
        );
    }
}
