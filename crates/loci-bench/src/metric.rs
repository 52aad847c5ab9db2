//! The measures of one question at one level. Relevance is binary: an item is evidence or not.

/// Depth to which rankings are judged.
pub const DEPTH: usize = 10;

/// The ranks of the evidence in a ranking.
///
/// ```
/// use loci_bench::metric::Judged;
/// let judged = Judged::new(&["b", "x"], &["a", "b", "c"]);
/// assert_eq!((judged.fraction(1), judged.fraction(3)), (0.0, 0.5));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Ranks of the found evidence, from 0, in order.
    ranks: Vec<usize>,
    evidence: usize,
}

impl Judged {
    /// Judges a ranking, best first. Each item of evidence counts once, at its first rank.
    pub fn new<E: AsRef<str>, R: AsRef<str>>(evidence: &[E], ranking: &[R]) -> Self {
        let rank = |wanted: &E| {
            let mut ranking = ranking.iter();
            ranking.position(|item| item.as_ref() == wanted.as_ref())
        };
        let mut ranks: Vec<usize> = evidence.iter().filter_map(rank).collect();
        ranks.sort_unstable();
        Self {
            ranks,
            evidence: evidence.len(),
        }
    }

    fn found(&self, k: usize) -> usize {
        self.ranks.iter().filter(|rank| **rank < k).count()
    }

    /// 1 if at least one item of evidence is among the first k.
    pub fn any(&self, k: usize) -> f64 {
        f64::from(u8::from(self.found(k) > 0))
    }

    /// The share of the evidence that is among the first k; 1 if there is no evidence.
    pub fn fraction(&self, k: usize) -> f64 {
        match self.evidence {
            0 => 1.0,
            evidence => self.found(k) as f64 / evidence as f64,
        }
    }

    /// 1 if all evidence is among the first k.
    pub fn all(&self, k: usize) -> f64 {
        f64::from(u8::from(self.found(k) == self.evidence))
    }

    /// Discounted gain of the first k, as a share of the gain of an ideal ranking. Missed evidence
    /// lowers it.
    pub fn ndcg(&self, k: usize) -> f64 {
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let ideal: f64 = (0..k.min(self.evidence)).map(gain).sum();
        if ideal == 0.0 {
            return 0.0;
        }
        let ranks = self.ranks.iter().copied().filter(|rank| *rank < k);
        ranks.map(gain).sum::<f64>() / ideal
    }

    /// Reciprocal rank of the first item of evidence among the first [`DEPTH`]; 0 if there is none.
    pub fn reciprocal_rank(&self) -> f64 {
        match self.ranks.first() {
            Some(rank) if *rank < DEPTH => 1.0 / (*rank as f64 + 1.0),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKING: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    #[test]
    fn two_of_three_found_at_places_2_and_5() {
        let judged = Judged::new(&["e", "b", "z"], &RANKING);
        near(judged.any(1), 0.0);
        near(judged.any(3), 1.0);
        near(judged.any(10), 1.0);
        near(judged.fraction(1), 0.0);
        near(judged.fraction(3), 1.0 / 3.0);
        near(judged.fraction(5), 2.0 / 3.0);
        near(judged.fraction(10), 2.0 / 3.0);
        near(judged.all(10), 0.0);
        near(judged.reciprocal_rank(), 0.5);
        // 1/log2(3) = 0.6309, 1/log2(6) = 0.3869; ideal 1 + 0.6309 + 0.5 = 2.1309.
        near(judged.ndcg(1), 0.0);
        near(
            judged.ndcg(3),
            0.630_929_753_571_457 / 2.130_929_753_571_457,
        );
        near(
            judged.ndcg(10),
            (0.630_929_753_571_457 + 0.386_852_807_234_541_6) / 2.130_929_753_571_457,
        );
    }

    #[test]
    fn everything_on_top_scores_one_everywhere() {
        let judged = Judged::new(&["b", "a"], &RANKING);
        for k in [3, 5, 10] {
            near(judged.any(k), 1.0);
            near(judged.fraction(k), 1.0);
            near(judged.all(k), 1.0);
            near(judged.ndcg(k), 1.0);
        }
        // Only one of two fits in the first place, and the ideal ranking accounts for that.
        near(judged.ndcg(1), 1.0);
        near(judged.fraction(1), 0.5);
        near(judged.all(1), 0.0);
        near(judged.reciprocal_rank(), 1.0);
    }

    #[test]
    fn a_miss_scores_zero_everywhere() {
        for ranking in [&RANKING[..], &[]] {
            let judged = Judged::new(&["z"], ranking);
            near(judged.any(10), 0.0);
            near(judged.fraction(10), 0.0);
            near(judged.all(10), 0.0);
            near(judged.ndcg(10), 0.0);
            near(judged.reciprocal_rank(), 0.0);
        }
    }

    #[test]
    fn no_evidence_counts_as_found_by_fraction() {
        near(Judged::new::<&str, _>(&[], &RANKING).fraction(5), 1.0);
    }
}
