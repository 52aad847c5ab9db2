//! Where the words of a question are in a text: how close together, and which ones side by side.

use crate::evidence::{Findings, Origin};
use crate::score::{attainable, term_weights};

/// Number of terms that a window spans.
const SPAN: usize = 12;
/// Words of the question count as neighbours in the text if at most one term is between them.
const BESIDE: usize = 2;
/// Number of bytes of a text that are examined.
const MAX_BYTES: usize = 16 * 1024;

/// Finds the words of one question in texts.
pub(crate) struct Windows<'a> {
    /// The terms of the question and their weights, in its order.
    terms: Vec<(&'a str, f32)>,
    /// The words of the question in lower case, and the weight of each.
    words: Vec<(String, f32)>,
    attainable: f32,
    /// The sum of the weights of all neighbouring terms.
    pairs: f32,
}

/// How the words of a question are placed in a text. All but the last are shares of what is
/// attainable.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Placement {
    /// The largest share of the question's words in one window.
    pub(crate) close: f32,
    /// The share of the question's pairs of neighbouring words that are neighbours in the text.
    pub(crate) pairs: f32,
    /// The share of the question's words that the text contains in the same form.
    pub(crate) exact: f32,
    /// The number of question marks.
    pub(crate) asks: f32,
}

impl<'a> Windows<'a> {
    pub(crate) fn new(findings: &'a Findings) -> Self {
        let weights = term_weights(findings);
        let weighted = findings.terms.iter().zip(&weights);
        let terms: Vec<(&str, f32)> = weighted
            .filter(|(term, _)| term.origin == Origin::Asked)
            .map(|(term, weight)| (term.term.as_str(), *weight))
            .collect();
        let pairs = terms.iter().zip(terms.iter().skip(1));
        let mut words: Vec<(String, f32)> = Vec::new();
        for (term, weight) in findings.terms.iter().zip(&weights) {
            let word = term.word.to_lowercase();
            let is_new = words.iter().all(|(known, _)| *known != word);
            if term.origin == Origin::Asked && is_new {
                words.push((word, *weight));
            }
        }
        Self {
            words,
            pairs: pairs.map(|(one, other)| one.1.min(other.1)).sum(),
            attainable: attainable(findings, &weights),
            terms,
        }
    }

    pub(crate) fn of(&self, text: &str) -> Placement {
        if self.attainable <= 0.0 {
            return Placement::default();
        }
        let text = start_of(text);
        let mentions = self.mentions(text);
        let pairs = if self.pairs > 0.0 {
            self.beside(&mentions) / self.pairs
        } else {
            0.0
        };
        Placement {
            close: (self.densest(&mentions) / self.attainable).min(1.0),
            pairs,
            exact: self.exact(text),
            asks: text.bytes().filter(|byte| *byte == b'?').count() as f32,
        }
    }

    /// The places of the question's terms in the text, as place and term.
    fn mentions(&self, text: &str) -> Vec<(usize, usize)> {
        let terms: Vec<&str> = self.terms.iter().map(|(term, _)| *term).collect();
        loci_text::term_places(text, &terms)
    }

    /// The share of the question's words that the text contains in the same form.
    fn exact(&self, text: &str) -> f32 {
        let text = text.to_lowercase();
        let is_inside = |place: usize, word: &str| {
            let before = text.get(..place).and_then(|text| text.chars().next_back());
            let after = text.get(place + word.len()..);
            let after = after.and_then(|text| text.chars().next());
            before.is_some_and(char::is_alphanumeric) || after.is_some_and(char::is_alphanumeric)
        };
        let (mut all, mut found) = (0.0, 0.0);
        for (word, weight) in &self.words {
            all += weight;
            let mut places = memchr::memmem::find_iter(text.as_bytes(), word);
            if places.any(|place| !is_inside(place, word)) {
                found += weight;
            }
        }
        if all > 0.0 { found / all } else { 0.0 }
    }

    /// The largest sum of weights in a window.
    fn densest(&self, mentions: &[(usize, usize)]) -> f32 {
        let mut counts = vec![0_u32; self.terms.len()];
        let (mut sum, mut best) = (0.0_f32, 0.0_f32);
        let mut first = mentions.iter();
        for (place, term) in mentions {
            let weight = self.weight(*term);
            if let Some(count) = counts.get_mut(*term) {
                *count += 1;
                if *count == 1 {
                    sum += weight;
                }
            }
            while let Some((start, left)) = first.as_slice().first() {
                if place - start <= SPAN {
                    break;
                }
                first.next();
                if let Some(count) = counts.get_mut(*left) {
                    *count -= 1;
                    if *count == 0 {
                        sum -= self.weight(*left);
                    }
                }
            }
            best = best.max(sum);
        }
        best
    }

    /// The sum of the weights of neighbouring terms of the question that are neighbours here.
    fn beside(&self, mentions: &[(usize, usize)]) -> f32 {
        let mut seen = vec![false; self.terms.len()];
        for ((place, term), (next, other)) in mentions.iter().zip(mentions.iter().skip(1)) {
            if next - place <= BESIDE
                && term.abs_diff(*other) == 1
                && let Some(seen) = seen.get_mut(*term.min(other))
            {
                *seen = true;
            }
        }
        let pairs = seen.iter().enumerate().filter(|(_, seen)| **seen);
        pairs
            .map(|(at, _)| self.weight(at).min(self.weight(at + 1)))
            .sum()
    }

    fn weight(&self, term: usize) -> f32 {
        self.terms.get(term).map_or(0.0, |(_, weight)| *weight)
    }
}

/// The part of a text that is examined.
fn start_of(text: &str) -> &str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ProbedTerm;

    fn findings(terms: &[&str]) -> Findings {
        let probed = |term: &&str| ProbedTerm {
            term: (*term).to_owned(),
            word: (*term).to_owned(),
            weight: 1.0,
            origin: Origin::Asked,
            drawers: 1,
        };
        Findings {
            terms: terms.iter().map(probed).collect(),
            drawers: 100,
            ..Findings::default()
        }
    }

    #[test]
    fn words_that_are_close_together_fill_a_window() {
        let findings = findings(&["red", "bicycl"]);
        let windows = Windows::new(&findings);
        let filler = "some filler text here ".repeat(20);
        let close = windows.of(&format!("{filler} a red and old bicycle {filler}"));
        let far = windows.of(&format!("a red one {filler} an old bicycle"));
        assert!((close.close - 1.0).abs() < 1e-6, "{close:?}");
        assert!((far.close - 0.5).abs() < 1e-6, "{far:?}");
        assert_eq!(windows.of("").close.to_bits(), 0);
    }

    #[test]
    fn only_the_same_form_of_a_word_is_exact() {
        let mut findings = findings(&["paint", "bowl"]);
        findings.terms[0].word = "Painting".to_owned();
        let windows = Windows::new(&findings);
        let exact = |text: &str| windows.of(text).exact;
        assert!((exact("the PAINTING of a bowl") - 1.0).abs() < 1e-6);
        assert!((exact("she painted a bowl") - 0.5).abs() < 1e-6);
        assert!(exact("repaintings and bowls").abs() < 1e-6);
        assert!(exact("").abs() < 1e-6);
    }

    #[test]
    fn question_marks_are_counted() {
        let findings = findings(&["red"]);
        let asks = Windows::new(&findings).of("red? blue? green.").asks;
        assert!((asks - 2.0).abs() < 1e-6);
    }

    #[test]
    fn neighbours_in_the_question_that_are_neighbours_in_the_text_make_pairs() {
        let findings = findings(&["red", "bicycl", "shop"]);
        let windows = Windows::new(&findings);
        assert!((windows.of("the red bicycle").pairs - 0.5).abs() < 1e-6);
        assert!((windows.of("red bicycle shop").pairs - 1.0).abs() < 1e-6);
        assert!(windows.of("red shop, and much later a bicycle").pairs < 1e-6);
    }

    #[test]
    fn a_text_of_any_length_is_examined_in_bounded_time() {
        let findings = findings(&["needl"]);
        let text = "é".repeat(MAX_BYTES) + " needle";
        assert!(Windows::new(&findings).of(&text).close < 1e-6);
    }
}
