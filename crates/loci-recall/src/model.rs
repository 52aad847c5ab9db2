//! The model of the ranking: the sum of one curve per feature.
//!
//! Every curve has two sides, one for a small palace and one for a large one. A palace in between
//! uses a mixture of both. `cargo xtask fit` learns the values ([`crate::curves`]).

use crate::curves::CURVES;
use crate::feature::{DEFINITIONS, Definition, FEATURES, Features};
use crate::score::Parts;

/// The values of a curve at the knots of its feature.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// In a palace of 600 drawers or fewer.
    pub small: &'static [f32],
    /// In a palace of 100,000 drawers or more.
    pub large: &'static [f32],
}

/// The size up to which a palace counts as small.
pub(crate) const SMALL: f32 = 600.0;
/// The size from which a palace counts as large.
pub(crate) const LARGE: f32 = 100_000.0;

/// The share of the curves for large palaces that applies to a palace: between 0 and 1, in
/// proportion to the logarithm of its drawers.
pub fn share_of_large(drawers: u64) -> f32 {
    let drawers = (drawers as f32).clamp(SMALL, LARGE);
    (drawers / SMALL).ln() / (LARGE / SMALL).ln()
}

/// Where a value lies on the knots: the position of the knot below, and how far it is to the next.
pub fn segment(knots: &[f32], value: f32) -> (usize, f32) {
    let next = knots.partition_point(|knot| *knot <= value);
    let Some(below) = next.checked_sub(1) else {
        return (0, 0.0);
    };
    match (knots.get(below), knots.get(next)) {
        (Some(from), Some(to)) => (below, (value - from) / (to - from)),
        _ => (below, 0.0),
    }
}

/// Scores candidates of one palace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model {
    large: f32,
}

impl Model {
    pub(crate) fn for_palace(drawers: u64) -> Self {
        Self {
            large: share_of_large(drawers),
        }
    }

    /// The parts of the score.
    pub(crate) fn parts(self, features: &Features) -> Parts {
        let mut parts = Parts::default();
        let values: &[f32; FEATURES] = features.values();
        for ((definition, curve), value) in DEFINITIONS.iter().zip(&CURVES).zip(values) {
            *parts.of(definition.part) += self.value(definition, curve, *value);
        }
        parts
    }

    fn value(self, definition: &Definition, curve: &Curve, value: f32) -> f32 {
        let (below, share) = segment(definition.knots, value);
        let at = |values: &[f32]| {
            let from = values.get(below).copied().unwrap_or_default();
            let to = values.get(below + 1).copied().unwrap_or(from);
            from + share * (to - from)
        };
        (1.0 - self.large) * at(curve.small) + self.large * at(curve.large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{Feature, Shape};

    #[test]
    fn every_curve_has_a_value_at_each_knot_and_the_shape_that_its_feature_asks_for() {
        for (definition, curve) in DEFINITIONS.iter().zip(&CURVES) {
            for (values, is_large) in [(curve.small, false), (curve.large, true)] {
                assert_eq!(values.len(), definition.knots.len(), "{definition:?}");
                assert!(values.iter().all(|value| value.is_finite()));
                match definition.shape {
                    Shape::Rises(small, large) => {
                        let least = if is_large { large } else { small };
                        assert!(values.is_sorted(), "{definition:?} {values:?}");
                        let rise = values.last().unwrap() - values.first().unwrap();
                        assert!(rise >= least - 0.01, "{definition:?} {rise}");
                    }
                    Shape::Falls => assert!(values.is_sorted_by(|a, b| a >= b)),
                    Shape::Free => {}
                }
            }
        }
    }

    #[test]
    fn the_share_of_the_large_curves_grows_with_the_palace() {
        assert!(share_of_large(0).abs() < 1e-6 && share_of_large(600).abs() < 1e-6);
        assert!((share_of_large(100_000) - 1.0).abs() < 1e-6);
        assert!((share_of_large(u64::MAX) - 1.0).abs() < 1e-6);
        let middle = share_of_large(8_000);
        assert!(middle > 0.4 && middle < 0.6, "{middle}");
    }

    #[test]
    fn a_curve_is_linear_between_knots_and_flat_beyond_them() {
        let knots = [0.0, 0.5, 1.0];
        assert_eq!(segment(&knots, -1.0), (0, 0.0));
        assert_eq!(segment(&knots, 0.25), (0, 0.5));
        assert_eq!(segment(&knots, 0.5), (1, 0.0));
        assert_eq!(segment(&knots, 7.0), (2, 0.0));
    }

    #[test]
    fn what_was_written_after_the_question_scores_lower_in_a_large_palace() {
        let mut later = Features::default();
        later.set(Feature::Future, 4.0);
        let model = Model::for_palace(1_000_000);
        assert!(model.parts(&later).date < 0.0);
    }

    #[test]
    fn more_of_the_question_never_lowers_the_score() {
        for drawers in [10, 5_000, 1_000_000] {
            let model = Model::for_palace(drawers);
            let mut last = f32::MIN;
            for step in 0..=20 {
                let mut features = Features::default();
                features.set(Feature::Words, step as f32 / 20.0);
                features.set(Feature::Coverage, step as f32 / 20.0);
                let score = model.parts(&features).score();
                assert!(score >= last, "{drawers} {step}");
                last = score;
            }
        }
    }
}
