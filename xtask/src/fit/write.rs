//! Writes the curves as Rust.

use std::fmt::Write as _;

use anyhow::Context;
use loci_recall::DEFINITIONS;

use super::calibrate::Weights;
use super::learn::Curves;
use crate::root;

pub(super) fn curves(
    curves: &Curves,
    by_meaning: &Weights,
    by_words: &Weights,
) -> anyhow::Result<()> {
    let mut text = String::from(
        "//! The values of the curves, written by `cargo xtask fit`. Do not edit.\n\n\
         use crate::feature::FEATURES;\n\
         use crate::model::Curve;\n\
         use crate::probability::INPUTS;\n\n\
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
    let probabilities = [
        ("BY_MEANING", "if vectors were compared", by_meaning),
        ("BY_WORDS", "if only words were searched", by_words),
    ];
    for (name, when, weights) in probabilities {
        let weights: Vec<String> = weights
            .iter()
            .map(|weight| format!("{weight:.4}"))
            .collect();
        writeln!(
            text,
            "\n/// Weights of the inputs of a probability, {when}."
        )?;
        writeln!(text, "#[rustfmt::skip]")?;
        writeln!(
            text,
            "pub(crate) const {name}: [f32; INPUTS] = [{}];",
            weights.join(", ")
        )?;
    }
    let path = root().join("crates/loci-recall/src/curves.rs");
    std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
