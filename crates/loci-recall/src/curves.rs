//! The values of the curves, written by `cargo xtask fit`. Do not edit.

use crate::feature::FEATURES;
use crate::model::Curve;
use crate::probability::INPUTS;

/// The curves, in the order of [`crate::feature::DEFINITIONS`].
#[rustfmt::skip]
pub(crate) const CURVES: [Curve; FEATURES] = [
    // Words
    Curve { small: &[0.000, 0.200, 0.400, 0.700, 1.000, 2.112, 2.712], large: &[0.000, 0.200, 0.400, 0.700, 1.000, 1.400, 2.076] },
    // WordsAround
    Curve { small: &[0.000, 0.060, 0.120, 0.210, 0.300, 0.420, 1.353], large: &[0.000, 0.030, 0.060, 0.105, 0.150, 0.210, 0.300] },
    // Coverage
    Curve { small: &[0.000, 0.075, 0.150, 0.250, 0.375, 0.500], large: &[0.000, 0.075, 0.150, 0.250, 0.375, 0.500] },
    // Rarest
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000], large: &[0.000, 0.000, 0.000, 0.000, 0.035] },
    // WordsLead
    Curve { small: &[0.000, 0.300, 0.420, 0.510, 0.600], large: &[0.000, 0.300, 0.420, 0.510, 0.728] },
    // Window
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.000, 0.000], large: &[0.000, 0.000, 0.388, 0.826, 0.826, 2.414] },
    // Pairs
    Curve { small: &[0.000, 0.798, 0.798, 1.314], large: &[0.000, 0.928, 1.265, 2.111] },
    // Source
    Curve { small: &[0.000, 0.050, 0.550, 2.051, 2.854, 3.617, 4.168], large: &[0.000, 0.575, 1.617, 2.469, 2.544, 2.644, 2.794] },
    // SourceLead
    Curve { small: &[0.000, 0.000, 0.000, 0.000, 0.190], large: &[0.000, 0.000, 0.000, 0.000, 0.056] },
    // Cosine
    Curve { small: &[0.000, 0.250, 0.804, 1.564, 1.814], large: &[0.000, 0.250, 0.500, 0.750, 1.207] },
    // CosineLead
    Curve { small: &[0.000, 0.141, 0.141, 1.057, 1.638], large: &[0.000, 0.000, 0.000, 0.447, 0.636] },
    // OwnTokens
    Curve { small: &[0.000, 0.187, 0.187, 0.187, 0.187], large: &[0.000, 1.899, 3.704, 4.596, 6.061] },
    // Tokens
    Curve { small: &[0.000, 1.126, 2.572, 3.473, 3.786], large: &[0.000, 0.512, 1.247, 1.372, 1.497] },
    // TokensLead
    Curve { small: &[0.000, 1.033, 1.417, 1.417], large: &[0.000, 0.000, 0.285, 0.929] },
    // Named
    Curve { small: &[0.000, 3.500], large: &[0.000, 3.500] },
    // User
    Curve { small: &[0.000, 0.165], large: &[0.000, 0.292] },
    // UserAsksOfSelf
    Curve { small: &[0.000, 2.145], large: &[0.000, 2.575] },
    // AssistantIsAsked
    Curve { small: &[0.000, 1.024], large: &[0.000, 2.447] },
    // Date
    Curve { small: &[0.000, 1.500, 4.962, 19.962], large: &[0.000, 1.500, 3.000, 18.000] },
    // Future
    Curve { small: &[0.000, 0.000, 0.000], large: &[0.000, -2.649, -3.956] },
    // Length
    Curve { small: &[0.000, -0.234, 0.155, -0.694, -1.363], large: &[0.000, -0.313, -0.112, -1.696, -2.708] },
];

/// Weights of the inputs of a probability, if vectors were compared.
#[rustfmt::skip]
pub(crate) const BY_MEANING: [f32; INPUTS] = [-6.0626, 0.6622, -0.4660, -0.8694, 0.6378, -0.9686, -0.2707];

/// Weights of the inputs of a probability, if only words were searched.
#[rustfmt::skip]
pub(crate) const BY_WORDS: [f32; INPUTS] = [-5.4739, 0.9686, -0.7511, -0.0653, 0.0000, 0.0000, -0.2652];
