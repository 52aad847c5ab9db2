//! Describes a stored model without reading its weights.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result, serialize_path};
use serde::{Deserialize, Serialize};

use super::{WEIGHTS, swap};

const MANIFEST: &str = "manifest.json";

/// A stored model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredModel {
    /// Its name, for example `minilm`.
    pub name: String,
    /// Its directory.
    #[serde(skip_deserializing, serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// Digest of its weights, as in its embedder's identity.
    pub digest: String,
    /// Length of its vectors.
    pub dimension: usize,
    /// Size of its weights in bytes.
    pub bytes: u64,
    /// The path or URL that it came from.
    pub source: String,
    /// When it was stored, UTC.
    pub added_at: String,
    /// Why it cannot be used. In that case all fields except name and path may be empty.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// The content of the file: everything except name and path.
#[derive(Serialize)]
struct Manifest<'a> {
    name: &'a str,
    digest: &'a str,
    dimension: usize,
    bytes: u64,
    source: &'a str,
    added_at: &'a str,
}

impl StoredModel {
    /// Reads the manifest in `path`. An error becomes the damage of the model.
    pub(super) fn read(name: &str, path: &Path) -> Self {
        let (model, damage) = match parse(path) {
            Ok(model) if model.name != name => {
                let damage = format!("its `{MANIFEST}` is that of `{}`", model.name);
                (model, Some(damage))
            }
            Ok(model) => {
                let damage = wrong_weights(path, model.bytes);
                (model, damage)
            }
            Err(damage) => (Self::default(), Some(damage)),
        };
        Self {
            name: name.to_owned(),
            path: path.to_path_buf(),
            damage,
            ..model
        }
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let manifest = Manifest {
            name: &self.name,
            digest: &self.digest,
            dimension: self.dimension,
            bytes: self.bytes,
            source: &self.source,
            added_at: &self.added_at,
        };
        let mut json = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::Internal {
            doing: "writing a manifest".into(),
            detail: error.to_string(),
        })?;
        json.push(b'\n');
        swap::write(&directory.join(MANIFEST), &json)
    }
}

fn parse(path: &Path) -> std::result::Result<StoredModel, String> {
    let bytes = loci_files::own::read(&path.join(MANIFEST))
        .map_err(|error| format!("its `{MANIFEST}` cannot be read: {error}"))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("its `{MANIFEST}` cannot be read: {error}"))
}

fn wrong_weights(path: &Path, expected: u64) -> Option<String> {
    match fs::metadata(path.join(WEIGHTS)) {
        Ok(metadata) if metadata.len() == expected => None,
        Ok(metadata) => Some(format!(
            "its `{WEIGHTS}` has {} bytes, expected {expected}",
            metadata.len()
        )),
        Err(error) => Some(format!("its `{WEIGHTS}` cannot be read: {error}")),
    }
}
