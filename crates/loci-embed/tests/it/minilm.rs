//! Compares the model with onnxruntime, and tests which files are refused.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use loci_core::Embedder as _;
use loci_embed::{KNOWN_MODELS, MiniLm, StaticEmbedder};

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    vector: String,
}

/// The path of the model. Without it, prints why the test is skipped.
fn model() -> Option<PathBuf> {
    let path = std::env::var_os("LOCI_TEST_MINILM").map(PathBuf::from);
    if path.is_none() {
        println!("SKIPPED: set LOCI_TEST_MINILM to a directory, file or wheel of all-MiniLM-L6-v2");
    }
    path
}

/// Vectors of onnxruntime, from the fixture or from a larger file of the same script.
fn reference() -> Vec<(String, Vec<f32>)> {
    let json = match std::env::var_os("LOCI_TEST_MINILM_VECTORS") {
        Some(path) => fs::read_to_string(path).unwrap(),
        None => include_str!("fixtures/vectors.json").to_owned(),
    };
    let cases: Vec<Case> = serde_json::from_str(&json).unwrap();
    cases
        .into_iter()
        .map(|case| (case.text, floats(&case.vector)))
        .collect()
}

fn floats(base64: &str) -> Vec<f32> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in base64.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, &byte| bits << 6 | u32::from(digit(byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&bytes| f32::from_le_bytes(bytes))
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn vectors_are_those_of_onnxruntime() {
    let Some(path) = model() else { return };
    let model = MiniLm::open(path).unwrap();
    let reference = reference();
    let texts: Vec<&str> = reference.iter().map(|(text, _)| text.as_str()).collect();
    let found = model.embed(&texts).unwrap();
    let mut smallest = 1.0_f32;
    for (found, (text, expected)) in found.iter().zip(&reference) {
        let cosine = cosine(found, expected);
        assert!(cosine > 0.9999, "{cosine} for {text:?}");
        smallest = smallest.min(cosine);
    }
    println!("{} texts, smallest cosine {smallest}", texts.len());
}

#[test]
fn every_form_of_the_model_has_the_digest_that_downloads_are_known_by() {
    let Some(path) = model() else { return };
    let identity = MiniLm::open(path).unwrap().identity();
    let known = KNOWN_MODELS
        .iter()
        .find(|known| known.name == identity.name);
    assert_eq!(known.unwrap().digest, identity.digest);
}

#[test]
fn vectors_do_not_depend_on_threads_or_on_the_order_of_texts() {
    let Some(path) = model() else { return };
    let model = MiniLm::open(path).unwrap();
    let reference = reference();
    let mut texts: Vec<&str> = reference
        .iter()
        .take(20)
        .map(|(text, _)| text.as_str())
        .collect();
    let many = model.embed(&texts).unwrap();
    let model = model.with_threads(1);
    texts.reverse();
    let mut one = model.embed(&texts).unwrap();
    one.reverse();
    assert_eq!(one, many);
}

#[test]
fn centred_static_queries_point_towards_minilm_vectors() {
    let Some(path) = model() else { return };
    let model = MiniLm::open(path).unwrap();
    let texts = [
        "Melanie made clay pots with her kids",
        "the database migration timed out",
        "a train to Zurich",
    ];
    let stored = model.embed(&texts).unwrap();
    for (own, text) in texts.iter().enumerate() {
        let query = StaticEmbedder::builtin().embed_centred(text);
        let scores: Vec<f32> = stored.iter().map(|vector| cosine(&query, vector)).collect();
        assert!(
            scores
                .iter()
                .enumerate()
                .all(|(other, &score)| other == own || score < scores[own]),
            "{scores:?}"
        );
    }
}

/// The error message for a path.
fn refusal(path: &Path) -> String {
    match MiniLm::open(path) {
        Ok(_) => panic!("{} was accepted", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_path_without_a_model_is_an_error_that_names_it_and_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    assert!(refusal(&missing).contains("nowhere"));
    let empty = refusal(dir.path());
    assert!(empty.contains("model.safetensors") && empty.contains(&*dir.path().to_string_lossy()));

    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/tiny");
    assert!(refusal(&tiny).contains("not that of all-MiniLM-L6-v2"));

    let alone = dir.path().join("alone.safetensors");
    fs::copy(tiny.join("model.safetensors"), &alone).unwrap();
    assert!(refusal(&alone).contains("embeddings.word_embeddings.weight"));
    fs::write(dir.path().join("config.json"), "{").unwrap();
    assert!(refusal(&alone).contains("config.json"));
}

#[test]
fn a_damaged_archive_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.whl");
    let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    archive
        .start_file(
            "package/model/model.safetensors",
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
    archive
        .write_all(include_bytes!("fixtures/tiny/model.safetensors"))
        .unwrap();
    archive.finish().unwrap();
    assert!(refusal(&path).contains("embeddings.word_embeddings.weight"));
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(997) {
        fs::write(&path, &whole[..length]).unwrap();
        refusal(&path);
    }
    for place in (0..whole.len())
        .step_by(97)
        .chain(whole.len() - 160..whole.len())
    {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x15;
        fs::write(&path, &damaged).unwrap();
        refusal(&path);
    }
}
