//! Fitted with the regression of `cargo xtask fit-hooks`, which writes this file.

use crate::later::LATER_INPUTS;

/// The weights of the inputs of the likelihood that a later statement replaces an earlier one.
pub(crate) const WEIGHTS: [f32; LATER_INPUTS] = [
    -6.294, 3.575, 3.631, 0.342, 1.217, 1.567, 1.162, -1.218, 1.569, -0.081, 0.917, 0.440, -1.279,
];
