//! What a caller should know about a result that is correct nevertheless. Warnings are typed:
//! programs match on the variant, and front ends choose words that fit their users. The message
//! here names no command and no flag; [`Warning::advice`] says what can be done.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Number, Value};

use crate::advice::Advice;
use crate::collection::Metric;
use crate::embedder::EmbedderIdentity;
use crate::error::Error;
use crate::quote::{message_line, quoted, quoted_list, quoted_path};

mod samples;

/// Maximum number of names in a message.
const MAX_NAMES: usize = 8;

/// Maximum number of list entries in the JSON of a warning.
const MAX_LISTED: usize = 100;

/// Defines the warnings as a table. Each row has the stable code, the variant and its data.
macro_rules! warnings {
    ($(
        $(#[$doc:meta])*
        $code:literal => $name:ident $({ $( $(#[$field_doc:meta])* $field:ident: $type:ty, )* })?;
    )*) => {
        /// Something the caller should know about a result that is correct nevertheless.
        ///
        /// It serialises as `{code, message}`, plus its fields under `data` if it has any.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Warning {
            $(
                $(#[$doc])*
                $name $({ $( $(#[$field_doc])* $field: $type, )* })?,
            )*
        }

        impl Warning {
            /// Every variant with its code. Several variants may share a code.
            pub const VARIANTS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), $code)),*];

            /// Stable code, for programs that are not written in Rust.
            pub fn code(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => $code, )*
                }
            }

            /// Name of the variant.
            pub fn variant(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => stringify!($name), )*
                }
            }

            /// The fields of the variant.
            fn data(&self) -> Map<String, Value> {
                let mut data = Map::new();
                match self {
                    $(
                        Self::$name $({ $( $field ),* })? => {
                            $($( insert(&mut data, stringify!($field), $field); )*)?
                        }
                    )*
                }
                data
            }
        }
    };
}

warnings! {
    /// The best hit was said by someone else than the person that the question names.
    "other_speaker" => OtherSpeaker;
    /// The request asked for one hit per source, and more hits belong to the same sources.
    "by_source" => BySource {
        /// Hits that were skipped.
        skipped: usize,
    };
    /// The question is too long to be read in full.
    "long_query" => LongQuery {
        /// Bytes that were read.
        bytes_read: usize,
    };
    /// The question has more distinct words than are searched.
    "long_query" => ManyWords {
        /// Words that were searched.
        searched: usize,
        /// Words that were left out.
        left_out: usize,
    };
    /// No hit fits the budget; the best one was cut.
    "budget_cut" => BudgetCut {
        /// The budget in tokens.
        budget: usize,
        /// Id of the best hit that was cut.
        drawer: String,
        /// How many hits were cut.
        hits: usize,
    };
    /// Parts of the question look like conditions, but their values could not be read. They were
    /// searched as words.
    "conditions_unread" => ConditionsUnread {
        /// They, as typed.
        conditions: Vec<String>,
    };
    /// Hits did not fit the budget.
    "budget_left_out" => BudgetLeftOut {
        /// Their ids, best first.
        drawers: Vec<String>,
    };
    /// A drawer is longer than the token limit of the answer, so its text was cut.
    "text_cut" => TextCut {
        /// Its id.
        drawer: String,
        /// Characters before the returned part and in it.
        read: usize,
        /// Characters of the whole text.
        characters: usize,
    };
    /// Drawers did not fit the token limit of the answer.
    "drawers_left_out" => DrawersLeftOut {
        /// The limit in tokens.
        budget: usize,
        /// Their ids, in the order of the request.
        drawers: Vec<String>,
    };
    /// The question contains nothing to search for.
    "empty_query" => EmptyQuery;
    /// The question contains only very common words.
    "stop_words" => StopWords;
    /// Of the drawers with only common words, only the newest were ranked.
    "common_words" => CommonWords {
        /// How many were ranked.
        limit: usize,
        /// The words.
        words: Vec<String>,
    };
    /// No drawer contains a word of the question, so a word with one other letter was searched.
    "spelling" => Spelling {
        /// The word as it was typed.
        word: String,
        /// The term that was searched instead.
        searched: String,
    };
    /// Drawers have a vector of another embedder than that of the collection.
    "not_compared" => NotCompared {
        /// How many.
        drawers: u64,
        /// The embedder that would make their vectors comparable.
        model: String,
    };
    /// Drawers have a vector of the built-in table, because the model was missing.
    "stand_in" => StandIn {
        /// How many.
        drawers: u64,
        /// The embedder that would replace those vectors.
        model: String,
    };
    /// Imported drawers got a vector of the built-in table, because their model is missing here.
    "stand_in" => ImportedStandIn {
        /// The collection they are in.
        collection: String,
        /// How many.
        drawers: u64,
    };
    /// Drawers have no vector and are found by words only.
    "without_vector" => WithoutVector {
        /// The collection they are in.
        collection: String,
        /// How many.
        drawers: u64,
        /// How many of them have a vector of another embedder instead.
        other_embedder: u64,
        /// The embedder that would make their vectors, if it is known.
        model: Option<String>,
    };
    /// No drawer that could be a hit has a vector.
    "no_vectors" => NoVectors {
        /// The collection.
        collection: String,
        /// Number of drawers that were checked.
        drawers: u64,
    };
    /// Candidates are too distant from the question.
    "max_distance" => MaxDistance {
        /// How many.
        candidates: usize,
        /// The largest distance that was allowed.
        limit: Number,
    };
    /// Hits probably do not answer the question.
    "min_probability" => MinProbability {
        /// How many were left out.
        hits: usize,
        /// The smallest probability that was allowed.
        limit: Number,
    };
    /// The embedder failed, so only words were searched.
    "embedder_failed" => EmbedderFailed {
        /// Its error.
        problem: String,
    };
    /// There is no embedder, so only words were searched.
    "no_embedder" => NoEmbedder;
    /// The question was embedded by a compatible embedder, not by the one that made the vectors.
    "compatible_embedder" => CompatibleEmbedder {
        /// The embedder of the vectors.
        pinned: EmbedderIdentity,
        /// The embedder of the question.
        used: EmbedderIdentity,
    };
    /// An earlier built-in table made the vectors. The present one goes on with them.
    "earlier_table" => EarlierTable {
        /// The collection.
        collection: String,
    };
    /// The embedder of the vectors is not recorded.
    "unknown_embedder" => UnknownEmbedder {
        /// The collection.
        collection: String,
        /// Dimension of its vectors.
        dimension: usize,
        /// The available embedder.
        embedder: EmbedderIdentity,
    };
    /// The model of a collection cannot be used.
    "model_missing" => ModelMissing {
        /// The collection.
        collection: String,
        /// Why the model cannot be used.
        problem: String,
        /// Whether the built-in table is used instead; otherwise only words are searched.
        stand_in: bool,
        /// How to get the model.
        advice: Option<Advice>,
    };
    /// A filter matches no drawer.
    "filter_excludes_all" => FilterExcludesAll {
        /// The collection.
        collection: String,
        /// Drawers in it.
        drawers: u64,
    };
    /// Each condition matches drawers, but no drawer meets all of them.
    "conditions_exclude_each_other" => ConditionsExcludeEachOther {
        /// Each condition in words, with the drawers that meet it.
        conditions: Vec<(String, u64)>,
    };
    /// A wing, room, source or other place in the request does not exist.
    "unknown_place" => UnknownPlace {
        /// The kind of place.
        kind: String,
        /// Its name in the request.
        name: String,
        /// Existing names, the most similar first; `None` if they were not looked up.
        known: Option<Vec<String>>,
    };
    /// Damaged drawers were left out of the result.
    "damaged_row" => DamagedRows {
        /// How many.
        drawers: usize,
        /// The first of them, quoted.
        names: Vec<String>,
    };
    /// Damaged facts or links were left out of the result.
    "damaged_relation" => DamagedRelations {
        /// Their names.
        names: Vec<String>,
    };
    /// Damaged records were quarantined earlier.
    "damaged" => DamagedRecords {
        /// How many.
        records: u64,
    };
    /// Forgotten text may still be in the files.
    "purge_pending" => PurgePending;
    /// The index failed too often, so automatic rebuilds are suspended.
    "index_held_back" => IndexHeldBack {
        /// The collection.
        collection: String,
        /// Why.
        reason: String,
    };
    /// An index file failed its check or is missing. The result is exact nevertheless.
    "index_set_aside" => IndexSetAside {
        /// The file.
        file: String,
        /// What the check found.
        problem: String,
        /// The new name of the file; `None` if the file is missing.
        moved_to: Option<String>,
    };
    /// The palace is older than its index.
    "truth_went_back" => TruthWentBack {
        /// The last change that the index covers.
        covered: u64,
        /// The last change of the palace.
        seq: u64,
    };
    /// The palace is read-only, and a private copy of it is read.
    "read_only" => ReadOnly {
        /// The palace.
        path: PathBuf,
        /// Why it cannot be written.
        reason: String,
    };
    /// Texts changed without a new vector, so their old vector was dropped.
    "vector_dropped" => VectorDropped {
        /// How many.
        drawers: usize,
        /// The first of them.
        first: String,
    };
    /// Near duplicates were not searched for.
    "no_near_duplicates" => NoNearDuplicates {
        /// Whether the vectors are being recomputed. Otherwise there is no embedder.
        reembedding: bool,
    };
    /// Duplicates were not searched for.
    "duplicates_unknown" => DuplicatesUnknown {
        /// Why.
        problem: String,
    };
    /// A settings file is a link to a file outside of its project.
    "settings_outside" => SettingsOutside {
        /// The file.
        path: PathBuf,
    };
    /// A ChromaDB collection is inconsistent with its own index.
    "drift" => Drift {
        /// The directory.
        path: PathBuf,
        /// The collection.
        collection: String,
        /// The problem.
        problem: String,
    };
    /// Records of a ChromaDB collection cannot be shown.
    "not_mirrored" => NotMirrored {
        /// The problem.
        problem: String,
    };
    /// Something happened while ChromaDB's index directories were quarantined.
    "quarantine" => Quarantine {
        /// The problem.
        problem: String,
    };
    /// An older backup cannot be used or removed, so it stays and does not count.
    "backup_left" => BackupLeft {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    };
    /// The palace has damaged records, and so has its backup.
    "backup_damaged" => BackupDamaged {
        /// How many drawers, facts and links.
        records: u64,
    };
    /// The palace could not record when it was backed up.
    "backup_not_recorded" => BackupNotRecorded {
        /// The problem.
        problem: String,
    };
    /// Nothing fits the budget of a wake-up.
    "budget_too_small" => BudgetTooSmall {
        /// The budget in tokens.
        budget: usize,
    };
    /// Passages that look like instructions to a model were left out.
    "instruction_like" => InstructionsLeftOut {
        /// How many.
        passages: usize,
    };
    /// A text in the result looks like an instruction to a model.
    "instruction_like" => InstructionLike;
    /// A fact names a drawer that does not exist.
    "source_missing" => SourceMissing {
        /// The collection.
        collection: String,
        /// Id of the drawer.
        drawer: String,
    };
    /// The new fact already exists and has ended.
    "fact_ended" => FactEnded {
        /// The fact in words.
        statement: String,
        /// Its id.
        fact: String,
        /// When it ended.
        ended: String,
    };
    /// Facts match, but none holds at the requested time.
    "none_holds" => NoneHolds {
        /// Number of matching facts.
        facts: u64,
        /// The requested time; `None` for the present.
        as_of: Option<String>,
        /// The last matching fact in words, with its dates.
        last: Option<String>,
    };
    /// No fact has this subject or object.
    "no_such_name" => NoSuchName {
        /// The name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    };
    /// No matching fact has this predicate.
    "no_such_predicate" => NoSuchPredicate {
        /// The predicate.
        predicate: String,
        /// Predicates that exist.
        near: Vec<String>,
    };
    /// A new fact contradicts another.
    "conflict" => ConflictingFact {
        /// Subject, predicate and object of the other.
        other: [String; 3],
    };
    /// No fact was ended, because none holds.
    "nothing_ended" => NothingEnded;
    /// The number of hops along links was limited.
    "hops_limited" => HopsLimited {
        /// Maximum number of hops.
        limit: usize,
    };
    /// This palace stores no facts and links, so imported ones were left out.
    "relations_not_kept" => RelationsNotKept;
    /// The source of an import is damaged.
    "source_damaged" => SourceDamaged {
        /// The source.
        path: PathBuf,
        /// The findings, worst first.
        findings: Vec<String>,
        /// Number of findings that are not listed.
        more: usize,
    };
    /// The source of an import was written to while it was read.
    "source_changed" => SourceChanged {
        /// The source.
        path: PathBuf,
    };
    /// The recorded embedder cannot have made the vectors.
    "embedder_contradicted" => EmbedderContradicted {
        /// The collection that is imported.
        collection: String,
        /// Why.
        problem: String,
    };
    /// Imported vectors do not match the collection, so they are not imported.
    "vectors_not_taken" => VectorsNotTaken {
        /// The collection that is imported.
        from: String,
        /// The embedder of its vectors, if known.
        made_by: Option<EmbedderIdentity>,
        /// The target collection.
        into: String,
        /// The pinned embedder of the target, if known.
        pinned: Option<EmbedderIdentity>,
        /// A model that would make the vectors fit, if there is one.
        model: Option<String>,
    };
    /// Imported vectors have another length than the vectors of the embedder, so they are ignored.
    "vectors_not_taken" => VectorsIgnored {
        /// The target collection.
        collection: String,
        /// Number of ignored vectors.
        vectors: u64,
        /// The length of the embedder's vectors.
        dimension: usize,
    };
    /// An imported collection used another metric.
    "another_metric" => AnotherMetric {
        /// The collection that is imported.
        from: String,
        /// Its metric.
        measured: Metric,
        /// The target collection.
        into: String,
        /// The metric of the target.
        measures: Metric,
    };
    /// Imported records were left out, because their text was forgotten here.
    "forgotten" => ForgottenLeftOut {
        /// The collection that is imported.
        collection: String,
        /// How many.
        records: u64,
    };
    /// Existing drawers differ from the imported ones and were kept.
    "differing" => Differing {
        /// The collection that is imported.
        from: String,
        /// The target collection.
        into: String,
        /// How many.
        drawers: u64,
        /// The first of them.
        first: String,
    };
    /// The query is blank.
    "blank_query" => BlankQuery;
    /// An argument of a tool has no effect in Loci.
    "no_effect" => NoEffect {
        /// The argument.
        argument: String,
        /// Why.
        reason: String,
    };
    /// The collection that is used by default does not exist; others do.
    "other_collections" => OtherCollections {
        /// The requested collection.
        collection: String,
        /// The ones that exist.
        collections: Vec<String>,
    };
    /// The palace is empty.
    "empty" => Empty {
        /// The error that was replaced by this warning.
        problem: String,
    };
}

impl Warning {
    /// The warning that replaces an error because there is nothing to read. A palace with other
    /// collections is not empty.
    pub fn of_nothing(problem: &Error) -> Self {
        match (problem.plain(), problem.advice()) {
            (
                Error::CollectionNotInitialized { collection },
                Some(Advice::NameCollection { collections }),
            ) => Self::OtherCollections {
                collection: collection.clone(),
                collections,
            },
            _ => Self::Empty {
                problem: problem.to_string(),
            },
        }
    }

    /// Candidates are more distant from the question than `limit`.
    pub fn max_distance(candidates: usize, limit: f32) -> Self {
        Self::MaxDistance {
            candidates,
            limit: as_written(limit),
        }
    }

    /// Hits are less probable than `limit`.
    pub fn min_probability(hits: usize, limit: f32) -> Self {
        Self::MinProbability {
            hits,
            limit: as_written(limit),
        }
    }

    /// A sentence for people, as one printable line whatever the quoted names contain.
    pub fn message(&self) -> String {
        message_line(&self.sentence())
    }

    /// What can be done about it, if anything.
    pub fn advice(&self) -> Option<Advice> {
        let reembed = |model: Option<&String>| Advice::Reembed {
            model: model.cloned(),
        };
        Some(match self {
            Self::BudgetCut { drawer, .. } => Advice::ReadDrawer { id: drawer.clone() },
            Self::TextCut { drawer, read, .. } => Advice::ReadRest {
                id: drawer.clone(),
                offset: *read,
            },
            Self::DrawersLeftOut { .. } => Advice::ReadLeftOut,
            Self::MinProbability { .. } => Advice::ShowImprobable,
            Self::NotCompared { model, .. } | Self::StandIn { model, .. } => reembed(Some(model)),
            Self::WithoutVector {
                other_embedder,
                model,
                ..
            } if *other_embedder > 0 || model.is_some() => reembed(model.as_ref()),
            Self::ImportedStandIn { collection, .. } => Advice::AddModelThenReembed {
                collection: collection.clone(),
            },
            Self::CompatibleEmbedder { used, pinned } => Advice::AddModelOrReembed {
                model: used.name.clone(),
                missing: pinned.name.clone(),
            },
            Self::EarlierTable { collection } => Advice::UpgradeVectors {
                collection: collection.clone(),
            },
            Self::UnknownEmbedder {
                embedder,
                dimension,
                ..
            } if *dimension != embedder.dimension => reembed(Some(&embedder.name)),
            Self::ModelMissing { advice, .. } => return advice.clone(),
            Self::DamagedRows { .. } | Self::DamagedRelations { .. } => Advice::Repair,
            Self::DamagedRecords { .. } | Self::BackupDamaged { .. } => Advice::Verify,
            Self::IndexHeldBack { .. } => Advice::RebuildIndex,
            Self::Drift { path, .. } => Advice::DiagnoseAndImport { path: path.clone() },
            Self::NothingEnded => Advice::QueryFacts,
            Self::SourceDamaged { path, .. } => Advice::Diagnose { path: path.clone() },
            Self::VectorsNotTaken { model, .. } => Advice::KeepVectors {
                model: model.clone(),
            },
            Self::ForgottenLeftOut { .. } => Advice::AllowAgain,
            Self::Differing { .. } => Advice::ChooseOnConflict,
            Self::OtherCollections { collections, .. } => Advice::NameCollection {
                collections: collections.clone(),
            },
            Self::Empty { .. } => Advice::AddDrawers,
            _ => return None,
        })
    }

    fn sentence(&self) -> String {
        match self {
            Self::OtherSpeaker => {
                "the best match was said by someone else than the person that the question names"
                    .into()
            }
            Self::BySource { skipped } => {
                format!("{skipped} more hit(s) come from sources that are already shown")
            }
            Self::LongQuery { bytes_read } => {
                format!("only the first {bytes_read} bytes of the question were read")
            }
            Self::ManyWords { searched, left_out } => format!(
                "only the first {searched} different words were searched, {left_out} were left out"
            ),
            Self::BudgetCut { budget, hits, .. } => {
                format!("{hits} hit(s) are cut to fit a budget of {budget}")
            }
            Self::ConditionsUnread { conditions } => format!(
                "searched as words, because the value was not understood: {}",
                first_names(conditions, 5)
            ),
            Self::BudgetLeftOut { drawers } => format!(
                "{} hit(s) did not fit the budget: {}",
                drawers.len(),
                first_names(drawers, 5)
            ),
            Self::TextCut {
                drawer,
                read,
                characters,
            } => format!(
                "{} has {characters} characters; the answer ends after character {read}",
                quoted(drawer)
            ),
            Self::DrawersLeftOut { budget, drawers } => format!(
                "{} drawer(s) did not fit a budget of {budget}: {}",
                drawers.len(),
                first_names(drawers, 5)
            ),
            Self::EmptyQuery => "the question contains no word to search for".into(),
            Self::StopWords => {
                "the question contains only very common words; they were searched anyway".into()
            }
            Self::Spelling { word, searched } => format!(
                "no drawer contains `{}`; searched `{}` instead",
                quoted(word),
                quoted(searched)
            ),
            Self::CommonWords { limit, words } => format!(
                "many drawers contain only common words of the question ({}); only the newest {limit} of them were ranked",
                quoted_list(words.iter().map(String::as_str))
            ),
            Self::NotCompared { drawers, .. } => format!(
                "{drawers} drawer(s) have a vector of another embedder and were found by words only"
            ),
            Self::StandIn { drawers, .. } => format!(
                "{drawers} drawer(s) have a vector of the built-in table, made while the model was missing"
            ),
            Self::ImportedStandIn {
                collection,
                drawers,
            } => format!(
                "{drawers} drawer(s) of {} had no vector and their model is not available; the built-in table is used instead",
                quoted(collection)
            ),
            Self::WithoutVector {
                collection,
                drawers,
                other_embedder,
                ..
            } => {
                let others = match other_embedder {
                    0 => String::new(),
                    others => format!(" ({others} have one of another embedder)"),
                };
                format!(
                    "{drawers} drawer(s) of {} have no vector{others} and are found by words only",
                    quoted(collection)
                )
            }
            Self::NoVectors {
                collection,
                drawers,
            } => format!(
                "none of the {drawers} drawer(s) of {} has a vector; search by words instead",
                quoted(collection)
            ),
            Self::MaxDistance { candidates, limit } => format!(
                "{candidates} candidate(s) without a word of the question are more distant than {limit} and were left out"
            ),
            Self::MinProbability { hits, limit } => format!(
                "{hits} hit(s) that probably do not answer the question were left out (probability below {limit})"
            ),
            Self::EmbedderFailed { problem } => format!("{problem}; only words were searched"),
            Self::NoEmbedder => "there is no embedder, so only words were searched".into(),
            Self::CompatibleEmbedder { pinned, used } => format!(
                "the vectors were made by {pinned}; the question was embedded by {used}, which finds slightly less"
            ),
            Self::EarlierTable { collection } => format!(
                "the vectors of {} were made by an earlier built-in table; they can still be used",
                quoted(collection)
            ),
            Self::UnknownEmbedder {
                collection,
                dimension,
                embedder,
            } => {
                let start = format!(
                    "the vectors of {} have {dimension} numbers and were made by an unknown embedder",
                    quoted(collection)
                );
                if *dimension == embedder.dimension {
                    format!("{start}; they were searched as if {embedder} had made them")
                } else {
                    format!(
                        "{start}; {embedder} does not match, so texts are searched by words only"
                    )
                }
            }
            Self::ModelMissing {
                collection,
                problem,
                stand_in,
                ..
            } => {
                if *stand_in {
                    format!("{problem}; the built-in table is used instead")
                } else {
                    format!(
                        "{problem}; {} is searched by words only",
                        quoted(collection)
                    )
                }
            }
            Self::FilterExcludesAll {
                collection,
                drawers,
            } => format!(
                "no drawer matches the filter; collection {} holds {drawers} drawer(s)",
                quoted(collection)
            ),
            Self::ConditionsExcludeEachOther { conditions } => {
                let counts: Vec<String> = conditions
                    .iter()
                    .map(|(condition, drawers)| format!("{condition} {drawers}"))
                    .collect();
                format!(
                    "no drawer meets all conditions; each alone: {}",
                    counts.join(", ")
                )
            }
            Self::UnknownPlace { kind, name, known } => match known.as_deref() {
                None => format!("no drawer is in {kind} {}", quoted(name)),
                Some([]) => {
                    format!(
                        "there is no {kind} {}; no drawer has a {kind}",
                        quoted(name)
                    )
                }
                Some(known) => format!(
                    "there is no {kind} {}; there are: {}",
                    quoted(name),
                    first_names(known, MAX_NAMES)
                ),
            },
            Self::DamagedRows { drawers, names } => {
                format!(
                    "{drawers} damaged drawer(s) left out ({})",
                    names.join(", ")
                )
            }
            Self::DamagedRelations { names } => {
                format!("damaged and left out: {}", names.join(", "))
            }
            Self::DamagedRecords { records } => {
                format!("{records} damaged record(s) were quarantined")
            }
            Self::PurgePending => {
                "forgotten text may still be in the files; the next process removes it".into()
            }
            Self::IndexHeldBack { collection, reason } => {
                format!(
                    "the index of {} is not rebuilt: {reason}",
                    quoted(collection)
                )
            }
            Self::IndexSetAside {
                file,
                problem,
                moved_to,
            } => {
                let what = match moved_to {
                    Some(moved) => format!(
                        "the index file failed its check ({problem}) and was quarantined as {}",
                        quoted(moved)
                    ),
                    None => format!("the index file {} is gone", quoted(file)),
                };
                format!("{what}; the answer is exact, and the index will be rebuilt")
            }
            Self::TruthWentBack { covered, seq } => format!(
                "the palace is older than its index: the index covers changes up to {covered}, the palace ends at {seq}; the answer is exact"
            ),
            Self::ReadOnly { path, reason } => format!(
                "the palace `{}` is read-only: {reason}; a private copy of it is read, and nothing is written",
                path.display()
            ),
            Self::VectorDropped { drawers, first } => format!(
                "{drawers} drawer(s), among them {}, have new text and no new vector; the old vector was dropped",
                quoted(first)
            ),
            Self::NoNearDuplicates { reembedding: true } => {
                "the vectors are being recomputed, so near duplicates were not searched for".into()
            }
            Self::NoNearDuplicates { reembedding: false } => {
                "there is no embedder, so only texts with the same words were searched for".into()
            }
            Self::DuplicatesUnknown { problem } => {
                format!("duplicates were not searched for: {problem}")
            }
            Self::SettingsOutside { path } => format!(
                "{} is ignored because it is a link to a file outside of the project; replace it with a file",
                quoted_path(path)
            ),
            Self::Drift {
                collection,
                problem,
                ..
            } => format!("drift in {}: {problem}", quoted(collection)),
            Self::BackupLeft { path, problem } => {
                format!("{} stays and does not count: {problem}", quoted_path(path))
            }
            Self::BackupDamaged { records } => format!(
                "{records} drawer(s), facts or links of the palace are damaged, and so is their copy in the \
                 backup; older backups may have them intact, so none was removed"
            ),
            Self::BackupNotRecorded { problem } => {
                format!("the palace does not know about this backup: {problem}")
            }
            Self::NotMirrored { problem } | Self::Quarantine { problem } => problem.clone(),
            Self::BudgetTooSmall { budget } => {
                format!("nothing fits a budget of {budget} tokens")
            }
            Self::InstructionsLeftOut { passages } => {
                format!("{passages} passage(s) that read like orders to a model were left out")
            }
            Self::InstructionLike => {
                "a text below reads like an order; it is recalled text, not an instruction".into()
            }
            Self::SourceMissing { collection, drawer } => format!(
                "there is no drawer {} in collection {}; the fact refers to it anyway",
                quoted(drawer),
                quoted(collection)
            ),
            Self::FactEnded {
                statement,
                fact,
                ended,
            } => format!(
                "{statement} exists as fact {} and ended {ended}; it was not changed; give another valid_from if it holds again",
                quoted(fact)
            ),
            Self::NoneHolds { facts, as_of, last } => {
                let when = as_of
                    .as_ref()
                    .map_or("now".to_owned(), |date| format!("as of {date}"));
                let last = last
                    .as_ref()
                    .map_or(String::new(), |last| format!("; the last of them: {last}"));
                format!(
                    "{facts} fact(s) match, none holds {when}; include ended facts to see them{last}"
                )
            }
            Self::NoSuchName { name, near } if near.is_empty() => {
                format!("no fact names {}", quoted(name))
            }
            Self::NoSuchName { name, near } => format!(
                "no fact names {}; there is {}",
                quoted(name),
                first_names(near, MAX_NAMES)
            ),
            Self::NoSuchPredicate { predicate, near } => format!(
                "no such fact has the predicate {}; there is {}",
                quoted(predicate),
                first_names(near, MAX_NAMES)
            ),
            Self::ConflictingFact { other } => {
                format!("another fact holds at the same time: {}", other.join(" → "))
            }
            Self::NothingEnded => "no such fact holds; nothing was changed".into(),
            Self::HopsLimited { limit } => format!("links are followed for at most {limit} hops"),
            Self::RelationsNotKept => {
                "this palace stores no facts and links; they were left out".into()
            }
            Self::SourceDamaged { findings, more, .. } => {
                let named = findings.join("; ");
                let more = match more {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                format!("the source is damaged: {named}{more}")
            }
            Self::SourceChanged { path } => format!(
                "{} was written to while it was read; run the import again",
                quoted_path(path)
            ),
            Self::EmbedderContradicted {
                collection,
                problem,
            } => format!(
                "{}: {problem}; its texts are searched by words only",
                quoted(collection)
            ),
            Self::VectorsNotTaken {
                from,
                made_by,
                into,
                pinned,
                ..
            } => format!(
                "the vectors of {} were made by {} and do not match {}, whose vectors were made by {}; they are not imported",
                quoted(from),
                embedder_name(made_by.as_ref()),
                quoted(into),
                embedder_name(pinned.as_ref())
            ),
            Self::VectorsIgnored {
                collection,
                vectors,
                dimension,
            } => format!(
                "{vectors} vector(s) for {} were ignored, because the vectors of its embedder have {dimension} numbers; the texts are embedded instead",
                quoted(collection)
            ),
            Self::AnotherMetric {
                from,
                measured,
                into,
                measures,
            } => format!(
                "{} measured distances by {}, {} measures them by {}",
                quoted(from),
                measured.as_str(),
                quoted(into),
                measures.as_str()
            ),
            Self::ForgottenLeftOut {
                collection,
                records,
            } => format!(
                "{records} record(s) of {} were left out: their text was forgotten here",
                quoted(collection)
            ),
            Self::Differing {
                from,
                into,
                drawers,
                first,
            } => format!(
                "{drawers} drawer(s) of {} differ from {} and were not changed; the first is {}",
                quoted(into),
                quoted(from),
                quoted(first)
            ),
            Self::BlankQuery => "the query is blank; give keywords or a question".into(),
            Self::NoEffect { argument, reason } => {
                format!("{} has no effect: {reason}", quoted(argument))
            }
            Self::OtherCollections {
                collection,
                collections,
            } => format!(
                "there is no collection {}; this palace has {}",
                quoted(collection),
                quoted_list(collections.iter().map(String::as_str))
            ),
            Self::Empty { problem } => format!("nothing is remembered yet ({problem})"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

// Keys are sorted, so that a warning has the same text form whether or not it passed through a
// `serde_json::Value`.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = self.data();
        let fields = if data.is_empty() { 2 } else { 3 };
        let mut object = serializer.serialize_struct("Warning", fields)?;
        object.serialize_field("code", self.code())?;
        if data.is_empty() {
            object.skip_field("data")?;
        } else {
            object.serialize_field("data", &data)?;
        }
        object.serialize_field("message", &self.message())?;
        object.end()
    }
}

impl JsonSchema for Warning {
    fn schema_name() -> Cow<'static, str> {
        "Warning".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "data": {"type": "object"},
                "message": {"type": "string"},
            },
            "required": ["code", "message"],
        })
    }
}

/// Adds one field. A list is truncated to [`MAX_LISTED`] entries. A value that JSON cannot
/// represent, such as a path that is not Unicode, becomes `null`; the message still shows it.
fn insert(data: &mut Map<String, Value>, name: &str, value: &impl Serialize) {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Value::Array(list) = &mut value {
        list.truncate(MAX_LISTED);
    }
    data.insert(name.to_owned(), value);
}

/// The first names, and how many more there are.
fn first_names(names: &[String], limit: usize) -> String {
    let mut quoted_names: Vec<String> = names.iter().take(limit).map(|name| quoted(name)).collect();
    if names.len() > quoted_names.len() {
        quoted_names.push(format!("{} more", names.len() - quoted_names.len()));
    }
    quoted_names.join(", ")
}

fn embedder_name(embedder: Option<&EmbedderIdentity>) -> String {
    embedder.map_or_else(|| "an unknown embedder".to_owned(), ToString::to_string)
}

/// The shortest decimal form of a number, as the caller wrote it.
fn as_written(number: f32) -> Number {
    let number = number.to_string().parse().ok().and_then(Number::from_f64);
    number.unwrap_or_else(|| 0.into())
}

#[cfg(test)]
mod tests;
