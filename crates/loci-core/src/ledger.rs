//! The ledger of mined sources. It records which source was read in which run, and which drawers
//! came from it. A collection that can be mined into returns it from [`crate::Collection::ledger`].

pub mod forgotten;
pub mod marks;
pub mod matching;
pub mod undoing;

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::batch::MAX_DOCUMENT_BYTES;
use crate::error::{Error, Result};
use crate::metadata::Metadata;

/// Hash of a source's bytes: the first half of BLAKE3.
pub type SourceHash = [u8; 16];

/// Section of drawers whose text is in no section of a large source. They are removed when the
/// whole source is filed.
pub const LEFTOVERS: u32 = i32::MAX as u32;

/// Maximum bytes of a source name.
pub const MAX_SOURCE_NAME_BYTES: usize = 16 << 10;
/// Maximum bytes of a source mark.
pub const MAX_MARK_BYTES: usize = 4 << 20;

/// What the file system reports about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stat {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Last change of the name, the mode or the content, as far as the system records it.
    pub changed_ns: i64,
    /// When this was read. A change within the clock resolution after that moment may not show in
    /// the other fields.
    pub read_ns: i64,
}

/// A machine that mines. A path is meaningful on one machine only, so the same path on two machines
/// is two sources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Unique id. Empty if the machine is unknown.
    pub id: String,
    /// Its host name, for display.
    pub host: String,
}

impl Machine {
    /// Whether a source that `owner` mined belongs to this machine. A source of no known machine
    /// belongs to every machine.
    pub fn owns(&self, owner: &Self) -> bool {
        owner.id.is_empty() || owner.id == self.id
    }
}

/// Determines the machine on demand, because that may read or write a file. The default knows no
/// machine.
#[derive(Clone, Default)]
pub struct MachineSource(Option<Arc<dyn Fn() -> Machine + Send + Sync>>);

impl MachineSource {
    /// Calls `find` on every request.
    pub fn new(find: impl Fn() -> Machine + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// The machine; one without an id if it is unknown.
    pub fn machine(&self) -> Machine {
        self.0.as_ref().map(|find| find()).unwrap_or_default()
    }
}

impl std::fmt::Debug for MachineSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MachineSource")
    }
}

/// One row of the ledger. A large source has a head (section 0) and sections of its text, each
/// filed separately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Path of the file, or another name that is stable across runs.
    pub name: String,
    /// 0 for the whole source; 1, 2, … for the parts of a large source, in order.
    pub section: u32,
    /// The machine that mined it. The key of a row is machine, name and section.
    #[serde(default)]
    pub machine: Machine,
    /// What it is: `file`, `conversation`, `export`.
    pub kind: String,
    /// The root that it was found under.
    pub root: String,
    /// Wing of its drawers.
    pub wing: String,
    /// Room of its drawers.
    pub room: String,
    /// What the file system reported.
    pub stat: Stat,
    /// Hash of its content.
    pub hash: SourceHash,
    /// How it was read and split. If the recipe changes, an unchanged source is read again.
    pub recipe: String,
    /// State of the reader at the end of this section, so that it can continue there.
    pub mark: String,
    /// False while some of its sections are not filed.
    pub complete: bool,
    /// Changes whenever a run changes the row or its drawers; 0 for a row that does not exist yet.
    pub revision: u64,
}

impl SourceRecord {
    /// The same record, so that the next mine reads its source again.
    #[must_use]
    pub fn distrusted(self) -> Self {
        Self {
            hash: SourceHash::default(),
            complete: false,
            ..self
        }
    }

    /// Refuses a record that no miner writes. Use it for records from untrusted files.
    pub fn validate(&self) -> Result<()> {
        validate_name(&self.name, self.section)?;
        for (what, text) in [
            ("kind", &self.kind),
            ("root", &self.root),
            ("wing", &self.wing),
            ("room", &self.room),
            ("recipe", &self.recipe),
            ("machine", &self.machine.id),
            ("host", &self.machine.host),
        ] {
            if text.len() > MAX_SOURCE_NAME_BYTES {
                return Err(Error::invalid(
                    format!("source {what}"),
                    format!("longer than {MAX_SOURCE_NAME_BYTES} bytes"),
                ));
            }
        }
        if self.mark.len() > MAX_MARK_BYTES {
            return Err(Error::invalid(
                "source mark",
                format!("longer than {MAX_MARK_BYTES} bytes"),
            ));
        }
        if i64::try_from(self.stat.size).is_err() {
            return Err(Error::invalid("source size", "is too large"));
        }
        Ok(())
    }
}

pub(crate) fn validate_name(name: &str, section: u32) -> Result<()> {
    if name.is_empty() || name.len() > MAX_SOURCE_NAME_BYTES {
        return Err(Error::invalid(
            "source name",
            format!(
                "has {} bytes; 1 to {MAX_SOURCE_NAME_BYTES} are allowed",
                name.len()
            ),
        ));
    }
    if section > LEFTOVERS {
        return Err(Error::invalid("source section", "is too large"));
    }
    Ok(())
}

/// A row of the ledger with the number of its drawers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountedSource {
    /// The row. Its revision has no meaning outside its palace.
    pub record: SourceRecord,
    /// Number of drawers that belong to it.
    pub drawers: u64,
}

/// The result of adopting a row from another palace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// The row was added and has all its drawers. An unchanged source is not read again.
    Whole,
    /// The row was added, but some of its drawers are missing. The next mine reads the source.
    Incomplete,
    /// The ledger already has a row for this source, which was not changed.
    Known,
}

/// A piece of a source that becomes a drawer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Piece {
    /// Its verbatim text.
    pub text: String,
    /// Its metadata, including its location in the source.
    pub metadata: Metadata,
    /// Index among the pieces that start at its line. Line and part together identify an exchange
    /// that grows.
    pub part: u32,
}

/// The location of a text that is searched for forgotten lines. Short lines are recognised by their
/// location and their neighbours, so a more precise location finds more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace<'a> {
    /// Unknown. Only whole texts and long lines are recognised.
    Unknown,
    /// The text is a whole source.
    Whole {
        /// Name of the source.
        source: &'a str,
    },
    /// The text is a part of a large source.
    Part {
        /// Name of the source.
        source: &'a str,
        /// Whether the source starts with this part.
        first: bool,
    },
    /// The text is an exchange of a conversation, or a part of an exchange.
    Exchange {
        /// Name of the source.
        source: &'a str,
        /// Number of the exchange in its conversation.
        number: u32,
    },
}

/// A change of one ledger row and its drawers, written in one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent options of one change"
)]
pub struct SourceChange {
    /// The new row. `record.revision` is the revision that the change is based on. If another
    /// process has filed the row since, nothing is written and the result is [`Filed::Stale`].
    pub record: SourceRecord,
    /// All pieces of the row; `None` leaves its drawers unchanged.
    pub pieces: Option<Vec<Piece>>,
    /// Whether a piece at the line and part of an old drawer is that drawer with a new text.
    pub grows: bool,
    /// Whether existing drawers move to the wing and room of the record.
    pub moves: bool,
    /// Whether to keep drawers without a piece, because a later section may contain their text.
    pub defers: bool,
    /// Keys to remove from the drawers of this source, unless a piece sets them.
    pub drops: Vec<String>,
    /// Whether to remove the source: at most two thousand drawers per call, and the row with the
    /// last of them.
    pub removed: bool,
}

impl SourceChange {
    /// Refuses a piece that is too large for a drawer.
    pub fn validate(&self) -> Result<()> {
        for piece in self.pieces.iter().flatten() {
            if piece.text.len() > MAX_DOCUMENT_BYTES {
                return Err(Error::invalid(
                    format!("a piece of `{}`", self.record.name),
                    format!(
                        "{} bytes; one drawer holds at most {MAX_DOCUMENT_BYTES}",
                        piece.text.len()
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The result of a [`SourceChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filed {
    /// It is committed.
    Done(Counts),
    /// Another process filed this source in the meantime. Nothing was written.
    Stale,
}

/// Number of drawers per result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Drawers that were added.
    pub new: u64,
    /// Drawers with a changed text or location.
    pub updated: u64,
    /// Drawers that were removed.
    pub removed: u64,
    /// Drawers that did not change.
    pub kept: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.updated += other.updated;
        self.removed += other.removed;
        self.kept += other.kept;
    }
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Its number.
    pub id: u64,
    /// The command that started it.
    pub kind: RunKind,
    /// Its state.
    pub state: RunState,
    /// The paths that were requested.
    pub roots: Vec<String>,
    /// Its result, as JSON.
    pub summary: serde_json::Value,
    /// Start, in milliseconds since 1970.
    pub started_at: i64,
    /// End, in milliseconds since 1970; `None` while it runs, or if it was killed.
    pub finished_at: Option<i64>,
    /// Number of sources that it changed.
    pub sources: u64,
}

/// Defines an enum whose variants are stored as words. Words from a newer version are kept in
/// `Other`.
macro_rules! stored_words {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "String", into = "String")]
        #[schemars(with = "String")]
        pub enum $name {
            $( $(#[$variant_doc])* $variant, )*
            /// A word that this version does not know.
            Other(String),
        }

        impl $name {
            /// The word in storage and in output.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $( $word => Self::$variant, )*
                    _ => Self::Other(word),
                }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

stored_words! {
    /// The command that started a run.
    RunKind {
        /// Mined sources.
        Mine = "mine",
        /// Removed sources whose files are gone.
        Sync = "sync",
        /// Watched sources.
        Watch = "watch",
    }
}

stored_words! {
    /// The state of a run.
    RunState {
        /// It is running. A backend that cannot tell also uses it for a run that was killed.
        Running = "running",
        /// It was killed before it ended. A backend reports this state, it never stores it.
        Interrupted = "interrupted",
        /// It completed.
        Done = "done",
        /// It was stopped early.
        Stopped = "stopped",
        /// It failed with an error.
        Failed = "failed",
        /// Its undo has started.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
    }
}

/// The result of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// Drawers that were removed.
    pub removed: u64,
    /// Drawers that were restored to their previous state.
    pub restored: u64,
    /// Drawers that could not be restored, because they were forgotten, changed or deleted in the
    /// meantime.
    pub left: u64,
    /// Number of sources of the run.
    pub sources: u64,
}

/// The ledger of one collection. Several threads, processes and machines may use it at once.
///
/// A call that names a source takes the calling machine and finds only sources that belong to it:
/// those that it mined, and those of no known machine. Filing a source of no known machine assigns
/// it to the machine that files it.
pub trait Ledger: Send + Sync {
    /// Calls `each` with all rows of all machines, ordered by name, section and machine, in one
    /// read.
    fn each_source(&self, each: &mut dyn FnMut(SourceRecord) -> Result<()>) -> Result<()>;
    /// The rows of one source, ordered by section.
    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>>;
    /// Sources (section 0) with this name, and those below it if it is a folder.
    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>>;
    /// Sources (section 0) whose content has this hash, ordered by name, at most a hundred.
    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>>;
    /// The rows of all machines for up to `limit` names after this one, ordered by name and
    /// machine. The sections of a source come before its head. [`LEFTOVERS`] are omitted.
    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>>;
    /// Adopts rows of another palace in one transaction, after their drawers were imported. The
    /// sections of a source come before its head. A source that this palace filed itself is never
    /// changed. A row becomes whole only if it has as many drawers as in the other palace.
    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>>;
    /// Number of drawers of a source, in all sections.
    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64>;

    /// Hashes of the texts of a source's drawers: the first half of BLAKE3.
    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>>;

    /// Records the start of a run and returns its number.
    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64>;
    /// Records the end of a run. Undo data of old runs is removed.
    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()>;
    /// The latest runs, newest first.
    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>>;
    /// Reverts what a run did to drawers, on whichever machine it ran. Refused if a later run
    /// changed one of its sources.
    fn undo(&self, run: u64) -> Result<Undone>;

    /// Files changes. Each change is written completely or not at all, and one transaction may hold
    /// several. Drawers whose text is unchanged keep their ids. New texts are embedded before the
    /// transaction begins.
    ///
    /// A text that several machines file at the same location is one drawer, which belongs to the
    /// machine that filed it first. When that machine removes or changes drawers of the source, the
    /// sources of this name on other machines become incomplete, so that their next mine reads them
    /// again.
    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>>;
    /// Updates the file system data of unchanged sources.
    fn touch(&self, records: &[SourceRecord]) -> Result<()>;
    /// Renames a source and its drawers, for the machine of `to`. False if the source is gone or
    /// the new name is taken.
    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool>;

    /// Forgotten lines of a text, as inclusive ranges counted from 1.
    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>>;
    /// Allows the forgotten texts that a text contains to be filed again.
    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()>;
    /// Whether anything was ever forgotten here.
    fn has_forgotten(&self) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_newer_version_is_read_and_written_as_it_is() {
        let words = [
            "running",
            "interrupted",
            "done",
            "stopped",
            "failed",
            "undoing",
            "undone",
        ];
        for word in words {
            let state = RunState::from(word.to_owned());
            assert!(!matches!(state, RunState::Other(_)), "{word}");
            assert_eq!(serde_json::to_value(&state).unwrap(), word);
        }
        let kind: RunKind = serde_json::from_value("replay".into()).unwrap();
        assert_eq!(kind, RunKind::Other("replay".into()));
        assert_eq!(serde_json::to_value(&kind).unwrap(), "replay");
        assert_eq!(format!("{:5}|", RunKind::Mine), "mine |");
    }
}
