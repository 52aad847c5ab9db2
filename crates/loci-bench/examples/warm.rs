//! Measures warm searches in a palace: `warm PALACE QUESTIONS.txt`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs
)]

use loci_palace::{OpenOptions, Palace, Request};

fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let palace = Palace::open(arguments[1].as_ref(), &OpenOptions::existing()).unwrap();
    let text = std::fs::read_to_string(&arguments[2]).unwrap();
    let questions: Vec<&str> = text.lines().collect();
    for round in 0..3 {
        let mut times: Vec<f64> = Vec::new();
        for question in &questions {
            let before = cpu();
            palace.search("drawers", &Request::new(*question)).unwrap();
            times.push(cpu() - before);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "round {round}: p50 {:.2} p95 {:.2} max {:.2} ms",
            times[times.len() / 2],
            times[times.len() * 95 / 100],
            times[times.len() - 1]
        );
    }
}
