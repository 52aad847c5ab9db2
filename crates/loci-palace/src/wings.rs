//! Wings and their projects: look up the wing of a folder, list wings, and split a wing that
//! several projects share.

pub mod list;
pub mod split;

use loci_core::{ErrorKind, Result};
use loci_mine::place::locate_conversation;

use crate::Palace;

impl Palace {
    /// The wing of conversations in a folder: the one that is recorded for its project, else the
    /// one that the project would get. It writes nothing and runs no program.
    pub fn wing_of_folder(&self, collection: &str, folder: &str) -> Result<String> {
        let located = locate_conversation(Some(folder));
        let Some(found) = located.project else {
            return Ok(located.place.wing);
        };
        let collection = match self.collection(collection, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(located.place.wing),
            other => other?,
        };
        match collection.projects() {
            Some(projects) => Ok(projects.wing_of(&found.project)?.wing),
            None => Ok(located.place.wing),
        }
    }
}
