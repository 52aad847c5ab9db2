//! Written by `cargo xtask fit-hooks`.

use crate::relevance::RELEVANCE_INPUTS;

/// Numbers of drawers for which weights were fitted.
pub(crate) const SIZES: [u64; 3] = [40, 500, 108_000];

/// The weights of the inputs of the relevance for each size.
pub(crate) const WEIGHTS: [[f32; RELEVANCE_INPUTS]; 3] = [
    [-5.314, 0.533, 3.733, 0.956, 0.732],
    [-5.206, 1.274, 0.000, 2.493, -0.645],
    [-6.356, 0.632, 0.000, 2.561, -0.682],
];
