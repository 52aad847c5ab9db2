//! Writes the curves as Rust.

use std::fmt::Write as _;

use anyhow::Context;
use loci_recall::{DEFINITIONS, INPUTS};

use super::calibrate::Calibrated;
use super::learn::Curves;
use crate::root;

/// The weights of all probabilities.
pub(super) struct AllWeights {
    pub(super) by_meaning: Calibrated,
    pub(super) by_words: Calibrated,
}

pub(super) fn curves(curves: &Curves, weights: &AllWeights) -> anyhow::Result<()> {
    let mut text = String::from(
        "//! The values of the curves, written by `cargo xtask fit`. Do not edit.\n\n\
         use crate::feature::FEATURES;\n\
         use crate::model::Curve;\n\
         use crate::probability::Weights;\n\n\
         /// The curves, in the order of [`crate::feature::DEFINITIONS`].\n\
         #[rustfmt::skip]\n\
         pub(crate) const CURVES: [Curve; FEATURES] = [\n",
    );
    for ((definition, small), large) in DEFINITIONS.iter().zip(&curves.small).zip(&curves.large) {
        let values = |steps: &[f64]| {
            let values = Curves::values(steps);
            let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
            values.join(", ")
        };
        writeln!(text, "    // {:?}", definition.feature)?;
        writeln!(
            text,
            "    Curve {{ small: &[{}], large: &[{}] }},",
            values(small),
            values(large)
        )?;
    }
    text.push_str("];\n");
    let any = "of the probability that a question is answered";
    let one = "of a probability";
    let by_meaning = "if vectors were compared";
    let by_words = "if only words were searched";
    for (name, of, when, weights) in [
        ("BY_MEANING", one, by_meaning, &weights.by_meaning.hit),
        ("BY_WORDS", one, by_words, &weights.by_words.hit),
        ("ANSWERED", any, by_meaning, &weights.by_meaning.any),
        ("ANSWERED_BY_WORDS", any, by_words, &weights.by_words.any),
    ] {
        let side = |weights: &[f64; INPUTS]| {
            let weights = weights.iter().map(|weight| format!("{weight:.4}"));
            weights.collect::<Vec<_>>().join(", ")
        };
        let [small, large] = weights.map(|weights| side(&weights));
        writeln!(text, "\n/// Weights of the inputs {of}, {when}.")?;
        writeln!(text, "#[rustfmt::skip]")?;
        writeln!(
            text,
            "pub(crate) const {name}: Weights = [\n    [{small}],\n    [{large}],\n];"
        )?;
    }
    let path = root().join("crates/loci-recall/src/curves.rs");
    std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
