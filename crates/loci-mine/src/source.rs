//! The trait of sources that can be mined, and its types. [`crate::Tree`] implements it for files;
//! other crates may implement it for other sources.

use std::ops::ControlFlow;

use loci_core::{Piece, Result, SourceHash, SourceRecord, Stat, Warning};

use crate::intake::Intake;
use crate::place::Placement;

/// The description of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// A short name, such as `files`.
    pub name: String,
    /// The recipe by which the source reads and splits. Items that were filed by another recipe are
    /// read again.
    pub recipe: String,
    /// The roots of the run, such as paths.
    pub roots: Vec<String>,
    /// The names of all items that will be listed, if the run covers only some.
    pub only: Option<Vec<String>>,
}

/// Something that can be read, such as a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// The name, which is the same in every run. For a file it is the path.
    pub name: String,
    /// The root under which the item was found.
    pub root: String,
    /// The stat, which shows changes without reading the item.
    pub stat: Stat,
}

/// One result of listing the items.
#[derive(Debug)]
pub enum Listed {
    /// It is new, or may have changed.
    Changed(Item),
    /// The item is unchanged.
    Unchanged,
    /// The item is left out.
    Skipped {
        /// The name, with invalid characters replaced.
        name: String,
        /// The reason, such as `name is not UTF-8`.
        reason: &'static str,
    },
    /// The item could not be examined.
    Failed {
        /// The name, with invalid characters replaced.
        name: String,
        /// The reason.
        why: String,
    },
}

/// What earlier runs recorded about items.
pub trait Since: Sync {
    /// Whether the item is complete, filed by the same recipe, and certainly unchanged.
    fn is_unchanged(&self, name: &str, stat: &Stat) -> bool;
}

/// The outcome of reading an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The item was passed to the intake completely.
    Filed,
    /// The item is unchanged, by its hash.
    Unchanged,
    /// The item took over the drawers of a source with another name.
    Moved,
    /// The item is left out, for this reason.
    Skipped(String),
}

/// A source that can be mined. Its items are listed once per run and read by several threads.
pub trait Source: Send + Sync {
    /// Describes the source.
    fn describe(&self) -> Description;
    /// Whether an item of this kind that was filed by this recipe would be filed alike now. If not,
    /// it is read again.
    fn is_current(&self, _kind: &str, recipe: &str) -> bool {
        recipe == self.describe().recipe
    }
    /// Lists every item as a stream, until `each` returns `Break`.
    fn items(
        &self,
        since: &dyn Since,
        each: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<()>;
    /// Reads one item and passes its sections to the intake. It may be called again for the same
    /// item if another process filed it first.
    fn read(&self, item: &Item, intake: &mut Intake<'_>) -> Result<Read>;
    /// Warnings for the user after the items were read.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }
}

/// A part of a source that is filed in one transaction. All but large sources have only one.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The name of the source: the item's name, or that of one of several sources in the item.
    pub name: String,
    /// 0 for a source of one section, else 1, 2, …
    pub number: u32,
    /// `file`, `conversation` or `export`.
    pub kind: &'static str,
    /// The wing and room of its drawers.
    pub place: Placement,
    /// The hash of its bytes.
    pub hash: SourceHash,
    /// The data that the source needs to find the section again.
    pub mark: String,
    /// The pieces. `None` leaves the drawers of the section as they are.
    pub pieces: Option<Vec<Piece>>,
    /// Whether a piece with the line and part of an old one is the same drawer with more text.
    pub grows: bool,
    /// Keys that drawers lose unless a piece sets them.
    pub drops: Vec<String>,
}

/// The ledger's rows of one source.
#[derive(Debug, Clone, Default)]
pub struct Before {
    rows: Vec<SourceRecord>,
}

impl Before {
    pub(crate) fn new(rows: Vec<SourceRecord>) -> Self {
        Self { rows }
    }

    /// The row of the source as a whole.
    pub fn head(&self) -> Option<&SourceRecord> {
        self.section(0)
    }

    /// The row of one section.
    pub fn section(&self, number: u32) -> Option<&SourceRecord> {
        self.rows.iter().find(|row| row.section == number)
    }

    /// All rows, by section.
    pub fn rows(&self) -> &[SourceRecord] {
        &self.rows
    }

    /// Whether the source is complete with this hash, filed by this recipe.
    pub fn is(&self, hash: &SourceHash, recipe: &str) -> bool {
        self.head()
            .is_some_and(|head| head.complete && head.hash == *hash && head.recipe == recipe)
    }
}
