//! Other spellings of the words of a query: British and American forms, versions with and without
//! a `v`, initials of several words, and words with one typing error.

use super::stem::Stems;

/// Endings that British and American English spell differently. Each is used in both directions.
/// A spelling that nobody uses is in no postings, so the rules need no list of exceptions.
const ENDINGS: [(&str, &str); 26] = [
    ("our", "or"),
    ("ours", "ors"),
    ("oured", "ored"),
    ("ouring", "oring"),
    ("ourite", "orite"),
    ("ourites", "orites"),
    ("ourful", "orful"),
    ("ourable", "orable"),
    ("ise", "ize"),
    ("ises", "izes"),
    ("ised", "ized"),
    ("ising", "izing"),
    ("isation", "ization"),
    ("isations", "izations"),
    ("yse", "yze"),
    ("ysed", "yzed"),
    ("ysing", "yzing"),
    ("lled", "led"),
    ("lling", "ling"),
    ("ller", "ler"),
    ("llers", "lers"),
    ("ogue", "og"),
    ("ogues", "ogs"),
    ("ence", "ense"),
    ("tre", "ter"),
    ("tres", "ters"),
];
/// Minimum number of letters before such an ending. `filled` and `filed` are two words.
const LEAST_BEFORE: usize = 3;
/// The same before a doubled `l`.
const LEAST_BEFORE_L: usize = 4;
/// Minimum and maximum number of letters of a word with a typing error.
const TYPED: std::ops::RangeInclusive<usize> = 5..=20;

/// The stems of the other spellings of a folded word.
pub(super) fn spellings(folded: &str, stems: &mut Stems) -> Vec<String> {
    let mut found = Vec::new();
    for (british, american) in ENDINGS {
        for (from, to) in [(british, american), (american, british)] {
            let Some(before) = folded.strip_suffix(from) else {
                continue;
            };
            let least = if british.starts_with('l') {
                LEAST_BEFORE_L
            } else {
                LEAST_BEFORE
            };
            if before.len() >= least {
                let other = stems.stem(&format!("{before}{to}")).to_owned();
                if !found.contains(&other) {
                    found.push(other);
                }
            }
        }
    }
    found
}

/// The term of a version with a `v` before it if it has none, and without it if it has one.
///
/// `term` is the term of the whole version, `word` how it was typed: `2.3.1` or `v2.3.1`.
pub(super) fn version(term: &str, word: &str) -> Option<String> {
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let is_version = number.contains('.')
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.split('.').all(|part| !part.is_empty());
    if !is_version {
        return None;
    }
    if number.len() == word.len() {
        return Some(format!("v{term}"));
    }
    term.strip_prefix('v').map(str::to_owned)
}

/// All terms that differ from `term` by one typing error: a letter too few, too many or wrong, or
/// two letters exchanged. The first letter is taken as right. Empty for terms that are short, long,
/// or not made of letters of one alphabet.
///
/// ```
/// let terms = loci_text::one_typing_error("kuberent");
/// assert!(terms.contains(&"kubernet".to_owned()));
/// assert!(loci_text::one_typing_error("2024").is_empty());
/// ```
pub fn one_typing_error(term: &str) -> Vec<String> {
    let letters: Vec<char> = term.chars().collect();
    let alphabets = ['a'..='z', 'а'..='я', 'α'..='ω'];
    let alphabet = alphabets
        .into_iter()
        .find(|alphabet| letters.iter().all(|letter| alphabet.contains(letter)));
    let Some(alphabet) = alphabet.filter(|_| TYPED.contains(&letters.len())) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    for at in 1..=letters.len() {
        let (before, after) = letters.split_at(at);
        let mut add = |middle: &[char], skipped: usize| {
            let rest = after.get(skipped..).unwrap_or_default();
            let letters = before.iter().chain(middle).chain(rest);
            found.push(letters.collect());
        };
        for letter in alphabet.clone() {
            add(&[letter], 0);
            if after.first().is_some_and(|replaced| *replaced != letter) {
                add(&[letter], 1);
            }
        }
        if !after.is_empty() {
            add(&[], 1);
        }
        if let [first, second, ..] = after
            && first != second
        {
            add(&[*second, *first], 2);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(word: &str) -> Vec<String> {
        let mut stems = Stems::borrow();
        let found = spellings(word, &mut stems);
        stems.give_back();
        found
    }

    #[test]
    fn british_and_american_spellings_are_found_from_each_other() {
        for (word, wanted) in [
            ("colour", "color"),
            ("color", "colour"),
            ("organise", "organ"),
            ("catalogue", "catalog"),
            ("travelled", "travel"),
            ("traveled", "travel"),
            ("theatre", "theater"),
            ("defense", "defenc"),
        ] {
            let found = other(word);
            assert!(found.contains(&wanted.to_owned()), "{word}: {found:?}");
        }
        assert!(other("filled").is_empty());
        assert!(other("our").is_empty());
    }

    #[test]
    fn a_version_is_found_with_and_without_its_v() {
        assert_eq!(version("231", "2.3.1").as_deref(), Some("v231"));
        assert_eq!(version("v231", "v2.3.1").as_deref(), Some("231"));
        assert_eq!(version("readmemd", "README.md"), None);
        assert_eq!(version("2024", "2024"), None);
        assert_eq!(version("v", "v"), None);
    }

    #[test]
    fn one_typing_error_covers_every_kind_of_error_and_keeps_the_first_letter() {
        for (typed, meant) in [
            ("kuberent", "kubernet"),
            ("postger", "postgr"),
            ("elefant", "elefants"),
            ("recieve", "receive"),
            ("grafanna", "grafana"),
            ("миграця", "миграция"),
        ] {
            assert!(
                one_typing_error(typed).contains(&meant.to_owned()),
                "{typed}"
            );
        }
        let of = one_typing_error("grafana");
        assert!(of.iter().all(|term| term.starts_with('g')));
        assert!(!of.contains(&"grafana".to_owned()));
        assert!(of.len() < 400, "{}", of.len());
        for none in ["abcd", "v2.3.1", "k8s", "木木木木木", "", "a̐bcdefg"] {
            assert!(one_typing_error(none).is_empty(), "{none}");
        }
    }
}
