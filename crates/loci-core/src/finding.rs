//! The findings of a diagnosis of another program's store, one per problem or note.
//!
//! [`FindingCode`] is one table for all programs, so that a code means the same in each of them.
//! `loci verify` reports on Loci's own palaces with [`crate::Finding`].

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::serialize_path;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing, but not a problem.
    Note,
    /// Answers are or will be wrong or incomplete.
    Warning,
    /// The program that owns the files refuses them, crashes, or loses writes.
    Error,
}

/// Defines the codes that decide something as a table.
macro_rules! finding_codes {
    ($( $name:ident = $word:literal, )*) => {
        /// The stable name of a finding. It serialises to its word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
        #[schemars(with = "String")]
        #[non_exhaustive]
        pub enum FindingCode {
            $(
                #[doc = concat!("`", $word, "`")]
                $name,
            )*
            /// A code that no decision depends on.
            Other(&'static str),
        }

        impl FindingCode {
            /// The code as text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( Self::$name => $word, )*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&'static str> for FindingCode {
            fn from(word: &'static str) -> Self {
                match word {
                    $( $word => Self::$name, )*
                    other => Self::Other(other),
                }
            }
        }
    };
}

finding_codes! {
    CheckpointAltered = "checkpoint_altered",
    CheckpointDamaged = "checkpoint_damaged",
    CollectionLost = "collection_lost",
    CompanionDamaged = "companion_damaged",
    ContentAltered = "content_altered",
    DataShort = "data_short",
    DatabaseDamaged = "database_damaged",
    DimensionNull = "dimension_null",
    DimensionWrong = "dimension_wrong",
    DocumentMissing = "document_missing",
    DocumentsOrphaned = "documents_orphaned",
    GraphDamaged = "graph_damaged",
    IndexForeign = "index_foreign",
    IndexMissing = "index_missing",
    IndexStale = "index_stale",
    IndexUnreadable = "index_unreadable",
    JournalPresent = "journal_present",
    LabelsDuplicate = "labels_duplicate",
    LabelsMissing = "labels_missing",
    LabelsUnknown = "labels_unknown",
    LengthShort = "length_short",
    MetadataDamaged = "metadata_damaged",
    MetadataLost = "metadata_lost",
    MetricForgotten = "metric_forgotten",
    OrderContradicted = "order_contradicted",
    PickleDamaged = "pickle_damaged",
    PickleDisputed = "pickle_disputed",
    PickleMissing = "pickle_missing",
    QueueGap = "queue_gap",
    QueueNullDocument = "queue_null_document",
    QueueOperation = "queue_operation",
    QueueUnreadable = "queue_unreadable",
    RecordsLost = "records_lost",
    RowsMissing = "rows_missing",
    RowsUncertain = "rows_uncertain",
    SegmentDamaged = "segment_damaged",
    SegmentRowMissing = "segment_row_missing",
    SegmentsOnly = "segments_only",
    SeqIdBeyond = "seq_id_beyond",
    SeqIdBlob = "seq_id_blob",
    SeqIdMissing = "seq_id_missing",
    SeqIdPoisoned = "seq_id_poisoned",
    SqliteDamaged = "sqlite_damaged",
    TablesMissing = "tables_missing",
    TunnelsDamaged = "tunnels_damaged",
    TwoWriters = "two_writers",
    VectorsDamaged = "vectors_damaged",
    VectorsLost = "vectors_lost",
    VectorsUnreachable = "vectors_unreachable",
    WalDamaged = "wal_damaged",
    WalMissing = "wal_missing",
    WalTailCut = "wal_tail_cut",
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for FindingCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What repairs a finding. Each front end has its own words for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Fix {
    /// Repair the ChromaDB directory in place.
    RepairInPlace {
        /// The directory.
        #[serde(serialize_with = "serialize_path")]
        #[schemars(with = "String")]
        path: PathBuf,
    },
    /// Import everything readable into a Loci palace.
    Import {
        /// The directory or file.
        #[serde(serialize_with = "serialize_path")]
        #[schemars(with = "String")]
        path: PathBuf,
    },
    /// Restore a file from a backup.
    PutBackUpInPlace {
        /// The name of the file.
        file: String,
    },
    /// Make the files readable for this user, then diagnose again.
    MakeReadable,
}

impl Fix {
    /// Repair the ChromaDB directory at `path` in place.
    pub fn repair(path: &Path) -> Self {
        Self::RepairInPlace {
            path: path.to_owned(),
        }
    }

    /// Import everything readable at `path`.
    pub fn import(path: &Path) -> Self {
        Self::Import {
            path: path.to_owned(),
        }
    }
}

/// One finding. `code` is stable; everything else is for people and may be reworded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name, such as `pickle_missing`.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// The collection it is about; absent if it is about the whole directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The file it is about, relative to the palace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The problem, in one sentence.
    pub message: String,
    /// Numbers, ids and offsets as evidence. Lists are cut at [`SAMPLE`] entries.
    pub evidence: Map<String, Value>,
    /// How the program that owns the files behaves because of it.
    pub consequence: String,
    /// What repairs it.
    #[serde(rename = "remedy", skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// The maximum number of entries of a list in the evidence. The count beside it is complete.
pub const SAMPLE: usize = 10;

impl Finding {
    /// Creates a finding without evidence.
    pub fn new(
        code: impl Into<FindingCode>,
        severity: Severity,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            severity,
            collection: None,
            file: None,
            message: message.into(),
            evidence: Map::new(),
            consequence: String::new(),
            fix: None,
        }
    }

    /// Sets the collection.
    #[must_use]
    pub fn of(mut self, collection: &str) -> Self {
        self.collection = Some(collection.to_owned());
        self
    }

    /// Sets the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds evidence.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the first entries of a list as evidence, with its length.
    #[must_use]
    pub fn list<T: Into<Value>>(self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let first: Vec<Value> = values.by_ref().take(SAMPLE).map(Into::into).collect();
        let count = first.len() + values.count();
        self.with(name, first)
            .with(&format!("{name}_count"), count as u64)
    }

    /// Sets the consequence.
    #[must_use]
    pub fn then(mut self, consequence: impl Into<String>) -> Self {
        self.consequence = consequence.into();
        self
    }

    /// Sets the fix.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}

/// A count with its noun: `1 record`, `3 records`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
