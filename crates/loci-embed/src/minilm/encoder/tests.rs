//! Tests the forward pass with a tiny random model whose vectors numpy computed.

use super::*;
use crate::minilm::tensors::Tensors;
use crate::minilm::weights;

#[derive(serde::Deserialize)]
struct Expected {
    ids: Vec<TokenId>,
    vector: Vec<f32>,
}

const CONFIG: &[u8] = include_bytes!("../../../tests/it/fixtures/tiny/config.json");
const FULL: &[u8] = include_bytes!("../../../tests/it/fixtures/tiny/model.safetensors");
const HALF: &[u8] = include_bytes!("../../../tests/it/fixtures/tiny/half.safetensors");

fn expected() -> Vec<Expected> {
    serde_json::from_str(include_str!(
        "../../../tests/it/fixtures/tiny/expected.json"
    ))
    .unwrap()
}

fn load(bytes: &[u8], shape: Shape) -> Result<Encoder, String> {
    Ok(weights::load(&Tensors::read(bytes)?, shape)?.encoder)
}

fn tiny(bytes: &[u8]) -> Encoder {
    load(bytes, Shape::parse(CONFIG).unwrap()).unwrap()
}

#[test]
fn a_tiny_model_gives_the_vectors_that_numpy_gives() {
    let expected = expected();
    let texts: Vec<&[TokenId]> = expected.iter().map(|text| text.ids.as_slice()).collect();
    for bytes in [FULL, HALF] {
        let found = tiny(bytes).embed(&texts, &mut Scratch::default()).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            for (found, expected) in found.iter().zip(&expected.vector) {
                assert!((found - expected).abs() < 2e-6, "{found} {expected}");
            }
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_its_neighbours() {
    let expected = expected();
    let model = tiny(FULL);
    let texts: Vec<&[TokenId]> = expected.iter().map(|text| text.ids.as_slice()).collect();
    let mut scratch = Scratch::default();
    let together = model.embed(&texts, &mut scratch).unwrap();
    for (text, vector) in texts.iter().zip(together) {
        assert_eq!(model.embed(&[text], &mut scratch).unwrap(), [vector]);
    }
}

#[test]
fn tokens_and_lengths_that_the_model_lacks_are_errors() {
    let model = tiny(FULL);
    let mut scratch = Scratch::default();
    assert!(model.embed(&[&[40]], &mut scratch).is_err());
    assert!(model.embed(&[&[1; 25]], &mut scratch).is_err());
    assert_eq!(model.embed(&[&[]], &mut scratch).unwrap(), [vec![0.0; 16]]);
}

#[test]
fn damaged_weights_are_errors_and_never_panics() {
    let shape = Shape::parse(CONFIG).unwrap();
    for length in (0..FULL.len()).step_by(61) {
        assert!(load(&FULL[..length], shape).is_err());
    }
    let mut refused = 0;
    for place in 0..6_000 {
        let mut damaged = FULL.to_vec();
        damaged[place] ^= 1 << (place % 8);
        match load(&damaged, shape) {
            Ok(model) => drop(model.embed(&[&[2, 7, 3]], &mut Scratch::default())),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1_000, "{refused}");
    for wrong in [
        "hidden_size",
        "num_hidden_layers",
        "intermediate_size",
        "vocab_size",
    ] {
        let config = String::from_utf8(CONFIG.to_vec()).unwrap();
        let config = config.replace(&format!("\"{wrong}\": "), &format!("\"{wrong}\": 1"));
        assert!(
            Shape::parse(config.as_bytes())
                .and_then(|shape| load(FULL, shape))
                .is_err()
        );
    }
}
