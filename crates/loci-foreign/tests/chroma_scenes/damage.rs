//! The catalogue of damages: one function for each kind of damage that occurs in practice, and one
//! flat table of them.

// With explicit paths, so that another crate can include this file.
#[path = "damage/database.rs"]
mod database;
#[path = "damage/index.rs"]
mod index;
#[path = "damage/rows.rs"]
pub mod rows;

use std::collections::BTreeSet;

use super::best::Best;
use super::expected::Expected;
use super::peer;
use super::scene::{Options, Scene};

/// One kind of damage.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    /// The scene that it is applied to; `None` if a peer is missing.
    pub scene: fn() -> Option<Scene>,
    pub damage: fn(&Scene),
    /// The records that survive it.
    pub holds: Holds,
    /// The vectors that can be recovered.
    pub best: Best,
    /// How the real chromadb 1.5.9 reacts.
    pub chroma: Chroma,
}

/// The live records of a damaged directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Those of the scene.
    This,
    /// Those of its other state.
    Other,
    /// Those of the scene that the database or the queue still names.
    Living,
    /// Those of the scene, except records that lost their row and had neither text nor metadata.
    /// Nothing shows that these existed.
    Written,
}

/// How the real chromadb 1.5.9 reacts to a damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chroma {
    /// All answers are correct.
    Correct,
    /// Wrong answers, errors, a crash or a hang.
    Wrong,
    /// It depends on uninitialised memory.
    Undefined,
}

impl Case {
    /// The scene after the damage.
    pub fn stage(&self) -> Option<Scene> {
        let scene = (self.scene)()?;
        (self.damage)(&scene);
        Some(scene)
    }

    /// Documents, metadata and vectors of all surviving records.
    pub fn expected(&self, scene: &Scene) -> Expected {
        match self.holds {
            Holds::This => scene.expected.clone(),
            Holds::Other => scene.other_expected.clone().unwrap(),
            Holds::Living => scene.expected.with_records(&living(scene)),
            Holds::Written => scene.expected.with_records(&written(scene)),
        }
    }

    /// Ids of the first collection whose vectors must be found.
    pub fn recoverable(&self, scene: &Scene) -> BTreeSet<String> {
        let records = self.expected(scene).first().ids();
        self.best.ids(scene, &records)
    }

    /// How many of the recoverable vectors may be missing: ids at the cut of a truncated pickle,
    /// and one that was deleted and added again between two states.
    pub fn in_doubt(&self, records: usize) -> usize {
        match self.name {
            "crash_truncated_pickle" | "stale_sqlite" => records / 200,
            _ => 0,
        }
    }

    /// The accepted vectors for a record. If two states are mixed, either is accepted.
    pub fn acceptable<'a>(&self, scene: &'a Scene, id: &str) -> Vec<&'a [f32]> {
        let mixed = self.best == Best::Shared;
        let other = scene.other_expected.as_ref().filter(|_| mixed);
        let states = [Some(&scene.expected), other].into_iter().flatten();
        states
            .filter_map(|expected| expected.first().record(id)?.embedding.as_deref())
            .collect()
    }
}

fn living(scene: &Scene) -> BTreeSet<String> {
    let database = scene.sql();
    let mut statement = database
        .prepare("SELECT embedding_id FROM embeddings WHERE segment_id = ?1")
        .unwrap();
    let rows = statement.query_map([scene.metadata_segment()], |row| row.get(0));
    let mut living: BTreeSet<String> = rows.unwrap().map(Result::unwrap).collect();
    living.extend(added(scene));
    living
}

/// Ids of the first collection whose first entry is in the queue.
fn added(scene: &Scene) -> BTreeSet<String> {
    let database = scene.sql();
    let mut statement = database
        .prepare("SELECT id FROM embeddings_queue WHERE topic = ?1 AND operation = 0")
        .unwrap();
    let rows = statement.query_map([scene.topic()], |row| row.get(0));
    let added: BTreeSet<String> = rows.unwrap().map(Result::unwrap).collect();
    added
        .intersection(&scene.expected.first().ids())
        .cloned()
        .collect()
}

/// Everything except records without text and metadata whose row is lost. For a database that
/// SQLite cannot read, the rows come from an intact copy.
fn written(scene: &Scene) -> BTreeSet<String> {
    let gone = scene.gone();
    let added = added(scene);
    let records = scene.expected.first().records.iter();
    records
        .filter(|record| {
            let bare = record.document.is_none() && record.metadata.is_none();
            !bare || !gone.contains(&record.id) || added.contains(&record.id)
        })
        .map(|record| record.id.clone())
        .collect()
}

/// The case of this name.
pub fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap()
}

fn untouched(_: &Scene) {}

fn unflushed() -> Option<Scene> {
    let options = Options {
        sync_threshold: 50_000,
        ..Options::default()
    };
    Scene::healthy(400, 16, "cosine", options)
}

/// Nothing was deleted since the index was written, so labels can be rebuilt from the order.
fn calm() -> Option<Scene> {
    let options = Options {
        changes: false,
        ..Options::default()
    };
    Scene::healthy(900, 16, "cosine", options)
}

/// No other collection uses row numbers.
fn alone() -> Option<Scene> {
    let options = Options {
        second: false,
        ..Options::default()
    };
    Scene::healthy(1000, 16, "cosine", options)
}

fn killed() -> Option<Scene> {
    let options = Options {
        end: "kill",
        ..Options::default()
    };
    Scene::healthy(1000, 16, "cosine", options)
}

fn killed_writing() -> Option<Scene> {
    let options = Options {
        end: "kill_writing",
        sync_threshold: 100,
        ..Options::default()
    };
    Scene::healthy(600, 16, "cosine", options)
}

fn l2() -> Option<Scene> {
    Scene::healthy(700, 16, "l2", Options::default())
}

fn shimmed() -> Option<Scene> {
    peer::python(peer::CHROMADB)?;
    Some(Scene::fixture("chroma-0.6-flushed"))
}

const fn on(
    scene: fn() -> Option<Scene>,
    name: &'static str,
    damage: fn(&Scene),
    best: Best,
    chroma: Chroma,
) -> Case {
    Case {
        name,
        scene,
        damage,
        holds: Holds::This,
        best,
        chroma,
    }
}

const fn row(name: &'static str, damage: fn(&Scene), best: Best, chroma: Chroma) -> Case {
    on(Scene::standard, name, damage, best, chroma)
}

const fn holding(holds: Holds, case: Case) -> Case {
    Case { holds, ..case }
}

use Best::{All, Direction, Intact, Mapped, Queue, Shared, Something};
use Chroma::{Correct, Undefined, Wrong};

/// Every damage, in the order of the reference.
#[rustfmt::skip]
pub static CASES: &[Case] = &[
    row("healthy", untouched, All, Correct),
    on(unflushed, "unsynced_only", untouched, All, Correct),
    on(killed, "kill9", untouched, All, Correct),
    on(killed_writing, "kill9_mid_stream", untouched, All, Undefined),
    on(Scene::flushing, "crash_header_only", index::crash_header_only, All, Correct),
    on(Scene::flushing, "crash_after_hnsw_save", index::crash_after_hnsw_save, All, Wrong),
    on(Scene::flushing, "crash_before_max_seq_id", index::crash_before_max_seq_id, All, Correct),
    on(Scene::flushing, "crash_mid_hnsw_save", index::crash_mid_hnsw_save, All, Wrong),
    on(Scene::flushing, "crash_truncated_pickle", index::crash_truncated_pickle, All, Wrong),
    row("pickle_empty", index::pickle_empty, Queue, Wrong),
    on(calm, "pickle_empty_calm", index::pickle_empty, All, Wrong),
    on(calm, "pickle_deleted_calm", index::pickle_deleted, All, Wrong),
    row("pickle_bitflip", index::pickle_bitflip, All, Wrong),
    row("pickle_deleted", index::pickle_deleted, Queue, Wrong),
    row("segment_dir_deleted", index::segment_dir_deleted, Queue, Wrong),
    row("segment_renamed_drift", index::segment_renamed_drift, All, Wrong),
    on(Scene::with_earlier, "stale_segment", index::stale_segment, Shared, Wrong),
    holding(Holds::Other, on(Scene::with_earlier, "stale_sqlite", database::stale_sqlite, Shared, Wrong)),
    on(Scene::two_writers, "two_writers", untouched, Mapped, Wrong),
    row("header_deleted", index::header_deleted, All, Wrong),
    row("header_count_huge", index::header_count_huge, All, Wrong),
    row("header_truncated", index::header_truncated, All, Wrong),
    row("header_count_low", index::header_count_low, All, Wrong),
    row("header_count_plus500", index::header_count_plus500, All, Undefined),
    row("data_truncated_half", index::data_truncated_half, Intact, Wrong),
    row("data_empty", index::data_empty, Queue, Wrong),
    row("data_links_out_of_range", index::data_links_out_of_range, All, Wrong),
    row("data_random_flips", index::data_random_flips, Intact, Wrong),
    row("linklists_bitflips", index::linklists_bitflips, All, Undefined),
    row("data_links_zeroed", index::data_links_zeroed, All, Wrong),
    row("data_vectors_scrambled", index::data_vectors_scrambled, Intact, Wrong),
    row("linklists_empty", index::linklists_empty, All, Undefined),
    row("linklists_truncated", index::linklists_truncated, All, Undefined),
    row("linklists_sparse_bloat", index::linklists_sparse_bloat, All, Undefined),
    row("length_garbage", index::length_garbage, Direction, Wrong),
    row("length_empty", index::length_empty, Direction, Wrong),
    row("orphan_segment_dir", index::orphan_segment_dir, All, Correct),
    row("blob_seq_ids", database::blob_seq_ids, All, Wrong),
    row("blob_seq_ids_embeddings_only", database::blob_seq_ids_embeddings_only, All, Correct),
    row("max_seq_id_poisoned", database::max_seq_id_poisoned, All, Wrong),
    on(|| Some(Scene::fixture("chroma-0.6-flushed")), "legacy_063", untouched, All, Correct),
    on(|| Some(Scene::fixture("chroma-0.6-queued")), "legacy_063_unsynced", database::without_null_documents, All, Correct),
    on(|| Some(Scene::fixture("chroma-0.6-queued")), "legacy_063_null_documents", untouched, All, Wrong),
    on(|| Some(Scene::fixture("chroma-0.5-flushed")), "legacy_05", database::without_null_documents, All, Correct),
    on(|| Some(Scene::fixture("chroma-0.5-queued")), "legacy_05_unsynced", database::without_null_documents, All, Correct),
    on(|| Some(Scene::fixture("chroma-0.5-flushed")), "legacy_05_null_documents", untouched, All, Wrong),
    on(shimmed, "legacy_063_shimmed", database::legacy_063_shimmed, All, Wrong),
    row("max_seq_id_vector_row_missing", database::max_seq_id_vector_row_missing, All, Correct),
    holding(Holds::Living, row("metadata_rows_missing", database::metadata_rows_missing, All, Wrong)),
    holding(Holds::Written, row("metadata_orphans", database::metadata_orphans, All, Wrong)),
    holding(Holds::Written, row("rows_gone_together", rows::together, All, Wrong)),
    holding(Holds::Written, row("rows_gone_scattered", rows::scattered, All, Wrong)),
    holding(Holds::Written, row("rows_gone_first", rows::first, All, Wrong)),
    holding(Holds::Written, row("rows_gone_last", rows::last, All, Wrong)),
    row("rows_gone_queued", rows::queued, All, Wrong),
    holding(Holds::Written, on(alone, "rows_gone_together_alone", rows::around_a_bare_one, All, Wrong)),
    holding(Holds::Written, on(alone, "rows_gone_scattered_alone", rows::scattered, All, Wrong)),
    holding(Holds::Written, on(calm, "rows_gone_together_calm", rows::around_a_bare_one, All, Wrong)),
    row("rows_page_zero", rows::page_zero, All, Wrong),
    row("rows_page_noise", rows::page_noise, All, Wrong),
    row("rows_index_page_zero", rows::index_page_zero, All, Wrong),
    holding(Holds::Written, row("rows_page_and_index_noise", rows::page_and_index_noise, All, Wrong)),
    row("metadata_values_missing", database::metadata_values_missing, All, Wrong),
    row("dimension_null", database::dimension_null, All, Wrong),
    row("dimension_wrong", database::dimension_wrong, All, Wrong),
    row("segment_row_missing", database::segment_row_missing, All, Wrong),
    row("fts_content_missing", database::fts_content_missing, All, Wrong),
    row("fts_index_damaged", database::fts_index_damaged, All, Undefined),
    row("sqlite_page_garbage", database::sqlite_page_garbage, All, Wrong),
    row("sqlite_truncated", database::sqlite_truncated, Something, Wrong),
    on(l2, "schema_null", database::schema_null, All, Correct),
    row("schema_null_cosine", database::schema_null, All, Wrong),
    on(l2, "config_legacy_no_type", database::config_legacy_no_type, All, Correct),
    row("config_legacy_no_type_cosine", database::config_legacy_no_type, All, Wrong),
    row("hot_journal", database::hot_journal, All, Correct),
];
