//! Compares names without letter case and surrounding space.
//!
//! Every character folds to one character, so that all spellings of a name can be found in a sorted
//! index without reading the names between them. [`Spellings`] computes where to look next.

/// Letters with a second uppercase or lowercase form.
const MORE_FORMS: &[(char, &[char])] = &[
    ('k', &['\u{212a}']),
    ('å', &['\u{212b}']),
    ('ß', &['\u{1e9e}']),
    ('θ', &['\u{3f4}']),
    ('σ', &['ς']),
    ('ω', &['\u{2126}']),
    ('ǆ', &['ǅ']),
    ('ǉ', &['ǈ']),
    ('ǌ', &['ǋ']),
    ('ǳ', &['ǲ']),
];

/// White space, sorted.
const SPACE: &[char] = &[
    '\t', '\n', '\u{b}', '\u{c}', '\r', ' ', '\u{85}', '\u{a0}', '\u{1680}', '\u{2000}',
    '\u{2001}', '\u{2002}', '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}',
    '\u{2009}', '\u{200a}', '\u{2028}', '\u{2029}', '\u{202f}', '\u{205f}', '\u{3000}',
];

/// The form of a name for comparison: lowercase, without surrounding space.
///
/// ```
/// use loci_core::folded_name;
/// assert_eq!(folded_name(" ALICE Smith\n"), folded_name("alice smith"));
/// assert_ne!(folded_name("alice  smith"), folded_name("alice smith"));
/// ```
pub fn folded_name(name: &str) -> String {
    name.trim().chars().map(folded).collect()
}

/// Whether two names are equal except for letter case and surrounding space.
pub fn same_name(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim().chars(), other.trim().chars());
    one.map(folded).eq(other.map(folded))
}

/// Folds one character to one character. An uppercase letter whose lowercase form is longer, or
/// does not map back to it, stays unchanged.
fn folded(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let small = match c {
        'ς' => 'σ',
        _ => single(c.to_lowercase()).unwrap_or(c),
    };
    if single(small.to_uppercase()) == Some(c) || more_forms(small).contains(&c) {
        small
    } else {
        c
    }
}

fn more_forms(small: char) -> &'static [char] {
    MORE_FORMS
        .iter()
        .find(|(letter, _)| *letter == small)
        .map_or(&[], |(_, forms)| forms)
}

fn single(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

/// The characters that fold to this folded character, sorted.
fn forms(folded: char) -> Vec<char> {
    let mut forms: Vec<char> = [Some(folded), single(folded.to_uppercase())]
        .into_iter()
        .flatten()
        .chain(more_forms(folded).iter().copied())
        .filter(|form| self::folded(*form) == folded)
        .collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// All spellings of a name, or of a prefix of names, as positions in byte order.
#[derive(Debug, Clone)]
pub struct Spellings {
    forms: Vec<Vec<char>>,
    /// Whether any text may follow. Otherwise only space may follow.
    open: bool,
}

impl Spellings {
    /// The spellings of a name. Space may follow it.
    pub fn of(name: &str) -> Self {
        Self {
            forms: name.trim().chars().map(|c| forms(folded(c))).collect(),
            open: false,
        }
    }

    /// The spellings of names that begin with a prefix.
    pub fn of_beginning(beginning: &str) -> Self {
        Self {
            open: true,
            ..Self::of(beginning)
        }
    }

    /// The first spelling that is not less than `bound`. A walk that looks up the first stored name
    /// from there, and continues after it, finds every stored spelling that does not begin with
    /// space.
    pub fn next_from(&self, bound: &str) -> Option<String> {
        let bound: Vec<char> = bound.chars().collect();
        let checked = if self.open {
            self.forms.len()
        } else {
            bound.len()
        };
        let wrong = bound
            .iter()
            .take(checked)
            .enumerate()
            .position(|(at, c)| !self.allowed(at).contains(c));
        let Some(wrong) = wrong else {
            return Some(self.completed(bound));
        };
        (0..=wrong).rev().find_map(|at| {
            let here = *bound.get(at)?;
            let next = *self.allowed(at).iter().find(|form| **form > here)?;
            let mut text: Vec<char> = bound.get(..at)?.to_vec();
            text.push(next);
            Some(self.completed(text))
        })
    }

    /// The ranges of texts that begin with space, each from its start to its exclusive end.
    pub fn space_ranges() -> impl Iterator<Item = (String, String)> {
        SPACE.iter().filter_map(|space| {
            let next = char::from_u32(u32::from(*space) + 1)?;
            Some((space.to_string(), next.to_string()))
        })
    }

    fn allowed(&self, at: usize) -> &[char] {
        self.forms.get(at).map_or(SPACE, Vec::as_slice)
    }

    /// The first text that begins like this and spells the name.
    fn completed(&self, mut text: Vec<char>) -> String {
        let missing = self.forms.iter().skip(text.len());
        text.extend(missing.filter_map(|forms| forms.first()));
        text.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_character_is_among_the_forms_of_what_it_folds_to() {
        for c in '\0'..=char::MAX {
            assert_eq!(folded(folded(c)), folded(c), "{c:?}");
            assert!(forms(folded(c)).contains(&c), "{c:?}");
        }
        let spaces: Vec<char> = ('\0'..=char::MAX).filter(|c| c.is_whitespace()).collect();
        assert_eq!(spaces, SPACE);
    }

    #[test]
    fn letter_case_and_surrounding_space_do_not_count() {
        for (one, other) in [
            ("Alice", " aLICE\t"),
            ("ΟΔΥΣΣΕΥΣ", "Οδυσσευς"),
            ("ЁЖ", "ёж"),
            ("\u{212a}elvin", "KELVIN"),
            ("東京", "東京 "),
        ] {
            assert!(same_name(one, other), "{one} {other}");
            assert_eq!(folded_name(one), folded_name(other));
        }
        assert!(!same_name("Alice", "Alicé"));
        assert!(!same_name("Alice", "Al ice"));
    }

    /// The names that a walk over sorted names finds, and how many names it read.
    fn walk(names: &BTreeSet<String>, spellings: &Spellings) -> (Vec<String>, usize) {
        let (mut met, mut looks) = (Vec::new(), 0);
        let mut bound = spellings.next_from("");
        while let Some(from) = bound {
            looks += 1;
            let Some(found) = names.range(from..).next() else {
                break;
            };
            bound = spellings.next_from(found);
            if bound.as_ref() == Some(found) {
                met.push(found.clone());
                bound = spellings.next_from(&format!("{found}\0"));
            }
        }
        (met, looks)
    }

    #[test]
    fn a_walk_meets_every_spelling_and_few_other_names() {
        let mut names: BTreeSet<String> = (0..10_000).map(|n| format!("user {n}")).collect();
        let spellings = [
            "USER 77",
            "User 77",
            "user 77",
            "user 77  ",
            "user 77\u{3000}",
        ];
        names.extend(spellings.map(str::to_owned));
        let (met, looks) = walk(&names, &Spellings::of("uSer 77 "));
        assert_eq!(met, spellings);
        assert!(looks < 40, "{looks}");
        for missing in ["nobody", "\u{10ffff}"] {
            assert!(walk(&names, &Spellings::of(missing)).0.is_empty());
        }
        let (met, _) = walk(&names, &Spellings::of_beginning("USER 77"));
        assert_eq!(met.len(), 110 + spellings.len());
    }

    proptest::proptest! {
        #[test]
        fn a_walk_meets_what_a_comparison_of_all_names_finds(
            names in proptest::collection::btree_set("[aAbBkK\u{212a}σΣς ]{0,4}", 0..60),
            name in "[abkσ]{1,3}",
        ) {
            let expected: Vec<String> = names
                .iter()
                .filter(|other| same_name(other, &name) && !other.starts_with(' '))
                .cloned()
                .collect();
            proptest::prop_assert_eq!(walk(&names, &Spellings::of(&name)).0, expected);
        }
    }
}
