//! Compares token ids with those of the `tokenizers` package.

use loci_text::{TokenId, Tokenizer};

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    ids: Vec<TokenId>,
}

#[test]
fn tokens_are_those_of_the_reference() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("fixtures/tokens.json")).unwrap();
    assert!(cases.len() >= 300);
    for Case { text, ids } in cases {
        assert_eq!(Tokenizer::builtin().encode(&text), ids, "{text:?}");
    }
}
