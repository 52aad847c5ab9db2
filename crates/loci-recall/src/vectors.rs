//! Embeds the question. The embedders of the collection's vectors decide which embedder is used and
//! which warnings are given.

use loci_core::{Collection, Compatibility, Embedder, Error, ErrorKind, Result, Warning};

use crate::evidence::ProbeVector;

/// The question as a vector for each space that can be searched. If the embedder
/// fails, a warning says so and there is no vector.
pub(crate) fn query_vectors(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    query: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ProbeVector>> {
    match embed(collection, embedder, query, warnings) {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Busy) => {
            warnings.push(Warning::EmbedderFailed {
                problem: error.to_string(),
            });
            Ok(Vec::new())
        }
        other => other,
    }
}

/// The question as a vector for each space that can be searched.
fn embed(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    query: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ProbeVector>> {
    let Some(embedder) = embedder else {
        warnings.push(Warning::NoEmbedder);
        return Ok(Vec::new());
    };
    let identity = embedder.identity();
    let pinned = collection.info().embedder.clone();
    let own = |vector| ProbeVector {
        space: None,
        pinned: pinned.clone(),
        vector,
    };
    let apart = |vector| ProbeVector {
        space: Some(identity.clone()),
        pinned: pinned.clone(),
        vector,
    };
    let compatibility = pinned
        .as_ref()
        .map_or(Compatibility::Same, |pinned| embedder.compatibility(pinned));
    let vectors = match (&pinned, compatibility) {
        (Some(pinned), Compatibility::Foreign) => {
            return Err(Error::EmbedderMismatch {
                collection: collection.name().into(),
                pinned: pinned.to_string(),
                given: identity.to_string(),
            });
        }
        (Some(pinned), Compatibility::Compatible) => {
            warnings.push(Warning::CompatibleEmbedder {
                pinned: pinned.clone(),
                used: identity.clone(),
            });
            let mut vectors = Vec::new();
            vectors.extend(
                embedder
                    .embed_queries(&[query], pinned)?
                    .into_iter()
                    .map(own),
            );
            vectors.extend(
                embedder
                    .embed_queries(&[query], &identity)?
                    .into_iter()
                    .map(apart),
            );
            vectors
        }
        (Some(pinned), Compatibility::Same) => {
            let mut vectors: Vec<ProbeVector> = embedder
                .embed_queries(&[query], pinned)?
                .into_iter()
                .map(own)
                .collect();
            // Drawers that were added while this embedder was missing have static vectors.
            let fallback = loci_embed::StaticEmbedder::builtin();
            if fallback.compatibility(pinned) == Compatibility::Compatible {
                vectors.push(ProbeVector {
                    space: Some(fallback.identity()),
                    pinned: Some(pinned.clone()),
                    vector: fallback.embed_one(query),
                });
            }
            vectors
        }
        (None, _) => {
            let known = collection.info().dimension;
            if let Some(dimension) = known {
                warnings.push(Warning::UnknownEmbedder {
                    collection: collection.name().to_owned(),
                    dimension,
                    embedder: identity.clone(),
                });
                if dimension != identity.dimension {
                    return Ok(Vec::new());
                }
            }
            embedder
                .embed_queries(&[query], &identity)?
                .into_iter()
                .map(own)
                .collect()
        }
    };
    // The vector of a text without tokens is zero and near to nothing.
    Ok(vectors
        .into_iter()
        .filter(|vector| vector.vector.iter().any(|number| *number != 0.0))
        .collect())
}
