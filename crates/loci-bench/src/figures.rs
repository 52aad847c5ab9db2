//! Figures of many questions: means of the measures, and their confidence intervals.

use serde::Serialize;

use crate::interval::{normal, wilson};
use crate::metric::Judged;

/// A figure at each measured depth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct AtAll {
    /// Of the first.
    #[serde(rename = "1")]
    pub one: f64,
    /// Of the first three.
    #[serde(rename = "3")]
    pub three: f64,
    /// Of the first five.
    #[serde(rename = "5")]
    pub five: f64,
    /// Of the first ten.
    #[serde(rename = "10")]
    pub ten: f64,
}

/// A value at the two quoted depths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct AtTop<T = f64> {
    /// Of the first five.
    #[serde(rename = "5")]
    pub five: T,
    /// Of the first ten.
    #[serde(rename = "10")]
    pub ten: T,
}

/// Intervals at 95 %, as low and high ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Intervals {
    /// Of `any`, by Wilson.
    pub any: AtTop<(f64, f64)>,
    /// Of `all`, by Wilson.
    pub all: AtTop<(f64, f64)>,
    /// Of `fraction`, by normal approximation from the sample variance.
    pub fraction: AtTop<(f64, f64)>,
}

/// All figures of a level. Zero everywhere if there are no questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of questions: those with evidence.
    pub questions: usize,
    /// Share of questions with at least one item of evidence among the first k.
    pub any: AtAll,
    /// Mean share of the evidence that is among the first k.
    pub fraction: AtAll,
    /// Share of questions with all evidence among the first k.
    pub all: AtAll,
    /// Mean normalised discounted cumulative gain.
    pub ndcg: AtAll,
    /// Mean reciprocal rank of the first evidence, within the first ten.
    pub mrr: f64,
    /// Intervals at 95 %.
    pub interval_95: Intervals,
}

impl Figures {
    pub(crate) fn of<'a>(judged: impl IntoIterator<Item = &'a Judged>) -> Self {
        let judged: Vec<&Judged> = judged.into_iter().collect();
        let at_all = |measure: fn(&Judged, usize) -> f64| AtAll {
            one: mean(&judged, |one| measure(one, 1)),
            three: mean(&judged, |one| measure(one, 3)),
            five: mean(&judged, |one| measure(one, 5)),
            ten: mean(&judged, |one| measure(one, 10)),
        };
        let proportion = |measure: fn(&Judged, usize) -> f64| {
            at_top(|k| {
                let successes = judged.iter().filter(|one| measure(one, k) > 0.5).count();
                wilson(successes, judged.len())
            })
        };
        let fraction = at_top(|k| {
            let values: Vec<f64> = judged.iter().map(|one| one.fraction(k)).collect();
            normal(&values)
        });
        Self {
            questions: judged.len(),
            any: at_all(Judged::any),
            fraction: at_all(Judged::fraction),
            all: at_all(Judged::all),
            ndcg: at_all(Judged::ndcg),
            mrr: mean(&judged, Judged::reciprocal_rank),
            interval_95: Intervals {
                any: proportion(Judged::any),
                all: proportion(Judged::all),
                fraction,
            },
        }
    }
}

/// The figures of a level for a category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Brief {
    /// Number of questions.
    pub questions: usize,
    /// As in [`Figures`].
    pub any: AtTop,
    /// As in [`Figures`].
    pub fraction: AtTop,
    /// As in [`Figures`].
    pub all: AtTop,
}

impl Brief {
    pub(crate) fn of<'a>(judged: impl IntoIterator<Item = &'a Judged>) -> Self {
        let figures = Figures::of(judged);
        let top = |all: AtAll| AtTop {
            five: all.five,
            ten: all.ten,
        };
        Self {
            questions: figures.questions,
            any: top(figures.any),
            fraction: top(figures.fraction),
            all: top(figures.all),
        }
    }
}

/// The mean share of the evidence among the first five and ten; `None` if nothing was judged.
pub(crate) fn fraction<'a>(judged: impl IntoIterator<Item = &'a Judged>) -> Option<AtTop> {
    let judged: Vec<&Judged> = judged.into_iter().collect();
    (!judged.is_empty()).then(|| at_top(|k| mean(&judged, |one| one.fraction(k))))
}

fn at_top<T>(at: impl Fn(usize) -> T) -> AtTop<T> {
    AtTop {
        five: at(5),
        ten: at(10),
    }
}

/// The mean of a measure; 0 if there are no values.
fn mean(judged: &[&Judged], measure: impl Fn(&Judged) -> f64) -> f64 {
    if judged.is_empty() {
        return 0.0;
    }
    judged.iter().map(|one| measure(one)).sum::<f64>() / judged.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_over_the_questions() {
        let judged = [
            Judged::new(&["a", "b"], &["a", "x"]),
            Judged::new(&["c"], &["x", "c"]),
        ];
        let figures = Figures::of(&judged);
        assert_eq!(figures.questions, 2);
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
        near(figures.any.one, 0.5);
        near(figures.any.three, 1.0);
        near(figures.fraction.ten, 0.75);
        near(figures.all.ten, 0.5);
        near(figures.mrr, 0.75);
        assert_eq!(figures.interval_95.all.ten, wilson(1, 2));
    }

    #[test]
    fn no_questions_give_zero_and_not_nan() {
        let figures = Figures::of([]);
        assert_eq!((figures.questions, figures.mrr.to_bits()), (0, 0));
        assert!(fraction([]).is_none());
    }
}
