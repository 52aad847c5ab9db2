//! Palace: the one API that every front end and every program uses.
//!
//! It connects the registry, the configuration and the backends. Each verb of the product is one
//! method of [`Palace`] and one module with its `Request` and its `Answer`, such as
//! [`facts::query`], [`diary::write`], [`status`] and [`verify`]. An answer is the JSON that every
//! front end prints. Data is read and written only through the traits of `loci-core`.
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
pub mod backup;
pub mod check_duplicate;
mod checkup;
pub mod chroma;
mod complete_id;
mod config;
mod creation;
mod detail;
mod diagnosis;
pub mod diary;
mod embedders;
pub mod export;
pub mod facts;
mod fence;
mod following;
mod foreign_embedder;
pub mod forget;
mod forgotten;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod get;
pub mod import;
pub mod last_search;
pub mod links;
pub mod list;
mod location;
mod machine;
pub mod mine;
mod moment;
mod names;
mod palace;
pub mod pin;
pub mod query;
mod record;
pub mod reembed;
pub mod repair;
pub mod restore;
pub mod rewrite;
pub mod runs;
pub mod search;
pub mod search_files;
mod secrets;
mod source_name;
pub mod status;
pub mod sync;
mod title;
pub mod undo;
pub mod update;
pub mod verify;
pub mod wake_up;
pub mod watch;
pub mod why_not;
pub mod wings;

pub use checkup::{
    Disk, EngineVersions, Presence, Process, RoundTrip, UserDirectories, disk_of, users_of,
    wal_bytes,
};
pub use config::{Config, HOOK_LOG, HooksConfig, McpConfig, default_palace, state_directory};
pub use detail::{Detail, Flag, Moment, Nullable};
pub use diagnosis::{CollectionSummary, Diagnosis, diagnose};
pub use embedders::{NO_EMBEDDER, OPENAI_EMBEDDER, OpenAiConfig, Resolved};
pub use fence::{Fence, ORDERS, instruction_like};
pub use import::OnConflict;
pub use import::foreign::{
    Answer as ForeignImportReport, FindingCounts, ImportProgress, ImportedCollection, LostPiece,
    Phase, RelationsReport, Request as ForeignImportOptions, candidates_file,
};
pub use import::json_lines::{Answer as ImportReport, Loss, RenamedWing, Request as ImportOptions};
pub use jiff::civil::Date;
pub use links::Taxonomy;
pub use location::{directory_of, display_location, palace_of};
pub use loci_core::clock::new_id;
pub use loci_core::finding::{Finding as ForeignFinding, FindingCode, Fix, Severity};
pub use loci_core::*;
pub use loci_embed::{
    Added as AddedModel, Change as ModelChange, MINILM_NAME, ModelStore, Progress as PullProgress,
    STATIC_NAME, StoredModel,
};
pub use loci_files::AllowedRoots;
pub use loci_files::scratch::{
    before_first as before_private_copy, remove_all as remove_private_copies,
};
pub use loci_foreign::{
    ForeignCollection, ForeignPalace, ForeignRecord, Kind as ForeignKind, LostRecord, OnBatch,
    ReadSummary, Recognised, VectorCounts, VectorOrigin, open as open_foreign, recognise,
    recognise_as, usual_place_names, usual_places,
};
pub use loci_mine::place::Chosen;
pub use loci_mine::split::Size;
pub use loci_mine::walk::{FollowLinks, Rules};
pub use loci_mine::watch::WatchTiming;
pub use loci_mine::{
    DistinctWing, Failure, Gone, GoneReason, Meter, Options as MineOptions, OtherMachine, Reading,
    Report as MineReport, Source, SyncReport, TextOptions, Tree,
};
pub use loci_recall::{
    ArmEntry, Explanation, Later, LexicalHit, LexicalResult, MAX_HITS, Mark, MatchedVia, Parts,
    StageNote, TermInfo, Verdict, count_tokens, date_of, rarity_of, search_words, today,
};
pub use loci_text::{front_matter_end, matching_spans};
pub use loci_transcripts::recognise as recognise_conversation;
pub use mine::agent_folders;
pub use moment::parse_moment;
pub use palace::{DEFAULT_COLLECTION, Memory, OpenOptions, Palace};
pub use record::JsonRecord;
pub use secrets::{
    Policy as SecretPolicy, Tally as MaskTally, describe_masked, merge as merge_masked,
    secret_policy,
};
pub use source_name::SourceMatch;
