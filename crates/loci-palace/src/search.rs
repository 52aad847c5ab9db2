//! The verb `search`: returns the hits for a question. If there are too few, the answer says why
//! and what the scope contains.

mod gone;
mod newest;
mod question;

use std::collections::BTreeMap;

use jiff::civil::Date;
use loci_core::{
    Error, FacetCounts, Filter, KeyTest, MetaValue, Metadata, Outside, Result, Selection, Warning,
    quoted,
};
use loci_embed::is_earlier_table;
use loci_recall::{Explanation, FacetQuery, Later, Mark, MatchedVia, Parts, Relevance, Verdict};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::detail::{Detail, DrawerLocation, Flag, Moment, Nullable, estimate, flags_of};
use crate::names::{display, nearest_values};
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::title::Titles;

pub use question::Question;

/// The facets that an answer with too few hits lists of its scope.
const PLACES_OF_SCOPE: FacetQuery = FacetQuery {
    keys: &["wing", "room"],
    limit: 50,
};

/// The request.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each set by another caller"
)]
#[derive(Debug, Clone)]
pub struct Request {
    /// The collection to search.
    pub collection: String,
    /// The question: any text.
    pub query: String,
    /// Whether the question may have operators such as `"exact phrase"`, `-word` and `wing:acme`.
    /// [`Question`] reads them. Otherwise, all of it is words.
    pub operators: bool,
    /// Maximum number of hits.
    pub k: usize,
    /// Which drawers may be hits.
    pub selection: Selection,
    /// Drawers beyond this distance are left out, unless they contain a word of the question.
    pub max_distance: Option<f32>,
    /// Hits that are less probable than this are left out. Without a value, hits below
    /// [`MIN_PROBABILITY`](loci_recall::MIN_PROBABILITY) are left out if they contain no word of the
    /// question.
    pub min_probability: Option<f32>,
    /// Maximum number of tokens in all texts together.
    pub budget: Option<usize>,
    /// The day that "last week" refers to.
    pub today: Date,
    /// Whether to return at most one hit per source.
    pub by_source: bool,
    /// Whether nobody asked, as in a hook that may show none of the hits. Then only words are
    /// searched, which needs no vectors, so that a process that searches once is twice as fast. The
    /// answer does not describe its scope, the hits have no titles, and they do not count as shown.
    pub unasked: bool,
    /// Whether the answer explains the ranking.
    pub explain: bool,
    /// Level of detail of the answer.
    pub detail: Detail,
}

impl Request {
    /// The ten best drawers of the default collection for a question, as of today.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            collection: DEFAULT_COLLECTION.to_owned(),
            query: query.into(),
            operators: false,
            k: 10,
            selection: Selection::all(),
            max_distance: None,
            min_probability: None,
            budget: None,
            today: loci_recall::today(),
            by_source: false,
            unasked: false,
            explain: false,
            detail: Detail::Full,
        }
    }

    /// The question with its operators read, if it may have some.
    pub(crate) fn read(&self) -> Question {
        if self.operators {
            return Question::parse(&self.query);
        }
        Question {
            words: self.query.clone(),
            ..Question::default()
        }
    }

    /// What is searched for: the words of a question under its conditions.
    pub(crate) fn recalled(&self, question: &Question) -> loci_recall::Request {
        let selection = question.narrow(&self.selection);
        loci_recall::Request {
            query: question.words.clone(),
            phrases: question.phrases.clone(),
            k: self.k,
            max_distance: self.max_distance,
            min_probability: self.min_probability,
            budget: self.budget,
            today: self.today,
            by_source: self.by_source,
            explain: self.explain,
            unasked: self.unasked,
            facets: (!self.unasked).then_some(PLACES_OF_SCOPE),
            outside_keys: places_in(&selection)
                .map(|(key, _)| key.to_owned())
                .collect(),
            outside_selections: parts_of(&selection)
                .into_iter()
                .map(|(_, only)| only)
                .collect(),
            selection,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How likely it is that the palace contains the answer.
    pub verdict: Verdict,
    /// Number of drawers that match the selection.
    pub in_scope: u64,
    /// Tokens of all texts of the hits.
    pub tokens: usize,
    /// Warnings about missing data or a changed request.
    pub warnings: Vec<Warning>,
    /// What the selection contains, if there are fewer than `k` hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_in_scope: Option<Scope>,
    /// The searched terms, in the form of the postings. Not in a brief answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Vec<String>>,
    /// The parts of the question that were read as conditions, as typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<String>,
    /// The explanation, if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
}

/// A drawer that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// Its wing.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub wing: Nullable<String>,
    /// Its room.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub room: Nullable<String>,
    /// The file or conversation that it was mined from.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub source: Nullable<String>,
    /// Its first line there.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub start_line: Nullable<MetaValue>,
    /// Its last line there.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub end_line: Nullable<MetaValue>,
    /// The line there that matches the question best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Whether the file does not exist any more. It is left out if the file exists, or if nobody
    /// looked.
    #[serde(skip_serializing_if = "is_false")]
    pub gone: bool,
    /// The title of the conversation that it belongs to: its name, or its first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text, or the part of it that fits the budget if `cut`.
    pub text: String,
    /// Flags of its text.
    pub flags: Vec<Flag>,
    /// The day on which it was written, else added.
    pub date: String,
    /// The sum of its parts; larger is better.
    pub score: f32,
    /// How likely it is that this drawer answers the question, between 0 and 1.
    pub probability: f32,
    /// How it was found.
    pub matched_via: MatchedVia,
    /// Whether the text is cut; the drawer contains all of it.
    pub cut: bool,
    /// Ids of drawers with the same text, which are not listed again. Not in a brief answer if
    /// there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_in: Option<Vec<String>>,
    /// The id of the latest drawer that seems to replace it: a later statement about the same thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
    /// The fields that a brief answer leaves out.
    #[serde(flatten)]
    pub details: Option<HitDetails>,
}

/// The fields of a hit that only a full answer has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HitDetails {
    /// When it was written, else added.
    pub authored_at: Moment,
    /// When it was added.
    pub created_at: Moment,
    /// Distance of the vectors, if they were compared.
    pub distance: Option<f32>,
    /// Its place in the lexical arm, if it is among the first.
    pub lexical_rank: Option<usize>,
    /// Its place in the semantic arm, if it is among the first.
    pub semantic_rank: Option<usize>,
    /// Words of the question that it contains.
    pub matched_words: Vec<String>,
    /// The parts of the score.
    pub parts: Parts,
    /// Tokens of the text.
    pub tokens: usize,
    /// How relevant it is to somebody who did not ask.
    #[serde(skip)]
    #[schemars(skip)]
    pub relevance: Relevance,
    /// The drawer that [`Hit::later`] names.
    #[serde(skip)]
    #[schemars(skip)]
    pub later_drawer: Option<Later>,
    /// The parts of [`Hit::text`] that match the question, in their order.
    #[serde(skip)]
    #[schemars(skip)]
    pub marks: Vec<Mark>,
    /// The byte of [`Hit::text`] where the line that matches best begins.
    #[serde(skip)]
    #[schemars(skip)]
    pub best_line: usize,
    /// Its metadata.
    pub metadata: Metadata,
}

/// The content of the scope of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scope {
    /// Number of drawers that match the selection.
    pub drawers: u64,
    /// Drawers by wing, the fullest first. JSON has an object.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub wings: Vec<(String, u64)>,
    /// Drawers by room, likewise.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub rooms: Vec<(String, u64)>,
}

fn by_name<S: Serializer>(counts: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let counts: BTreeMap<&str, u64> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    counts.serialize(serializer)
}

impl Scope {
    /// From the facets of [`PLACES_OF_SCOPE`].
    fn new(drawers: u64, facets: Vec<FacetCounts>) -> Self {
        let mut facets = facets.into_iter().map(|counts| {
            let values = counts.values.into_iter();
            values.map(|(value, count)| (display(&value), count))
        });
        let mut next = || facets.next().into_iter().flatten().collect();
        Self {
            drawers,
            wings: next(),
            rooms: next(),
        }
    }
}

impl Answer {
    /// The answer if there is nothing to read, because of `problem`.
    pub fn of_nothing(problem: &Error) -> Self {
        Self {
            hits: Vec::new(),
            verdict: Verdict::NOTHING,
            in_scope: 0,
            tokens: 0,
            warnings: vec![Warning::of_nothing(problem)],
            available_in_scope: None,
            terms: None,
            operators: Vec::new(),
            explain: None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference to the field"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl Hit {
    /// The drawer that [`Hit::later`] names, as a hit of the same search. `None` in a brief answer.
    pub fn later_hit(&self) -> Option<Self> {
        let details = self.details.as_ref()?;
        let later = details.later_drawer.as_ref()?;
        let place = DrawerLocation::of(&later.metadata);
        let authored_at = Moment(later.authored_at);
        Some(Self {
            id: later.id.clone(),
            wing: Nullable::new(place.wing, Detail::Full),
            room: Nullable::new(place.room, Detail::Full),
            source: Nullable::new(place.source, Detail::Full),
            start_line: Nullable::new(place.start_line, Detail::Full),
            end_line: Nullable::new(place.end_line, Detail::Full),
            flags: flags_of(&later.text),
            text: later.text.clone(),
            date: authored_at.day(),
            title: None,
            cut: false,
            also_in: None,
            later: None,
            line: None,
            gone: false,
            details: Some(HitDetails {
                authored_at,
                later_drawer: None,
                marks: Vec::new(),
                best_line: 0,
                metadata: later.metadata.clone(),
                ..details.clone()
            }),
            ..self.clone()
        })
    }

    fn new(hit: loci_recall::Hit, title: Option<String>, request: &Request) -> Self {
        let detail = request.detail;
        let place = DrawerLocation::of(&hit.metadata);
        let authored_at = Moment(hit.authored_at);
        Self {
            id: hit.id,
            collection: request.collection.clone(),
            wing: Nullable::new(place.wing, detail),
            room: Nullable::new(place.room, detail),
            source: Nullable::new(place.source, detail),
            start_line: Nullable::new(place.start_line, detail),
            end_line: Nullable::new(place.end_line, detail),
            line: hit.line,
            gone: false,
            title,
            flags: flags_of(&hit.text),
            text: hit.text,
            date: authored_at.day(),
            score: estimate(hit.score, detail),
            probability: estimate(hit.probability, detail),
            matched_via: hit.matched_via,
            cut: hit.cut,
            later: hit.later.as_ref().map(|later| later.id.clone()),
            also_in: (detail == Detail::Full || !hit.also_in.is_empty()).then_some(hit.also_in),
            details: (detail == Detail::Full).then_some(HitDetails {
                authored_at,
                created_at: Moment(hit.created_at),
                distance: hit.distance,
                lexical_rank: hit.lexical_rank,
                semantic_rank: hit.semantic_rank,
                matched_words: hit.matched_words,
                parts: hit.parts,
                tokens: hit.tokens,
                relevance: hit.relevance,
                later_drawer: hit.later,
                marks: hit.marks,
                best_line: hit.best_line,
                metadata: hit.metadata,
            }),
        }
    }
}

impl Palace {
    /// Searches a collection by words and by meaning. Unless the request says
    /// otherwise, it records in the background that the hits were shown.
    pub fn search(&self, request: &Request) -> Result<Answer> {
        let read = request.read();
        if read.has_conditions_only() {
            let newest = self.newest_of(request, &read)?;
            // If nothing satisfies them, the search below says why.
            if !newest.hits.is_empty() {
                return Ok(newest);
            }
        }
        let question = request.recalled(&read);
        let ask = || {
            let (handle, warnings) = self.reading(&request.collection)?;
            let embedder = handle.embedder.as_deref();
            let answer = loci_recall::search(
                handle.collection.as_ref(),
                embedder.filter(|_| !request.unasked),
                &question,
            )?;
            Ok((handle, warnings, answer))
        };
        // Another process may have replaced the vectors since the question was embedded, so it is
        // asked once more.
        let (handle, mut warnings, mut found) = match ask() {
            Err(Error::EmbedderMismatch { .. }) => ask()?,
            other => other?,
        };
        warnings.append(&mut found.warnings);
        let pinned = handle.collection.info().embedder.as_ref();
        if handle.embedder.is_some() && pinned.is_some_and(is_earlier_table) {
            warnings.push(Warning::EarlierTable {
                collection: request.collection.clone(),
            });
        }
        if let Some(outside) = &found.outside {
            warnings.extend(why_nothing_is_admitted(&question.selection, outside));
        }
        warnings.extend(read.warnings());
        if !request.unasked {
            let records: Vec<u64> = found.hits.iter().map(|hit| hit.record).collect();
            handle.collection.note_access(&records);
        }
        let available_in_scope = found
            .facets
            .map(|facets| Scope::new(found.in_scope, facets));
        let mut titles = Titles::of(handle.collection.as_ref());
        let terms = &found.explanation.terms;
        let hits = found.hits.into_iter().map(|hit| {
            let title = if request.unasked {
                None
            } else {
                titles.title(&hit.metadata)
            };
            Hit::new(hit, title, request)
        });
        let mut hits: Vec<Hit> = hits.collect();
        if !request.unasked {
            gone::mark(handle.collection.as_ref(), &mut hits);
        }
        Ok(Answer {
            hits,
            verdict: found.verdict,
            in_scope: found.in_scope,
            tokens: found.tokens,
            warnings: concise(warnings),
            available_in_scope,
            terms: (request.detail == Detail::Full)
                .then(|| terms.iter().map(|term| term.term.clone()).collect()),
            operators: read.operators,
            explain: request.explain.then_some(found.explanation),
        })
    }
}

/// Metadata keys that say where a drawer belongs, and their names for people.
const PLACES: [(&str, &str); 3] = [
    ("wing", "wing"),
    ("room", "room"),
    ("source_file", "source"),
];

/// Why a selection matches nothing: wings, rooms and sources that no drawer has, with the existing
/// ones; else how many drawers each condition matches by itself.
fn why_nothing_is_admitted(selection: &Selection, outside: &Outside) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for ((key, name), counts) in places_in(selection).zip(&outside.facets) {
        let known = nearest_values(counts, name);
        if !known.iter().any(|value| value == name) {
            warnings.push(Warning::UnknownPlace {
                kind: word_for(key).to_owned(),
                name: name.to_owned(),
                known: Some(known),
            });
        }
    }
    let parts = parts_of(selection);
    if warnings.is_empty() && parts.len() > 1 {
        let names = parts.into_iter().map(|(name, _)| name);
        warnings.push(Warning::ConditionsExcludeEachOther {
            conditions: names.zip(outside.counts.iter().copied()).collect(),
        });
    }
    warnings
}

/// The places that a selection names: metadata key and value.
fn places_in(selection: &Selection) -> impl Iterator<Item = (&str, &str)> {
    let filters = match &selection.filter {
        Some(Filter::And(parts)) => parts.as_slice(),
        Some(filter) => std::slice::from_ref(filter),
        None => &[],
    };
    filters.iter().filter_map(|part| match part {
        Filter::Key {
            key,
            test: KeyTest::Eq(MetaValue::Str(name)),
        } if PLACES.iter().any(|(place, _)| place == key) => Some((key.as_str(), name.as_str())),
        _ => None,
    })
}

/// The conditions of a selection, each as text and as a selection of its own.
fn parts_of(selection: &Selection) -> Vec<(String, Selection)> {
    let filters = match &selection.filter {
        Some(Filter::And(parts)) => parts.clone(),
        Some(filter) => vec![filter.clone()],
        None => Vec::new(),
    };
    let mut alone: Vec<(String, Selection)> = filters
        .into_iter()
        .map(|part| {
            let name = match &part {
                Filter::Key {
                    key,
                    test: KeyTest::Eq(MetaValue::Str(value)),
                } => format!("{} {}", word_for(key), quoted(value)),
                Filter::Key { key, .. } => format!("the condition on {}", quoted(key)),
                _ => "the condition on metadata".into(),
            };
            (name, Selection::matching(part))
        })
        .collect();
    if let Some(document) = &selection.document {
        let only = Selection {
            document: Some(document.clone()),
            ..Selection::default()
        };
        alone.push(("the condition on texts".into(), only));
    }
    if selection.period.is_some() {
        let only = Selection {
            period: selection.period,
            ..Selection::default()
        };
        alone.push(("the period".into(), only));
    }
    alone
}

/// The name of a metadata key for people.
fn word_for(key: &str) -> &str {
    PLACES
        .iter()
        .find(|(place, _)| *place == key)
        .map_or(key, |(_, word)| word)
}

/// Each warning once, in order. A warning that another one explains is left out.
fn concise(warnings: Vec<Warning>) -> Vec<Warning> {
    let explained = warnings.iter().any(|warning| {
        matches!(
            warning,
            Warning::ModelMissing { .. } | Warning::UnknownEmbedder { .. }
        )
    });
    let stand_in = warnings
        .iter()
        .any(|warning| matches!(warning, Warning::CompatibleEmbedder { .. }));
    let mut kept: Vec<Warning> = Vec::with_capacity(warnings.len());
    for warning in warnings {
        let superfluous = match warning {
            Warning::NoEmbedder => explained,
            Warning::ModelMissing { .. } => stand_in,
            _ => false,
        };
        if !superfluous && !kept.contains(&warning) {
            kept.push(warning);
        }
    }
    kept
}
