//! Facts about an entity in both directions. Valid facts are separated from those that have ended
//! or not begun.

use std::collections::BTreeMap;

use loci_palace::{Fact, Palace};
use serde_json::{Value, json};

use super::time::{Bucket, bucket, held, now};
use super::{all, entity_key, existing, flagged_fact, of_entity};
use crate::mempalace::outcome::{Outcome, refuse, warn};
use crate::mempalace::parse;
use crate::tool::Call;

/// Maximum number of names that are suggested.
const MOST_CANDIDATES: usize = 5;
/// Shorter names get no suggestions.
const LEAST_NAME: usize = 3;

/// Entities whose name contains this one as a word, by key.
fn candidates(palace: &Palace, name: &str) -> Outcome<BTreeMap<String, String>> {
    let key = entity_key(name);
    let mut named = BTreeMap::new();
    if name.chars().count() < LEAST_NAME {
        return Ok(named);
    }
    for fact in all(palace)? {
        for other in [fact.subject, fact.object] {
            let words = format!("_{}_", entity_key(&other));
            if entity_key(&other) != key && words.contains(&format!("_{key}_")) {
                named.entry(entity_key(&other)).or_insert(other);
            }
        }
    }
    Ok(named.into_iter().take(MOST_CANDIDATES).collect())
}

pub(in crate::mempalace) fn kg_query(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let asked = parse::entity(parse::required(arguments, "entity")?, "entity")?;
    let as_of = parse::date(arguments, "as_of")?;
    let direction = parse::text(arguments, "direction")?.unwrap_or("both");
    if !["outgoing", "incoming", "both"].contains(&direction) {
        return refuse("direction must be one of: outgoing, incoming, both");
    }
    let Some(palace) = existing(call)? else {
        return Ok(answer_of(asked, as_of.as_deref(), &[]));
    };
    let (mut facts, mut warnings) = of_entity(&palace, asked)?;
    let mut name = asked.to_owned();
    let known = !facts.is_empty();
    let mut rows = rows(&facts, &name, direction, as_of.as_deref());
    let mut others = BTreeMap::new();
    if rows.is_empty() {
        others = candidates(&palace, asked)?;
        if let (false, 1, Some(other)) = (known, others.len(), others.values().next()) {
            name.clone_from(other);
            (facts, warnings) = of_entity(&palace, other)?;
            rows = self::rows(&facts, &name, direction, as_of.as_deref());
        }
    }
    let mut answer = answer_of(&name, as_of.as_deref(), &rows);
    if let Some(answer) = answer.as_object_mut() {
        if name != asked && !rows.is_empty() {
            answer.insert("resolved_from".into(), asked.into());
        }
        if rows.is_empty() && !others.is_empty() {
            let others = others
                .iter()
                .map(|(id, name)| json!({"id": id, "name": name}));
            answer.insert("entity".into(), asked.into());
            answer.insert("candidates".into(), others.collect());
        }
    }
    warn(call, &mut answer, &warnings);
    Ok(answer)
}

/// A fact as `kg_query` shows it, and whether it is valid, has ended or has not begun.
struct BucketedFact {
    row: Value,
    bucket: Bucket,
}

fn rows(facts: &[Fact], name: &str, direction: &str, as_of: Option<&str>) -> Vec<BucketedFact> {
    let key = entity_key(name);
    let now = now();
    let bucketed = |fact: &Fact, direction: &str| BucketedFact {
        // A fact that was valid at the requested date counts as active.
        bucket: as_of.map_or_else(|| bucket(fact, &now), |_| Bucket::Active),
        row: fact_json(fact, direction, name),
    };
    let held = |fact: &&Fact| as_of.is_none_or(|as_of| held(fact, as_of));
    let leads = facts.iter().filter(|fact| entity_key(&fact.subject) == key);
    let comes = facts.iter().filter(|fact| entity_key(&fact.object) == key);
    let mut rows = Vec::new();
    if direction != "incoming" {
        rows.extend(leads.filter(held).map(|fact| bucketed(fact, "outgoing")));
    }
    if direction != "outgoing" {
        rows.extend(comes.filter(held).map(|fact| bucketed(fact, "incoming")));
    }
    rows
}

/// A fact as JSON. The requested side has the name from the request.
fn fact_json(fact: &Fact, direction: &str, name: &str) -> Value {
    let outgoing = direction == "outgoing";
    let shown = json!({
        "direction": direction,
        "subject": if outgoing { name } else { &fact.subject },
        "predicate": fact.predicate,
        "object": if outgoing { &fact.object } else { name },
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "confidence": fact.confidence.unwrap_or(1.0),
        "source_closet": fact.metadata.get_str("source_closet"),
        "current": fact.valid_to.is_none(),
    });
    flagged_fact(shown, fact)
}

fn answer_of(entity: &str, as_of: Option<&str>, rows: &[BucketedFact]) -> Value {
    let of = |wanted: Bucket| {
        let rows = rows.iter().filter(|shown| shown.bucket == wanted);
        rows.map(|shown| shown.row.clone()).collect::<Value>()
    };
    json!({
        "entity": entity,
        "as_of": as_of,
        "active_facts": of(Bucket::Active),
        "historical_facts": of(Bucket::Historical),
        "future_facts": of(Bucket::Future),
        "facts": rows.iter().map(|shown| shown.row.clone()).collect::<Value>(),
        "count": rows.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(subject: &str, object: &str, from: Option<&str>, to: Option<&str>) -> Fact {
        Fact {
            subject: subject.into(),
            predicate: "does".into(),
            object: object.into(),
            valid_from: from.map(str::to_owned),
            valid_to: to.map(str::to_owned),
            ..Fact::default()
        }
    }

    #[test]
    fn facts_show_their_direction_and_when_they_hold() {
        let facts = [
            fact("Max", "chess", Some("2020-01-01"), None),
            fact("Max", "school", Some("2900-01-01"), None),
            fact("Max", "swimming", Some("2020-01-01"), Some("2021-01-01")),
            fact("Alice", "max", None, None),
        ];
        let of = |direction, as_of| answer_of("max", as_of, &rows(&facts, "max", direction, as_of));
        let answer = of("both", None);
        assert_eq!(answer["count"], 4);
        assert_eq!(answer["active_facts"].as_array().unwrap().len(), 2);
        assert_eq!(answer["future_facts"][0]["object"], "school");
        assert_eq!(answer["historical_facts"][0]["object"], "swimming");
        assert_eq!(answer["facts"][0]["subject"], "max");
        assert_eq!(answer["facts"][3]["direction"], "incoming");
        assert_eq!(of("incoming", None)["count"], 1);
        assert_eq!(of("outgoing", None)["count"], 3);
        let then = of("outgoing", Some("2020-06-01"));
        assert_eq!(then["count"], 2);
        assert_eq!(then["historical_facts"], json!([]));
    }
}
