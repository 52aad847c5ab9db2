//! A process that the tests start, talk to and kill. Its first two arguments are a palace and a mode:
//!
//! - `serve` answers one JSON request per line.
//! - `open` opens (creating) and adds one drawer.
//! - `mine ROOT` opens (creating) and mines a folder. It exits with 1 if that fails.
//! - `reembed COLLECTION EMBEDDER` prints its progress and waits for a line after each step.
//! - `import RECORDS` imports a foreign palace of so many records, step by step in the same way.
//! - `fixture` creates the palace that `tests/compat/format-9.*` were made from, with
//!   `format-9.sqlite3` and `format-9.jsonl` beside it.
//! - `relate` adds three facts and a link at a time without end, and prints the number of each round
//!   that was acknowledged.
//! - `supersede` lets each number supersede the one before, and prints it.
//! - `succeed NAME` reads subjects line by line and replaces the object `old` of each by NAME.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "a program for tests; a panic is how it reports"
)]

mod fixture;
mod foreign;
#[path = "../../../loci-sqlite/tests/worker/operations.rs"]
mod operations;
mod protocol;

use std::io::{BufRead, Write};
use std::path::Path;

use loci_palace::{Error, Fact, OpenOptions, Palace, facts};
use operations::{answered, opened, print_line};
use protocol::{Request, embedder_named, reembedded};
use serde_json::json;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(&arguments[0]);
    match arguments[1].as_str() {
        "serve" => serve(path),
        "open" => print_line(&answered(open(path).and_then(|palace| opened(&palace)))),
        "mine" => {
            let request = Request::Mine {
                collection: "drawers".into(),
                roots: vec![arguments[2].clone().into()],
            };
            let answer = open(path).and_then(|palace| {
                let answer = request.run(&palace)?;
                palace.close()?;
                Ok(answer)
            });
            let failed = answer.is_err();
            print_line(&answered(answer));
            std::process::exit(i32::from(failed));
        }
        "reembed" => reembed(path, &arguments[2], &arguments[3]),
        "import" => import(path, arguments[2].parse().unwrap()),
        "fixture" => fixture::make(path),
        "relate" => relate(path),
        "supersede" => supersede(path),
        "succeed" => succeed(path, &arguments[2]),
        other => panic!("no mode {other}"),
    }
}

fn open(path: &Path) -> Result<Palace, Error> {
    Palace::open(path, &OpenOptions::create())
}

fn serve(path: &Path) {
    let palace = match open(path) {
        Ok(palace) => palace,
        Err(error) => return print_line(&answered(Err(error))),
    };
    print_line(&json!("ready"));
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line.unwrap()).unwrap();
        print_line(&answered(request.run(&palace)));
    }
    palace.close().unwrap();
}

/// Waits for a line after each step.
fn import(path: &Path, records: u64) {
    let palace = open(path).unwrap();
    let source = foreign::Foreign::mempalace(records);
    let options = loci_palace::ForeignImportOptions::default();
    let report = palace.import_foreign(&source, &options, &mut |step| {
        print_line(&json!({"done": step.done}));
        std::io::stdin()
            .lock()
            .read_line(&mut String::new())
            .unwrap();
    });
    print_line(&answered(report.map(|report| json!(report))));
    palace.close().unwrap();
}

/// Waits for a line after each step; a line `run` makes it go on by itself.
fn reembed(path: &Path, collection: &str, embedder: &str) {
    let palace = open(path).unwrap();
    let mut waits = true;
    let answer = embedder_named(&palace, embedder).and_then(|embedder| {
        palace.reembed(
            &loci_palace::reembed::Request {
                collection,
                embedder: embedder.as_ref(),
            },
            &mut |progress| {
                print_line(&json!({"done": progress.done, "total": progress.total}));
                let mut line = String::new();
                if waits {
                    std::io::stdin().lock().read_line(&mut line).unwrap();
                    waits = line.trim_end() != "run";
                }
            },
        )
    });
    print_line(&answered(answer.map(|done| reembedded(&done))));
    palace.close().unwrap();
}

fn numbered(round: u64) -> Fact {
    Fact {
        id: round.to_string(),
        subject: "the number".into(),
        predicate: "is".into(),
        object: round.to_string(),
        ..Fact::default()
    }
}

fn supersede(path: &Path) {
    let palace = open(path).unwrap();
    let relations = palace.relations().unwrap().unwrap();
    relations.add_facts(&[numbered(0)]).unwrap();
    for round in 1_u64.. {
        let old = [(round - 1).to_string()];
        relations.supersede(&old, "2026", &numbered(round)).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{round}").unwrap();
        out.flush().unwrap();
    }
}

fn succeed(path: &Path, name: &str) {
    let palace = open(path).unwrap();
    for subject in std::io::stdin().lock().lines() {
        let request = facts::supersede::Request {
            old: facts::Selector {
                subject: Some(subject.unwrap()),
                predicate: Some("is".into()),
                object: Some("old".into()),
                ..facts::Selector::default()
            },
            new: Fact {
                object: name.into(),
                ..Fact::default()
            },
            at: None,
        };
        let answer = match palace.supersede_fact(&request) {
            Ok(_) => format!("won {name}"),
            Err(error @ Error::Conflict { .. }) => format!("lost {error}"),
            Err(error) => panic!("{error}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}

fn relate(path: &Path) {
    let palace = open(path).unwrap();
    let relations = palace.relations().unwrap().unwrap();
    let mut out = std::io::stdout().lock();
    for round in 0_u64.. {
        relations.add_facts(&protocol::facts_of(round)).unwrap();
        writeln!(out, "F{round}").unwrap();
        out.flush().unwrap();
        relations.add_links(&[protocol::link_of(round)]).unwrap();
        writeln!(out, "L{round}").unwrap();
        out.flush().unwrap();
    }
}
