//! How relevant a drawer is to a text that asks nothing of memory, such as the prompt of a coding
//! agent. Adding something unasked needs more certainty than answering a question: one wrong
//! memory costs more than ten missing ones.
//!
//! The probability of [`crate::probability`] says whether the palace has the answer, given that the
//! text is a question to this memory. Here it is one of several inputs. The others compare the words
//! that the drawer contains with all words of the text, by how rare they are in general: "typo" says
//! less about a memory than "postcard", however many drawers contain it.
//!
//! The weights depend on the size of the palace, because a large palace contains something like
//! every prompt. `cargo xtask fit-hooks` fits them from the details of `loci bench hooks`.

use loci_core::Recalled;
use loci_embed::StaticEmbedder;
use loci_text::matching_spans;

use crate::everyday::{is_everyday, is_function_word};
use crate::evidence::Origin;
use crate::feature::Feature;
use crate::probability::Calibration;
use crate::rank::{Ranked, Ranker};
use crate::relevance_weights::{SIZES, WEIGHTS};

/// Number of inputs.
pub const RELEVANCE_INPUTS: usize = 5;

/// The rarity of a word whose token has the weight 1/2.
const MEDIUM: f32 = 2.5;
/// The share of the rarity of a word that everyday prompts contain.
const EVERYDAY_SHARE: f32 = 0.4;
/// The highest and lowest weights that are told apart.
const SMALLEST: f32 = 1e-4;

/// What the relevance of a hit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Relevance {
    inputs: [f32; RELEVANCE_INPUTS],
    drawers: u64,
}

impl Relevance {
    /// The inputs, for fitting: 1; whether the palace has an answer; the share of the text's words
    /// that the hit contains, by rarity; their rarity; the length of the hit.
    pub fn inputs(&self) -> [f32; RELEVANCE_INPUTS] {
        self.inputs
    }

    /// Whether the hit is worth adding to a prompt.
    pub(crate) fn is_worth_adding(&self) -> bool {
        self.value() >= 0.5
    }

    /// How relevant the hit is, from 0 to 1. From one half on it is worth adding to a prompt.
    pub fn value(&self) -> f32 {
        let sums = WEIGHTS
            .map(|weights| -> f32 { self.inputs.iter().zip(weights).map(|(a, b)| a * b).sum() });
        1.0 / (1.0 + (-between(&sums, self.drawers)).exp())
    }
}

/// The value for a palace of this size, if `values` are those for [`SIZES`].
fn between(values: &[f32; SIZES.len()], drawers: u64) -> f32 {
    let size = (drawers.max(1) as f32).ln();
    let knots = SIZES.map(|drawers| (drawers as f32).ln());
    let mut result = values[0];
    for ((from, to), (below, above)) in knots
        .iter()
        .zip(knots.iter().skip(1))
        .zip(values.iter().zip(values.iter().skip(1)))
    {
        let share = ((size - from) / (to - from)).clamp(0.0, 1.0);
        if share > 0.0 {
            result = below + share * (above - below);
        }
    }
    result
}

/// A word of the text.
struct Word {
    rarity: f32,
    is_everyday: bool,
    /// The terms that stand for it.
    terms: Vec<usize>,
    /// The first of them as it is stored.
    stored: String,
}

impl Word {
    /// How much it counts that a drawer contains it.
    fn weight(&self) -> f32 {
        if self.is_everyday {
            EVERYDAY_SHARE * self.rarity
        } else {
            self.rarity
        }
    }
}

/// Computes the relevance of the hits of one text.
pub(crate) struct Relevances {
    words: Vec<Word>,
    answered: f32,
    drawers: u64,
}

impl Relevances {
    pub(crate) fn new(ranker: &Ranker, calibration: &Calibration) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        for (at, term) in ranker.findings.terms.iter().enumerate() {
            if term.origin != Origin::Asked {
                continue;
            }
            let known = names.iter().position(|name| *name == term.word);
            if let Some(word) = known.and_then(|known| words.get_mut(known)) {
                word.terms.push(at);
            } else {
                names.push(&term.word);
                words.push(Word {
                    rarity: if is_function_word(&term.word) {
                        0.0
                    } else {
                        rarity_of(&term.word)
                    },
                    is_everyday: is_everyday(&term.word),
                    terms: vec![at],
                    stored: term.term.clone(),
                });
            }
        }
        Self {
            words,
            answered: logit(calibration.of_any()),
            drawers: ranker.findings.in_scope,
        }
    }

    /// The relevance of a hit. The title of a conversation says nothing about a single exchange, so
    /// only words of the text count there.
    pub(crate) fn of(&self, ranked: &Ranked, drawer: &Recalled) -> Relevance {
        let is_spoken = drawer.metadata.get("exchange").is_some();
        let in_text = |word: &Word| !matching_spans(&drawer.document, &[&word.stored]).is_empty();
        let contains = |word: &&Word| {
            let is_found = word.terms.iter().any(|term| ranked.terms.contains(term));
            is_found && (!is_spoken || in_text(word))
        };
        let all: f32 = self.words.iter().map(|word| word.rarity).sum();
        let contained: Vec<&Word> = self.words.iter().filter(contains).collect();
        // Everyday words alone do not make a drawer relevant.
        let says_something = contained.iter().any(|word| !word.is_everyday);
        let shared: f32 = if says_something {
            contained.iter().map(|word| word.weight()).sum()
        } else {
            0.0
        };
        Relevance {
            inputs: [
                1.0,
                self.answered,
                if all > 0.0 { shared / all } else { 0.0 },
                shared.ln_1p(),
                ranked.features.get(Feature::Length),
            ],
            drawers: self.drawers,
        }
    }
}

fn logit(probability: f32) -> f32 {
    let probability = probability.clamp(1e-5, 1.0 - 1e-5);
    (probability / (1.0 - probability)).ln()
}

/// How rare a word is in general, by the rarest of its tokens; 0 for the most frequent words.
pub fn rarity_of(word: &str) -> f32 {
    let table = StaticEmbedder::builtin();
    let of_token = |token| {
        let weight: f32 = table.token_weight(token);
        let weight = weight.clamp(SMALLEST, 1.0 - SMALLEST);
        (weight / (1.0 - weight)).ln() + MEDIUM
    };
    let rarities = table.tokens(word).into_iter().map(of_token);
    rarities.fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_rarer_than_a_common_verb() {
        assert!(rarity_of("postcards") > rarity_of("make"));
        assert!(rarity_of("the") >= 0.0 && rarity_of("") >= 0.0);
    }

    #[test]
    fn weights_change_gradually_with_the_size_of_the_palace() {
        let values = [1.0, 2.0, 4.0];
        let [few, some, many] = SIZES;
        for (drawers, expected) in [
            (0, 1.0),
            (few, 1.0),
            (some, 2.0),
            (many, 4.0),
            (9 * many, 4.0),
        ] {
            assert!(
                (between(&values, drawers) - expected).abs() < 1e-5,
                "{drawers}"
            );
        }
        let between_two = between(&values, (few * some).isqrt());
        assert!(between_two > 1.4 && between_two < 1.6, "{between_two}");
    }
}
