//! Written by `cargo xtask fit-hooks`.

use crate::later::LATER_INPUTS;

/// From this likelihood on, a later statement is presented with the earlier one.
pub(crate) const MIN_LIKELIHOOD: f32 = 0.2;

/// The weights of the inputs.
pub(crate) const WEIGHTS: [f32; LATER_INPUTS] = [
    -7.0, 1.0, 1.0, 0.5, 5.0, 1.3, 1.2, -1.5, 1.6, 0.3, 0.9, 0.8, -1.0,
];
