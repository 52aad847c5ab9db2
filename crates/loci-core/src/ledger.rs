//! The ledger of mined sources: what was read from where, in which run, and what became of it. A
//! collection that can be mined into gives one through [`crate::Collection::ledger`].

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

/// Section of drawers whose text no section of a large source holds any more. They go when the
/// whole is filed.
pub const LEFTOVERS: u32 = i32::MAX as u32;

/// Length of a source's name.
pub const MAX_SOURCE_NAME_BYTES: usize = 16 << 10;
/// Length of a source's mark.
pub const MAX_MARK_BYTES: usize = 4 << 20;

/// What a file system tells about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Last change of its bytes, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Last change of its name, mode or bytes; what the system has.
    pub changed_ns: i64,
    /// When it was looked at. A change within the clock's step after that would not show in the
    /// others.
    pub read_ns: i64,
}

/// A machine that mines, as the ledger records it. Paths mean something on one machine only, so the
/// same path on two machines is two sources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Tells machines apart. Empty where the machine is not known.
    pub id: String,
    /// Its host name, for people.
    pub host: String,
}

impl Machine {
    /// Whether a source that `owner` mined belongs to this machine. A source of no known machine
    /// belongs to every machine that asks.
    pub fn owns(&self, owner: &Self) -> bool {
        owner.id.is_empty() || owner.id == self.id
    }
}

/// Finds out the machine that a process runs on when somebody asks, since that may read or write a
/// file. The default knows no machine.
#[derive(Clone, Default)]
pub struct MachineSource(Option<Arc<dyn Fn() -> Machine + Send + Sync>>);

impl MachineSource {
    /// Calls `find` at every question.
    pub fn new(find: impl Fn() -> Machine + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// The machine; one without an id if it is not known.
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
/// filed by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Path of the file, or another name that is the same in every run.
    pub name: String,
    /// 0: the source as a whole. 1…: a part of a large source, in order.
    pub section: u32,
    /// The machine that mined it. The key of a row is its machine, its name and its section.
    #[serde(default)]
    pub machine: Machine,
    /// What it is: `file`, `conversation`, `export`.
    pub kind: String,
    /// The root it was found under.
    pub root: String,
    /// Where its drawers were put.
    pub wing: String,
    /// Where its drawers were put.
    pub room: String,
    /// As the file system told.
    pub stat: Stat,
    /// Of its bytes.
    pub hash: SourceHash,
    /// The way it was read and split. Another recipe makes an unchanged source worth reading again.
    pub recipe: String,
    /// What the reader needs to go on from the end of this section.
    pub mark: String,
    /// False while only some of its sections are filed.
    pub complete: bool,
    /// Changes whenever the row or its drawers are changed by a run; 0 for one that is not there
    /// yet.
    pub revision: u64,
}

impl SourceRecord {
    /// Refuses what no miner writes: a record that comes from a file of unknown origin.
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

/// A row of the ledger with the number of drawers that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountedSource {
    /// The row. Its revision means nothing outside its palace.
    pub record: SourceRecord,
    /// Drawers whose origin it is.
    pub drawers: u64,
}

/// What became of a row that came from another palace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// It is in the ledger, and its drawers are here: an unchanged source is not read again.
    Whole,
    /// It is in the ledger, but not all of its drawers are here: the next mine reads the source.
    Incomplete,
    /// The ledger has a row of its own for this source, which stays as it is.
    Known,
}

/// A piece of a source that is to be a drawer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Piece {
    /// Its text, word for word.
    pub text: String,
    /// Where it stands and what it is.
    pub metadata: Metadata,
    /// Which part of the thing that begins at its line; with the line it names an exchange that
    /// grows.
    pub part: u32,
}

/// Where a text stands that is searched for forgotten lines. Short lines are known again by their
/// place and their neighbours, so the more is known of the place, the more is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace<'a> {
    /// Not known: only whole texts and long lines count.
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
        /// Whether the source begins with this part.
        first: bool,
    },
    /// The text is an exchange of a conversation, or a part of one.
    Exchange {
        /// Name of the source.
        source: &'a str,
        /// Number of the exchange in its conversation.
        number: u32,
    },
}

/// What is to be filed for one row of the ledger, in one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent wish about the same row"
)]
pub struct SourceChange {
    /// The row as it shall be. `record.revision` is the one it is based on: if another process has
    /// filed the row since, nothing is written and the answer is [`Filed::Stale`].
    pub record: SourceRecord,
    /// All pieces of the row; `None` leaves its drawers as they are.
    pub pieces: Option<Vec<Piece>>,
    /// A piece at the line and part of an old one is the same drawer with another text.
    pub grows: bool,
    /// Drawers that are there move to the record's wing and room too.
    pub moves: bool,
    /// Drawers without a piece are not removed yet: a later section may hold their text.
    pub defers: bool,
    /// Keys that drawers of this source lose unless a piece gives them.
    pub drops: Vec<String>,
    /// The drawers go, two thousand at most, and the row with the last of them.
    pub removed: bool,
}

impl SourceChange {
    /// Refuses a piece that no drawer holds.
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

/// What became of a [`SourceChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filed {
    /// It is committed.
    Done(Counts),
    /// Another process filed this source since it was looked at; nothing was written.
    Stale,
}

/// Drawers by what happened to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Drawers that were added.
    pub new: u64,
    /// Drawers whose text or place changed.
    pub updated: u64,
    /// Drawers that went.
    pub removed: u64,
    /// Drawers that are as they were.
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

/// One recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Its number.
    pub id: u64,
    /// What began it.
    pub kind: RunKind,
    /// How far it is.
    pub state: RunState,
    /// Paths it was asked for.
    pub roots: Vec<String>,
    /// What it did, as JSON.
    pub summary: serde_json::Value,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970; nothing while it runs, or if it was killed.
    pub finished_at: Option<i64>,
    /// Sources that it changed.
    pub sources: u64,
}

/// Defines an enum whose variants are stored as words. A word that a newer version wrote is kept.
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
            /// The word that is stored and shown.
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
    /// What began a run.
    RunKind {
        /// Sources were mined.
        Mine = "mine",
        /// Sources whose files are gone were removed.
        Sync = "sync",
        /// Sources were watched.
        Watch = "watch",
    }
}

stored_words! {
    /// How far a run is.
    RunState {
        /// It runs, or it was killed.
        Running = "running",
        /// It ended.
        Done = "done",
        /// It was stopped before its end.
        Stopped = "stopped",
        /// It ended with an error.
        Failed = "failed",
        /// Its undo began.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
    }
}

/// What an undo did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// Drawers of the run that went.
    pub removed: u64,
    /// Drawers that are again what they were.
    pub restored: u64,
    /// Drawers that could not be brought back: forgotten, changed or deleted since.
    pub left: u64,
    /// Sources of the run.
    pub sources: u64,
}

/// The ledger of one collection. Calls may come from several threads, processes and machines at
/// once.
///
/// A call that names a source takes the machine that asks, and finds only sources that belong to
/// it: those it mined, and those of no known machine. Filing a source of no known machine gives it
/// to the machine that files it.
pub trait Ledger: Send + Sync {
    /// All rows of all machines, by name, section and machine, in one read.
    fn each_source(&self, each: &mut dyn FnMut(SourceRecord) -> Result<()>) -> Result<()>;
    /// The rows of one source, by section.
    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>>;
    /// Sources (section 0) of this name, and those below it if it is a folder.
    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>>;
    /// Sources (section 0) whose bytes had this hash, by name, a hundred at most.
    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>>;
    /// The rows of all machines with up to `limit` names that follow this one, by name and machine;
    /// of each source first its sections, then its head. [`LEFTOVERS`] are left out.
    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>>;
    /// Takes rows over from another palace, in one transaction, after their drawers were imported;
    /// of each source first its sections, then its head. A source that this palace filed itself is
    /// never changed. A row is whole only if as many drawers belong to it as there did.
    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>>;
    /// Number of drawers of a source, all sections together.
    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64>;

    /// Hashes of the texts of a source's drawers: the first half of BLAKE3.
    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>>;

    /// Records that a run begins; gives its number.
    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64>;
    /// Records how it ended. What the undo of runs long past would need is let go.
    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()>;
    /// The last runs, newest first.
    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>>;
    /// Takes back what a run did to drawers, on whichever machine it ran. Refused if a later run
    /// changed one of its sources.
    fn undo(&self, run: u64) -> Result<Undone>;

    /// Files changes, each whole or not at all, several in one transaction. Ids of drawers whose
    /// text is still there stay; new texts are embedded before the transaction begins.
    ///
    /// A text that several machines file at the same place is one drawer, of the machine that filed
    /// it first. When that machine removes or changes drawers of the source, the sources of this
    /// name on other machines count as incomplete, so that their next mine reads them again.
    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>>;
    /// Notes that sources are as they were though the file system's figures are new.
    fn touch(&self, records: &[SourceRecord]) -> Result<()>;
    /// Gives a source of the machine of `to` and its drawers another name; false if it is not there
    /// any more or `to` is.
    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool>;

    /// Lines of a text that were forgotten, as ranges from 1, both ends included.
    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>>;
    /// Lets the forgotten texts that a text holds be filed again.
    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()>;
    /// Whether anything was ever forgotten here.
    fn has_forgotten(&self) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_newer_version_is_read_and_written_as_it_is() {
        let words = ["running", "done", "stopped", "failed", "undoing", "undone"];
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
