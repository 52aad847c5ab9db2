//! What backends can do beyond what all of them must.

use std::collections::BTreeSet;
use std::fmt;

/// Something a backend can do beyond the required calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Creates palaces and writes to them.
    Writing,
    /// Takes vectors that the caller made.
    EmbeddingsIn,
    /// Returns stored vectors.
    EmbeddingsOut,
    /// `estimated_count` is cheap.
    EstimatedCount,
    /// Metadata filters.
    MetadataFilters,
    /// `$gt` and its kin.
    RangeFilters,
    /// `with_view` for a search by words: it lists postings.
    LexicalSearch,
    /// `with_view` for a search by words and vectors, and access counts.
    Recall,
    /// `get_recent` orders by sequence number.
    RecencyOrder,
    /// `facet_counts`.
    MetadataFacets,
    /// `changes_since`.
    ChangeFeed,
    /// Several processes may read and write at once.
    ManyProcesses,
    /// Works on a local directory.
    LocalMode,
    /// Keeps a ledger, so that files can be mined, synced, watched, and runs undone.
    Mining,
    /// Keeps facts and links.
    Relations,
    /// Keeps which projects wings belong to.
    Projects,
    /// `forget`: removes drawers and every trace of their text.
    Forgetting,
    /// `state`: counts and sizes of the palace as a whole.
    Status,
    /// `verify`: compares everything derived with the truth.
    Verification,
    /// `repair`.
    Repair,
    /// `backup` and `restore`.
    Backups,
    /// `reembed`.
    Reembedding,
    /// `self_test`: a write that leaves no trace.
    SelfTest,
}

impl Capability {
    /// What a user calls it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::EmbeddingsIn => "vectors of the caller",
            Self::EmbeddingsOut => "reading of vectors",
            Self::EstimatedCount => "cheap counts",
            Self::MetadataFilters => "filters by metadata",
            Self::RangeFilters => "filters by ranges",
            Self::LexicalSearch => "search by words",
            Self::Recall => "search",
            Self::RecencyOrder => "the order of changes",
            Self::MetadataFacets => "counts by metadata",
            Self::ChangeFeed => "the feed of changes",
            Self::ManyProcesses => "use by several processes",
            Self::LocalMode => "palaces in directories",
            Self::Mining => "mining of files and conversations",
            Self::Relations => "facts and links",
            Self::Projects => "projects of wings",
            Self::Forgetting => "forgetting",
            Self::Status => "status",
            Self::Verification => "verification",
            Self::Repair => "repair",
            Self::Backups => "backup and restore",
            Self::Reembedding => "re-embedding",
            Self::SelfTest => "the trial write",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.words())
    }
}

/// The capabilities of a backend.
pub type Capabilities = BTreeSet<Capability>;
