//! Splits a run of letters and digits into parts: `getUserName`, `HTTPServer`, `utf8`.

use std::ops::Range;

use super::class::is_apostrophe;
use super::fold::LONGEST_TERM;

/// A run with more parts is a hash or a blob, not a name.
const MOST_PARTS: usize = 12;
/// What may follow an apostrophe at the end of a word without being part of it.
const CLITICS: [&str; 6] = ["s", "ll", "re", "ve", "d", "m"];

/// The word before a final `'s`, `'ll`, `'re`, `'ve`, `'d` or `'m`.
pub(super) fn without_clitic(run: &str) -> &str {
    // A fast check: few runs have the last byte of an apostrophe near their end.
    let mut tail = run.as_bytes().iter().rev().take(3);
    if !tail.any(|byte| matches!(byte, b'\'' | 0x99)) {
        return run;
    }
    match run.rsplit_once(is_apostrophe) {
        Some((word, clitic))
            if CLITICS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(clitic)) =>
        {
            word
        }
        _ => run,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lower,
    Upper,
    Digit,
}

fn shape(c: char) -> Shape {
    if c.is_numeric() {
        Shape::Digit
    } else if c.is_uppercase() {
        Shape::Upper
    } else {
        Shape::Lower
    }
}

/// The positions where the parts of the last run begin, except the first.
#[derive(Default)]
pub(super) struct Parts {
    starts: Vec<usize>,
    length: usize,
}

impl Parts {
    /// Finds the parts of a run.
    pub(super) fn split(&mut self, run: &str) {
        self.starts.clear();
        self.length = run.len();
        let bytes = run.as_bytes().get(1..).unwrap_or_default();
        if run.len() > LONGEST_TERM || bytes.iter().all(u8::is_ascii_lowercase) && starts_word(run)
        {
            return;
        }
        let mut before: Option<Shape> = None;
        let mut last_upper = None;
        for (at, c) in run.char_indices() {
            if !c.is_alphanumeric() {
                continue;
            }
            let now = shape(c);
            match (before, now) {
                (Some(Shape::Lower), Shape::Upper)
                | (Some(Shape::Digit), Shape::Lower | Shape::Upper)
                | (Some(Shape::Lower | Shape::Upper), Shape::Digit) => self.starts.push(at),
                // `HTTPServer` is split before the `S`; `URLs` is not split.
                (Some(Shape::Upper), Shape::Lower) => {
                    let plural = run.get(at..) == Some("s");
                    if let Some(upper) = last_upper.filter(|_| !plural) {
                        self.starts.push(upper);
                    }
                }
                _ => {}
            }
            last_upper = (before == Some(Shape::Upper) && now == Shape::Upper).then_some(at);
            before = Some(now);
        }
        if self.starts.len() >= MOST_PARTS || is_ordinal(run) {
            self.starts.clear();
        }
    }

    /// Whether the run has only one part.
    pub(super) fn is_whole(&self) -> bool {
        self.starts.is_empty()
    }

    /// The byte ranges of the parts in the run.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.starts.iter().copied());
        let ends = self.starts.iter().copied().chain([self.length]);
        starts.zip(ends).map(|(start, end)| start..end)
    }
}

fn starts_word(run: &str) -> bool {
    run.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
}

/// `7th` is one word.
fn is_ordinal(run: &str) -> bool {
    let ending = run.trim_start_matches(|c: char| c.is_ascii_digit());
    ending.len() < run.len()
        && ["st", "nd", "rd", "th"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(run: &str) -> Vec<&str> {
        let mut parts = Parts::default();
        parts.split(run);
        parts.iter().map(|part| &run[part]).collect()
    }

    #[test]
    fn a_run_falls_where_case_or_kind_changes() {
        for (run, expected) in [
            ("getUserName", &["get", "User", "Name"][..]),
            ("HTTPServer", &["HTTP", "Server"]),
            ("parseHTTP2Frame", &["parse", "HTTP", "2", "Frame"]),
            ("utf8", &["utf", "8"]),
            ("10am", &["10", "am"]),
            ("URLs", &["URLs"]),
            ("NASA", &["NASA"]),
            ("Melanie", &["Melanie"]),
            ("21st", &["21st"]),
            ("ÉcoleNormale", &["École", "Normale"]),
            ("ПриветМир", &["Привет", "Мир"]),
            ("3f2a9bc1e0d4a5b6c7d8e9f0", &["3f2a9bc1e0d4a5b6c7d8e9f0"]),
        ] {
            assert_eq!(parts(run), expected, "{run}");
        }
    }

    #[test]
    fn a_clitic_is_not_part_of_the_word() {
        for (run, expected) in [
            ("Melanie's", "Melanie"),
            ("MELANIE'S", "MELANIE"),
            ("I\u{2019}ll", "I"),
            ("we're", "we"),
            ("don't", "don't"),
            ("O'Brien", "O'Brien"),
            ("rock'n'roll", "rock'n'roll"),
        ] {
            assert_eq!(without_clitic(run), expected);
        }
    }
}
