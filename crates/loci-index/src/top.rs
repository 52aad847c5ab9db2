//! Selects the k nearest rows by distance and then by row, so that the order of offers does not
//! affect the result.

use std::collections::BinaryHeap;

/// Collects the k nearest rows. Ties go to the smaller row; NaN counts as most distant.
#[derive(Debug, Clone)]
pub struct TopK {
    k: usize,
    // Largest first: the next offer has to beat the top of the heap.
    heap: BinaryHeap<(u32, u64)>,
}

impl TopK {
    /// Keeps at most `k` rows.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            heap: BinaryHeap::with_capacity(k.min(1 << 16)),
        }
    }

    /// Keeps the row if it is among the nearest so far.
    pub fn offer(&mut self, distance: f32, row: u64) {
        let entry = (ascending_key(distance), row);
        if self.heap.len() < self.k {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    /// The largest kept distance; `None` until `k` rows are kept.
    pub fn worst(&self) -> Option<f32> {
        if self.heap.len() < self.k {
            return None;
        }
        self.heap.peek().map(|&(key, _)| from_ascending_key(key))
    }

    /// Distances and rows, nearest first.
    pub fn into_sorted(self) -> Vec<(f32, u64)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|(key, row)| (from_ascending_key(key), row))
            .collect()
    }
}

/// Maps a float to an integer with the same order. Both zeros map to one value, and every NaN to
/// the largest.
pub(crate) fn ascending_key(value: f32) -> u32 {
    if value.is_nan() {
        return u32::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

pub(crate) fn from_ascending_key(key: u32) -> f32 {
    if key >> 31 == 1 {
        f32::from_bits(key & !(1 << 31))
    } else {
        f32::from_bits(!key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_smaller_row_in_any_order_of_offers() {
        for rows in [[3, 1, 2], [1, 2, 3], [2, 3, 1]] {
            let mut top = TopK::new(2);
            for row in rows {
                top.offer(0.5, row);
            }
            assert_eq!(top.into_sorted(), [(0.5, 1), (0.5, 2)]);
        }
    }

    #[test]
    fn worst_is_known_only_once_full() {
        let mut top = TopK::new(2);
        top.offer(1.0, 1);
        assert_eq!(top.worst(), None);
        top.offer(-2.0, 2);
        assert_eq!(top.worst(), Some(1.0));
        top.offer(0.0, 3);
        assert_eq!(top.worst(), Some(0.0));
    }

    #[test]
    fn a_top_zero_keeps_nothing() {
        let mut top = TopK::new(0);
        top.offer(1.0, 1);
        assert_eq!(top.worst(), None);
        assert!(top.into_sorted().is_empty());
    }

    #[test]
    fn nan_is_farther_than_infinity() {
        let mut top = TopK::new(2);
        for (row, distance) in [f32::NAN, f32::INFINITY, -f32::NAN, 1.0]
            .into_iter()
            .enumerate()
        {
            top.offer(distance, row as u64);
        }
        assert_eq!(top.into_sorted(), [(1.0, 3), (f32::INFINITY, 1)]);
    }

    proptest! {
        #[test]
        fn the_key_keeps_the_order_and_the_value(a: f32, b: f32) {
            prop_assert_eq!(ascending_key(a).cmp(&ascending_key(b)), a.partial_cmp(&b).unwrap());
            prop_assert!((from_ascending_key(ascending_key(a)) - a).abs() == 0.0);
        }

        #[test]
        fn equals_sorting_everything(distances in prop::collection::vec(-3_i8..3, 0..60), k in 0_usize..20) {
            let mut all: Vec<(f32, u64)> = distances.iter().zip(0..).map(|(&d, row)| (f32::from(d), row)).collect();
            let mut top = TopK::new(k);
            for &(distance, row) in all.iter().rev() {
                top.offer(distance, row);
            }
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            all.truncate(k);
            prop_assert_eq!(top.into_sorted(), all);
        }
    }
}
