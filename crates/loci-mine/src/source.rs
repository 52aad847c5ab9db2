//! What can be mined: the trait, and what goes over its border. The built-in [`crate::Tree`] stands
//! on it; another crate may bring its own.

use std::ops::ControlFlow;

use loci_core::{Piece, Result, SourceHash, SourceRecord, Stat, Warning};

use crate::intake::Intake;
use crate::place::Placement;

/// What a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Short name, such as `files`.
    pub name: String,
    /// The way it reads and splits. Items that were filed by another recipe are read again.
    pub recipe: String,
    /// Recipes that begin so are as good: nobody asked for another one than an item was filed by.
    pub accepts: Option<String>,
    /// What a run over it is about, such as paths.
    pub roots: Vec<String>,
    /// The names of all items that it will list, where it is asked about some only.
    pub only: Option<Vec<String>>,
}

/// Something that can be read, such as a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// The same in every run; a path for a file.
    pub name: String,
    /// The root it was found under.
    pub root: String,
    /// What tells whether it changed without reading it.
    pub stat: Stat,
}

/// What a source says while it lists its items.
#[derive(Debug)]
pub enum Listed {
    /// It is new, or may have changed.
    Changed(Item),
    /// It is what it was.
    Unchanged,
    /// It is left out, for this reason.
    Skipped {
        /// Its name as well as it can be written.
        name: String,
        /// In plain words, such as `name is not UTF-8`.
        reason: &'static str,
    },
    /// It could not be looked at.
    Failed {
        /// Its name as well as it can be written.
        name: String,
        /// Why.
        why: String,
    },
}

/// What an earlier run knew of an item.
pub trait Since: Sync {
    /// Whether the item is complete, of the same recipe, and surely as it was.
    fn is_unchanged(&self, name: &str, stat: &Stat) -> bool;
}

/// What became of an item that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// All of it was given to the intake.
    Filed,
    /// It is what it was, by its hash.
    Unchanged,
    /// It has the drawers of a source of another name.
    Moved,
    /// It is left out, for this reason.
    Skipped(String),
}

/// Something that can be mined. Items are listed once per run; they are read by several threads.
pub trait Source: Send + Sync {
    /// What it is.
    fn describe(&self) -> Description;
    /// Lists every item, streaming, until `each` says break.
    fn items(
        &self,
        since: &dyn Since,
        each: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<()>;
    /// Reads one item and gives its sections to the intake. May be called again for the same item
    /// when another process was quicker.
    fn read(&self, item: &Item, intake: &mut Intake<'_>) -> Result<Read>;
    /// What the user should know after the items were read.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }
}

/// A part of a source that is filed in one transaction; for all but large sources, the whole.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The source it belongs to: the item's name, or that of one of several sources in the item.
    pub name: String,
    /// 0 for a source of one section, else 1, 2, …
    pub number: u32,
    /// `file`, `conversation` or `export`.
    pub kind: &'static str,
    /// Where its drawers belong.
    pub place: Placement,
    /// Of its bytes.
    pub hash: SourceHash,
    /// What the source needs to find the section again.
    pub mark: String,
    /// `None` leaves the drawers of the section as they are.
    pub pieces: Option<Vec<Piece>>,
    /// A piece at an old one's line and part is the same drawer with more text.
    pub grows: bool,
    /// Keys that drawers lose unless a piece gives them.
    pub drops: Vec<String>,
}

/// The rows that the ledger has of one source.
#[derive(Debug, Clone, Default)]
pub struct Before {
    rows: Vec<SourceRecord>,
}

impl Before {
    pub(crate) fn new(rows: Vec<SourceRecord>) -> Self {
        Self { rows }
    }

    /// The source as a whole.
    pub fn head(&self) -> Option<&SourceRecord> {
        self.section(0)
    }

    /// One of its sections.
    pub fn section(&self, number: u32) -> Option<&SourceRecord> {
        self.rows.iter().find(|row| row.section == number)
    }

    /// All rows, by section.
    pub fn rows(&self) -> &[SourceRecord] {
        &self.rows
    }

    /// Whether the whole is there with this hash, filed by this recipe.
    pub fn is(&self, hash: &SourceHash, recipe: &str) -> bool {
        self.head()
            .is_some_and(|head| head.complete && head.hash == *hash && head.recipe == recipe)
    }
}
