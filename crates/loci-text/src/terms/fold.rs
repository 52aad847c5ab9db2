//! Folds words that readers consider equal to one spelling: case, width and accents do not count.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Maximum bytes of a term.
pub(super) const LONGEST_TERM: usize = 64;
/// Maximum bytes that are read of a run. The rest cannot change the term, and normalisation is
/// linear for short runs only.
const LONGEST_RUN: usize = 256;

/// Writes the folded form of `raw` to `out`. It may be empty, and is never longer than a term.
pub(super) fn fold(raw: &str, out: &mut String) {
    out.clear();
    let raw = head(raw, LONGEST_RUN);
    if raw.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        out.push_str(raw);
        out.make_ascii_lowercase();
    } else if raw.is_ascii() {
        out.extend(
            raw.bytes()
                .filter(u8::is_ascii_alphanumeric)
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    } else {
        let mut base = '\0';
        raw.nfkd()
            .flat_map(char::to_lowercase)
            .filter(|&c| is_kept(&mut base, c))
            .nfc()
            .for_each(|c| push(c, out));
    }
    let length = head(out, LONGEST_TERM).len();
    out.truncate(length);
}

/// The longest prefix of `text` with at most `bytes` bytes.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Whether a character of decomposed lower-case text is kept. `base` is the last character that was
/// not a mark.
fn is_kept(base: &mut char, c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' => match *base {
            'a'..='z' | '\u{80}'..='\u{24f}' | '\u{370}'..='\u{3ff}' => false,
            // й, ў, ї, ѓ and ќ are separate letters; ё is written е, and stress marks are not
            // letters.
            '\u{400}'..='\u{52f}' => matches!(
                (*base, c),
                ('и' | 'у', '\u{306}') | ('і', '\u{308}') | ('г' | 'к', '\u{301}')
            ),
            _ => true,
        },
        // Variation selectors and keycaps only change the look of a character; U+02BC is an
        // apostrophe.
        '\u{fe00}'..='\u{fe0f}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{e0100}'..='\u{e01ef}'
        | '\u{2bc}' => false,
        // Remains of compatibility forms: `½` becomes `1⁄2`, and `⑴` becomes `(1)`.
        _ if !c.is_alphanumeric() && !is_combining_mark(c) => false,
        _ => {
            *base = c;
            true
        }
    }
}

fn push(c: char, out: &mut String) {
    match c {
        'ß' => out.push_str("ss"),
        'æ' => out.push_str("ae"),
        'œ' => out.push_str("oe"),
        'ø' => out.push('o'),
        'ł' => out.push('l'),
        'đ' => out.push('d'),
        'ı' => out.push('i'),
        'ς' => out.push('σ'),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(raw: &str) -> String {
        let mut out = String::new();
        fold(raw, &mut out);
        out
    }

    #[test]
    fn case_width_and_accents_do_not_count() {
        for (raw, expected) in [
            ("Café", "cafe"),
            ("Cafe\u{301}", "cafe"),
            ("ＡＢＣ１", "abc1"),
            ("İstanbul", "istanbul"),
            ("Straße", "strasse"),
            ("Søren", "soren"),
            ("Łódź", "lodz"),
            ("ΟΔΌΣ", "οδοσ"),
            ("οδός", "οδοσ"),
            ("Ёлка", "елка"),
            ("чай", "чай"),
            ("чаи", "чаи"),
            ("Київ", "київ"),
            ("ﬁn", "fin"),
            ("don\u{2019}t", "dont"),
            ("½", "12"),
            ("⑴", "1"),
        ] {
            assert_eq!(folded(raw), expected, "{raw}");
        }
    }

    #[test]
    fn vowel_signs_of_other_scripts_are_kept() {
        assert_ne!(folded("किताब"), folded("कताब"));
        assert_eq!(folded("किताब"), "किताब");
    }

    #[test]
    fn a_long_word_is_cut_at_a_character() {
        assert_eq!(folded(&"x".repeat(65)), "x".repeat(64));
        assert_eq!(folded(&"д".repeat(100)).len(), 64);
        assert_eq!(folded(&format!("x{}", "д".repeat(100))).len(), 63);
    }

    proptest! {
        #[test]
        fn folding_again_changes_nothing(raw in "\\PC{0,12}") {
            let once = folded(&raw);
            prop_assert_eq!(folded(&once), once);
        }
    }
}
