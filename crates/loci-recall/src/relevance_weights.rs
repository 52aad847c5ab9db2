//! Written by `cargo xtask fit-hooks`.

use crate::relevance::RELEVANCE_INPUTS;

/// Numbers of drawers for which weights were fitted.
pub(crate) const SIZES: [u64; 3] = [40, 500, 108_000];

/// The weights of the inputs of the relevance for each size.
pub(crate) const WEIGHTS: [[f32; RELEVANCE_INPUTS]; 3] = [
    [-5.987, 0.508, 3.366, 1.887, 0.308],
    [-1.082, 1.383, 0.000, 0.884, -0.553],
    [-4.033, 0.724, 0.000, 1.853, -0.678],
];
