//! Palace: the one API that every front end and every program uses.
//!
//! Wires the registry, the configuration and the backends together. Each verb of the product is one
//! method of [`Palace`] and one module with its `Request` and its `Answer`: [`facts::query`],
//! [`diary::write`], [`status`], [`verify`]. An answer is the JSON that every front end prints. Never
//! talks to a store by itself.
//!
//! ```
//! use loci_palace::{Batch, OpenOptions, Palace, Query, Selection, search_words};
//! let directory = tempfile::tempdir()?;
//! let palace = Palace::open(&directory.path().join("palace"), &OpenOptions::create())?;
//! let drawers = palace.collection("drawers", true)?;
//! drawers.add(&Batch::new(["a"]).documents(["Alice moved to Lyon."]))?;
//! let found = search_words(&*drawers, "where is Lyon", 5, &Selection::all())?;
//! assert_eq!(found.hits[0].id, "a");
//! palace.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod backup;
mod checkup;
pub mod chroma;
mod config;
mod creation;
mod detail;
pub mod diary;
mod embedders;
pub mod export;
pub mod facts;
mod fence;
mod forgotten;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod import;
pub mod links;
mod location;
mod machine;
pub mod mine;
mod palace;
mod record;
pub mod reembed;
mod remember;
pub mod repair;
pub mod rescue;
pub mod restore;
pub mod runs;
mod search;
mod secrets;
pub mod status;
pub mod sync;
pub mod undo;
pub mod verify;
pub mod wake_up;
pub mod watch;
pub mod wings;

pub use checkup::{
    Disk, EngineVersions, Presence, Process, RoundTrip, Whereabouts, disk_of, users_of, wal_bytes,
};
pub use config::{Config, HooksConfig, McpConfig, default_palace, state_directory};
pub use detail::{Detail, Flag};
pub use embedders::{NO_EMBEDDER, OPENAI_EMBEDDER, OpenAiConfig, Resolved};
pub use fence::{Fence, ORDERS, instruction_like};
pub use import::{Answer as ImportReport, Loss, OnConflict, RenamedWing, Request as ImportOptions};
pub use links::Taxonomy;
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
    Answer, ArmEntry, Explanation, Hit, LexicalHit, LexicalResult, MAX_HITS, MatchedVia, Parts,
    Request, Stage, Step, TermInfo, Verdict, WhyNot, count_tokens, date_of, search_words,
};
pub use loci_text::matching_spans;
pub use mine::{agent_folders, mined_under};
pub use palace::{DEFAULT_COLLECTION, Memory, OpenOptions, Palace};
pub use record::JsonRecord;
pub use remember::{
    Comparison, DuplicateCheck, NEAR_DUPLICATE, NewDrawer, RememberOptions, RememberReport,
    Remembered, Twin,
};
pub use rescue::{
    Answer as RescueReport, CollectionSummary, Diagnosis, FindingCounts, LostPiece, Phase,
    RelationsReport, Request as RescueOptions, RescuedCollection, Step as RescueStep,
    candidates_file, diagnose,
};
pub use search::{Found, Scope, parse_moment};
pub use secrets::{
    Policy as SecretPolicy, Tally as MaskTally, describe_masked, merge as merge_masked,
    secret_policy,
};
