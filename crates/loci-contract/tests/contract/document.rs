//! docs/contract.md and the suite have the same sentences.

use std::collections::BTreeSet;

use loci_contract::{READ_ONLY_SENTENCES, SENTENCES, Sentence};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract.md");

/// Numbers of the lines that begin like `- **3.4** …`.
fn numbers(document: &str) -> Vec<String> {
    document
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("** "))
        .map(|(number, _)| number.to_owned())
        .collect()
}

fn all() -> impl Iterator<Item = &'static Sentence> {
    SENTENCES.iter().chain(READ_ONLY_SENTENCES)
}

#[test]
fn every_sentence_of_the_document_has_a_function_and_the_other_way_round() {
    let written = numbers(&std::fs::read_to_string(PATH).unwrap());
    let tested: Vec<&str> = all().map(|sentence| sentence.number).collect();
    assert_eq!(written, tested);
}

#[test]
fn a_function_is_named_after_its_number() {
    for Sentence { number, name, .. } in all() {
        let prefix = match number.strip_prefix("R.") {
            Some(number) => format!("r{number}_"),
            None => format!("s{}_", number.replace('.', "_")),
        };
        assert!(name.starts_with(&prefix), "{number} has {name}");
    }
    let distinct: BTreeSet<_> = all().map(|sentence| sentence.number).collect();
    assert_eq!(distinct.len(), all().count());
}

#[test]
fn the_document_names_the_sentences_of_the_read_half() {
    let document = std::fs::read_to_string(PATH).unwrap();
    let half = document.split_once("## The read half").unwrap().1;
    let line = half
        .lines()
        .find_map(|line| line.strip_prefix("Sentences: "));
    let read: Vec<&str> = SENTENCES
        .iter()
        .filter(|sentence| sentence.read)
        .map(|sentence| sentence.number)
        .collect();
    assert_eq!(line.unwrap().trim_end_matches('.'), spans(&read));
}

/// Writes numbers like `1.1, 1.3–1.5`: consecutive numbers of a chapter become spans.
fn spans(numbers: &[&str]) -> String {
    let parsed = numbers.iter().filter_map(|number| {
        let (chapter, at) = number.split_once('.')?;
        Some((chapter, at.parse::<u32>().ok()?))
    });
    let mut runs: Vec<(&str, u32, u32)> = Vec::new();
    for (chapter, at) in parsed {
        match runs.last_mut() {
            Some(run) if run.0 == chapter && run.2 + 1 == at => run.2 = at,
            _ => runs.push((chapter, at, at)),
        }
    }
    let text = runs.into_iter().map(|(chapter, first, last)| {
        if first == last {
            format!("{chapter}.{first}")
        } else {
            format!("{chapter}.{first}–{chapter}.{last}")
        }
    });
    text.collect::<Vec<_>>().join(", ")
}
