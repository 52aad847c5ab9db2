//! The values of the curves, written by `cargo xtask fit`. Do not edit.

use crate::feature::FEATURES;
use crate::model::Curve;
use crate::probability::Weights;

/// The curves, in the order of [`crate::feature::DEFINITIONS`].
#[rustfmt::skip]
pub(crate) const CURVES: [Curve; FEATURES] = [
    // Words
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000, 0.943, 1.296], large: &[0.000, 0.200, 0.400, 0.700, 1.000, 1.400, 2.069] },
    // WordsAround
    Curve { small: &[0.000, 0.060, 0.120, 0.210, 0.300, 0.420, 1.215], large: &[0.000, 0.030, 0.691, 0.736, 0.781, 0.841, 0.946] },
    // Coverage
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000, 0.000], large: &[0.000, 0.075, 0.150, 0.250, 0.375, 0.500] },
    // Complete
    Curve { small: &[0.000, 0.800], large: &[0.000, 0.500] },
    // WordsLead
    Curve { small: &[0.000, 0.300, 0.420, 0.510, 0.600], large: &[0.000, 0.300, 0.420, 0.510, 0.600] },
    // Close
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000, 0.000], large: &[0.000, 0.000, 0.361, 1.044, 1.502, 3.117] },
    // Pairs
    Curve { small: &[0.000, 0.812, 0.812, 1.400], large: &[0.000, 0.728, 0.971, 1.575] },
    // Exact
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000, 0.094], large: &[0.000, 0.463, 0.593, 0.762, 0.762, 2.344] },
    // Source
    Curve { small: &[0.000, 0.050, 0.157, 1.861, 2.605, 3.478, 3.736], large: &[0.000, 0.590, 0.934, 1.742, 1.817, 1.917, 2.067] },
    // SourceLead
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.092], large: &[0.000, 0.000, 0.000, 0.000, 0.073] },
    // Cosine
    Curve { small: &[0.000, 0.250, 1.245, 2.054, 2.304], large: &[0.000, 0.250, 0.500, 0.750, 1.039] },
    // CosineLead
    Curve { small: &[0.000, 0.346, 0.346, 1.202, 1.778], large: &[0.000, 0.000, 0.095, 0.428, 0.664] },
    // OwnTokens
    Curve { small: &[0.000, 0.121, 0.121, 0.121, 0.121], large: &[0.000, 1.473, 2.972, 3.822, 4.227] },
    // Tokens
    Curve { small: &[0.000, 1.395, 3.087, 4.330, 4.710], large: &[0.000, 0.582, 1.273, 1.426, 1.551] },
    // TokensLead
    Curve { small: &[0.000, 0.953, 1.181, 1.181], large: &[0.000, 0.000, 0.129, 0.406] },
    // Named
    Curve { small: &[0.000, 3.500], large: &[0.000, 3.500] },
    // User
    Curve { small: &[0.000, 0.301], large: &[0.000, 0.259] },
    // UserAsksOfSelf
    Curve { small: &[0.000, 2.264], large: &[0.000, 2.469] },
    // AssistantIsAsked
    Curve { small: &[0.000, 1.170], large: &[0.000, 2.428] },
    // Date
    Curve { small: &[0.000, 1.500, 4.747, 19.747], large: &[0.000, 1.500, 3.000, 18.000] },
    // Future
    Curve { small: &[0.000, 0.000, 0.000], large: &[0.000, -2.285, -3.767] },
    // Length
    Curve { small: &[0.000, 0.038, 0.447, -0.361, -1.282], large: &[0.000, -0.168, 0.040, -1.482, -2.494] },
    // Asks
    Curve { small: &[0.000, -0.524, -0.761], large: &[0.000, 0.000, -0.302] },
];

/// Weights of the inputs of a probability, if vectors were compared.
#[rustfmt::skip]
pub(crate) const BY_MEANING: Weights = [
    [-6.1391, 0.7612, -0.1056, -0.5737, -0.0798, 3.4028, 1.6221, 0.4375],
    [-4.5521, 0.9704, -0.2814, -0.6674, -0.3871, 2.6671, 0.5223, -0.5702],
];

/// Weights of the inputs of a probability, if only words were searched.
#[rustfmt::skip]
pub(crate) const BY_WORDS: Weights = [
    [-1.1531, 1.1367, 0.0189, -1.0097, 1.1720, 0.0000, 0.0000, 0.0000],
    [0.5619, 1.2441, -0.1735, -1.0987, -0.5131, 0.0000, 0.0000, 0.0000],
];

/// Weights of the inputs of the probability that a question is answered, if vectors were compared.
#[rustfmt::skip]
pub(crate) const ANSWERED: Weights = [
    [-6.5078, 0.5288, -0.1281, -0.2675, 0.3756, 3.7979, 2.1781, -0.5070],
    [-5.6993, 0.4635, -0.2878, -0.0659, -0.6343, 2.2461, 1.4999, -1.7835],
];

/// Weights of the inputs of the probability that a question is answered, if only words were searched.
#[rustfmt::skip]
pub(crate) const ANSWERED_BY_WORDS: Weights = [
    [-2.9952, 0.4170, -0.3531, 0.1023, 2.4518, 0.0000, 0.0000, 0.0000],
    [-1.6701, 0.7270, -0.3381, -0.2461, -0.6147, 0.0000, 0.0000, 0.0000],
];
