//! The signature of an error: the words of its message that would be the same next time. Paths
//! become file names; numbers, addresses and times are dropped.

use std::ops::Range;

use super::excerpt::{beginning, ending};

/// How many bytes at the end of an output are examined, how many lines in them, and how many bytes
/// of one line.
const TAIL_BYTES: usize = 16 << 10;
const MAX_LINES: usize = 60;
const LINE_BYTES: usize = 400;
/// The most words of a signature.
const MAX_WORDS: usize = 14;
const MIN_WORDS: usize = 3;
/// How many words are searched for.
const SEARCHED_WORDS: usize = 6;

/// Words of error messages that do not distinguish one error from another.
const COMMON: &str = " aborting after and are bash because been before caused code command could did does due error errors exit \
    exited failed failure fatal for from have into line more most non not null output process recent returned see status that \
    the this traceback warning was were while with zero ";

/// Words by which the line of an error is recognised.
const SIGNS: [&str; 22] = [
    "error",
    "fail",
    "exception",
    "panic",
    "fatal",
    "cannot",
    "can't",
    "could not",
    "unable",
    "undefined",
    "unresolved",
    "unexpected",
    "invalid",
    "not found",
    "no such",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "missing",
    "mismatch",
    "conflict",
];

/// The words of an error, the most significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    /// Codes and names: `E0277`, `retry_policy`, `TypeError`.
    pub(super) names: Vec<String>,
    /// Other words.
    pub(super) words: Vec<String>,
    /// The line of the error.
    line: String,
}

impl Signature {
    /// Returns the signature of the output of a failed tool; `None` if it is too vague.
    pub(super) fn of(output: &str) -> Option<Self> {
        let tail = ending(output, TAIL_BYTES);
        let lines: Vec<&str> = tail
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .rev()
            .take(MAX_LINES)
            .collect();
        // The last line that identifies the error. Lines that only count errors or repeat the
        // command do not count.
        lines
            .iter()
            .filter(|line| is_error(line))
            .map(|line| Self::of_line(line))
            .find(Self::is_significant)
    }

    fn of_line(line: &str) -> Self {
        let mut signature = Self {
            names: Vec::new(),
            words: Vec::new(),
            line: plain(beginning(line, LINE_BYTES)),
        };
        signature.add(line);
        signature
    }

    fn add(&mut self, line: &str) {
        for piece in plain(beginning(line, LINE_BYTES)).split_whitespace() {
            // Of a path, only the file name is kept.
            let piece = piece.rsplit(['/', '\\']).next().unwrap_or(piece);
            for word in piece.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                self.add_word(word);
            }
        }
    }

    fn add_word(&mut self, word: &str) {
        let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let lower = word.to_lowercase();
        let known = self.names.contains(&lower) || self.words.contains(&lower);
        let full = self.names.len() + self.words.len() >= MAX_WORDS;
        // Numbers, addresses and hashes differ each time.
        if letters == 0 || digits > 5 || lower.starts_with("0x") || known || full {
            return;
        }
        let joined = word.contains('_') || word.chars().skip(1).any(char::is_uppercase);
        let is_code = digits > 1 && letters <= 6;
        if joined && letters > 3 || is_code {
            self.names.push(lower);
        } else if letters > 2 && digits == 0 && !COMMON.contains(&format!(" {lower} ")) {
            self.words.push(lower);
        }
    }

    fn is_significant(&self) -> bool {
        let all = self.names.len() + self.words.len();
        all >= MIN_WORDS && (!self.names.is_empty() || self.words.len() > MIN_WORDS)
    }

    /// Returns the line of the error, without colours.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Returns the most significant words as a query.
    pub(super) fn query(&self) -> String {
        let first: Vec<&str> = self.all().take(SEARCHED_WORDS).collect();
        first.join(" ")
    }

    /// Returns a key that is the same for the same error, whatever the order of words.
    pub(super) fn key(&self) -> String {
        let mut all: Vec<&str> = self.all().collect();
        all.sort_unstable();
        super::state_dir::key_of(all.join(" ").as_bytes())
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().chain(&self.words).map(String::as_str)
    }

    /// Whether a text mentions the same error: it contains all names and nearly all words.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        // Most texts lack one of the names, and then their words need not be listed.
        if !self.names.iter().all(|name| text.contains(name.as_str())) {
            return false;
        }
        let there: std::collections::HashSet<&str> = text
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .collect();
        let all = self.all().count();
        let held = self.all().filter(|word| there.contains(word)).count();
        self.names.iter().all(|name| there.contains(name.as_str())) && 5 * held >= 4 * all
    }

    /// Returns where a text has the error: from the beginning of the line with most of its words to
    /// the last of the words in that line. Of equal lines it is the last.
    pub(super) fn lines_in(&self, text: &str) -> Range<usize> {
        let mut best = (0, 0..0);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let lower = line.to_lowercase();
            let held: Vec<&str> = self.all().filter(|word| lower.contains(word)).collect();
            if held.len() >= best.0 && !held.is_empty() {
                let ends = held
                    .iter()
                    .filter_map(|word| Some(lower.rfind(word)? + word.len()));
                let end = ends.max().filter(|_| lower.len() == line.len());
                let end = end.unwrap_or(line.len());
                best = (held.len(), start..start + end);
            }
            start += line.len();
        }
        best.1
    }
}

fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

/// Returns a line without terminal colours.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            let mut inside = letters.by_ref().skip_while(|letter| *letter == '[');
            let _ = inside.find(char::is_ascii_alphabetic);
        } else if letter.is_control() {
            plain.push(' ');
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Signature {
        Signature::of(output).unwrap_or_else(|| panic!("no signature of {output:?}"))
    }

    #[test]
    fn the_same_error_elsewhere_has_the_same_signature() {
        let first = of(
            "Compiling lamp v0.1.0\n\u{1b}[31merror[E0277]\u{1b}[0m: the trait `Shine` is not implemented for `Lamp`\n --> /home/ada/lamp/src/main.rs:17:9",
        );
        let second = of(
            "error[E0277]: the trait `Shine` is not implemented for `Lamp`\n  --> src/main.rs:203:1",
        );
        assert_eq!(first.key(), second.key());
        assert_eq!(first.names, ["e0277"]);
        let noise = of(
            "error[E0277]: the trait `Shine` is not implemented for `Lamp`\nmake: *** [lights] Error 2",
        );
        assert_eq!(first.key(), noise.key());
        let first = of(
            "Traceback (most recent call last):\n  File \"/a/b.py\", line 3\nKeyError: 'retry_policy' at 0x7f3a99 in uploader",
        );
        let second = of("KeyError: 'retry_policy' at 0x10aa in uploader");
        assert_eq!(first.key(), second.key());
    }

    #[test]
    fn what_is_too_vague_has_no_signature() {
        for output in [
            "",
            "Exit code 1",
            "error: command failed with exit code 1",
            "make: *** Error 2",
            "1 failed, 14 passed",
        ] {
            assert_eq!(Signature::of(output), None, "{output}");
        }
    }

    #[test]
    fn a_text_that_shares_some_words_is_not_about_the_error() {
        let signature = of("error[E0277]: the trait `Shine` is not implemented for `Lamp`");
        assert!(signature.is_in("We saw E0277: trait Shine not implemented for Lamp. Derive it."));
        assert!(!signature.is_in("The trait Shine is implemented for Lamp."));
        assert!(!signature.is_in("E0277 came up in another trait."));
    }
}
