//! The definition of a tool: its name, its schemas, its effects and its function.
//!
//! A tool set is a module with `tools() -> Vec<Tool>`. Tools do not know the protocol: they receive
//! a [`Call`] and return an [`Answer`] or an error, which the server turns into messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_palace::{Capability, Error, Palace, Result, SecretPolicy, Warning};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::handle::PalaceHandle;
use crate::hint::{self, Hints, Tools};
use crate::mine_roots::MineRoots;

/// One tool.
pub(crate) struct Tool {
    /// Its name for clients.
    pub(crate) name: &'static str,
    /// A name for people. If it is empty, none is sent.
    pub(crate) title: &'static str,
    /// When to call it, for models.
    pub(crate) description: &'static str,
    /// JSON Schema of the arguments: an object with `properties`. An unknown argument is refused
    /// before the tool runs.
    pub(crate) input: fn() -> Value,
    /// JSON Schema of the structured answer: an object.
    pub(crate) output: fn() -> Value,
    /// Its effect on the palace.
    pub(crate) kind: Kind,
    /// The capabilities that every call needs. If the backend lacks one, the tool is not listed,
    /// and a call is refused.
    pub(crate) needs: &'static [Capability],
    /// Runs it, on a thread that may block.
    pub(crate) run: fn(&Call<'_>) -> Result<Answer>,
}

/// The effect of a tool on the palace. The annotations of the protocol are derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes nothing.
    Read,
    /// Adds data; repeating the call adds nothing.
    Add,
    /// Changes data without losing it permanently.
    Change {
        /// Whether repeating the call changes nothing.
        idempotent: bool,
    },
    /// Removes data permanently.
    Destroy,
}

/// One call of a tool.
pub(crate) struct Call<'a> {
    /// The arguments.
    pub(crate) arguments: Arguments<'a>,
    handle: &'a PalaceHandle,
    mine_roots: &'a MineRoots,
    progress: &'a (dyn Fn(Progress) + Sync),
    stop: &'a AtomicBool,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    /// Grows with every report.
    pub(crate) done: f64,
    /// The final value of `done`, if known.
    pub(crate) total: Option<f64>,
    /// A message for people.
    pub(crate) message: String,
}

/// The answer of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    /// An object that matches the tool's output schema.
    pub(crate) structured: Value,
    /// The same as text for models, with recalled text in a fence. If it is empty, the structured
    /// answer is sent as JSON instead.
    pub(crate) text: String,
    /// Links to the drawers in the answer.
    pub(crate) links: Vec<DrawerLink>,
    /// The warnings; [`Answer::hinted`] writes them.
    warnings: Vec<Warning>,
    /// Whether warnings are written with their typed data.
    with_data: bool,
}

/// A structured answer with its warnings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Content {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<Warning>,
    /// Whether warnings are written with their typed data.
    pub(crate) with_data: bool,
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        Self {
            value,
            warnings: Vec::new(),
            with_data: false,
        }
    }
}

/// A drawer that a client can read as a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrawerLink {
    /// Its collection.
    pub(crate) collection: String,
    /// Its id.
    pub(crate) id: String,
    /// A short description: its place.
    pub(crate) title: String,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        arguments: Arguments<'a>,
        handle: &'a PalaceHandle,
        mine_roots: &'a MineRoots,
        progress: &'a (dyn Fn(Progress) + Sync),
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            arguments,
            handle,
            mine_roots,
            progress,
            stop,
        }
    }

    /// The palace, for reading; an error if there is none. It creates nothing.
    pub(crate) fn palace(&self) -> Result<Arc<Palace>> {
        self.handle.existing()
    }

    /// The palace, for writing; created if there is none.
    pub(crate) fn palace_to_write(&self) -> Result<Arc<Palace>> {
        self.handle.created()
    }

    /// The hints for this caller.
    pub(crate) fn hints(&self, tools: Tools) -> Hints {
        self.handle.hints(tools)
    }

    /// How secrets in written text are treated. The owner decides, never the caller.
    pub(crate) fn secret_policy(&self) -> Result<SecretPolicy> {
        self.handle.secret_policy()
    }

    /// The palace, opened again, for a caller that considers the open one stale.
    pub(crate) fn reopened(&self) -> Result<Arc<Palace>> {
        self.handle.reopened()
    }

    /// The paths that the owner allows clients to mine.
    pub(crate) fn mine_roots(&self) -> &MineRoots {
        self.mine_roots
    }

    /// Reports progress to a client that requested it.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        (self.progress)(Progress {
            done,
            total,
            message: message.into(),
        });
    }

    /// Set when the client cancelled the call or disconnected. Long work checks it and returns the
    /// error of [`Call::go_on`].
    pub(crate) fn stop(&self) -> &AtomicBool {
        self.stop
    }

    /// An error if the call was cancelled; for the steps of long work.
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        Ok(())
    }
}

/// The error of a cancelled call.
pub(crate) fn cancelled() -> Error {
    Error::UnsupportedCapability {
        capability: "the rest of this call".into(),
        reason: "it was cancelled".into(),
    }
}

impl Answer {
    /// An answer as structured content and as text.
    pub(crate) fn new(content: impl Into<Content>, text: impl Into<String>) -> Self {
        let Content {
            value,
            warnings,
            with_data,
        } = content.into();
        Self {
            structured: value,
            text: text.into(),
            links: Vec::new(),
            warnings,
            with_data,
        }
    }

    /// Adds the warnings, with hints that this agent can follow, to both forms. For Loci's own
    /// tools, only this function writes them.
    pub(crate) fn hinted(mut self, hints: &Hints) -> Self {
        let warnings = std::mem::take(&mut self.warnings);
        if let Some(listed) = self.structured.get_mut("warnings") {
            *listed = hints.warnings(&warnings);
            if self.with_data {
                hint::add_data(listed, &warnings);
            }
        }
        let lines = hints.lines(&warnings);
        if !lines.is_empty() && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&lines);
        self
    }

    /// Adds a note that the call created the palace, and where.
    pub(crate) fn note_created_palace(&mut self, path: &str) {
        if let Some(structured) = self.structured.as_object_mut() {
            structured.insert("created_palace".into(), path.into());
        }
        if !self.text.is_empty() {
            self.text = format!("{}\ncreated a palace at `{path}`", self.text.trim_end());
        }
    }

    /// Adds links to drawers.
    pub(crate) fn links(mut self, links: Vec<DrawerLink>) -> Self {
        self.links = links;
        self
    }
}
