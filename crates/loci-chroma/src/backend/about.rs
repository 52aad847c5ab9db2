//! What a mirror remembers of its source beside the drawers: `mirror.json`, written when everything else is.

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{Error, MetaValue, Result};
use serde::{Deserialize, Serialize};

use super::fingerprint::MIRROR_VERSION;
use crate::directory::DATABASE;

const FILE: &str = "mirror.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    version: u32,
    /// The directory that is mirrored; nothing where its name is no text.
    source: Option<String>,
    pub(super) collections: Vec<AboutCollection>,
}

/// One collection of the source.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AboutCollection {
    /// Its name in the mirror.
    pub(super) name: String,
    /// Its UUID: a collection made anew under the old name is another one.
    pub(super) id: String,
    /// What is wrong with it.
    pub(super) drift: Option<String>,
    /// What the mirror lacks.
    pub(super) unread: Option<String>,
    /// Drawers that got a `part` to be kept beside their twins, with the value that they had.
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

    /// Of the mirror in this directory; nothing if it has none that can be used.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = loci_files::own::read_to_string(&directory.join(FILE)).ok()?;
        let about: Self = serde_json::from_str(&text).ok()?;
        (about.version == MIRROR_VERSION).then_some(about)
    }

    /// Whether what was mirrored is no longer there.
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
