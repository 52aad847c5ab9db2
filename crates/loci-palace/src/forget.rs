//! The verb `forget`: drawers go, and with them every trace of their text.

use loci_core::{ForgetOutcome, PurgePending, Result, Selection, path_text, validate_id};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::palace::Palace;
use crate::search_files::remove_cached_files;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which drawers. A selection of everything is refused.
    pub selection: Selection,
    /// Only in this collection; nothing: in all of them.
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
    /// Facts removed that were taken from them.
    pub facts: usize,
    /// Links removed that ended at them.
    pub links: usize,
    /// Whether forgotten text may still be in a file. The next process that uses the palace removes
    /// it.
    pub purge_pending: bool,
    /// Why, in one word.
    #[serde(serialize_with = "code_of", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub pending_reason: Option<PurgePending>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_detail: Option<String>,
    /// Kept files of the palace, and directories of the cache, that were removed because they could
    /// hold the text too.
    pub removed_files: Vec<String>,
    /// Files of earlier repairs and restores that are kept and were not searched, if there was nothing
    /// to forget. Not in JSON: `status` lists them.
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

/// How far a `forget` has come.
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

    fn count(&mut self, done: ForgetOutcome) {
        self.forgotten += done.forgotten;
        self.facts += done.facts;
        self.links += done.links;
        // Each collection looks at the whole palace: the last answer counts.
        self.purge_pending = done.purge_pending;
        self.pending_detail = done.pending_reason.as_ref().map(ToString::to_string);
        self.pending_reason = done.pending_reason;
        self.removed_files.extend(done.removed_files);
    }
}

impl Palace {
    /// Removes drawers and every trace of their text.
    pub fn forget(&self, request: &Request) -> Result<Answer> {
        self.forget_with(request, &mut |_| Ok(()))
    }

    /// [`Palace::forget`], with a report before each collection. An error of `progress` ends the work
    /// there; collections that are done stay done.
    pub fn forget_with(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Answer> {
        for id in request.selection.ids.iter().flatten() {
            validate_id(id)?;
        }
        // Every collection is asked: a repair or a run may have taken a drawer out and kept a copy.
        let names: Vec<String> = match &request.collection {
            Some(name) => vec![name.clone()],
            None => {
                let infos = self.collections()?;
                infos.into_iter().map(|info| info.name).collect()
            }
        };
        // First: a crash between the two leaves drawers that `forget` still finds, never a copy of a
        // drawer that is gone.
        let cached = remove_cached_files()?;
        let mut answer = Answer {
            removed_files: cached.iter().map(|path| path_text(path)).collect(),
            ..Answer::default()
        };
        for (done, name) in names.iter().enumerate() {
            progress(Progress {
                done,
                collections: names.len(),
                forgotten: answer.forgotten,
            })?;
            let outcome = self
                .backend
                .forget(&self.reference, name, &request.selection)?;
            answer.count(outcome);
        }
        if answer.is_nothing() {
            let state = self.backend.state(&self.reference)?;
            answer.kept_files = state.set_aside;
            if names.is_empty() {
                answer.purge_pending = state.purge_pending;
            }
        }
        Ok(answer)
    }
}
