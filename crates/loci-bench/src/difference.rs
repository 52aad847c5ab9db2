//! Differences between two rankings of the same questions, with paired bootstrap intervals.

use serde::Serialize;

use crate::metric::Judged;

/// Number of resamples of a bootstrap, and its seed: a report is the same whenever it is made.
const RESAMPLES: usize = 10_000;
const SEED: u64 = 0x10c1;

/// A mean difference and its interval at 95 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Ours minus the baseline's.
    pub mean: f64,
    /// Low end of the interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

impl Difference {
    /// The mean of paired differences, and its percentile interval over resampled questions. All
    /// zero if there are no questions.
    ///
    /// ```
    /// use loci_bench::Difference;
    /// let certain = Difference::of(&[0.5; 20]);
    /// assert_eq!((certain.low, certain.mean, certain.high), (0.5, 0.5, 0.5));
    /// ```
    pub fn of(differences: &[f64]) -> Self {
        if differences.is_empty() {
            return Self::default();
        }
        let count = differences.len();
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let draw = |_| differences.get(random.usize(..count)).copied();
                (0..count).filter_map(draw).sum::<f64>() / count as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * (RESAMPLES - 1) as f64).round() as usize;
            means.get(place).copied().unwrap_or_default()
        };
        Self {
            mean: differences.iter().sum::<f64>() / count as f64,
            low: at(0.025),
            high: at(0.975),
        }
    }
}

/// The differences of one level: sessions or turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Differences {
    /// `any` of the first.
    pub any_1: Difference,
    /// `any` of the first five.
    pub any_5: Difference,
    /// `any` of the first ten.
    pub any_10: Difference,
    /// `all` of the first five.
    pub all_5: Difference,
    /// `all` of the first ten.
    pub all_10: Difference,
}

impl Differences {
    /// Compares pairs of ours and the baseline's.
    pub(crate) fn of(pairs: &[(&Judged, &Judged)]) -> Self {
        let of = |measure: fn(&Judged, usize) -> f64, k: usize| {
            let differences: Vec<f64> = pairs
                .iter()
                .map(|(ours, theirs)| measure(ours, k) - measure(theirs, k))
                .collect();
            Difference::of(&differences)
        };
        Self {
            any_1: of(Judged::any, 1),
            any_5: of(Judged::any, 5),
            any_10: of(Judged::any, 10),
            all_5: of(Judged::all, 5),
            all_10: of(Judged::all, 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_paired_differences() {
        // 60 better, 20 worse, 120 equal: mean 0.2, standard error sqrt((0.4 - 0.04) / 200).
        let mut differences = vec![1.0; 60];
        differences.extend([-1.0; 20]);
        differences.extend([0.0; 120]);
        let found = Difference::of(&differences);
        let width = 1.96 * (0.36_f64 / 200.0).sqrt();
        assert!((found.mean - 0.2).abs() < 1e-9);
        assert!((found.low - (0.2 - width)).abs() < 0.01, "{found:?}");
        assert!((found.high - (0.2 + width)).abs() < 0.01, "{found:?}");
        assert_eq!(found, Difference::of(&differences));
    }

    #[test]
    fn pairs_are_compared_question_by_question() {
        let (found, missed) = (Judged::new(&["a"], &["a"]), Judged::new(&["a"], &["b"]));
        let pairs = [(&found, &missed), (&missed, &missed), (&found, &found)];
        let differences = Differences::of(&pairs);
        assert!((differences.any_1.mean - 1.0 / 3.0).abs() < 1e-9);
        assert!((differences.all_10.mean - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(Differences::of(&[]), Differences::default());
    }
}
