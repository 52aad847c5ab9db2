//! Sets of slots. A slot is the position of a row in one snapshot, and has no meaning in another.

/// A set of slots of one snapshot, with a fixed size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotSet {
    len: usize,
    words: Vec<u64>,
}

impl SlotSet {
    /// The empty set over slots `0..len`.
    pub fn new(len: usize) -> Self {
        Self {
            len,
            words: vec![0; len.div_ceil(64)],
        }
    }

    /// The set of all slots `0..len`.
    pub fn full(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last = (1 << (len % 64)) - 1;
        }
        Self { len, words }
    }

    /// The slots of those `rows` that are in `index_rows` (ascending, as from
    /// [`VectorIndex::rows`](crate::VectorIndex::rows)). Takes constant time per row if neither
    /// skips numbers, otherwise logarithmic time in the gap. Unsorted `rows` take more time, but
    /// the result is the same.
    pub fn from_sorted_rows(index_rows: &[u64], rows: impl IntoIterator<Item = u64>) -> Self {
        let mut set = Self::new(index_rows.len());
        let mut start = 0;
        let mut previous = 0;
        for row in rows {
            if row < previous {
                start = 0;
            }
            previous = row;
            let rest = index_rows.get(start..).unwrap_or_default();
            match find_row(rest, row) {
                Ok(at) => {
                    set.insert(start + at);
                    start += at;
                }
                Err(at) => start += at,
            }
        }
        set
    }

    /// Size of the range of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Adds a slot. False if it was in the set or is out of range.
    pub fn insert(&mut self, slot: usize) -> bool {
        if slot >= self.len {
            return false;
        }
        self.words.get_mut(slot / 64).is_some_and(|word| {
            let before = *word;
            *word |= 1 << (slot % 64);
            *word != before
        })
    }

    /// Removes a slot. False if it was not in the set.
    pub fn remove(&mut self, slot: usize) -> bool {
        self.words.get_mut(slot / 64).is_some_and(|word| {
            let before = *word;
            *word &= !(1 << (slot % 64));
            *word != before
        })
    }

    /// Whether the slot is in the set.
    pub fn contains(&self, slot: usize) -> bool {
        self.words
            .get(slot / 64)
            .is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Number of slots in the set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The slots in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    at * 64 + bit
                })
            })
        })
    }

    /// Keeps only slots that `other` contains too.
    pub(crate) fn retain_all(&mut self, other: &Self) {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        for (word, other) in self.words.iter_mut().zip(others) {
            *word &= other;
        }
    }

    /// Removes the slots that `other` contains.
    pub(crate) fn remove_all(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// The set in words of 32 slots: bit `i` of item `b` is slot `32 * b + i`.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.words
            .iter()
            .flat_map(|&word| [word as u32, (word >> 32) as u32])
    }
}

/// Finds `row` in strictly ascending `rows`. Row numbers are integers, so the distance of a row
/// from either end is at most the difference of the numbers. If no number is missing, that leaves
/// nothing to search.
pub(crate) fn find_row(rows: &[u64], row: u64) -> Result<usize, usize> {
    let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
        return Err(0);
    };
    if row < first {
        return Err(0);
    }
    if row > last {
        return Err(rows.len());
    }
    let distance = |low: u64, high: u64| usize::try_from(high - low).unwrap_or(usize::MAX);
    let high = distance(first, row).min(rows.len() - 1);
    if rows.get(high) == Some(&row) {
        return Ok(high);
    }
    let low = (rows.len() - 1).saturating_sub(distance(row, last));
    let between = rows.get(low..=high).unwrap_or_default();
    match between.binary_search(&row) {
        Ok(at) => Ok(low + at),
        Err(at) => Err(low + at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_full_set_holds_every_slot_and_no_more() {
        for len in [0, 1, 63, 64, 65, 130] {
            let set = SlotSet::full(len);
            assert_eq!(set.count(), len);
            assert_eq!(set.iter().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            assert!(!set.contains(len));
        }
    }

    #[test]
    fn slots_out_of_range_are_never_held() {
        let mut set = SlotSet::new(10);
        assert!(!set.insert(10));
        assert!(!set.insert(usize::MAX));
        assert!(!set.remove(usize::MAX));
        assert!(set.is_empty());
        assert!(set.insert(9));
        assert!(!set.insert(9));
        assert!(set.remove(9));
        assert_eq!(set.count(), 0);
    }

    proptest! {
        #[test]
        fn rows_are_found_where_they_stand(
            rows in prop::collection::btree_set(prop_oneof![0_u64..80, any::<u64>()], 0..60),
            asked in prop::collection::vec(prop_oneof![0_u64..80, any::<u64>()], 0..60),
        ) {
            let index: Vec<u64> = rows.iter().copied().collect();
            for &row in &asked {
                prop_assert_eq!(find_row(&index, row), index.binary_search(&row));
            }
            let wanted: BTreeSet<u64> = asked.iter().copied().filter(|row| rows.contains(row)).collect();
            for order in [asked.clone(), { let mut sorted = asked; sorted.sort_unstable(); sorted }] {
                let set = SlotSet::from_sorted_rows(&index, order);
                let held: BTreeSet<u64> = set.iter().map(|slot| index[slot]).collect();
                prop_assert_eq!(&held, &wanted);
            }
        }

        #[test]
        fn set_operations_equal_those_of_a_tree(
            a in prop::collection::btree_set(0_usize..200, 0..80),
            b in prop::collection::btree_set(0_usize..300, 0..80),
        ) {
            let build = |len, slots: &BTreeSet<usize>| {
                let mut set = SlotSet::new(len);
                for &slot in slots { set.insert(slot); }
                set
            };
            let mut kept = build(200, &a);
            kept.retain_all(&build(300, &b));
            prop_assert_eq!(kept.iter().collect::<BTreeSet<_>>(), &a & &b);
            let mut dropped = build(200, &a);
            dropped.remove_all(&build(300, &b));
            prop_assert_eq!(dropped.iter().collect::<BTreeSet<_>>(), &a - &b);
            let blocks: Vec<usize> = build(200, &a).blocks().enumerate()
                .flat_map(|(at, word)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit))
                .collect();
            prop_assert_eq!(blocks, a.into_iter().collect::<Vec<_>>());
        }
    }
}
