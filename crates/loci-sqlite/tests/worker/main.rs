//! A process that the tests start, talk to and kill. It uses the backend alone.
//!
//! `loci-sqlite-worker PALACE serve` answers one JSON request per line.
//! `loci-sqlite-worker PALACE torture SEED PREFIX DIMENSION NEXT` works by itself: it prints `I` and
//! the operation before each operation, and `A` after it was acknowledged.
//! `loci-sqlite-worker PALACE open` opens (creating) and adds one drawer.
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

mod operations;
mod palace;

use std::io::{BufRead, Write};
use std::path::Path;

use operations::{Access, Request, Rng, answered, opened, print_line, random_op};
use palace::SqlitePalace;
use serde_json::json;

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
            let added = SqlitePalace::open(path, true).and_then(|palace| opened(&palace));
            print_line(&answered(added));
        }
        other => panic!("no mode {other}"),
    }
}

fn serve(path: &Path) {
    let palace = match SqlitePalace::open(path, true) {
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

fn torture(path: &Path, seed: u64, prefix: &str, dimension: usize, mut next: u64) {
    let mut rng = Rng(seed);
    let palace = SqlitePalace::open(path, true).unwrap();
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
