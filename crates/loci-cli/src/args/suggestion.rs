//! The command that a mistyped one was probably meant to be.
//!
//! clap compares by Jaro's similarity, which suggests `watch` for `serach`. Here two exchanged
//! letters are one edit, as one wrong, missing or added letter is.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Names that need more edits are not suggested.
const MOST_EDITS: usize = 2;

/// Replaces the suggestion in an error about an unknown command.
pub(crate) fn corrected(
    mut error: Error,
    command: &Command,
    typed: impl IntoIterator<Item = OsString>,
) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let similar = similar(parent(command, typed, unknown), unknown);
    if similar.is_empty() {
        error.remove(ContextKind::SuggestedSubcommand);
    } else {
        let names = ContextValue::Strings(similar);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

/// The command whose subcommand is unknown.
fn parent<'a>(
    mut command: &'a Command,
    typed: impl IntoIterator<Item = OsString>,
    unknown: &str,
) -> &'a Command {
    for argument in typed {
        if argument == unknown {
            break;
        }
        if let Some(inner) = command.find_subcommand(&argument) {
            command = inner;
        }
    }
    command
}

/// The names with the fewest edits.
fn similar(command: &Command, unknown: &str) -> Vec<String> {
    let names = command.get_subcommands().map(Command::get_name);
    let near: Vec<(usize, &str)> = names
        .map(|name| (strsim::osa_distance(name, unknown), name))
        .filter(|(edits, name)| *edits <= MOST_EDITS && *edits * 2 < name.chars().count())
        .collect();
    let fewest = near.iter().map(|(edits, _)| *edits).min();
    near.iter()
        .filter(|(edits, _)| Some(*edits) == fewest)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(typed: &[&str]) -> String {
        let command = crate::args::command();
        let all = [&["loci"], typed].concat();
        let error = command.clone().try_get_matches_from(&all).unwrap_err();
        let typed = typed.iter().map(OsString::from);
        let error = corrected(error, &command, typed);
        error.render().to_string()
    }

    #[test]
    fn two_exchanged_letters_are_one_edit() {
        for (typed, meant) in [
            (&["serach"][..], "'search'"),
            (&["seach"], "'search'"),
            (&["bakcup"], "'backup'"),
            (&["facts", "qurey"], "'query'"),
            (&["--json", "fogret"], "'forget'"),
        ] {
            let message = suggested(typed);
            assert!(message.contains(meant), "{message}");
            assert!(!message.contains("watch"), "{message}");
        }
    }

    #[test]
    fn a_word_that_is_like_no_command_has_no_suggestion() {
        let message = suggested(&["paint"]);
        assert!(message.contains("unrecognized subcommand"), "{message}");
        assert!(!message.contains("similar"), "{message}");
    }
}
