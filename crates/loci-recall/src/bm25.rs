//! The arithmetic of BM25, which is used both to select and to score candidates.

/// Saturation: how soon further mentions in a passage stop counting.
pub(crate) const PASSAGE_K1: f32 = 0.9;
/// How much the length of a passage counts.
pub(crate) const PASSAGE_B: f32 = 0.4;

/// The weight of a term by how few drawers contain it. Always positive.
pub(crate) fn rarity(drawers: u64, holding: u64) -> f32 {
    let (drawers, holding) = (drawers.max(holding) as f32, holding as f32);
    (1.0 + (drawers - holding + 0.5) / (holding + 0.5)).ln()
}

/// The weight of a number of mentions, from 0 to 1.
pub(crate) fn saturation(count: f32, k1: f32, b: f32, length: f32, mean: f32) -> f32 {
    if count <= 0.0 {
        return 0.0;
    }
    count / (count + k1 * (1.0 - b + b * length / mean.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rarer_term_weighs_more_and_every_term_weighs_something() {
        assert!(rarity(100, 1) > rarity(100, 50));
        assert!(rarity(100, 50) > rarity(100, 100));
        assert!(rarity(100, 100) > 0.0 && rarity(0, 0) > 0.0);
        assert!(rarity(1, 5).is_finite());
    }

    #[test]
    fn more_mentions_and_shorter_texts_count_more_up_to_one() {
        let count = |count, length| saturation(count, PASSAGE_K1, PASSAGE_B, length, 10.0);
        assert!(count(0.0, 10.0).abs() < f32::EPSILON);
        assert!(count(1.0, 10.0) < count(2.0, 10.0) && count(1e6, 10.0) <= 1.0);
        assert!(count(1.0, 5.0) > count(1.0, 50.0));
    }
}
