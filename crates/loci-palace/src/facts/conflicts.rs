//! Facts that contradict each other: same subject and predicate, another object, at the same time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::{Fact, FactQuery, Relations, Result, folded_name, same_name};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlaggedFact;

/// Which conflicts are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only those in which this name is the subject or an object.
    pub entity: Option<String>,
}

/// All conflicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// By subject and predicate.
    pub conflicts: Vec<Conflict>,
}

/// Facts that cannot all hold if the predicate has one object at a time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Conflict {
    /// Their subject.
    pub subject: String,
    /// Their predicate.
    pub predicate: String,
    /// The facts that overlap in time and differ in object.
    pub facts: Vec<FlaggedFact>,
}

/// Maximum number of conflicting facts in the answer about an added fact.
const NAMED: usize = 20;
/// Up to this many subjects, facts are queried one subject at a time; above it, all facts are read.
const SUBJECTS: usize = 500;

/// Whether two spans overlap. An empty span overlaps nothing.
fn overlap(one: (i64, i64), other: (i64, i64)) -> bool {
    one.0.max(other.0) < one.1.min(other.1)
}

/// Finds the conflicts of facts. The facts of a subject are read once.
pub(super) struct Lookup<'a> {
    relations: &'a dyn Relations,
    groups: HashMap<(String, String), Vec<Fact>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(relations: &'a dyn Relations) -> Self {
        Self {
            relations,
            groups: HashMap::new(),
        }
    }

    /// The first facts that conflict with one.
    pub(super) fn of(&mut self, fact: &Fact) -> Result<Vec<FlaggedFact>> {
        let key = (folded_name(&fact.subject), folded_name(&fact.predicate));
        let group = match self.groups.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let query = FactQuery {
                    subject: Some(fact.subject.clone()),
                    predicate: Some(fact.predicate.clone()),
                    any_case: true,
                    ..FactQuery::default()
                };
                entry.insert(self.relations.facts(&query, usize::MAX, 0)?)
            }
        };
        let span = fact.span();
        Ok(group
            .iter()
            .filter(|other| !same_name(&other.object, &fact.object))
            .filter(|other| overlap(other.span(), span))
            .take(NAMED)
            .cloned()
            .map(FlaggedFact::from)
            .collect())
    }
}

/// All conflicts, or those in which an entity is subject or one of the objects; by subject and
/// predicate.
pub(super) fn all(relations: &dyn Relations, entity: Option<&str>) -> Result<Vec<Conflict>> {
    let queries = match entity {
        None => vec![FactQuery::default()],
        Some(entity) => about(relations, entity)?,
    };
    let mut found = among(relations, &queries)?;
    if let Some(entity) = entity {
        found.retain(|conflict| {
            let objects = conflict.facts.iter().map(|of| &of.fact.object);
            let mut names = objects.chain([&conflict.subject]);
            names.any(|name| same_name(name, entity))
        });
    }
    Ok(found)
}

/// Queries for all facts of every subject that has a fact with the entity; a query for all facts if
/// there are many such subjects.
fn about(relations: &dyn Relations, entity: &str) -> Result<Vec<FactQuery>> {
    let query = FactQuery {
        entity: Some(entity.to_owned()),
        any_case: true,
        ..FactQuery::default()
    };
    let mut subjects = BTreeSet::new();
    relations.each_fact(&query, &mut |fact| {
        if subjects.len() <= SUBJECTS {
            subjects.insert(folded_name(&fact.subject));
        }
    })?;
    if subjects.len() > SUBJECTS {
        return Ok(vec![FactQuery::default()]);
    }
    let of_subject = |subject| FactQuery {
        subject: Some(subject),
        any_case: true,
        ..FactQuery::default()
    };
    Ok(subjects.into_iter().map(of_subject).collect())
}

/// Conflicts among the facts of some queries.
fn among(relations: &dyn Relations, queries: &[FactQuery]) -> Result<Vec<Conflict>> {
    let suspects = suspects(relations, queries)?;
    let mut groups: BTreeMap<(String, String), Vec<Fact>> = BTreeMap::new();
    for query in queries {
        relations.each_fact(query, &mut |fact| {
            if suspects.get(&group_of(&fact)) == Some(&Objects::Several) {
                let key = (folded_name(&fact.subject), folded_name(&fact.predicate));
                groups.entry(key).or_default().push(fact);
            }
        })?;
    }
    Ok(groups.into_values().filter_map(conflict).collect())
}

#[derive(PartialEq, Eq)]
enum Objects {
    One(u64),
    Several,
}

/// The subjects and predicates with more than one object. Only hashes are kept, because most facts
/// of a large palace have no conflict.
fn suspects(relations: &dyn Relations, queries: &[FactQuery]) -> Result<HashMap<u64, Objects>> {
    let mut seen: HashMap<u64, Objects> = HashMap::new();
    for query in queries {
        relations.each_fact(query, &mut |fact| {
            let object = hash(&[&fact.object]);
            let known = seen.entry(group_of(&fact)).or_insert(Objects::One(object));
            if *known != Objects::One(object) {
                *known = Objects::Several;
            }
        })?;
    }
    Ok(seen)
}

fn group_of(fact: &Fact) -> u64 {
    hash(&[&fact.subject, &fact.predicate])
}

fn hash(names: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in names {
        folded_name(name).hash(&mut hasher);
    }
    hasher.finish()
}

/// The facts of one subject and predicate that overlap another in time and differ in object, in the
/// order in which they begin. It takes two passes over the sorted facts, because comparing all
/// pairs would take hours if a predicate has many objects.
fn conflict(mut facts: Vec<Fact>) -> Option<Conflict> {
    facts.sort_by_key(|fact| fact.span().0);
    let spans: Vec<(i64, i64)> = facts.iter().map(Fact::span).collect();
    let objects: Vec<String> = facts.iter().map(|fact| folded_name(&fact.object)).collect();
    let entries: Vec<Entry<'_>> = spans
        .iter()
        .zip(&objects)
        .map(|(span, object)| Entry {
            since: span.0,
            until: span.1,
            object,
        })
        .collect();
    let earlier = meets_earlier(&entries);
    let later = meets_later(&entries);
    let mut marks = earlier
        .into_iter()
        .zip(later)
        .map(|(one, other)| one || other);
    facts.retain(|_| marks.next().unwrap_or_default());
    let first = facts.first()?;
    Some(Conflict {
        subject: first.subject.clone(),
        predicate: first.predicate.clone(),
        facts: facts.into_iter().map(FlaggedFact::from).collect(),
    })
}

#[derive(Clone, Copy)]
struct Entry<'a> {
    since: i64,
    until: i64,
    object: &'a str,
}

impl Entry<'_> {
    fn is_empty(&self) -> bool {
        self.since >= self.until
    }
}

/// Marks entries that begin before an earlier entry with another object ends. It is enough to track
/// the two latest ends of different objects.
fn meets_earlier(entries: &[Entry<'_>]) -> Vec<bool> {
    let mut latest: [Option<Entry<'_>>; 2] = [None, None];
    let mut marks = Vec::with_capacity(entries.len());
    for entry in entries {
        let lasting = latest
            .iter()
            .flatten()
            .any(|other| other.object != entry.object && other.until > entry.since);
        marks.push(lasting && !entry.is_empty());
        if entry.is_empty() {
            continue;
        }
        let [first, second] = latest;
        let is_later = |than: Option<Entry<'_>>| than.is_none_or(|than| entry.until > than.until);
        let is_same = |of: Option<Entry<'_>>| of.is_some_and(|of| of.object == entry.object);
        latest = if is_later(first) {
            let runner_up = if is_same(first) { second } else { first };
            [Some(*entry), runner_up]
        } else if !is_same(first) && is_later(second) {
            [first, Some(*entry)]
        } else {
            latest
        };
    }
    marks
}

/// Marks entries that end after a later entry with another object begins. It is enough to track the
/// next two entries of different objects.
fn meets_later(entries: &[Entry<'_>]) -> Vec<bool> {
    let mut next: [Option<Entry<'_>>; 2] = [None, None];
    let mut marks = vec![false; entries.len()];
    for (entry, mark) in entries.iter().zip(marks.iter_mut()).rev() {
        if entry.is_empty() {
            continue;
        }
        *mark = next
            .iter()
            .flatten()
            .any(|other| other.object != entry.object && other.since < entry.until);
        let [first, second] = next;
        let runner_up = match first {
            Some(first) if first.object != entry.object => Some(first),
            _ => second,
        };
        next = [Some(*entry), runner_up];
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(object: &str, from: i64, to: i64) -> Fact {
        let date = |day: i64| Some(format!("2026-01-{day:02}"));
        Fact {
            id: format!("{object} {from} {to}"),
            object: object.into(),
            valid_from: date(from),
            valid_to: date(to),
            ..Fact::default()
        }
    }

    proptest::proptest! {
        #[test]
        fn the_sweep_marks_what_a_comparison_of_all_pairs_marks(
            given in proptest::collection::vec((0..4_u8, 1..9_i64, 0..4_i64), 0..12),
        ) {
            let facts: Vec<Fact> = given
                .iter()
                .map(|(object, from, length)| {
                    fact(&char::from(b'a' + object).to_string(), *from, from + length)
                })
                .collect();
            let mut expected: Vec<&Fact> = facts
                .iter()
                .filter(|one| facts.iter().any(|other| {
                    one.object != other.object && overlap(one.span(), other.span())
                }))
                .collect();
            expected.sort_by_key(|fact| fact.span().0);
            let found = conflict(facts.clone()).map_or_else(Vec::new, |found| found.facts);
            let found: Vec<&Fact> = found.iter().map(|of| &of.fact).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
