//! Collects the best slots of a scan. A rising threshold replaces a sort, so most rows are dropped
//! by one comparison.

use crate::top::{ascending_key, from_ascending_key};

/// The `keep` highest scores. Slots must be offered in ascending order: a slot that equals the
/// threshold would then lose the tie anyway.
pub(crate) struct Shortlist {
    keep: usize,
    room: usize,
    threshold: f32,
    // The score is in the high half, inverted so that the smallest key is the best. The slot is in
    // the low half.
    keys: Vec<u64>,
}

impl Shortlist {
    /// `keep` must not be zero. `total` is the maximum number of offers.
    pub(crate) fn new(keep: usize, total: usize) -> Self {
        let room = keep.saturating_mul(3).max(512);
        Self {
            keep,
            room,
            threshold: f32::NEG_INFINITY,
            keys: Vec::with_capacity(room.min(total)),
        }
    }

    /// Only a higher score can enter.
    pub(crate) fn threshold(&self) -> f32 {
        self.threshold
    }

    pub(crate) fn offer(&mut self, score: f32, slot: u32) {
        if score > self.threshold {
            self.keys
                .push(u64::from(!ascending_key(score)) << 32 | u64::from(slot));
            if self.keys.len() >= self.room {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.keys.len() > self.keep {
            let (_, &mut last, _) = self.keys.select_nth_unstable(self.keep - 1);
            self.keys.truncate(self.keep);
            self.threshold = from_ascending_key(!((last >> 32) as u32));
        }
    }

    /// The kept slots, in no particular order.
    pub(crate) fn into_slots(mut self) -> Vec<u32> {
        self.cut();
        self.keys.into_iter().map(|key| key as u32).collect()
    }

    /// The kept slots, best first.
    pub(crate) fn into_sorted(mut self) -> Vec<u32> {
        self.cut();
        self.keys.sort_unstable();
        self.keys.into_iter().map(|key| key as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_stable_sort_by_falling_score(scores in prop::collection::vec(-40_i16..40, 0..3000), keep in 1_usize..90) {
            let mut list = Shortlist::new(keep, scores.len());
            let mut all: Vec<(i16, u32)> = Vec::new();
            for (slot, &score) in scores.iter().enumerate() {
                list.offer(f32::from(score), slot as u32);
                all.push((-score, slot as u32));
            }
            all.sort_unstable();
            all.truncate(keep);
            prop_assert_eq!(list.into_sorted(), all.into_iter().map(|(_, slot)| slot).collect::<Vec<_>>());
        }
    }
}
