//! Optional features of backends.

use std::collections::BTreeSet;
use std::fmt;

/// An optional feature of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Creates palaces and writes to them.
    Writing,
    /// Accepts vectors that the caller made.
    EmbeddingsIn,
    /// Returns stored vectors.
    EmbeddingsOut,
    /// `estimated_count` is cheap.
    EstimatedCount,
    /// Metadata filters.
    MetadataFilters,
    /// `$gt`, `$gte`, `$lt` and `$lte`.
    RangeFilters,
    /// `with_view` for a search by words. It lists postings.
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
    /// Records which project each wing belongs to.
    Projects,
    /// `forget`: removes drawers and every trace of their text.
    Forgetting,
    /// `state`: counts and sizes of the palace as a whole.
    Status,
    /// `verify`: compares all derived data with the drawers.
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
    /// Its name in messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::EmbeddingsIn => "vectors from the caller",
            Self::EmbeddingsOut => "reading vectors",
            Self::EstimatedCount => "cheap counts",
            Self::MetadataFilters => "metadata filters",
            Self::RangeFilters => "range filters",
            Self::LexicalSearch => "search by words",
            Self::Recall => "search",
            Self::RecencyOrder => "order by last change",
            Self::MetadataFacets => "metadata counts",
            Self::ChangeFeed => "the change feed",
            Self::ManyProcesses => "use by several processes at once",
            Self::LocalMode => "palaces in directories",
            Self::Mining => "mining files and conversations",
            Self::Relations => "facts and links",
            Self::Projects => "projects",
            Self::Forgetting => "forgetting",
            Self::Status => "status",
            Self::Verification => "verification",
            Self::Repair => "repair",
            Self::Backups => "backup and restore",
            Self::Reembedding => "re-embedding",
            Self::SelfTest => "the self-test",
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
