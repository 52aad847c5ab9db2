//! An even sample of the questions of a data set.

/// Selects `limit` of `total` questions: one from the middle of each of `limit` equal ranges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    total: usize,
    wanted: usize,
}

impl Sample {
    pub(crate) fn new(total: usize, limit: Option<usize>) -> Self {
        Self {
            total,
            wanted: limit.unwrap_or(total).min(total),
        }
    }

    /// Number of selected questions.
    pub(crate) fn wanted(self) -> usize {
        self.wanted
    }

    /// Whether the question at this position of the data set is selected.
    pub(crate) fn contains(self, place: usize) -> bool {
        // The range that contains the position, and the position in its middle.
        let (total, wanted) = (self.total as u128, self.wanted as u128);
        if wanted == 0 || place >= self.total {
            return false;
        }
        let middle = |stretch: u128| (2 * stretch + 1) * total / (2 * wanted);
        let stretch = place as u128 * wanted / total;
        [stretch.saturating_sub(1), stretch, stretch + 1]
            .into_iter()
            .any(|stretch| stretch < wanted && middle(stretch) == place as u128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(total: usize, limit: Option<usize>) -> Vec<usize> {
        let sample = Sample::new(total, limit);
        (0..total).filter(|place| sample.contains(*place)).collect()
    }

    #[test]
    fn a_sample_is_spread_evenly_over_the_whole_set() {
        assert_eq!(places(100, Some(4)), [12, 37, 62, 87]);
        assert_eq!(places(10, Some(3)), [1, 5, 8]);
        assert_eq!(places(10, Some(1)), [5]);
    }

    #[test]
    fn a_sample_has_as_many_questions_as_were_wanted() {
        for total in 0..60 {
            for limit in 0..=total {
                let sample = Sample::new(total, Some(limit));
                assert_eq!(sample.wanted(), limit);
                assert_eq!(
                    places(total, Some(limit)).len(),
                    limit,
                    "{limit} of {total}"
                );
            }
        }
    }

    #[test]
    fn no_limit_and_a_generous_limit_ask_everything() {
        assert_eq!(places(5, None), [0, 1, 2, 3, 4]);
        assert_eq!(places(5, Some(9)), [0, 1, 2, 3, 4]);
    }
}
