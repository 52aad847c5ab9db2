//! Whether two passages are about one thing, so that the later one may replace the earlier one: a
//! proposal and the decision, a number and the new number.
//!
//! Both answer the same question, so they are already alike. Here they are compared with each
//! other: by meaning, by the words that they share, and by words such as "instead" and "no longer"
//! in the later one.

use std::collections::BTreeMap;

use loci_embed::StaticEmbedder;
use loci_text::query_terms;

use crate::relevance::rarity_of;

/// Number of inputs.
pub const LATER_INPUTS: usize = 8;
/// How many bytes of a passage are compared.
const MAX_BYTES: usize = 4_000;
/// How many terms of a passage are compared.
const MAX_TERMS: usize = 200;

/// Words of a statement that replaces another one.
const CUES: &str = " instead now anymore longer changed change replaced replace replaces switch switched moved moves new \
    decision decided decide correction actually update updated dropped drop cancel cancelled stop stopped until since \
    not no from jetzt statt stattdessen nicht mehr neu entschieden ab теперь вместо больше не решили решено ahora ya no \
    cambio cambiamos désormais maintenant plus finalement au lieu ";

/// A passage, prepared for comparisons.
#[derive(Debug, Clone)]
pub struct Passage {
    vector: Vec<f32>,
    terms: BTreeMap<String, f32>,
    cues: usize,
    length: usize,
}

impl Passage {
    /// Prepares a text.
    pub fn new(text: &str) -> Self {
        let mut end = text.len().min(MAX_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.get(..end).unwrap_or_default();
        let terms = query_terms(text, MAX_TERMS).terms;
        let terms: BTreeMap<String, f32> = terms
            .into_iter()
            .map(|term| (term.term.clone(), rarity_of(&term.word)))
            .collect();
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        let cues = words.filter(|word| {
            !word.is_empty() && CUES.contains(&format!(" {} ", word.to_lowercase()))
        });
        Self {
            vector: StaticEmbedder::builtin().embed_one(text),
            cues: cues.count(),
            length: terms.len(),
            terms,
        }
    }

    /// What decides whether `later` is about the same thing.
    pub fn inputs(&self, later: &Self) -> [f32; LATER_INPUTS] {
        let cosine: f32 = self
            .vector
            .iter()
            .zip(&later.vector)
            .map(|(a, b)| a * b)
            .sum();
        let sum = |terms: &BTreeMap<String, f32>| terms.values().sum::<f32>();
        let shared = self
            .terms
            .iter()
            .filter(|(term, _)| later.terms.contains_key(*term));
        let shared: Vec<f32> = shared.map(|(_, rarity)| *rarity).collect();
        let total: f32 = shared.iter().sum();
        let least = sum(&self.terms).min(sum(&later.terms)).max(1e-3);
        [
            1.0,
            cosine,
            total / least,
            total.ln_1p(),
            shared.iter().copied().fold(0.0, f32::max),
            (later.cues as f32).ln_1p(),
            (later.length as f32).ln_1p(),
            (self.length as f32).ln_1p(),
        ]
    }
}
