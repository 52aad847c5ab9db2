//! A process that the tests start, talk to and kill.
//!
//! `loci-worker PALACE serve` answers one JSON request per line. `loci-worker PALACE torture SEED
//! PREFIX DIMENSION NEXT` works by itself: before an operation it prints `I` and the operation, after
//! it was acknowledged `A`. `loci-worker PALACE open` opens (creating) and adds one drawer.
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

mod protocol;

use std::io::{BufRead, Write};
use std::path::Path;

use loci_palace::{Error, OpenOptions, Palace};
use protocol::{Op, Request, Rng, Row, random_op};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(&arguments[0]);
    match arguments[1].as_str() {
        "serve" => serve(path),
        "torture" => torture(
            path,
            arguments[2].parse().unwrap(),
            &arguments[3],
            arguments[4].parse().unwrap(),
            arguments[5].parse().unwrap(),
        ),
        "open" => {
            let answer = open(path).and_then(|palace| {
                let id = std::process::id().to_string();
                let op = Op::Add {
                    rows: vec![Row {
                        id: id.clone(),
                        text: Some(format!("opened by {id}")),
                        meta: [].into(),
                        vector: Some(vec![1.0, id.parse().unwrap()]),
                    }],
                };
                op.run(&palace, palace.collection("drawers", true)?.as_ref())
            });
            say(&answered(answer));
        }
        other => panic!("no mode {other}"),
    }
}

fn open(path: &Path) -> Result<Palace, Error> {
    Palace::open(path, &OpenOptions::create())
}

fn say(value: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").unwrap();
    out.flush().unwrap();
}

fn answered(result: Result<Value, Error>) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => {
            json!({"error": {"kind": error.kind().as_str(), "message": error.to_string(), "debug": format!("{error:?}")}})
        }
    }
}

fn serve(path: &Path) {
    let palace = match open(path) {
        Ok(palace) => palace,
        Err(error) => return say(&answered(Err(error))),
    };
    say(&json!("ready"));
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line.unwrap()).unwrap();
        say(&answered(request.run(&palace)));
    }
    palace.close().unwrap();
}

fn torture(path: &Path, seed: u64, prefix: &str, dimension: usize, mut next: u64) {
    let mut rng = Rng(seed);
    let palace = open(path).unwrap();
    let collection = palace.collection("drawers", true).unwrap();
    let mut out = std::io::stdout().lock();
    loop {
        let op = random_op(&mut rng, prefix, dimension, &mut next);
        writeln!(out, "I {}", json!(op)).unwrap();
        out.flush().unwrap();
        match op.run(&palace, collection.as_ref()) {
            Ok(_) => writeln!(out, "A").unwrap(),
            Err(error) => writeln!(out, "E {error:?}").unwrap(),
        }
        out.flush().unwrap();
    }
}
