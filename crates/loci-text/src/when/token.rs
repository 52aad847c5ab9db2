//! Splits a question into words, numbers and dates with their positions.

use std::ops::Range;

use jiff::civil::Date;

/// Maximum number of letters of a relevant word.
const LONGEST_WORD: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ASCII word, in lower case.
    Word(String),
    Number {
        value: i64,
        digits: usize,
        ordinal: bool,
    },
    /// `2023-05-07`
    Day(Date),
    /// `2023-05`: the first day of the month.
    Month(Date),
    Comma,
    /// The end of a sentence. No expression continues across it.
    Stop,
    Other,
}

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) raw: &'a str,
    pub(super) place: Range<usize>,
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(|c: char| c.is_whitespace() || c == ',') {
        let piece = match prefix(piece) {
            Some((word, length)) => {
                tokens.push(Token {
                    kind: Kind::Word(word.to_owned()),
                    raw: word,
                    place: at..at + word.len(),
                });
                at += length;
                piece.get(length..).unwrap_or_default()
            }
            None => piece,
        };
        let open: &[char] = &['(', '[', '"', '\'', '\u{201c}', '\u{2018}'];
        let close: &[char] = &[
            ')', ']', '"', '\'', '\u{201d}', '\u{2019}', ',', '.', '?', '!', ';', ':',
        ];
        let inner = piece.trim_start_matches(open);
        let start = at + piece.len() - inner.len();
        let inner = inner.trim_end();
        let raw = inner.trim_end_matches(close);
        let after = inner.get(raw.len()..).unwrap_or_default();
        at += piece.len();
        if raw.is_empty() && after.is_empty() {
            continue;
        }
        let raw = without_possessive(raw);
        let kind = kind(raw);
        let abbreviation =
            matches!(&kind, Kind::Word(word) if word.len() < 5 && word != "may") && after == ".";
        let place = start..start + raw.len();
        tokens.push(Token {
            kind,
            raw,
            place: place.clone(),
        });
        let mark = if after.contains(['.', '?', '!', ';', ':']) && !abbreviation {
            Kind::Stop
        } else if after.contains(',') {
            Kind::Comma
        } else {
            continue;
        };
        tokens.push(Token {
            kind: mark,
            raw: "",
            place,
        });
    }
    tokens
}

/// `mid-May`: the word before the hyphen, and its length including the hyphen.
fn prefix(piece: &str) -> Option<(&'static str, usize)> {
    ["early", "mid", "late"].into_iter().find_map(|word| {
        let (head, _) = piece.split_once('-')?;
        head.eq_ignore_ascii_case(word)
            .then_some((word, word.len() + 1))
    })
}

fn without_possessive(raw: &str) -> &str {
    raw.strip_suffix("'s")
        .or_else(|| raw.strip_suffix("\u{2019}s"))
        .unwrap_or(raw)
}

fn kind(raw: &str) -> Kind {
    if raw.len() > LONGEST_WORD || raw.is_empty() {
        return Kind::Other;
    }
    if raw.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Kind::Word(raw.to_ascii_lowercase());
    }
    // `Q2` is a word that contains a number.
    if let [b'q' | b'Q', b'1'..=b'4'] = raw.as_bytes() {
        return Kind::Word(raw.to_ascii_lowercase());
    }
    number(raw).or_else(|| iso(raw)).unwrap_or(Kind::Other)
}

fn number(raw: &str) -> Option<Kind> {
    let digits = raw.bytes().take_while(u8::is_ascii_digit).count();
    let value = raw.get(..digits)?.parse().ok()?;
    let ordinal = match raw.get(digits..)?.to_ascii_lowercase().as_str() {
        "" => false,
        "st" | "nd" | "rd" | "th" => true,
        _ => return None,
    };
    Some(Kind::Number {
        value,
        digits,
        ordinal,
    })
}

fn iso(raw: &str) -> Option<Kind> {
    let field = |range: Range<usize>| -> Option<i16> {
        let digits = raw.get(range)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse().ok()).flatten()
    };
    let hyphens: Vec<usize> = raw.match_indices('-').map(|(at, _)| at).collect();
    let (year, month) = (field(0..4)?, field(5..7)? as i8);
    match (raw.len(), hyphens.as_slice()) {
        (7, [4]) => Date::new(year, month, 1).ok().map(Kind::Month),
        (10, [4, 7]) => Date::new(year, month, field(8..10)? as i8)
            .ok()
            .map(Kind::Day),
        _ => None,
    }
}
