//! Stored models: one directory each, with `model.safetensors` and `manifest.json`.
//!
//! A model is written to a temporary directory, synced, and moved into place in one step. A kill at
//! any moment leaves either the old model or the new one. Temporary names begin with a dot, and the
//! next call that writes removes them.

#[cfg(feature = "http")]
mod known;
mod manifest;
#[cfg(feature = "http")]
mod pull;
mod swap;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Advice, Embedder as _, Error, Result};

use crate::minilm::{MINILM_NAME, MiniLm, Shape};
#[cfg(feature = "http")]
pub use known::{KNOWN_MODELS, KnownModel, Progress, PullLimits};
use loci_files::FileLock;
pub use manifest::StoredModel;

const WEIGHTS: &str = "model.safetensors";

/// A directory of models.
///
/// ```
/// use loci_embed::ModelStore;
/// let directory = tempfile::tempdir()?;
/// let store = ModelStore::at(directory.path());
/// assert!(store.list()?.is_empty());
/// let missing = store.open("minilm").unwrap_err();
/// assert!(missing.advice().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ModelStore {
    directory: PathBuf,
    shape: Shape,
}

/// The result of [`ModelStore::add`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The stored model.
    pub model: StoredModel,
    /// What happened to the previous model.
    pub change: Change,
}

/// What happened to the previous model with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There was none.
    Added,
    /// It had other weights or was damaged, and was removed.
    Replaced,
    /// It has the same weights. Nothing was written.
    Unchanged,
}

impl ModelStore {
    /// The models in this directory. Nothing is read or created yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            shape: Shape::MINILM,
        }
    }

    /// The directory of the models.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Checks the model at `path`, in any format that [`MiniLm::open`] reads, and stores it. A
    /// stored model with the same name is replaced in one step, unless the weights are the same.
    pub fn add(&self, path: impl AsRef<Path>) -> Result<Added> {
        let path = path.as_ref();
        let source = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        self.add_from(path, &source.display().to_string())
    }

    fn add_from(&self, path: &Path, source: &str) -> Result<Added> {
        let (model, weights) = MiniLm::open_with_weights(path, self.shape)?;
        let identity = model.identity();
        let _lock = self.lock()?;
        self.sweep(&identity.name)?;
        let place = self.place(&identity.name)?;
        if let Some(model) = self.whole(&identity.name, &identity.digest) {
            return Ok(Added {
                model,
                change: Change::Unchanged,
            });
        }
        let stored = StoredModel {
            name: identity.name,
            path: place.clone(),
            digest: identity.digest,
            dimension: identity.dimension,
            bytes: weights.len() as u64,
            source: source.to_owned(),
            added_at: loci_core::clock::now().strftime("%FT%TZ").to_string(),
            damage: None,
        };
        let new = self.hidden(&stored.name, "new");
        let failed = |error| Error::io("cannot create", &new, error);
        fs::create_dir(&new)
            .and_then(|()| loci_files::owner::hand_over_directory(&new))
            .map_err(failed)?;
        swap::write(&new.join(WEIGHTS), &weights)?;
        stored.write(&new)?;
        swap::sync_directory(&new)?;
        // The new directory is complete and durable under a hidden name. A crash before the swap
        // leaves the old model, and the next call that writes removes the hidden directory. A crash
        // after the swap leaves the new model.
        let change = if swap::into_place(&new, &place, &self.hidden(&stored.name, "old"))? {
            Change::Replaced
        } else {
            Change::Added
        };
        self.sweep(&stored.name)?;
        Ok(Added {
            model: stored,
            change,
        })
    }

    /// All models, sorted by name. A model that cannot be used is listed with its damage.
    pub fn list(&self) -> Result<Vec<StoredModel>> {
        let failed = |error| Error::io("cannot list", &self.directory, error);
        let _lock = FileLock::shared(&self.lock_path())?;
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut models = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            // If a replacement was killed, the old model takes the place of the missing one.
            let model_name = name
                .strip_prefix('.')
                .and_then(|name| name.strip_suffix(".old"));
            let model_name = match model_name {
                Some(old_name) if !self.directory.join(old_name).exists() => old_name,
                _ => &name,
            };
            let path = self.directory.join(&*name);
            if is_name(model_name) && path.is_dir() {
                models.push(StoredModel::read(model_name, &path));
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    /// Opens a stored model and checks its weights against the stored digest.
    pub fn open(&self, name: &str) -> Result<MiniLm> {
        let _lock = FileLock::shared(&self.lock_path())?;
        let place = self.place(name)?;
        let stored = StoredModel::read(name, &place);
        if !place.is_dir() {
            return Err(self.missing(name));
        }
        let refused = |damage: String| {
            let what = format!("model `{}`", place.display());
            Error::invalid(what, format!("{damage}; store it again")).advise(how_to_get(name))
        };
        if let Some(damage) = stored.damage {
            return Err(refused(damage));
        }
        let (model, _) = MiniLm::open_with_weights(&place.join(WEIGHTS), self.shape)?;
        let found = model.identity().digest;
        if found != stored.digest {
            return Err(refused(format!(
                "its weights are damaged: digest {found}, expected {}",
                stored.digest
            )));
        }
        Ok(model)
    }

    /// Removes a stored model, damaged or not.
    pub fn remove(&self, name: &str) -> Result<()> {
        if !self.place(name)?.is_dir() {
            return Err(self.missing(name));
        }
        let _lock = self.lock()?;
        self.sweep(name)?;
        let (place, gone) = (self.place(name)?, self.hidden(name, "new"));
        // The rename removes the model in one step. If the process is killed while it deletes the
        // files, the next call that writes deletes the rest.
        fs::rename(&place, &gone).map_err(|error| Error::io("cannot remove", &place, error))?;
        self.sweep(name)
    }

    /// The stored model if it is undamaged and has this digest.
    fn whole(&self, name: &str, digest: &str) -> Option<StoredModel> {
        let place = self.place(name).ok()?;
        let stored = StoredModel::read(name, &place);
        if stored.damage.is_some() || stored.digest != digest {
            return None;
        }
        let weights = place.join(WEIGHTS);
        let (model, _) = MiniLm::open_with_weights(&weights, self.shape).ok()?;
        (model.identity().digest == digest).then_some(stored)
    }

    /// The directory of a model: its own, or that of the old model if a replacement was killed
    /// between two renames.
    fn place(&self, name: &str) -> Result<PathBuf> {
        if !is_name(name) {
            let problem = "use lower-case letters, digits, `-` and `_`";
            return Err(Error::invalid(format!("model name `{name}`"), problem));
        }
        let (place, old) = (self.directory.join(name), self.hidden(name, "old"));
        Ok(if !place.exists() && old.is_dir() {
            old
        } else {
            place
        })
    }

    /// Removes what killed calls left behind. Requires the lock.
    fn sweep(&self, name: &str) -> Result<()> {
        let (place, old) = (self.directory.join(name), self.hidden(name, "old"));
        if !place.exists() && old.is_dir() {
            // A replacement was killed between its two renames. The old model is complete, so it
            // goes back.
            fs::rename(&old, &place).map_err(|error| Error::io("cannot restore", &place, error))?;
        }
        for leftover in [old, self.hidden(name, "new")] {
            // The model in place is complete and its name is durable, so nothing refers to these. A
            // crash in the middle leaves the rest to the next call.
            match fs::remove_dir_all(&leftover) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("cannot remove", leftover, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<FileLock> {
        loci_files::create_directory_with(&self.directory, 0o777)
            .map_err(|error| Error::io("cannot create", &self.directory, error))?;
        FileLock::exclusive(&self.lock_path())
    }

    fn lock_path(&self) -> PathBuf {
        self.directory.join(".lock")
    }

    fn hidden(&self, name: &str, suffix: &str) -> PathBuf {
        self.directory.join(format!(".{name}.{suffix}"))
    }

    fn missing(&self, name: &str) -> Error {
        Error::UnsupportedCapability {
            capability: name.to_owned(),
            reason: format!("no such model in `{}`", self.directory.display()),
        }
        .advise(how_to_get(name))
    }
}

fn how_to_get(name: &str) -> Advice {
    Advice::AddModel {
        model: name.to_owned(),
        can_pull: name == MINILM_NAME,
    }
}

/// Whether this is a valid name, which cannot lead out of the directory.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| letter(byte) || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests;
