//! The help of `loci` itself: its commands in groups, the most used first.
//!
//! clap lists subcommands in one block. The groups name commands only; their descriptions come from
//! [`Arguments`].

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::Arguments;

/// Every command, once.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Remember",
        &[
            "mine", "add", "update", "pin", "forget", "watch", "facts", "diary", "links",
        ],
    ),
    (
        "Find",
        &[
            "search", "open", "why-not", "get", "list", "query", "wake-up",
        ],
    ),
    ("Agents", &["connect", "disconnect", "mcp", "hook"]),
    (
        "Import and repair",
        &["import", "export", "doctor", "repair", "quarantine"],
    ),
    (
        "Maintain",
        &[
            "status", "verify", "backup", "restore", "sync", "runs", "undo", "wings", "reembed",
            "model", "init",
        ],
    ),
    ("More", &["demo", "bench", "completions", "help"]),
];

/// The command line of `loci`, with its commands in groups.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let heading = command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\
         {heading}Options:{heading:#}\n{{options}}{{after-help}}",
        listing(&command)
    );
    command.help_template(template)
}

fn listing(command: &Command) -> String {
    let heading = command.get_styles().get_header();
    let name_style = command.get_styles().get_literal();
    let mut built = command.clone();
    built.build();
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{heading}{group}:{heading:#}");
        for name in *names {
            let about = built
                .find_subcommand(name)
                .and_then(|command| command.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name_style}{name:<12}{name_style:#} {about}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut built = Arguments::command();
        built.build();
        let mut commands: Vec<&str> = built.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn the_list_of_commands_fits_100_columns() {
        let text = command().render_help().to_string();
        for line in text.lines().filter(|line| !line.contains("[default")) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(text.contains("Remember:\n  mine "), "{text}");
    }
}
