//! The console examples of README.md and docs/ show what is printed today.
//!
//! Each file is one session, in a home directory with two notes. Ids, dates and times differ from run to
//! run and are compared as such. A line `…` stands for any number of lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::support::Dir;

/// Examples that are not run here, by how they begin, and why.
const NOT_RUN: [(&str, &str); 2] = [
    ("cargo ", "they build this repository; CI has done so"),
    (
        "loci connect --hooks",
        "it asks at a terminal; `connect` has tests of its own",
    ),
];

const NOTES: [(&str, &str); 2] = [
    (
        "billing.md",
        "# Billing\n\n## Database\nWe move the billing service from Mongo to Postgres. Ana wrote the \
         migration.\n\n## Retries\nA failed charge is retried after 1, 10 and 60 minutes. We cap a \
         request at 10 s,\nbecause the bank drops connections after 12 s.\n",
    ),
    (
        "oncall.md",
        "# On call\n\n## Marta\nMarta owns the payment gateway. Call her before you restart it.\n\n\
         ## Rollback\nRun `deploy rollback api` and wait for the green light.\n",
    ),
];

/// A command and what the document shows below it.
struct Example {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples(document: &Path) -> Vec<Example> {
    let text = std::fs::read_to_string(document).unwrap();
    let mut examples: Vec<Example> = Vec::new();
    let mut in_console = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if in_console {
            match line.strip_prefix("$ ") {
                Some(command) => examples.push(Example {
                    line: number + 1,
                    command: command.to_owned(),
                    output: Vec::new(),
                }),
                None => examples
                    .last_mut()
                    .unwrap_or_else(|| {
                        panic!(
                            "{}:{}: output without a command",
                            document.display(),
                            number + 1
                        )
                    })
                    .output
                    .push(line.to_owned()),
            }
        }
    }
    examples
}

/// A home directory with notes, and `loci` on the path.
fn home(dir: &Dir) -> PathBuf {
    let home = dir.path("home/ana");
    std::fs::create_dir_all(home.join("notes")).unwrap();
    std::fs::create_dir(dir.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_loci"), dir.path("bin/loci")).unwrap();
    for (name, text) in NOTES {
        std::fs::write(home.join("notes").join(name), text).unwrap();
    }
    home
}

/// What a command prints, as on a terminal: both streams in one.
fn printed(dir: &Dir, home: &Path, command: &str) -> String {
    let path = format!(
        "{}:{}",
        dir.path("bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("bash")
        .args(["-c", &format!("{command} 2>&1")])
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let real = home.canonicalize().unwrap();
    text.replace(&real.to_string_lossy()[..], "/home/ana")
        .replace(&home.to_string_lossy()[..], "/home/ana")
}

/// The line without what differs from run to run.
fn normal(line: &str) -> String {
    let parts = [
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "ID",
        ),
        (r"\b20\d\d-\d\d-\d\d\b", "DATE"),
        (r"\b[0-9a-f]{8}\b", "MARK"),
        (r"\d+\.\d s\b", "TIME"),
    ];
    let line = line.trim_end().to_owned();
    parts.iter().fold(line, |line, (pattern, name)| {
        Regex::new(pattern)
            .unwrap()
            .replace_all(&line, *name)
            .into_owned()
    })
}

/// The words of some lines. Where lines break depends on the length of the home directory's name.
fn words(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| normal(line)).collect();
    let all = lines.join(" ");
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the printed text is the shown one, with anything in place of the lines `…`.
fn agree(shown: &[String], printed: &str) -> bool {
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let mut parts = shown.split(|line| *line == "…").map(words);
    let printed = words(&printed.lines().collect::<Vec<_>>());
    let Some(mut rest) = printed.strip_prefix(&parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(&part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last.is_some_and(|part| part.is_empty())
}

#[test]
fn every_console_example_shows_what_is_printed_today() {
    let mut documents = vec![repository().join("README.md")];
    for entry in std::fs::read_dir(repository().join("docs")).unwrap() {
        documents.push(entry.unwrap().path());
    }
    let mut run = 0;
    let mut wrong = Vec::new();
    for document in documents {
        let dir = Dir::new();
        let home = home(&dir);
        for example in examples(&document) {
            if NOT_RUN
                .iter()
                .any(|(start, _)| example.command.starts_with(start))
            {
                continue;
            }
            run += 1;
            let printed = printed(&dir, &home, &example.command);
            if !agree(&example.output, &printed) {
                wrong.push(format!(
                    "{}:{}: `{}` prints\n{printed}",
                    document.display(),
                    example.line,
                    example.command
                ));
            }
        }
    }
    assert!(run >= 8, "only {run} examples were run");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
