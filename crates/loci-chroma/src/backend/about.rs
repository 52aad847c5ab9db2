//! What a mirror records about its source besides the drawers: `mirror.json`, written last.

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{Error, MetaValue, Result};
use loci_foreign::chroma::DATABASE;
use serde::{Deserialize, Serialize};

use super::fingerprint::MIRROR_VERSION;

const FILE: &str = "mirror.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    version: u32,
    /// The mirrored directory; `None` if its name is not valid Unicode.
    source: Option<String>,
    pub(super) collections: Vec<AboutCollection>,
}

/// One collection of the source.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AboutCollection {
    /// Its name in the mirror.
    pub(super) name: String,
    /// Its UUID. A collection that was deleted and created again under the same name has another
    /// one.
    pub(super) id: String,
    /// The problems of the collection.
    pub(super) drift: Option<String>,
    /// The data that the mirror lacks.
    pub(super) unread: Option<String>,
    /// Drawers whose `part` was changed to keep them apart from duplicates, with their original
    /// value.
    pub(super) parts: BTreeMap<String, Option<MetaValue>>,
}

impl About {
    pub(super) fn new(source: &Path, collections: Vec<AboutCollection>) -> Self {
        Self {
            version: MIRROR_VERSION,
            source: source.to_str().map(Into::into),
            collections,
        }
    }

    /// Reads the description of the mirror in this directory. `None` if there is none or it is
    /// unusable.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = loci_files::own::read_to_string(&directory.join(FILE)).ok()?;
        let about: Self = serde_json::from_str(&text).ok()?;
        (about.version == MIRROR_VERSION).then_some(about)
    }

    /// Whether the mirrored directory is gone.
    pub(super) fn is_orphaned(&self) -> bool {
        let source = self.source.as_ref();
        source.is_some_and(|source| {
            let database = Path::new(source).join(DATABASE);
            database.try_exists().is_ok_and(|exists| !exists)
        })
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE);
        let text = serde_json::to_string(self).map_err(|error| Error::Internal {
            doing: "describing a mirror".into(),
            detail: error.to_string(),
        })?;
        loci_files::own::write(&path, text)
            .map_err(|source| Error::io("cannot write", path, source))
    }
}
