//! How often a verdict is right: `verdict LOCOMO.json PALACES`, where PALACES was kept by the example `retrieval --keep PALACES`.
//!
//! Asks each question of its own conversation and of the next one, whose palace cannot know the answer.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example fails where it stands"
)]

use loci_palace::search::Request;
use loci_palace::{OpenOptions, Palace};
use serde_json::Value;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data: Value = serde_json::from_slice(&std::fs::read(&arguments[1]).unwrap()).unwrap();
    let conversations = data.as_array().unwrap();
    let palaces: Vec<Palace> = conversations
        .iter()
        .enumerate()
        .map(|(at, conversation)| {
            let name = format!("{at:04}-{}", conversation["sample_id"].as_str().unwrap());
            let path = std::path::Path::new(&arguments[2]).join(name);
            Palace::open(&path, &OpenOptions::existing()).unwrap()
        })
        .collect();
    for (half, first) in [("tuning", 0), ("reporting", 1)] {
        // Questions, and those that are said to be in memory: of the own palace, then of another.
        let mut counts = [[0_u32; 2]; 2];
        for at in (first..conversations.len()).step_by(2) {
            for question in conversations[at]["qa"].as_array().unwrap() {
                let Some(text) = question["question"]
                    .as_str()
                    .filter(|_| question["category"] != 5)
                else {
                    continue;
                };
                for (whose, palace) in [&palaces[at], &palaces[(at + 2) % palaces.len()]]
                    .iter()
                    .enumerate()
                {
                    let found = palace.search(&Request::new(text)).unwrap();
                    counts[whose][0] += 1;
                    counts[whose][1] += u32::from(found.verdict.likely);
                }
            }
        }
        let share = |whose: usize| f64::from(counts[whose][1]) / f64::from(counts[whose][0]);
        println!(
            "{half}: {} questions; said to be in memory: own palace {:.3}, another palace {:.3}",
            counts[0][0],
            share(0),
            share(1)
        );
    }
}
