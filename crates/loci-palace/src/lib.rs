//! Palace: the one API that every front end and every program uses.
//!
//! Wires the registry, the configuration and the SQLite backend together and adds what is made of
//! several contract calls: export, import, status. Never talks to a store by itself.
//!
//! ```
//! use loci_palace::{OpenOptions, Palace, add, search};
//! let directory = tempfile::tempdir()?;
//! let palace = Palace::open(&directory.path().join("palace"), &OpenOptions::create())?;
//! let drawer = add::Drawer {
//!     text: Some("Alice moved to Lyon.".into()),
//!     ..add::Drawer::default()
//! };
//! palace.add(&add::Request {
//!     drawers: vec![drawer],
//!     ..add::Request::default()
//! })?;
//! let answer = palace.search(&search::Request::new("where does Alice live"))?;
//! assert_eq!(answer.hits[0].text, "Alice moved to Lyon.");
//! palace.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod add;
pub mod check_duplicate;
mod checkup;
mod config;
mod creation;
mod detail;
mod diary;
mod embedders;
mod export;
mod facts;
mod fence;
pub mod forget;
mod forgotten;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod get;
mod import;
mod links;
pub mod list;
mod location;
mod machine;
mod mine;
mod moment;
mod names;
mod palace;
pub mod query;
mod record;
mod reembed;
mod rescue;
pub mod search;
mod secrets;
pub mod update;
mod wake_up;
pub mod why_not;
mod wings;

/// ChromaDB directories mended in place, for whoever goes on using ChromaDB.
pub mod chroma {
    pub use loci_chroma::{
        Change, CollectionRepair, QuarantineOptions, QuarantineReport, Quarantined, RepairOptions,
        RepairReport, SetAside, quarantine, repair,
    };
}

pub use checkup::{
    Disk, EngineVersions, Presence, Process, RoundTrip, Whereabouts, disk_of, users_of, wal_bytes,
};
pub use config::{Config, HooksConfig, McpConfig, default_palace, state_directory};
pub use detail::{Detail, Flag, Moment, Nullable};
pub use diary::{DiaryEntry, DiaryNote, DiaryPage, DiaryWritten};
pub use embedders::{NO_EMBEDDER, OPENAI_EMBEDDER, OpenAiConfig, Resolved};
pub use export::ExportReport;
pub use facts::{Conflict, FactAdded, FactAnswer, FactSearch, FactState, Superseded};
pub use fence::{Fence, ORDERS, instruction_like};
pub use import::{ImportOptions, ImportReport, Loss, OnConflict, RenamedWing};
pub use links::{Linked, Reached, Taxonomy, Tunnel, Walk};
pub use location::{directory_of, palace_of, shown_location};
pub use loci_chroma::{Finding as ForeignFinding, FindingCode, Severity};
pub use loci_core::clock::new_id;
pub use loci_core::*;
pub use loci_embed::{
    Added as AddedModel, Change as ModelChange, MINILM_NAME, ModelStore, Progress as PullProgress,
    STATIC_NAME, StoredModel,
};
pub use loci_files::scratch::{
    before_first as before_private_copy, remove_all as remove_private_copies,
};
pub use loci_foreign::{
    ForeignCollection, ForeignPalace, ForeignRecord, Kind as ForeignKind, LostRecord, Readout,
    Recognised, Take, VectorCounts, VectorOrigin, open as open_foreign, recognise, recognise_as,
    shell_quoted, usual_places,
};
pub use loci_mine::place::Chosen;
pub use loci_mine::split::Size;
pub use loci_mine::talk::recognise as recognise_conversation;
pub use loci_mine::walk::{FollowLinks, Rules};
pub use loci_mine::watch::Pace;
pub use loci_mine::{
    DistinctWing, Failure, Gone, Manner, Meter, Options as MineOptions, OtherMachine, Reading,
    Report as MineReport, Source, Swept, Tree,
};
pub use loci_recall::{
    ArmEntry, Explanation, LexicalHit, LexicalResult, MAX_HITS, MatchedVia, Parts, Step, TermInfo,
    Verdict, count_tokens, date_of, search_words,
};
pub use loci_text::matching_spans;
pub use mine::{SyncChoice, Told, Watching, agent_folders, mined_under};
pub use moment::parse_moment;
pub use palace::{CollectionStatus, DEFAULT_COLLECTION, Memory, OpenOptions, Palace, Status};
pub use record::JsonRecord;
pub use rescue::{
    CollectionSummary, Diagnosis, FindingCounts, LostPiece, Phase, RelationsReport, RescueOptions,
    RescueReport, RescuedCollection, Step as RescueStep, candidates_file, diagnose,
};
pub use secrets::{
    Policy as SecretPolicy, Tally as MaskTally, describe_masked, merge as merge_masked,
    secret_policy,
};
pub use wake_up::{WakeUp, WakeUpOptions};
pub use wings::{Split, SplitPart, WingInfo};
