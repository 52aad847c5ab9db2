//! Generates vectors whose neighbourhoods resemble those of embeddings. Shared with
//! `examples/measure.rs`.

/// How a data set is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Gaussian noise around this many random centres, as long as the centres.
    Clusters(usize),
    /// A random linear image of this many latent numbers, with a little noise.
    Latent(usize),
    /// This many non-zero numbers, as in hashed words.
    Sparse(usize),
}

/// Generates vectors. The same seed gives the same vectors.
pub(crate) struct Source {
    random: fastrand::Rng,
    dimension: usize,
    shape: Shape,
    basis: Vec<Vec<f32>>,
}

impl Source {
    pub(crate) fn new(shape: Shape, dimension: usize, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let vectors = match shape {
            Shape::Clusters(count) | Shape::Latent(count) => count,
            Shape::Sparse(_) => 0,
        };
        let basis = (0..vectors)
            .map(|_| (0..dimension).map(|_| gaussian(&mut random)).collect())
            .collect();
        Self {
            random,
            dimension,
            shape,
            basis,
        }
    }

    /// The next vector.
    pub(crate) fn draw(&mut self) -> Vec<f32> {
        let random = &mut self.random;
        match self.shape {
            Shape::Clusters(count) => {
                let centre = &self.basis[random.usize(..count)];
                centre
                    .iter()
                    .map(|number| number + gaussian(random))
                    .collect()
            }
            Shape::Latent(_) => {
                let mut vector: Vec<f32> = (0..self.dimension)
                    .map(|_| 0.05 * gaussian(random))
                    .collect();
                for direction in &self.basis {
                    let weight = gaussian(random);
                    vector
                        .iter_mut()
                        .zip(direction)
                        .for_each(|(sum, number)| *sum += weight * number);
                }
                let length = vector
                    .iter()
                    .map(|number| number * number)
                    .sum::<f32>()
                    .sqrt();
                vector.iter().map(|number| number / length).collect()
            }
            Shape::Sparse(filled) => {
                let mut vector = vec![0.0; self.dimension];
                for _ in 0..filled {
                    // The product prefers low positions, because some words are common.
                    let place = random.f32() * random.f32() * self.dimension as f32;
                    vector[place as usize] += if random.bool() { 1.0 } else { 0.5 };
                }
                vector
            }
        }
    }
}

/// The stored form of a vector.
pub(crate) fn bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn gaussian(random: &mut fastrand::Rng) -> f32 {
    // The sum of four uniform numbers is close enough to a normal distribution for test data; its
    // variance is 1.
    ((0..4).map(|_| random.f32()).sum::<f32>() - 2.0) * 3.0_f32.sqrt()
}
