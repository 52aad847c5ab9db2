//! Decides which recorded lengths are plausible, from the other lengths of the segment.
//!
//! ChromaDB stores the direction of a cosine vector and its original length separately. A length
//! that is far from all others is garbage. A segment whose lengths really differ, even by many
//! orders of magnitude, must not lose one.

use std::ops::RangeInclusive;

/// The lengths that a vector can have had. Multiplying by a length outside this range would destroy
/// the direction.
pub(super) const LENGTHS: RangeInclusive<f32> = 1e-12..=1e12;
/// The minimum number of lengths that can be compared.
const FEWEST: usize = 8;
/// A length this many times above or below the median is garbage, unless the lengths themselves are
/// spread that far.
const FAR: f64 = 1e3;
/// The same factor for a segment with nearly equal lengths.
const FAR_FROM_EQUAL: f64 = 10.0;
/// Lengths are nearly equal if the middle four fifths of them differ by less than this factor.
const EQUAL: f64 = 1.1;
/// How many times farther a length may be from the median than the quartiles are from each other.
const SPREADS: f64 = 4.0;

/// The range of plausible lengths.
pub(super) fn plausible(lengths: impl Iterator<Item = f32>) -> RangeInclusive<f32> {
    let mut logarithms: Vec<f64> = lengths
        .filter(|length| LENGTHS.contains(length))
        .map(|length| f64::from(length).ln())
        .collect();
    logarithms.sort_by(f64::total_cmp);
    if logarithms.len() < FEWEST {
        return LENGTHS;
    }
    let at = |share: f64| {
        let place = (logarithms.len() - 1) as f64 * share;
        logarithms
            .get(place.round() as usize)
            .copied()
            .unwrap_or_default()
    };
    let middle = at(0.5);
    let distance = if at(0.9) - at(0.1) < EQUAL.ln() {
        FAR_FROM_EQUAL.ln()
    } else {
        FAR.ln().max(SPREADS * (at(0.75) - at(0.25)))
    };
    let low = ((middle - distance).exp() as f32).max(*LENGTHS.start());
    let high = ((middle + distance).exp() as f32).min(*LENGTHS.end());
    low..=high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_absurd_beside_the_others_is_not_plausible() {
        let others = (0..400).map(|number| 5.0 + 4.0 * (number as f32 / 400.0));
        let range = plausible(others.chain([1e6]));
        for absurd in [1e6, 1e30, 1e-20, 0.0, -7.0, f32::NAN, f32::INFINITY, 7e-4] {
            assert!(!range.contains(&absurd), "{absurd}");
        }
        for length in [0.1, 5.0, 9.0, 700.0] {
            assert!(range.contains(&length), "{length}");
        }
    }

    #[test]
    fn where_nearly_all_lengths_are_equal_a_tenfold_one_is_not_plausible() {
        let range = plausible((0..400).map(|number| if number % 20 == 0 { 40.0 } else { 1.0 }));
        assert!(range.contains(&1.2) && range.contains(&0.5));
        assert!(!range.contains(&40.0) && !range.contains(&0.01));
    }

    #[test]
    fn lengths_that_really_vary_are_all_plausible() {
        for orders in [1, 3, 6, 10] {
            let lengths =
                || (0..1000).map(|at| 10_f32.powf(orders as f32 * (at as f32 / 1000.0 - 0.5)));
            let range = plausible(lengths());
            assert!(lengths().all(|length| range.contains(&length)), "{orders}");
        }
        // Two kinds of vectors, one of them rare.
        let lengths = || (0..1000).map(|at| if at % 7 == 0 { 0.05 } else { 1.0 });
        let range = plausible(lengths());
        assert!(lengths().all(|length| range.contains(&length)));
    }

    #[test]
    fn garbage_does_not_hide_itself() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut lengths: Vec<f32> = (0..350).map(|_| 6.0 + random.f32()).collect();
        lengths.extend((0..50).map(|_| f32::from_bits(random.u32(..))));
        let range = plausible(lengths.iter().copied());
        let garbage = lengths.iter().skip(350);
        assert!(garbage.filter(|length| range.contains(length)).count() <= 3);
        assert!(
            lengths
                .iter()
                .take(350)
                .all(|length| range.contains(length))
        );
    }

    #[test]
    fn few_lengths_tell_nothing() {
        assert_eq!(plausible([1.0, 1.0, 1e6].into_iter()), LENGTHS);
    }
}
