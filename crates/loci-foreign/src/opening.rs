//! Opens a recognised store.

use std::path::Path;

use loci_core::{Error, Result};

use crate::importers::Kind;
use crate::palace::ForeignPalace;
use crate::recognise::{recognise, recognise_as};

/// Opens the store at `path` as `kind`, or as the recognised kind if none is given.
pub fn open(path: &Path, kind: Option<Kind>) -> Result<Box<dyn ForeignPalace>> {
    let recognised = recognise(path)?;
    let found = match kind {
        None => recognised,
        Some(kind) => match recognise_as(path, kind)? {
            Some(found) => Some(found),
            None => return Err(kind.not_at(path, recognised.as_ref())),
        },
    };
    let Some(found) = found else {
        return Err(Error::invalid(
            format!("`{}`", path.display()),
            format!("not a known palace; known are {}", known_programs()),
        ));
    };
    match found.kind.importer().open {
        Some(open) => open(&found.path),
        None => Err(Error::UnsupportedCapability {
            capability: format!("{:?}", found.kind),
            reason: format!("`{}` is not read by this crate", found.path.display()),
        }),
    }
}

/// The programs of the table in a sentence.
fn known_programs() -> String {
    let programs = Kind::programs();
    match programs.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
