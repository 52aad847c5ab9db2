//! Writes drawers into a palace, in batches, as any program does.

use std::fs;
use std::path::{Path, PathBuf};

use loci_palace::{
    Batch, DEFAULT_COLLECTION, EmbedderIdentity, Error, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES,
    Memory, MetadataPatch, OpenOptions, Palace, Result, Warning,
};
use tempfile::TempDir;

use crate::dataset::Drawer;

/// Where the palaces of a run are.
pub(crate) enum PalacesDir {
    /// In a directory that is removed after the run.
    Temporary(TempDir),
    /// In a directory that is kept.
    Kept(PathBuf),
}

impl PalacesDir {
    /// Creates the directory. A directory to keep must be empty or new.
    pub(crate) fn new(keep: Option<&Path>) -> Result<Self> {
        let Some(keep) = keep else {
            let parent = std::env::temp_dir();
            let made = tempfile::Builder::new()
                .prefix("loci-bench-")
                .tempdir_in(&parent);
            let made =
                made.map_err(|source| Error::io("cannot create a directory in", parent, source))?;
            return Ok(Self::Temporary(made));
        };
        loci_files::create_directory_with(keep, 0o777)
            .map_err(|source| Error::io("cannot create", keep, source))?;
        let mut inside =
            fs::read_dir(keep).map_err(|source| Error::io("cannot read", keep, source))?;
        if inside.next().is_some() {
            return Err(Error::invalid(
                format!("directory `{}`", keep.display()),
                "not empty; name a new directory",
            ));
        }
        Ok(Self::Kept(keep.to_owned()))
    }

    /// The directory of one palace.
    pub(crate) fn palace(&self, at: usize, case: &str) -> PathBuf {
        let name: String = case
            .chars()
            .map(|character| match character {
                '-' | '_' => character,
                _ if character.is_ascii_alphanumeric() => character,
                _ => '-',
            })
            .take(60)
            .collect();
        let parent = match self {
            Self::Temporary(directory) => directory.path(),
            Self::Kept(directory) => directory,
        };
        parent.join(format!("{at:04}-{name}"))
    }

    /// Removes a palace, unless it is kept.
    pub(crate) fn done_with(&self, palace: &Path) -> Result<()> {
        match self {
            Self::Kept(_) => Ok(()),
            Self::Temporary(_) => fs::remove_dir_all(palace)
                .map_err(|source| Error::io("cannot remove", palace, source)),
        }
    }
}

/// The result of filling a palace.
pub(crate) struct Filled {
    pub(crate) embedder: Option<EmbedderIdentity>,
    pub(crate) warnings: Vec<Warning>,
}

/// A palace that is being filled.
pub(crate) struct Filling {
    palace: Palace,
    memory: Memory,
    warnings: Vec<Warning>,
}

impl Filling {
    /// Creates the palace.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let palace = Palace::open(path, options)?;
        let (memory, warnings) = palace.memory(DEFAULT_COLLECTION, true)?;
        Ok(Self {
            palace,
            memory,
            warnings,
        })
    }

    /// Writes drawers. The texts are moved into the batches.
    pub(crate) fn add(&mut self, drawers: Vec<Drawer>) -> Result<()> {
        for batch in batches(drawers) {
            self.memory.collection.add(&batch)?;
        }
        Ok(())
    }

    /// Closes the palace, which builds its index.
    pub(crate) fn finish(self) -> Result<Filled> {
        let embedder = self.memory.embedder.map(|embedder| embedder.identity());
        drop(self.memory.collection);
        self.palace.close()?;
        Ok(Filled {
            embedder,
            warnings: self.warnings,
        })
    }
}

/// Splits drawers into as few batches as possible, in order.
fn batches(drawers: Vec<Drawer>) -> impl Iterator<Item = Batch> {
    let mut drawers = drawers.into_iter().peekable();
    std::iter::from_fn(move || {
        let mut batch = Batch::default();
        let mut documents = Vec::new();
        let mut metadatas: Vec<MetadataPatch> = Vec::new();
        let mut bytes = 0;
        while let Some(drawer) = drawers.next_if(|next| {
            // A drawer that is too large for any batch is sent alone, and the palace refuses it by
            // name.
            documents.is_empty()
                || (documents.len() < MAX_BATCH_RECORDS
                    && bytes + next.text.len() <= MAX_BATCH_TEXT_BYTES)
        }) {
            bytes += drawer.text.len();
            batch.ids.push(drawer.id);
            documents.push(Some(drawer.text));
            metadatas.push(drawer.metadata.into());
        }
        batch.documents = Some(documents);
        batch.metadatas = Some(metadatas);
        (!batch.is_empty()).then_some(batch)
    })
}

/// Bytes of all files in a directory and below.
pub(crate) fn bytes_in(directory: &Path) -> Result<u64> {
    let failed = |source| Error::io("cannot read", directory, source);
    let mut bytes = 0;
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        bytes += if metadata.is_dir() {
            bytes_in(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use loci_palace::Metadata;

    use super::*;

    fn drawers(count: usize, bytes: usize) -> Vec<Drawer> {
        let drawer = |n: usize| Drawer {
            id: n.to_string(),
            text: "x".repeat(bytes),
            metadata: Metadata::default(),
        };
        (0..count).map(drawer).collect()
    }

    #[test]
    fn batches_stay_within_what_one_call_may_carry() {
        let sizes = |count, bytes| -> Vec<usize> {
            let batches: Vec<Batch> = batches(drawers(count, bytes)).collect();
            for batch in &batches {
                batch.validate().unwrap_or_else(|error| panic!("{error}"));
            }
            batches.iter().map(Batch::len).collect()
        };
        assert_eq!(sizes(1_100, 10), [500, 500, 100]);
        assert_eq!(sizes(5, 400 << 10), [2, 2, 1]);
        assert!(sizes(0, 0).is_empty());
    }

    #[test]
    fn a_directory_with_something_in_it_is_not_used() {
        let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        assert!(PalacesDir::new(Some(directory.path())).is_ok());
        let written = fs::write(directory.path().join("a"), "a");
        assert!(written.is_ok());
        let refused = PalacesDir::new(Some(directory.path())).err();
        assert!(refused.is_some_and(|error| error.to_string().contains("not empty")));
    }
}
