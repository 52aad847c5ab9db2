//! Marks where a text matches a question: the words to highlight, and the line to show.

use std::ops::Range;

use loci_core::{MetaValue, Metadata, Phrase};
use loci_embed::StaticEmbedder;
use loci_text::{front_matter_end, term_spans};

use crate::explain::TermInfo;

/// A phrase of the question weighs as much as so many rare words.
const PHRASE_WEIGHT: f32 = 20.0;
/// Lines of a text that are compared by meaning.
const COMPARED_LINES: usize = 60;

/// A part of a text that matches the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where it is in the text.
    pub span: Range<usize>,
    /// The term or phrase that matches. Marks of one term have the same number.
    pub term: usize,
    /// How much the match says; a rare word says more.
    pub weight: f32,
}

/// What the texts of an answer are compared with.
pub(crate) struct Marker<'a> {
    terms: Vec<&'a str>,
    weights: Vec<f32>,
    phrases: &'a [Phrase],
    /// The vector of the question, for texts without a word of it.
    meaning: Option<Vec<f32>>,
    question: &'a str,
}

impl<'a> Marker<'a> {
    /// Prepares a question whose terms were searched in a palace with so many drawers.
    pub(crate) fn new(
        question: &'a str,
        terms: &'a [TermInfo],
        phrases: &'a [Phrase],
        drawers: u64,
    ) -> Self {
        let rarity = |term: &TermInfo| (1.0 + drawers as f32 / (1.0 + term.drawers as f32)).ln();
        Self {
            terms: terms.iter().map(|term| term.term.as_str()).collect(),
            weights: terms.iter().map(rarity).collect(),
            phrases,
            meaning: None,
            question,
        }
    }

    /// The marks of a text, in its order.
    pub(crate) fn marks(&self, text: &str) -> Vec<Mark> {
        let mut marks: Vec<Mark> = term_spans(text, &self.terms)
            .into_iter()
            .map(|(span, term)| Mark {
                span,
                term,
                weight: self.weights.get(term).copied().unwrap_or_default(),
            })
            .collect();
        for (phrase, term) in self.phrases.iter().zip(self.terms.len()..) {
            marks.extend(phrase.spans(text).into_iter().map(|span| Mark {
                span,
                term,
                weight: PHRASE_WEIGHT,
            }));
        }
        marks.sort_by_key(|mark| (mark.span.start, mark.span.end));
        marks
    }

    /// Where the line begins that matches best: the one with the most of the question's words, else
    /// the one that is closest in meaning. Front matter counts only if nothing else matches.
    pub(crate) fn best_line(&mut self, text: &str, marks: &[Mark]) -> usize {
        let body = body_of(text);
        let by_words = best_start(text, marks, body..text.len())
            .or_else(|| best_start(text, marks, 0..text.len()));
        by_words.unwrap_or_else(|| self.nearest_line(text, body))
    }

    fn nearest_line(&mut self, text: &str, body: usize) -> usize {
        let first = |text: &str| text.len() - text.trim_start().len();
        let rest = text.get(body..).unwrap_or_default();
        let beginning = body + first(rest);
        if rest.trim().lines().nth(1).is_none() {
            return beginning;
        }
        let table = StaticEmbedder::builtin();
        let question = self
            .meaning
            .get_or_insert_with(|| table.embed_one(self.question));
        let mut best = (0.0, beginning);
        for (start, line) in lines(text)
            .filter(|(start, _)| *start >= body)
            .take(COMPARED_LINES)
        {
            if line.trim().is_empty() {
                continue;
            }
            let vector = table.embed_one(line);
            let cosine: f32 = vector.iter().zip(question.iter()).map(|(a, b)| a * b).sum();
            if cosine > best.0 {
                best = (cosine, start);
            }
        }
        best.1
    }
}

/// The byte where the text after the front matter begins; 0 if there is none, or nothing after it.
pub(crate) fn body_of(text: &str) -> usize {
    front_matter_end(text)
        .filter(|end| text.get(*end..).is_some_and(|rest| !rest.trim().is_empty()))
        .unwrap_or(0)
}

/// The lines of a text with the byte at which each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Where the line with the most matches in a range begins. Each term counts once per line, and
/// repetitions decide between equal lines.
fn best_start(text: &str, marks: &[Mark], within: Range<usize>) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    let mut rest = marks;
    for (start, line) in lines(text) {
        let end = start + line.len();
        let here = rest.partition_point(|mark| mark.span.start < end);
        let (inside, after) = rest.split_at(here);
        rest = after;
        if start < within.start || start >= within.end || inside.is_empty() {
            continue;
        }
        let mut seen: Vec<usize> = Vec::new();
        let mut sum = 0.0;
        for mark in inside {
            if seen.contains(&mark.term) {
                sum += 0.01 * mark.weight;
            } else {
                seen.push(mark.term);
                sum += mark.weight;
            }
        }
        if best.is_none_or(|(most, _)| sum > most) {
            best = Some((sum, start));
        }
    }
    best.map(|(_, start)| start)
}

/// The number of the line at a byte of a drawer's text, in its file. `None` if the drawer has no
/// lines, or if they are not those of the file, as for text that was extracted from a PDF.
pub(crate) fn line_in_source(metadata: &Metadata, text: &str, at: usize) -> Option<i64> {
    if metadata.get("extracted") == Some(&MetaValue::Bool(true)) {
        return None;
    }
    let Some(MetaValue::Int(first)) = metadata.get("start_line") else {
        return None;
    };
    let before = text.get(..at)?.matches('\n').count();
    Some(first.saturating_add(i64::try_from(before).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(term: &str, drawers: u64) -> TermInfo {
        TermInfo {
            term: term.into(),
            word: term.into(),
            drawers,
        }
    }

    fn line_of(question: &str, terms: &[TermInfo], text: &str) -> String {
        let mut marker = Marker::new(question, terms, &[], 1_000);
        let marks = marker.marks(text);
        let start = marker.best_line(text, &marks);
        text[start..].lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_line_with_the_rare_words_is_shown_not_the_first_one() {
        let terms = [term("cap", 3), term("request", 500)];
        let text = "# Requests\n\nrequest request request\n\nThe cap is 10 s.\nrequests";
        assert_eq!(line_of("", &terms, text), "The cap is 10 s.");
    }

    #[test]
    fn front_matter_is_shown_only_if_nothing_else_matches() {
        let terms = [term("cap", 3)];
        let text = "---\ntitle: cap\n---\nA cap.\n";
        assert_eq!(line_of("", &terms, text), "A cap.");
        let text = "---\ntitle: cap\n---\nA hat.\n";
        assert_eq!(line_of("", &terms, text), "title: cap");
    }

    #[test]
    fn without_a_word_of_the_question_the_closest_line_is_shown() {
        let text =
            "---\nweight: 1\n---\nThe invoice is paid in June.\n\nA kitten sleeps on the couch.";
        let line = line_of("where is the cat resting", &[], text);
        assert_eq!(line, "A kitten sleeps on the couch.");
    }

    #[test]
    fn the_line_in_the_file_counts_from_the_drawer() {
        let metadata: Metadata =
            serde_json::from_str(r#"{"start_line": 845, "source_file": "/a.md"}"#).unwrap();
        let text = "a\nb\nc";
        assert_eq!(line_in_source(&metadata, text, 4), Some(847));
        let extracted: Metadata =
            serde_json::from_str(r#"{"start_line": 845, "extracted": true}"#).unwrap();
        assert_eq!(line_in_source(&extracted, text, 4), None);
    }
}
