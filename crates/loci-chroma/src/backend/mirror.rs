//! A private palace with the contents of a ChromaDB directory, built once for each state of the
//! directory.
//!
//! A mirror is built under a temporary name and renamed into place, so that several processes end
//! up with one mirror. A mirror that is damaged in any way is built again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    Backend, Collection, CollectionInfo, CollectionOptions, Error, PalaceRef, Result, Warning,
};
use loci_foreign::chroma::Directory;
use loci_sqlite::SqliteBackend;
use tempfile::TempDir;

use super::about::{About, AboutCollection};
use super::{KnownEmbedders, cache, filling, fingerprint};

/// How often a directory that changes during the read is read again.
const ATTEMPTS: usize = 5;
/// The palace inside the directory of a mirror.
const PALACE: &str = "palace";

/// The settings for building mirrors.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) known: KnownEmbedders,
    pub(super) mirrors: Option<PathBuf>,
    pub(super) drift_check: bool,
}

pub(super) struct Mirror {
    source: PathBuf,
    fingerprint: String,
    about: About,
    drift_check: bool,
    // Declared before the directory, so that it is closed before the directory is removed.
    backend: SqliteBackend,
    palace: PalaceRef,
    _temporary: Option<TempDir>,
}

impl Mirror {
    /// The mirror of a directory in its current state.
    pub(super) fn of(path: &Path, settings: &Settings) -> Result<Self> {
        let source = path
            .canonicalize()
            .map_err(|source| Error::io("cannot open", path, source))?;
        let shelf = settings
            .mirrors
            .as_ref()
            .map(|mirrors| mirrors.join(fingerprint::shelf(&source)));
        for _ in 0..ATTEMPTS {
            let fingerprint = fingerprint::of(&source)?;
            let place = shelf.as_ref().map(|shelf| shelf.join(&fingerprint));
            if let Some(kept) = place.as_deref().and_then(opened) {
                return Ok(kept.into_mirror(source, fingerprint, settings));
            }
            let made = make(&source, shelf.as_deref(), settings.known);
            // The directory changed during the read, so the next attempt may succeed.
            if fingerprint::of(&source)? == fingerprint {
                let published = publish(made?, shelf.as_deref(), &fingerprint)?;
                if let Some(mirrors) = &settings.mirrors {
                    cache::sweep(mirrors);
                }
                return Ok(published.into_mirror(source, fingerprint, settings));
            }
        }
        Err(Error::Busy {
            what: format!(
                "reading `{}`: another program keeps writing to it; stop it and try again",
                path.display()
            ),
            waited: Duration::ZERO,
        })
    }

    /// Whether the directory is unchanged and the mirror still exists.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.palace
            .as_directory()
            .is_some_and(std::path::Path::is_dir)
            && fingerprint::of(path).is_ok_and(|fingerprint| fingerprint == self.fingerprint)
    }

    /// Whether the files of the mirror are gone because another process has built a newer one.
    pub(super) fn is_gone(&self) -> bool {
        !self
            .palace
            .as_directory()
            .is_some_and(std::path::Path::is_dir)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let each = self.about.collections.iter();
        each.map(|collection| collection.name.as_str()).collect()
    }

    pub(super) fn named(&self, name: &str) -> Option<&AboutCollection> {
        let mut each = self.about.collections.iter();
        each.find(|collection| collection.name == name)
    }

    pub(super) fn list(&self) -> Result<Vec<CollectionInfo>> {
        self.backend.list_collections(&self.palace)
    }

    pub(super) fn collection(
        &self,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.backend
            .get_collection(&self.palace, name, false, options)
    }

    /// The warnings that every answer of a collection carries.
    pub(super) fn warnings(&self, name: &str) -> Vec<Warning> {
        let Some(about) = self.named(name) else {
            return Vec::new();
        };
        let drift = about.drift.as_ref().filter(|_| self.drift_check);
        let drift = drift.map(|problem| Warning::Drift {
            path: self.source.clone(),
            collection: about.name.clone(),
            problem: problem.clone(),
        });
        let unread = about.unread.as_ref();
        let unread = unread.map(|problem| Warning::NotMirrored {
            problem: problem.clone(),
        });
        drift.into_iter().chain(unread).collect()
    }
}

/// A mirror at its final path.
struct Kept {
    about: About,
    backend: SqliteBackend,
    palace: PalaceRef,
    temporary: Option<TempDir>,
}

impl Kept {
    fn into_mirror(self, source: PathBuf, fingerprint: String, settings: &Settings) -> Mirror {
        Mirror {
            source,
            fingerprint,
            about: self.about,
            drift_check: settings.drift_check,
            backend: self.backend,
            palace: self.palace,
            _temporary: self.temporary,
        }
    }
}

/// Opens a mirror. One that cannot be opened is removed.
fn opened(place: &Path) -> Option<Kept> {
    if !place.is_dir() {
        return None;
    }
    let palace = PalaceRef::local(place.join(PALACE));
    let backend = SqliteBackend::default();
    let about = About::read(place);
    let listed = backend.list_collections(&palace);
    match (about, listed) {
        (Some(about), Ok(listed)) if listed.len() == about.collections.len() => Some(Kept {
            about,
            backend,
            palace,
            temporary: None,
        }),
        _ => {
            drop(backend);
            cache::remove(place);
            None
        }
    }
}

/// Builds a mirror under a temporary name.
fn make(source: &Path, shelf: Option<&Path>, known: KnownEmbedders) -> Result<TempDir> {
    let directory = Directory::open(source)?;
    let staging = cache::staging(shelf)
        .map_err(|error| Error::io("cannot build a mirror in", std::env::temp_dir(), error))?;
    let palace = PalaceRef::local(staging.path().join(PALACE));
    let backend = SqliteBackend::default();
    backend.create_palace(&palace)?;
    let about = filling::fill(&directory, source, &backend, &palace, known)?;
    backend.close()?;
    about.write(staging.path())?;
    Ok(staging)
}

/// Renames a mirror into place, or uses the one that another process has just put there.
fn publish(staging: TempDir, shelf: Option<&Path>, fingerprint: &str) -> Result<Kept> {
    if let Some(shelf) = shelf.filter(|shelf| staging.path().starts_with(shelf)) {
        let place = shelf.join(fingerprint);
        // The mirror is complete and closed. If another process was first, the rename fails because
        // its directory is not empty. Older mirrors are removed only after a newer one is in place.
        if std::fs::rename(staging.path(), &place).is_ok() {
            cache::clear(shelf, fingerprint);
        }
        if let Some(kept) = opened(&place) {
            return Ok(kept);
        }
    }
    let mut kept = opened(staging.path()).ok_or_else(|| Error::Internal {
        doing: "opening a mirror".into(),
        detail: "it cannot be read right after it was written".into(),
    })?;
    kept.temporary = Some(staging);
    Ok(kept)
}
