//! Written by `cargo xtask fit-hooks`.

use crate::relevance::RELEVANCE_INPUTS;

/// Numbers of drawers for which weights were fitted.
pub(crate) const SIZES: [u64; 3] = [40, 500, 108_000];

/// The weights of the inputs of the relevance for each size.
pub(crate) const WEIGHTS: [[f32; RELEVANCE_INPUTS]; 3] = [
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0],
];
