//! Opens a recognised palace.

use std::path::Path;

use loci_core::{Error, Result};

use crate::chroma::ChromaPalace;
use crate::cortexa::CortexaPalace;
use crate::mempalace::ExactPalace;
use crate::memtomem::MemtomemPalace;
use crate::palace::{ForeignPalace, Kind};
use crate::recognise::{recognise, recognise_as};

/// Opens the palace at `path` as `kind`, or as the recognised kind if none is given.
pub fn open(path: &Path, kind: Option<Kind>) -> Result<Box<dyn ForeignPalace>> {
    let recognised = recognise(path)?;
    let found = match kind {
        None => recognised,
        Some(kind) => match recognise_as(path, kind)? {
            Some(found) => Some(found),
            None => return Err(kind.not_at(path, recognised.as_ref())),
        },
    };
    let place = found.as_ref().map_or(path, |found| found.path.as_path());
    match found.as_ref().map(|found| found.kind) {
        Some(Kind::CortexaDb) => Ok(Box::new(CortexaPalace::open(place)?)),
        Some(Kind::Memtomem) => Ok(Box::new(MemtomemPalace::open(place)?)),
        Some(Kind::SqliteExact) => Ok(Box::new(ExactPalace::open(place)?)),
        Some(Kind::Chroma) => Ok(Box::new(ChromaPalace::open(place)?)),
        Some(kind @ (Kind::Loci | Kind::JsonLines)) => Err(Error::UnsupportedCapability {
            capability: format!("{kind:?}"),
            reason: format!("`{}` is not read by this crate", place.display()),
        }),
        None => Err(Error::invalid(
            format!("`{}`", path.display()),
            "not a known palace; known are ChromaDB, MemPalace, memtomem, CortexaDB, Loci and JSON Lines",
        )),
    }
}
