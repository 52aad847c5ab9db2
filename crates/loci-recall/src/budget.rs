//! Limits the tokens of an answer. Texts that fit are returned whole. Others are left out, and a
//! warning says so. If nothing fits, the best hit is cut and marked as cut.

use loci_text::Tokenizer;

/// Number of tokens of a text, as the default embedder's tokenizer counts them.
pub fn count_tokens(text: &str) -> usize {
    Tokenizer::builtin().encode(text).len()
}

/// How a text fits the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Whole,
    Out,
}

/// Assigns a budget to texts in order.
pub(crate) struct Budget {
    left: Option<usize>,
    /// Whether part of the budget is used.
    used: bool,
}

impl Budget {
    pub(crate) fn new(tokens: Option<usize>) -> Self {
        Self {
            left: tokens,
            used: false,
        }
    }

    /// How a text with this many tokens fits; its tokens are subtracted.
    pub(crate) fn take(&mut self, tokens: usize) -> Fit {
        let Some(left) = &mut self.left else {
            return Fit::Whole;
        };
        if tokens <= *left {
            *left -= tokens;
            self.used = true;
            Fit::Whole
        } else {
            Fit::Out
        }
    }

    /// The budget for the one text that is cut, if nothing fitted.
    pub(crate) fn for_cut(&self) -> Option<usize> {
        self.left.filter(|_| !self.used)
    }
}

/// The part of a text with at most this many tokens around the first word of the question, cut
/// between words if possible.
pub(crate) fn cut_around(text: &str, terms: &[&str], tokens: usize) -> String {
    let head = cut(text, tokens);
    let first = loci_text::matching_spans(text, terms)
        .first()
        .map_or(0, |span| span.start);
    if first < head.len() {
        return head.to_owned();
    }
    // A token has about four letters. A third of the space goes to the text before the word.
    let mut from = first.saturating_sub(tokens.saturating_mul(4) / 3);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = text.get(from..first).unwrap_or_default();
    let skip = tail.find(char::is_whitespace).map_or(0, |space| space + 1);
    let start = from + skip;
    cut(text.get(start..).unwrap_or_default(), tokens).to_owned()
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

    #[test]
    fn a_text_is_cut_around_the_words_of_the_question() {
        let text = format!(
            "{}the kangaroo jumped {}",
            "lorem ipsum ".repeat(5_000),
            "dolor ".repeat(5_000)
        );
        let part = cut_around(&text, &["kangaroo"], 60);
        assert!(part.contains("kangaroo jumped"), "{part}");
        assert!(count_tokens(&part) <= 60 && text.contains(&part));
        assert!(text.starts_with(&cut_around(&text, &["lorem"], 10)));
        assert!(text.starts_with(&cut_around(&text, &["absent"], 10)));
    }

    #[test]
    fn what_fits_comes_whole_and_what_does_not_is_left_out() {
        let mut budget = Budget::new(Some(10));
        assert_eq!(budget.take(6), Fit::Whole);
        assert_eq!(budget.take(5), Fit::Out);
        assert_eq!(budget.take(4), Fit::Whole);
        assert_eq!(budget.for_cut(), None);
        let mut budget = Budget::new(Some(10));
        assert_eq!(budget.take(11), Fit::Out);
        assert_eq!(budget.for_cut(), Some(10));
        assert_eq!(Budget::new(None).take(usize::MAX), Fit::Whole);
    }
}
