//! Completes the beginning of an id.

use loci_core::{Error, Result, quoted};

use crate::palace::Palace;

/// Shorter beginnings are taken for whole ids.
const SHORTEST: usize = 4;
/// How many ids are named if there are several.
const NAMED: usize = 4;

impl Palace {
    /// The id that begins with `typed`: the id itself if a drawer has it, else the only id that
    /// begins so, in one collection or in all. If there is none, `typed` is returned, because
    /// commands have their own answer to unknown ids. [`Error::InvalidInput`] if there are several.
    pub fn complete_id(&self, collection: Option<&str>, typed: &str) -> Result<String> {
        if typed.chars().count() < SHORTEST {
            return Ok(typed.to_owned());
        }
        let mut found: Vec<String> = Vec::new();
        for collection in self.scope(collection)? {
            found.extend(collection.ids_with_prefix(typed, NAMED + 1)?);
        }
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [only] => Ok(only.clone()),
            // The whole id sorts before those that it begins.
            [first, ..] if first == typed => Ok(typed.to_owned()),
            [] => Ok(typed.to_owned()),
            several => {
                let named: Vec<String> = several.iter().take(NAMED).map(|id| quoted(id)).collect();
                let more = if several.len() > NAMED { ", …" } else { "" };
                Err(Error::invalid(
                    format!("id {}", quoted(typed)),
                    format!(
                        "begins several ids: {}{more}; write more of it",
                        named.join(", ")
                    ),
                ))
            }
        }
    }
}
