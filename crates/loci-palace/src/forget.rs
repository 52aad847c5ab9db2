//! The verb `forget`: deletes drawers, and their text from every file of the palace.

pub mod preview;

use loci_core::{
    Error, ForgetOutcome, Get, Include, PurgePending, Result, Selection, path_text, validate_id,
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::backup::note_forgotten;
use crate::config::hook_log;
use crate::palace::Palace;
use crate::search_files::remove_cached_files;

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which drawers. A selection of everything is refused.
    pub selection: Selection,
    /// Only in this collection; `None` means all.
    pub collection: Option<String>,
}

impl Request {
    /// Drawers of all collections.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            collection: None,
        }
    }

    /// Drawers of one collection.
    pub fn in_collection(collection: impl Into<String>, selection: Selection) -> Self {
        Self {
            selection,
            collection: Some(collection.into()),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Drawers removed.
    pub forgotten: usize,
    /// Removed facts whose source was a removed drawer.
    pub facts: usize,
    /// Removed links of removed drawers.
    pub links: usize,
    /// Whether forgotten text may still be in a file. The next process that uses the palace removes
    /// it.
    pub purge_pending: bool,
    /// The reason, as a code.
    #[serde(serialize_with = "code_of", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub pending_reason: Option<PurgePending>,
    /// The reason, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_detail: Option<String>,
    /// Set-aside files of the palace, directories of the cache and the log of the hooks, which were
    /// removed because they could contain the text.
    pub removed_files: Vec<String>,
    /// The last recorded backup, if it is still there: it may hold the text. `forget` never changes a
    /// backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Files of earlier repairs and restores that are kept and were not searched, if there was
    /// nothing to forget. Not in JSON: `status` lists them.
    #[serde(skip)]
    pub kept_files: Vec<String>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn code_of<S: Serializer>(
    reason: &Option<PurgePending>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    reason
        .as_ref()
        .map(PurgePending::code)
        .serialize(serializer)
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Progress of a `forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Collections that are done.
    pub done: usize,
    /// Collections in all.
    pub collections: usize,
    /// Drawers removed so far.
    pub forgotten: usize,
}

impl Answer {
    /// Whether there was nothing to forget.
    pub fn is_nothing(&self) -> bool {
        self.forgotten + self.facts + self.links == 0
    }

    /// Removes the text that searches in files have read, and the log of the hooks: a prompt in it
    /// may repeat the text.
    fn remove_copies(&mut self) -> Result<()> {
        let mut removed = remove_cached_files()?;
        if let Some(log) = hook_log() {
            match std::fs::remove_file(&log) {
                Ok(()) => removed.push(log),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(Error::io("cannot remove", log, error)),
            }
        }
        let removed = removed.iter().map(|path| path_text(path));
        self.removed_files.extend(removed);
        Ok(())
    }

    fn count(&mut self, done: ForgetOutcome) {
        self.forgotten = done.forgotten;
        self.facts = done.facts;
        self.links = done.links;
        self.purge_pending = done.purge_pending;
        self.pending_detail = done.pending_reason.as_ref().map(ToString::to_string);
        self.pending_reason = done.pending_reason;
        self.removed_files.extend(done.removed_files);
    }
}

impl Palace {
    /// Deletes drawers, and their text from every file of the palace.
    pub fn forget(&self, request: &Request) -> Result<Answer> {
        self.forget_with(request, &mut |_| Ok(()))
    }

    /// [`Palace::forget`] with a report before each collection. An error of `progress` stops it;
    /// completed collections stay completed.
    pub fn forget_with(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Answer> {
        for id in request.selection.ids.iter().flatten() {
            validate_id(id)?;
        }
        // Every collection is searched, because a repair or a run may have removed a drawer and
        // kept a copy.
        let names: Vec<String> = match &request.collection {
            Some(name) => vec![name.clone()],
            None => {
                let infos = self.collections()?;
                infos.into_iter().map(|info| info.name).collect()
            }
        };
        // The cache and the log are removed first. A crash between the two steps leaves drawers that `forget`
        // still finds, never a cached copy of a deleted drawer. If nothing is selected, nothing is
        // removed.
        let mut answer = Answer::default();
        let selected = self.selects_any(&names, &request.selection)?;
        if selected {
            answer.remove_copies()?;
        }
        let outcome = self.backend.forget_in(
            &self.reference,
            &names,
            &request.selection,
            &mut |done, outcome| {
                progress(Progress {
                    done,
                    collections: names.len(),
                    forgotten: outcome.forgotten,
                })
            },
        )?;
        answer.count(outcome);
        // A repair or a run kept a copy of a drawer that is not in its collection any more.
        if !selected && answer.forgotten > 0 {
            answer.remove_copies()?;
        }
        if answer.is_nothing() {
            let state = self.backend.state(&self.reference)?;
            answer.kept_files = state.set_aside;
            if names.is_empty() {
                answer.purge_pending = state.purge_pending;
            }
        } else {
            answer.backup = self.backup_with_text();
        }
        Ok(answer)
    }

    /// The last backup, which may still hold what was just forgotten. The drawers are gone, so a
    /// failure here is not one of the call.
    fn backup_with_text(&self) -> Option<String> {
        let state = self.backend.state(&self.reference).ok()?;
        match note_forgotten(self.directory()?, &state.identity) {
            Ok(path) => path,
            Err(error) => {
                tracing::warn!("the record of the last backup was not changed: {error}");
                None
            }
        }
    }

    /// Whether one of the collections has a selected drawer. A damaged drawer is only in the
    /// warnings. A selection of everything selects nothing here, because the backend refuses it.
    fn selects_any(&self, names: &[String], selection: &Selection) -> Result<bool> {
        if selection.is_all() {
            return Ok(false);
        }
        let get = Get {
            limit: Some(1),
            include: Include::NONE,
            ..Get::new(selection.clone())
        };
        for name in names {
            let found = self.collection(name, false)?.get(&get)?;
            if !found.ids.is_empty() || !found.warnings.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
