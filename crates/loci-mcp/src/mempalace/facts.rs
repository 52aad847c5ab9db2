//! The knowledge graph. Names match as in MemPalace: case is ignored, a space equals an underscore,
//! and apostrophes are ignored. Predicates are stored in lower case with underscores.

mod query;
mod time;

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_palace::facts::{self, Selector};
use loci_palace::{
    DEFAULT_COLLECTION, DrawerRef, ErrorKind, Fact, MaskTally, MetaValue, Palace, Warning,
    instruction_like, merge_masked,
};
use serde_json::{Value, json};

pub(super) use self::query::kg_query;
use self::time::{inverted, today};
use super::outcome::{Outcome, refuse, report_masked, warn};
use super::parse;
use super::recipe;
use crate::tool::Call;

/// Maximum number of facts that are read for one entity, or to find names.
const MOST_FACTS: usize = 10_000;

/// The key of an entity, which is the same for all spellings of its name.
fn entity_key(name: &str) -> String {
    name.to_lowercase().replace(' ', "_").replace('\'', "")
}

/// A predicate in its stored form.
fn predicate_key(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

/// The palace; `None` if there is none yet, because an empty graph is not an error.
fn existing(call: &Call<'_>) -> Outcome<Option<Arc<Palace>>> {
    match call.palace() {
        Ok(palace) => Ok(Some(palace)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Facts that name an entity, by id.
fn of_entity(palace: &Palace, name: &str) -> Outcome<(Vec<Fact>, Vec<Warning>)> {
    let key = entity_key(name);
    let spellings = BTreeSet::from([
        name.to_owned(),
        name.replace('_', " "),
        name.replace(' ', "_"),
        name.replace('\'', ""),
    ]);
    let mut warnings = Vec::new();
    let mut facts: Vec<Fact> = Vec::new();
    for spelling in spellings {
        let found = palace.query_facts(&facts::query::Request {
            selector: Selector {
                entity: Some(spelling.clone()),
                ..Selector::default()
            },
            ended: true,
            limit: MOST_FACTS,
            offset: 0,
        })?;
        // Only the original spelling yields warnings; other spellings may be unknown.
        if spelling == name {
            warnings = found.warnings;
        }
        facts.extend(found.facts.into_iter().map(|state| state.fact));
    }
    let means = |fact: &Fact| entity_key(&fact.subject) == key || entity_key(&fact.object) == key;
    facts.retain(means);
    if facts.is_empty() {
        // The position of a missing apostrophe is unknown, so all names are compared.
        facts = all(palace)?;
        facts.retain(means);
    }
    if !facts.is_empty() {
        warnings.clear();
    }
    let mut seen = BTreeSet::new();
    facts.retain(|fact| seen.insert(fact.id.clone()));
    Ok((facts, warnings))
}

fn all(palace: &Palace) -> Outcome<Vec<Fact>> {
    let found = palace.query_facts(&facts::query::Request {
        ended: true,
        limit: MOST_FACTS,
        ..facts::query::Request::default()
    })?;
    Ok(found.facts.into_iter().map(|state| state.fact).collect())
}

/// Subject, predicate and object of a call.
struct Statement<'a> {
    subject: &'a str,
    predicate: &'a str,
    object: &'a str,
}

impl<'a> Statement<'a> {
    fn of(call: &Call<'a>) -> Outcome<Self> {
        let arguments = &call.arguments;
        let subject = parse::required(arguments, "subject")?;
        let predicate = parse::required(arguments, "predicate")?;
        let object = parse::required(arguments, "object")?;
        Ok(Self {
            subject: parse::entity(subject, "subject")?,
            predicate: parse::name(predicate, "predicate")?,
            object: parse::entity(object, "object")?,
        })
    }

    fn sentence(&self) -> String {
        format!("{} → {} → {}", self.subject, self.predicate, self.object)
    }

    /// Facts with the same statement, whatever their dates.
    fn facts(&self, palace: &Palace) -> Outcome<Vec<Fact>> {
        let (facts, _) = of_entity(palace, self.subject)?;
        Ok(self.among(facts))
    }

    fn among(&self, mut facts: Vec<Fact>) -> Vec<Fact> {
        let (subject, object) = (entity_key(self.subject), entity_key(self.object));
        let predicate = predicate_key(self.predicate);
        facts.retain(|fact| {
            entity_key(&fact.subject) == subject
                && predicate_key(&fact.predicate) == predicate
                && entity_key(&fact.object) == object
        });
        facts
    }
}

/// The stored spelling of a name, if it is known.
fn known_spelling(facts: &[Fact], name: &str) -> String {
    let key = entity_key(name);
    let names = facts.iter().flat_map(|fact| [&fact.subject, &fact.object]);
    let known = names.into_iter().find(|other| entity_key(other) == key);
    known.cloned().unwrap_or_else(|| name.to_owned())
}

pub(super) fn kg_add(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let statement = Statement::of(call)?;
    let valid_from = parse::date(arguments, "valid_from")?;
    let valid_to = parse::date(arguments, "valid_to")?;
    if let (Some(from), Some(to)) = (&valid_from, &valid_to)
        && inverted(from, to)
    {
        return refuse(format!("valid_to `{to}` is before valid_from `{from}`"));
    }
    let closet = parse::text(arguments, "source_closet")?;
    let file = parse::text(arguments, "source_file")?;
    let drawer = parse::text(arguments, "source_drawer_id")?;
    let palace = call.palace_to_write()?;
    // Secrets are masked before facts are compared and the id is derived, because both refer to the
    // stored fact.
    let mut masked = MaskTally::new();
    let clean = Fact {
        subject: statement.subject.to_owned(),
        predicate: predicate_key(statement.predicate),
        object: statement.object.to_owned(),
        ..Fact::default()
    };
    let clean = palace.masked_fact(clean, &mut masked);
    let statement = Statement {
        subject: &clean.subject,
        predicate: &clean.predicate,
        object: &clean.object,
    };
    let (of_subject, _) = of_entity(&palace, statement.subject)?;
    let (of_object, _) = of_entity(&palace, statement.object)?;
    let same = statement.among(of_subject.clone());
    if let Some(there) = same.iter().find(|fact| fact.valid_to.is_none()) {
        return Ok(added(call, &there.id, &statement, &[]));
    }
    let mut fact = Fact {
        subject: known_spelling(&of_subject, statement.subject),
        predicate: predicate_key(statement.predicate),
        object: known_spelling(&of_object, statement.object),
        valid_from,
        valid_to,
        source: drawer.filter(|id| !id.is_empty()).map(|id| DrawerRef {
            collection: DEFAULT_COLLECTION.to_owned(),
            id: id.to_owned(),
        }),
        ..Fact::default()
    };
    for (key, text) in [("source_closet", closet), ("source_file", file)] {
        let text = text.filter(|text| !text.is_empty());
        fact.metadata
            .0
            .extend(text.map(|text| (key.to_owned(), MetaValue::from(text))));
    }
    let (subject, object) = (entity_key(&fact.subject), entity_key(&fact.object));
    fact.id = recipe::triple_id([&subject, &fact.predicate, &object], &fact, same.len());
    let id = fact.id.clone();
    let report = palace.add_fact(&facts::add::Request { fact })?;
    let conflicts: Vec<Warning> = report
        .conflicts
        .iter()
        .map(|other| &other.fact)
        .map(|other| Warning::ConflictingFact {
            other: [&other.subject, &other.predicate, &other.object].map(String::clone),
        })
        .collect();
    let mut answer = added(call, &id, &statement, &conflicts);
    merge_masked(&mut masked, &report.masked);
    report_masked(&mut answer, &masked);
    Ok(answer)
}

fn added(call: &Call<'_>, id: &str, statement: &Statement<'_>, warnings: &[Warning]) -> Value {
    let mut answer = json!({"success": true, "triple_id": id, "fact": statement.sentence()});
    warn(call, &mut answer, warnings);
    answer
}

pub(super) fn kg_invalidate(call: &Call<'_>) -> Outcome<Value> {
    let statement = Statement::of(call)?;
    let ended = parse::date(&call.arguments, "ended")?.unwrap_or_else(today);
    let mut warnings = Vec::new();
    let mut facts = match existing(call)? {
        Some(palace) => statement.facts(&palace)?,
        None => Vec::new(),
    };
    facts.retain(|fact| fact.valid_to.is_none());
    if let Some(from) = facts
        .iter()
        .filter_map(|fact| fact.valid_from.as_deref())
        .find(|from| inverted(from, &ended))
    {
        return refuse(format!("ended `{ended}` is before valid_from `{from}`"));
    }
    if facts.is_empty() {
        warnings.push(Warning::NothingEnded);
    }
    for fact in facts {
        let request = facts::invalidate::Request {
            selector: Selector {
                id: Some(fact.id),
                ..Selector::default()
            },
            ended: Some(ended.clone()),
        };
        call.palace()?.invalidate_facts(&request)?;
    }
    let mut answer = json!({"success": true, "fact": statement.sentence(), "ended": ended});
    warn(call, &mut answer, &warnings);
    Ok(answer)
}

/// Adds a flag if a fact reads like an instruction.
fn flagged_fact(mut shown: Value, fact: &Fact) -> Value {
    let said = format!("{} {} {}", fact.subject, fact.predicate, fact.object);
    let orders = !instruction_like(&said).is_empty();
    if let (true, Some(object)) = (orders, shown.as_object_mut()) {
        object.insert("flags".into(), json!(["instruction_like"]));
    }
    shown
}

pub(super) fn kg_timeline(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let limit = parse::whole(arguments, "limit", 100, (1, 100))?;
    let offset = parse::whole(arguments, "offset", 0, (0, usize::MAX))?;
    let entity = parse::text(arguments, "entity")?
        .map(|entity| parse::entity(entity, "entity"))
        .transpose()?;
    let (facts, total) = match (existing(call)?, entity) {
        (None, _) => (Vec::new(), 0),
        (Some(palace), Some(entity)) => {
            let (mut facts, _) = of_entity(&palace, entity)?;
            facts.sort_by(time::begun_first);
            let total = facts.len() as u64;
            (facts.into_iter().skip(offset).take(limit).collect(), total)
        }
        (Some(palace), None) => {
            let found = palace.fact_timeline(&facts::timeline::Request {
                entity: None,
                limit,
                offset,
            })?;
            let facts = found.facts.into_iter().map(|state| state.fact);
            (facts.collect::<Vec<Fact>>(), found.total)
        }
    };
    let timeline: Vec<Value> = facts
        .iter()
        .map(|fact| {
            let shown = json!({
                "subject": fact.subject,
                "predicate": fact.predicate,
                "object": fact.object,
                "valid_from": fact.valid_from,
                "valid_to": fact.valid_to,
                "current": fact.valid_to.is_none(),
            });
            flagged_fact(shown, fact)
        })
        .collect();
    Ok(json!({
        "entity": entity.unwrap_or("all"),
        "count": timeline.len(),
        "timeline": timeline,
        "total": total,
        "offset": offset,
        "limit": limit,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_one_entity_have_one_key() {
        for name in ["Mary O'Neil", "mary oneil", "MARY_ONEIL"] {
            assert_eq!(entity_key(name), "mary_oneil");
        }
        assert_eq!(predicate_key("Child Of"), "child_of");
    }
}
