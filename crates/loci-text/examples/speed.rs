//! Measures the speed of term extraction: `cargo run --release -p loci-text --example speed --
//! FILE`.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(clippy::print_stdout)]

use std::time::Instant;

use loci_text::{index_terms, query_terms};

fn main() -> std::io::Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: speed FILE");
        return Ok(());
    };
    let text = std::fs::read_to_string(path)?;
    let drawers: Vec<&str> = text.split_inclusive("\n\n").collect();
    for _ in 0..5 {
        let began = Instant::now();
        let terms: usize = drawers.iter().map(|drawer| index_terms(drawer).count).sum();
        let index = text.len() as f64 / 1e6 / began.elapsed().as_secs_f64();
        let began = Instant::now();
        let asked = query_terms(&text, 128).left_out;
        let query = text.len() as f64 / 1e6 / began.elapsed().as_secs_f64();
        println!("index {index:.0} MB/s ({terms} terms), query {query:.0} MB/s ({asked} left out)");
    }
    Ok(())
}
