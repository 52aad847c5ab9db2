//! Finds where to cut a long text: between paragraphs, else lines, else sentences, else words, else
//! characters.

/// Returns the length of the first part of `text`: at most `limit` bytes, but at least one
/// character. Returns the whole length if the text fits.
pub(super) fn first_part(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let end = boundary(text, limit);
    let Some(window) = text.get(..end) else {
        return end;
    };
    let after = |mark: &str, least: usize| {
        let at = window.rfind(mark)? + mark.len();
        (at >= least).then_some(at)
    };
    // A cut far before the limit would make many small parts, so only the second half is searched.
    let half = limit / 2;
    after("\n\n", half)
        .or_else(|| after("\n", half))
        .or_else(|| {
            [". ", "! ", "? ", "。", "！", "？"]
                .iter()
                .filter_map(|mark| after(mark, half))
                .max()
        })
        .or_else(|| after(" ", half))
        .unwrap_or(end)
}

/// Returns the last character boundary at or before `limit`, but after the first character.
fn boundary(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end > 0 {
        end
    } else {
        text.chars().next().map_or(0, char::len_utf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str, max: usize) -> Vec<&str> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, tail) = rest.split_at(first_part(rest, max));
            parts.push(part);
            rest = tail;
        }
        parts
    }

    #[test]
    fn a_text_is_cut_between_paragraphs_before_lines_before_sentences_before_words() {
        assert_eq!(
            cut("one two.\n\nthree\nfour", 16),
            ["one two.\n\n", "three\nfour"]
        );
        assert_eq!(
            cut("one two. x\nfour five", 16),
            ["one two. x\n", "four five"]
        );
        assert_eq!(
            cut("one two three. four five", 19),
            ["one two three. ", "four five"]
        );
        assert_eq!(
            cut("onetwothree four five", 14),
            ["onetwothree ", "four five"]
        );
        assert_eq!(cut("onetwothreefour", 10), ["onetwothre", "efour"]);
    }

    #[test]
    fn a_paragraph_far_from_the_limit_does_not_make_a_tiny_part() {
        let text = format!("a\n\n{}", "b".repeat(40));
        assert_eq!(cut(&text, 20).first().map(|part| part.len()), Some(20));
    }

    proptest! {
        #[test]
        fn the_parts_of_a_text_are_the_text(text in "(?s).{0,400}", max in 1usize..60) {
            let parts = cut(&text, max);
            prop_assert_eq!(&parts.concat(), &text);
            for part in parts {
                prop_assert!(!part.is_empty());
                prop_assert!(part.len() <= max || part.chars().count() == 1);
            }
        }
    }
}
