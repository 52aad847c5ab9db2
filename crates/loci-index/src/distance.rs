//! Exact distances, as Chroma defines them. They decide the order of the candidates of an index.

use loci_core::Metric;

use crate::kernels::{self, Component};
use crate::stored_vector::StoredVector;

/// A query prepared for exact distances. Cosine is 1 − cos (1 to a zero vector), l2 is the squared
/// Euclidean distance, ip is 1 − inner product. The cosine distance of a vector to itself is
/// exactly 0.
#[derive(Debug, Clone)]
pub struct QueryVector {
    metric: Metric,
    vector: Vec<f32>,
    square: f32,
}

/// Squares in this range neither overflow nor lose digits in f32. Outside of it, cosine is computed
/// in f64.
const SAFE_SQUARES: std::ops::Range<f32> = 1e-24..1e30;

impl QueryVector {
    /// Prepares a query.
    pub fn new(metric: Metric, vector: &[f32]) -> Self {
        Self {
            metric,
            vector: vector.to_vec(),
            square: kernels::dot(vector, vector),
        }
    }

    /// The vector that was passed.
    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// How distances are measured.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Distance to a vector in memory. A vector of another length is infinitely distant.
    pub fn distance(&self, other: &[f32]) -> f32 {
        if other.len() == self.vector.len() {
            self.measure(other)
        } else {
            f32::INFINITY
        }
    }

    /// Distance to a stored vector, unaligned. `None` if it is no vector of this length.
    /// Bit-identical to [`distance`](Self::distance).
    pub fn distance_to_bytes(&self, bytes: &[u8]) -> Option<f32> {
        let stored = StoredVector::parse(bytes)?;
        if stored.dimension() != self.vector.len() {
            return None;
        }
        Some(match stored {
            StoredVector::Numbers(numbers) => self.measure(numbers),
            StoredVector::Codes { .. } => {
                let mut vector = Vec::with_capacity(self.vector.len());
                stored.read_into(&mut vector);
                self.measure(&vector)
            }
        })
    }

    fn measure<T: Component>(&self, other: &[T]) -> f32 {
        match self.metric {
            Metric::Cosine => self.cosine(other),
            Metric::L2 => kernels::squared_distance(&self.vector, other).min(f32::MAX),
            Metric::Ip => (1.0 - kernels::dot(&self.vector, other)).clamp(-f32::MAX, f32::MAX),
        }
    }

    fn cosine<T: Component>(&self, other: &[T]) -> f32 {
        let (dot, square) = kernels::dot_and_square(&self.vector, other);
        let (dot, square, query_square) =
            if SAFE_SQUARES.contains(&square) && SAFE_SQUARES.contains(&self.square) {
                (f64::from(dot), f64::from(square), f64::from(self.square))
            } else {
                wide_products(&self.vector, other)
            };
        // Taking the root of the product makes equal vectors divide to exactly 1.
        let norms = (square * query_square).sqrt();
        if norms > 0.0 {
            (1.0 - dot / norms).max(0.0) as f32
        } else {
            1.0
        }
    }
}

#[cold]
fn wide_products<T: Component>(query: &[f32], other: &[T]) -> (f64, f64, f64) {
    let mut sums = (0.0, 0.0, 0.0);
    for (a, b) in query.iter().zip(other) {
        let (a, b) = (f64::from(*a), f64::from(b.value()));
        sums.0 += a * b;
        sums.1 += b * b;
        sums.2 += a * a;
    }
    sums
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the tests compare exact bits")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(vector: &[f32]) -> Vec<u8> {
        vector
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    #[test]
    fn distances_are_those_of_chroma() {
        let (a, b) = ([1.0, 2.0, 2.0], [2.0, 0.0, 0.0]);
        assert!((QueryVector::new(Metric::Cosine, &a).distance(&b) - 2.0 / 3.0).abs() < 1e-7);
        assert_eq!(QueryVector::new(Metric::L2, &a).distance(&b), 9.0);
        assert_eq!(QueryVector::new(Metric::Ip, &a).distance(&b), -1.0);
    }

    #[test]
    fn a_zero_vector_has_cosine_distance_one_to_everything() {
        let zero = [0.0; 3];
        assert_eq!(
            QueryVector::new(Metric::Cosine, &zero).distance(&[1.0, 0.0, 0.0]),
            1.0
        );
        assert_eq!(
            QueryVector::new(Metric::Cosine, &[1.0, 0.0, 0.0]).distance(&zero),
            1.0
        );
        assert_eq!(QueryVector::new(Metric::Cosine, &zero).distance(&zero), 1.0);
    }

    #[test]
    fn a_wrong_length_is_no_distance() {
        let query = QueryVector::new(Metric::L2, &[1.0, 2.0]);
        assert_eq!(query.distance(&[1.0]), f32::INFINITY);
        assert_eq!(query.distance_to_bytes(&[0; 7]), None);
        assert_eq!(query.distance_to_bytes(&[0; 12]), None);
    }

    #[test]
    fn extreme_lengths_do_not_change_a_cosine() {
        for scale in [1e-40, 1e-30, 1e-12, 1.0, 1e19, 1e38] {
            let query = QueryVector::new(Metric::Cosine, &[3.0 * scale, 0.0]);
            let distance = query.distance(&[scale, scale]);
            assert!(
                (distance - (1.0 - 0.5_f32.sqrt())).abs() < 1e-4,
                "{scale}: {distance}"
            );
            assert_eq!(query.distance(&[3.0 * scale, 0.0]), 0.0);
        }
        assert_eq!(
            QueryVector::new(Metric::L2, &[3e38]).distance(&[-3e38]),
            f32::MAX
        );
        assert_eq!(
            QueryVector::new(Metric::Ip, &[3e38]).distance(&[3e38]),
            -f32::MAX
        );
    }

    proptest! {
        #[test]
        fn memory_and_stored_bytes_agree_bit_for_bit(
            (a, b) in (1_usize..150).prop_flat_map(|len| (prop::collection::vec(-9.0_f32..9.0, len), prop::collection::vec(-9.0_f32..9.0, len))),
        ) {
            for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
                let query = QueryVector::new(metric, &a);
                let mut unaligned = vec![0];
                unaligned.extend(bytes(&b));
                prop_assert_eq!(query.distance_to_bytes(&unaligned[1..]).unwrap().to_bits(), query.distance(&b).to_bits());
                let mut rounded = b.clone();
                loci_core::byte_vector::round_to_bytes(&mut rounded);
                let codes = crate::vector_to_bytes(&rounded);
                prop_assert_eq!(query.distance_to_bytes(&codes).unwrap().to_bits(), query.distance(&rounded).to_bits());
            }
            prop_assert_eq!(QueryVector::new(Metric::Cosine, &a).distance(&a), 0.0);
            prop_assert_eq!(QueryVector::new(Metric::L2, &a).distance(&a), 0.0);
        }
    }
}
