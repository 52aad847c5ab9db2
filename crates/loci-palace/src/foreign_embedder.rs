//! Identifies the embedder of a foreign collection by the names that Loci knows.

use loci_core::EmbedderIdentity;
use loci_embed::{KNOWN_MODELS, MINILM_NAME};
use loci_foreign::{ForeignCollection, Kind};

const MINILM_DIMENSION: usize = 384;
/// Foreign names of all-MiniLM-L6-v2. `default` is ChromaDB's name for it.
const MINILM_NAMES: [&str; 5] = [
    "minilm",
    "all-minilm-l6-v2",
    "default",
    "onnx-mini-lm-l6-v2",
    "onnxminilm-l6-v2",
];

/// The Loci embedder that has this name elsewhere and makes vectors of this length.
pub(crate) fn known_embedder(name: &str, dimension: usize) -> Option<EmbedderIdentity> {
    if dimension != MINILM_DIMENSION || !is_minilm(name) {
        return None;
    }
    let known = KNOWN_MODELS
        .iter()
        .find(|known| known.name == MINILM_NAME)?;
    Some(EmbedderIdentity {
        name: MINILM_NAME.into(),
        dimension,
        digest: known.digest.into(),
    })
}

fn is_minilm(name: &str) -> bool {
    let name = name.to_lowercase().replace('_', "-");
    let model = name.rsplit('/').next().unwrap_or_default();
    MINILM_NAMES.contains(&model)
}

/// A message if the length of the vectors shows that another model than the recorded one made them.
pub(super) fn contradiction(
    collection: &ForeignCollection,
    dimension: Option<usize>,
) -> Option<String> {
    let (embedder, dimension) = (collection.embedder.as_ref()?, dimension?);
    (is_minilm(&embedder.name) && dimension != MINILM_DIMENSION).then(|| {
        format!(
            "`{}` is recorded as the embedder, which makes vectors of {MINILM_DIMENSION} numbers; these have {dimension}, so \
             another one made them",
            embedder.name
        )
    })
}

/// The embedder of a foreign collection; `None` if it is not recorded or cannot be right.
pub(super) fn embedder_of(
    kind: Kind,
    collection: &ForeignCollection,
    dimension: Option<usize>,
) -> Option<EmbedderIdentity> {
    let dimension = dimension?;
    match &collection.embedder {
        Some(_) if contradiction(collection, Some(dimension)).is_some() => None,
        Some(embedder) => Some(
            known_embedder(&embedder.name, dimension).unwrap_or_else(|| EmbedderIdentity {
                dimension,
                ..embedder.clone()
            }),
        ),
        // MemPalace's default, which older versions did not record.
        None if matches!(kind, Kind::Chroma | Kind::SqliteExact)
            && collection.name.starts_with("mempalace_") =>
        {
            known_embedder(MINILM_NAME, dimension)
        }
        None => None,
    }
}
