//! docs/contract.md and the suite hold the same sentences.

use std::collections::BTreeSet;

use loci_contract::SENTENCES;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract.md");

/// Numbers of the lines that begin like `- **3.4** …`.
fn numbers(document: &str) -> Vec<String> {
    document
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("** "))
        .map(|(number, _)| number.to_owned())
        .collect()
}

#[test]
fn every_sentence_of_the_document_has_a_function_and_the_other_way_round() {
    let written = numbers(&std::fs::read_to_string(PATH).unwrap());
    let tested: Vec<&str> = SENTENCES.iter().map(|(number, _)| *number).collect();
    assert_eq!(written, tested);
}

#[test]
fn a_function_is_named_after_its_number() {
    for (number, name) in SENTENCES {
        let prefix = format!("s{}_", number.replace('.', "_"));
        assert!(name.starts_with(&prefix), "{number} has {name}");
    }
    let distinct: BTreeSet<_> = SENTENCES.iter().map(|(number, _)| number).collect();
    assert_eq!(distinct.len(), SENTENCES.len());
}
