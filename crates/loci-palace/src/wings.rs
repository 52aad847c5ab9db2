//! Wings and the projects they belong to: looked up for a folder, listed, and split where several
//! projects share one.

pub mod list;
pub mod split;

use loci_core::{ErrorKind, Result};
use loci_mine::place::locate_conversation;

use crate::Palace;

impl Palace {
    /// The wing of conversations that are held in a folder: the one that is recorded with its
    /// project, else the one that the project would get. Writes nothing and runs no program.
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
