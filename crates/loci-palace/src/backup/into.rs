//! The verb `backup into`: writes the next backup of a palace into a folder, and keeps the newest
//! ones.

use std::num::NonZeroU32;
use std::path::PathBuf;

use loci_core::{Capability, Error, Result, serialize_paths};
use loci_files::{locked, output};
use schemars::JsonSchema;
use serde::Serialize;

use super::series::Series;
use super::{Answer as OneAnswer, HIDDEN};
use crate::palace::Palace;

/// The folder, and how many backups of this palace stay in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The folder, outside of any palace; created (0700) if it is missing.
    pub folder: PathBuf,
    /// Remove the oldest backups of this palace in the folder beyond this number; `None` keeps all.
    pub keep: Option<NonZeroU32>,
}

/// The new backup, and the removed ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The new backup.
    #[serde(flatten)]
    pub made: OneAnswer,
    /// Number of usable backups of this palace that are in the folder now, with the new one.
    pub kept: usize,
    /// The backups that were removed, oldest first.
    #[serde(serialize_with = "serialize_paths")]
    #[schemars(with = "Vec<String>")]
    pub removed: Vec<PathBuf>,
}

impl Palace {
    /// Writes a backup whose name has the time, checks it, records it, and then removes the oldest
    /// usable backups of this palace beyond `keep`.
    ///
    /// A backup counts if its name is one of this palace at this place and the file says the same.
    /// Nothing else in the folder is touched. A backup with damaged records removes none.
    pub fn backup_into(&self, request: &Request) -> Result<Answer> {
        self.require(Capability::Backups)?;
        // A name inside the folder, because the check is about the folder of a file.
        let inside = request.folder.join("backup");
        self.refuse_inside(&inside)?;
        output::refuse_inside_a_palace(&inside)?;
        loci_files::create_directory(&request.folder).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
                Error::invalid(
                    format!("folder `{}`", request.folder.display()),
                    "a file has this name, or the name of a folder above it",
                )
            }
            _ => Error::io("cannot create the folder", &request.folder, source),
        })?;
        let state = self.backend.state(&self.reference)?;
        let series = Series::of(self, &state.identity, &request.folder);
        let prefix = format!("{HIDDEN}{}-", series.tag());
        locked::remove_abandoned(&request.folder, &prefix);
        let made = self.checked_copy(&request.folder, &prefix, &state)?;
        let published = made.publish(|copy| series.publish(copy))?;
        let damaged = published.damaged > 0;
        let backup = published.answer.backup.clone();
        // From here on the new backup has its name, durably. The record comes before the removal,
        // so that it never names a file that this call removed.
        let made = self.recorded(published, &state);
        let keep = request.keep.filter(|_| !damaged);
        let thinned = series.thin_out(self, &backup, keep);
        let mut made = made;
        made.warnings.extend(thinned.warnings);
        Ok(Answer {
            made,
            kept: thinned.kept,
            removed: thinned.removed,
        })
    }
}
