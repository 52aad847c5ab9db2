//! Limits the tokens of an answer. Texts that are too long are cut around what matches, and marked as
//! cut. If the budget is too small even for parts, the last texts are left out, and a warning lists
//! them.

use std::ops::Range;

use loci_text::Tokenizer;

use crate::marks::Mark;

/// Number of tokens of a text, as the default embedder's tokenizer counts them.
pub fn count_tokens(text: &str) -> usize {
    Tokenizer::builtin().encode(text).len()
}

/// How much of a text an answer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Whole,
    /// At most this many tokens of it.
    Part(usize),
    Nothing,
}

/// The fewest tokens that a part of a text is worth.
pub(crate) const SMALLEST_PART: usize = 40;

/// Shares a budget among texts with these numbers of tokens, the best first. Short texts come whole.
/// Long ones are cut to the same length, so that none of the first texts is left out because it is
/// long.
pub(crate) fn shares(tokens: &[usize], budget: Option<usize>) -> Vec<Share> {
    let Some(budget) = budget else {
        return vec![Share::Whole; tokens.len()];
    };
    let mut shown = tokens.len();
    // The last texts are left out, until each of the others gets a part that is worth it.
    let worth = |tokens: &usize| (*tokens).min(SMALLEST_PART);
    while shown > 1 && tokens.iter().take(shown).map(worth).sum::<usize>() > budget {
        shown -= 1;
    }
    let limit = limit_of(tokens.get(..shown).unwrap_or_default(), budget);
    tokens
        .iter()
        .enumerate()
        .map(|(at, tokens)| match at < shown {
            true if *tokens <= limit => Share::Whole,
            true => Share::Part(limit),
            false => Share::Nothing,
        })
        .collect()
}

/// The largest number of tokens per text with which all texts fit the budget.
fn limit_of(tokens: &[usize], budget: usize) -> usize {
    let mut sorted = tokens.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (at, tokens) in sorted.iter().enumerate() {
        let each = left / (sorted.len() - at);
        if *tokens > each {
            return each;
        }
        left -= tokens;
    }
    usize::MAX
}

/// The part of a text with at most this many tokens that says most about the question: the one with
/// the most of its words, else the line that begins at `best_line`.
pub(crate) fn cut_around(
    text: &str,
    marks: &[Mark],
    best_line: usize,
    tokens: usize,
) -> Range<usize> {
    let all = count_tokens(text).max(1);
    let length = text.len().saturating_mul(tokens) / all;
    // A quarter of the space goes to the text before the first match.
    let lead = length / 4;
    let reach = length.saturating_sub(lead);
    let mut best: Option<(f32, usize)> = None;
    for (at, first) in marks.iter().enumerate() {
        let mut seen: Vec<usize> = Vec::new();
        let mut sum = 0.0;
        for mark in marks.iter().skip(at) {
            if mark.span.end > first.span.start.saturating_add(reach) {
                break;
            }
            if !seen.contains(&mark.term) {
                seen.push(mark.term);
                sum += mark.weight;
            }
        }
        // A later place has to be better, not only as good.
        if best.is_none_or(|(most, _)| sum > most * 1.001) {
            best = Some((sum, first.span.start));
        }
    }
    let first = best.map_or(best_line, |(_, start)| start);
    let mut from = first.saturating_sub(lead);
    if first + reach >= text.len() {
        from = from.min(text.len().saturating_sub(length));
    }
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let start = from + beginning_in(text.get(from..first).unwrap_or_default(), from == 0);
    let length = cut(text.get(start..).unwrap_or_default(), tokens).len();
    start..start + length
}

/// Where a part may begin in the text before the match: at a line, else at a sentence, else at a
/// word.
fn beginning_in(before: &str, is_start: bool) -> usize {
    if is_start {
        return 0;
    }
    let after = |mark: &str| before.find(mark).map(|at| at + mark.len());
    after("\n")
        .or_else(|| after(". "))
        .or_else(|| after(" "))
        .unwrap_or(0)
}

/// The beginning of a text with at most this many tokens, cut between words if possible.
pub(crate) fn cut(text: &str, tokens: usize) -> &str {
    if count_tokens(text) <= tokens {
        return text;
    }
    // The number of tokens grows with the text, so a binary search finds the end.
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let fits = |end: &usize| count_tokens(text.get(..*end).unwrap_or_default()) <= tokens;
    let (mut low, mut high) = (0, ends.len());
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if ends.get(middle).is_some_and(fits) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let end = ends.get(low).copied().unwrap_or_default();
    let start = text.get(..end).unwrap_or_default();
    match start.rfind(char::is_whitespace) {
        Some(space) if space * 2 > end => start.get(..space).unwrap_or(start),
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_has_at_most_the_tokens_it_may_have() {
        let text = "Caroline went to the pottery class; naïve 日本語 unbelievability. ".repeat(9);
        for tokens in [0, 1, 2, 3, 7, 20, 50, 1_000] {
            let cut = cut(&text, tokens);
            assert!(count_tokens(cut) <= tokens, "{tokens}");
            assert!(text.starts_with(cut));
        }
        assert_eq!(cut("short", 10), "short");
    }

    fn marks(text: &str, words: &[&str]) -> Vec<Mark> {
        let spans = loci_text::term_spans(text, words).into_iter();
        spans
            .map(|(span, term)| Mark {
                span,
                term,
                weight: 1.0,
            })
            .collect()
    }

    fn part<'t>(text: &'t str, words: &[&str], tokens: usize) -> &'t str {
        &text[cut_around(text, &marks(text, words), 0, tokens)]
    }

    #[test]
    fn a_text_is_cut_around_the_words_of_the_question() {
        let text = format!(
            "{}the kangaroo jumped {}",
            "lorem ipsum ".repeat(5_000),
            "dolor ".repeat(5_000)
        );
        let cut = part(&text, &["kangaroo"], 60);
        assert!(cut.contains("kangaroo jumped"), "{cut}");
        assert!(count_tokens(cut) <= 60 && text.contains(cut));
        assert!(text.starts_with(part(&text, &["lorem"], 10)));
        assert!(text.starts_with(part(&text, &["absent"], 10)));
    }

    #[test]
    fn a_text_is_cut_where_most_of_the_words_are() {
        let filler = "The cap is red.\n".repeat(60);
        let text = format!("{filler}We cap each request.\n{filler}");
        let cut = part(&text, &["cap", "request"], 40);
        assert!(cut.contains("We cap each request."), "{cut}");
        let at = text.find(cut).unwrap();
        assert!(at == 0 || text[..at].ends_with('\n'), "{cut}");
        let line = text.find("We cap").unwrap();
        let cut = &text[cut_around(&text, &[], line, 40)];
        assert!(cut.contains("We cap each request."), "{cut}");
    }

    #[test]
    fn long_texts_are_cut_to_one_length_and_short_ones_come_whole() {
        use Share::{Nothing, Part, Whole};
        assert_eq!(
            shares(&[900, 50, 900], Some(650)),
            [Part(300), Whole, Part(300)]
        );
        assert_eq!(shares(&[900, 50], Some(950)), [Whole, Whole]);
        assert_eq!(shares(&[900, 50], None), [Whole, Whole]);
        assert_eq!(
            shares(&[900, 900, 900], Some(100)),
            [Part(50), Part(50), Nothing]
        );
        assert_eq!(shares(&[900, 900], Some(10)), [Part(10), Nothing]);
        assert_eq!(shares(&[3, 900], Some(10)), [Whole, Nothing]);
        assert_eq!(shares(&[], Some(10)), []);
        for budget in [1, 7, 39, 40, 41, 333, 5_000] {
            let tokens = [120, 3, 700, 41, 40, 39, 1, 0, 2_000];
            let given = shares(&tokens, Some(budget)).into_iter().zip(tokens);
            let spent: usize = given
                .map(|(share, tokens)| match share {
                    Whole => tokens,
                    Part(part) => part,
                    Nothing => 0,
                })
                .sum();
            assert!(spent <= budget, "{budget}: {spent}");
        }
    }
}
