//! Written by `cargo xtask fit-hooks`.

use crate::relevance::RELEVANCE_INPUTS;

/// The weights of the inputs of the relevance.
pub(crate) const WEIGHTS: [f32; RELEVANCE_INPUTS] = [-3.0, 0.5, 0.0, 2.0, 0.5, 0.5];
