//! The frame of every tool: what it is called, what it takes and gives, what it may do, and how it runs.
//!
//! A tool set is a module with `tools() -> Vec<Tool>`. Tools know nothing of the protocol: a [`Call`] comes in, an [`Answer`] or
//! an error goes out, and the server makes messages of them.

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
    /// Its name, as clients call it.
    pub(crate) name: &'static str,
    /// A name for people; empty: none is sent.
    pub(crate) title: &'static str,
    /// When to call it, for models.
    pub(crate) description: &'static str,
    /// JSON Schema of the arguments: an object with `properties`. An argument that is not named there is refused before
    /// the tool runs.
    pub(crate) input: fn() -> Value,
    /// JSON Schema of the structured answer: an object.
    pub(crate) output: fn() -> Value,
    /// What it may do to the palace.
    pub(crate) kind: Kind,
    /// What the backend must offer for any call of it to work. Where that is missing, the tool is not
    /// listed, and a call is refused.
    pub(crate) needs: &'static [Capability],
    /// Runs it, on a thread that may block.
    pub(crate) run: fn(&Call<'_>) -> Result<Answer>,
}

/// What a tool may do to the palace; becomes the annotations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes nothing.
    Read,
    /// Adds; the same call again adds nothing more.
    Add,
    /// Changes what is there without losing it for good.
    Change {
        /// Whether the same call again changes nothing more.
        idempotent: bool,
    },
    /// Removes for good.
    Destroy,
}

/// One call of a tool.
pub(crate) struct Call<'a> {
    /// What was given.
    pub(crate) arguments: Arguments<'a>,
    handle: &'a PalaceHandle,
    mine_roots: &'a MineRoots,
    progress: &'a (dyn Fn(Progress) + Sync),
    stop: &'a AtomicBool,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    /// Grows with every report.
    pub(crate) done: f64,
    /// What `done` will be at the end, where that is known.
    pub(crate) total: Option<f64>,
    /// In words.
    pub(crate) message: String,
}

/// What a tool answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    /// An object that fits the tool's output schema.
    pub(crate) structured: Value,
    /// The same for models: recalled text stands in a fence. Empty: the structured answer as JSON is sent instead.
    pub(crate) text: String,
    /// Drawers that the answer is about.
    pub(crate) links: Vec<DrawerLink>,
    /// What the answer warns of; [`Answer::hinted`] writes it.
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
    /// What it is, in a few words: its place.
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

    /// The palace, for reading; an error if there is none. Creates nothing.
    pub(crate) fn palace(&self) -> Result<Arc<Palace>> {
        self.handle.existing()
    }

    /// The palace, for writing; made if there is none.
    pub(crate) fn palace_to_write(&self) -> Result<Arc<Palace>> {
        self.handle.created()
    }

    /// What hints for this caller may name.
    pub(crate) fn hints(&self, tools: Tools) -> Hints {
        self.handle.hints(tools)
    }

    /// What is done with secrets in text that is written. The owner chooses, never the caller.
    pub(crate) fn secret_policy(&self) -> Result<SecretPolicy> {
        self.handle.secret_policy()
    }

    /// The palace, opened once more: for a caller that thinks that the one at hand is stale.
    pub(crate) fn reopened(&self) -> Result<Arc<Palace>> {
        self.handle.reopened()
    }

    /// What the owner allows clients to have mined.
    pub(crate) fn mine_roots(&self) -> &MineRoots {
        self.mine_roots
    }

    /// Says how far it has come, to a client that asked for it.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        (self.progress)(Progress {
            done,
            total,
            message: message.into(),
        });
    }

    /// Set when the client cancelled the call or went away. Long work looks at it and ends with [`Call::go_on`]'s error.
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

/// What a cancelled call ends with.
pub(crate) fn cancelled() -> Error {
    Error::UnsupportedCapability {
        capability: "the rest of this call".into(),
        reason: "it was cancelled".into(),
    }
}

impl Answer {
    /// An answer of both forms.
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

    /// With its warnings, and the hints that this agent can follow, in both forms. The only place
    /// that writes them, for all tools of Loci's own.
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

    /// Says that the call created the palace, and where.
    pub(crate) fn note_created_palace(&mut self, path: &str) {
        if let Some(structured) = self.structured.as_object_mut() {
            structured.insert("created_palace".into(), path.into());
        }
        if !self.text.is_empty() {
            self.text = format!("{}\ncreated a palace at `{path}`", self.text.trim_end());
        }
    }

    /// With links to drawers.
    pub(crate) fn links(mut self, links: Vec<DrawerLink>) -> Self {
        self.links = links;
        self
    }
}
