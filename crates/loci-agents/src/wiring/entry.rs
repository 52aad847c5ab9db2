//! The entries that Loci writes, and how it recognises them.

use std::path::Path;

use loci_palace::shell_quoted;
use serde_json::Value;

use super::agents::{Event, HookStyle, Shape};
use super::written::Written;

/// What an entry runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The absolute path of the program; only `loci` in a plugin.
    pub(super) program: String,
    /// The palace, if it is not the default one.
    pub(super) palace: Option<String>,
    /// The set of tools, if it is not the default one.
    pub(super) tools: Option<String>,
}

impl Run {
    /// The arguments of the server.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        for (flag, value) in [("--palace", &self.palace), ("--tools", &self.tools)] {
            words.extend(
                value
                    .iter()
                    .flat_map(|value| [flag.to_owned(), value.clone()]),
            );
        }
        words
    }

    /// The shell command of a hook.
    pub(super) fn hook(&self, event: &str, harness: &str) -> String {
        let program = shell_quoted(Path::new(&self.program));
        let palace = self
            .palace
            .as_ref()
            .map(|palace| format!(" --palace {}", shell_quoted(Path::new(palace))))
            .unwrap_or_default();
        format!("{program} hook {event} --harness {harness}{palace}")
    }

    /// Parses an entry of Loci, which is a server if `command` is `mcp` and a hook if it is `hook`.
    /// `None` if the entry is not Loci's.
    pub(super) fn of(words: &[String], command: &str) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let stem = Path::new(program).file_stem()?.to_str()?;
        let ours = is_loci(stem) && arguments.iter().any(|word| word == command);
        ours.then(|| Self {
            program: program.clone(),
            palace: flag(arguments, "--palace"),
            tools: flag(arguments, "--tools"),
        })
    }
}

/// Returns the value of an option, as a separate word or after `=`.
pub(super) fn flag(words: &[String], name: &str) -> Option<String> {
    let apart = words.iter().position(|word| word == name);
    let joined = format!("{name}=");
    match apart {
        Some(at) => words.get(at + 1).cloned(),
        None => words
            .iter()
            .find_map(|word| word.strip_prefix(&joined))
            .map(str::to_owned),
    }
}

/// Whether this is the name of the program, with or without its version.
fn is_loci(stem: &str) -> bool {
    stem.strip_prefix("loci")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// Returns the entry of a server.
pub(super) fn server(shape: Shape, run: &Run) -> Vec<(String, Written)> {
    let program = Written::text(&run.program);
    let arguments = Written::texts(run.arguments());
    let entries = match shape {
        Shape::Plain => vec![("command", program), ("args", arguments)],
        Shape::Typed => vec![
            ("type", Written::text("stdio")),
            ("command", program),
            ("args", arguments),
        ],
        Shape::WithEnvironment => vec![
            ("command", program),
            ("args", arguments),
            ("env", Written::Object(Vec::new())),
        ],
        Shape::Local => vec![
            ("type", Written::text("local")),
            ("command", all_words(run)),
        ],
    };
    entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Returns the fields of an entry that say what it runs.
pub(super) fn running(shape: Shape, run: &Run) -> Vec<(&'static str, Written)> {
    match shape {
        Shape::Local => vec![("command", all_words(run))],
        _ => vec![
            ("command", Written::text(&run.program)),
            ("args", Written::texts(run.arguments())),
        ],
    }
}

fn all_words(run: &Run) -> Written {
    let mut words = vec![run.program.clone()];
    words.extend(run.arguments());
    Written::texts(words)
}

/// Returns the words that a server entry of any shape runs.
pub(super) fn words_of_server(entry: &Value) -> Vec<String> {
    let mut words = match entry.get("command") {
        Some(Value::String(program)) => vec![program.clone()],
        Some(Value::Array(words)) => texts(words),
        // An older shape of Zed: `{"path": …, "args": …}`.
        Some(Value::Object(command)) => {
            let mut words: Vec<String> = command
                .get("path")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .into_iter()
                .collect();
            words.extend(
                command
                    .get("args")
                    .and_then(Value::as_array)
                    .map(|list| texts(list))
                    .unwrap_or_default(),
            );
            words
        }
        _ => Vec::new(),
    };
    let arguments = entry.get("args").and_then(Value::as_array);
    words.extend(arguments.map(|list| texts(list)).unwrap_or_default());
    words
}

fn texts(list: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    list.iter().filter_map(text).collect()
}

/// Returns the element for an event's list.
pub(super) fn hook(style: HookStyle, event: &Event, command: &str) -> Written {
    let timeout = Written::Number(event.timeout);
    match style {
        HookStyle::Flat => {
            Written::object([("command", Written::text(command)), ("timeout", timeout)])
        }
        HookStyle::Groups => {
            let handler = Written::object([
                ("type", Written::text("command")),
                ("command", Written::text(command)),
                ("timeout", timeout),
            ]);
            let mut group = Vec::new();
            group.extend(
                event
                    .matcher
                    .map(|matcher| ("matcher".to_owned(), Written::text(matcher))),
            );
            group.push(("hooks".to_owned(), Written::List(vec![handler])));
            Written::Object(group)
        }
    }
}

/// Splits a command into words as a shell does. Expansions are not supported.
pub(super) fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let (mut quote, mut letters) = (None, command.chars());
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => (quote, begun) = (Some(letter), true),
            (None | Some('"'), '\\') => {
                word.extend(letters.next());
                begun = true;
            }
            (None, ' ' | '\t' | '\n') => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, palace: Option<&str>) -> Run {
        Run {
            program: program.to_owned(),
            palace: palace.map(str::to_owned),
            tools: None,
        }
    }

    #[test]
    fn a_hook_command_is_known_again_whatever_its_paths_hold() {
        let names = [
            "/usr/bin/loci",
            "/my programs/loci",
            "/it's/loci",
            r#"/a "b" \c/loci"#,
        ];
        for program in names {
            for palace in [None, Some("/my memory's \"palace\"")] {
                let run = run(program, palace);
                let words = shell_words(&run.hook("Stop", "codex"));
                assert_eq!(Run::of(&words, "hook"), Some(run));
            }
        }
    }

    #[test]
    fn only_commands_of_loci_are_taken_for_its_own() {
        let others = [
            "lociraptor hook Stop",
            "/usr/bin/loci search hook-like",
            "echo loci hook",
            "",
            "'unfinished",
        ];
        for command in others {
            assert_eq!(Run::of(&shell_words(command), "hook"), None, "{command}");
        }
    }
}
