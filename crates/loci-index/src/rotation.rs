//! A fixed pseudo-random rotation, which makes 1-bit codes equally good for any data. Without it,
//! most signs are meaningless for sparse vectors or a few dominant dimensions. The rotation
//! consists of random sign flips and Hadamard transforms, alternately over the first and the last
//! power-of-two stretch. It takes n log n steps and no matrix.

/// Rotation of vectors whose padded length is a multiple of 64.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    stretch: usize,
    // For each round, the sign of every number, times the scale that makes the transform
    // orthonormal.
    rounds: Vec<Vec<f32>>,
}

const SEED: u64 = 0x4c6f_6369_0000_0001;

impl Rotation {
    pub(crate) fn new(padded: usize) -> Self {
        let stretch = 1 << padded.max(1).ilog2();
        let rounds = if stretch == padded { 2 } else { 4 };
        let scale = 1.0 / (stretch as f32).sqrt();
        let mut state = SEED;
        let rounds = (0..rounds)
            .map(|round| {
                let start = start(round, padded, stretch);
                (0..padded)
                    .map(|at| {
                        let size = if (start..start + stretch).contains(&at) {
                            scale
                        } else {
                            1.0
                        };
                        if next(&mut state) >> 63 == 0 {
                            size
                        } else {
                            -size
                        }
                    })
                    .collect()
            })
            .collect();
        Self { stretch, rounds }
    }

    /// Rotates in place. The vector must have the padded length.
    pub(crate) fn apply(&self, vector: &mut [f32]) {
        for (round, flips) in self.rounds.iter().enumerate() {
            for (number, flip) in vector.iter_mut().zip(flips) {
                *number *= flip;
            }
            let start = start(round, vector.len(), self.stretch);
            if let Some(stretch) = vector.get_mut(start..start + self.stretch) {
                hadamard(stretch);
            }
        }
    }
}

fn start(round: usize, padded: usize, stretch: usize) -> usize {
    if round.is_multiple_of(2) {
        0
    } else {
        padded - stretch
    }
}

/// SplitMix64. The flips are part of the file format, so they do not come from a library.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Unscaled Walsh-Hadamard transform of a power-of-two length that is at least 4.
fn hadamard(vector: &mut [f32]) {
    for [a, b, c, d] in vector.as_chunks_mut::<4>().0 {
        let (sum, difference) = (*a + *b, *a - *b);
        let (other_sum, other_difference) = (*c + *d, *c - *d);
        *a = sum + other_sum;
        *b = difference + other_difference;
        *c = sum - other_sum;
        *d = difference - other_difference;
    }
    let mut half = 4;
    while half < vector.len() {
        for pair in vector.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .zip(right.as_chunks_mut::<4>().0)
            {
                for (a, b) in left.iter_mut().zip(right) {
                    (*a, *b) = (*a + *b, *a - *b);
                }
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_angles_stay() {
        let mut random = fastrand::Rng::with_seed(5);
        for padded in [64, 128, 192, 320, 384, 768, 960, 1024, 8192] {
            let rotation = Rotation::new(padded);
            let vectors: Vec<Vec<f32>> = (0..2)
                .map(|_| (0..padded).map(|_| random.f32() - 0.5).collect())
                .collect();
            let mut turned = vectors.clone();
            for vector in &mut turned {
                rotation.apply(vector);
            }
            let dot =
                |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            for (a, b) in [(0, 0), (0, 1), (1, 1)] {
                let (before, after) = (dot(&vectors[a], &vectors[b]), dot(&turned[a], &turned[b]));
                assert!(
                    (before - after).abs() < 1e-3 * padded as f64 / 64.0,
                    "{padded}: {before} {after}"
                );
            }
        }
    }

    #[test]
    fn a_single_number_spreads_over_all_dimensions() {
        for padded in [64, 192, 384, 960, 1024] {
            let rotation = Rotation::new(padded);
            for at in [0, 1, padded / 2, padded - 1] {
                let mut vector = vec![0.0; padded];
                vector[at] = 1.0;
                rotation.apply(&mut vector);
                let largest = vector
                    .iter()
                    .fold(0.0_f32, |most, number| most.max(number.abs()));
                let even = (1.0 / padded as f32).sqrt();
                assert!(
                    largest < 7.0 * even,
                    "{padded} at {at}: {largest} instead of about {even}"
                );
            }
        }
    }
}
