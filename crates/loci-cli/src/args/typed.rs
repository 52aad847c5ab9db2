//! What the user typed, before clap reads it.

use std::ffi::OsString;

/// The arguments of the program as clap reads them. A question may have `-word`, which clap would
/// take for options, so `not:word` takes its place.
pub(crate) fn typed() -> Vec<OsString> {
    with_negated_words(std::env::args_os().collect())
}

fn with_negated_words(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut is_question = false;
    let mut is_over = false;
    let mut words = arguments.into_iter().enumerate();
    let mut typed = Vec::new();
    for (at, word) in &mut words {
        is_over |= word == "--";
        let is_verb = word == "search" || word == "why-not";
        if at > 0 && !is_question && is_verb {
            is_question = true;
        } else if is_question
            && !is_over
            && let Some(negated) = negated_word(&word)
        {
            typed.push(OsString::from(format!("not:{negated}")));
            continue;
        }
        typed.push(word);
    }
    typed
}

/// The word behind a `-`, unless it is an option: `-k`, `-k5`, `--json`.
fn negated_word(argument: &OsString) -> Option<&str> {
    let word = argument.to_str()?.strip_prefix('-')?;
    let mut letters = word.chars();
    let first = letters.next()?;
    let second = letters.next()?;
    let is_count = first == 'k' && word.get(1..)?.bytes().all(|byte| byte.is_ascii_digit());
    let begins_as_word = first.is_alphabetic() || matches!(first, '"' | '“' | '„' | '«');
    (begins_as_word && !is_count && second != '=').then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_to_leave_out_is_not_taken_for_an_option() {
        let typed = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words = with_negated_words(words).into_iter();
            let words = words.map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<_>>().join(" ")
        };
        for (line, expected) in [
            (
                "loci search a -kitten -k 3",
                "loci search a not:kitten -k 3",
            ),
            ("loci search a -k3 -v --json", "loci search a -k3 -v --json"),
            (
                "loci --json search -wing:acme b",
                "loci --json search not:wing:acme b",
            ),
            ("loci search -- -word", "loci search -- -word"),
            ("loci list -word", "loci list -word"),
        ] {
            assert_eq!(typed(line), expected);
        }
    }
}
