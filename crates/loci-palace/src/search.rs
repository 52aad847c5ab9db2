//! Search and what belongs to it: the scope of an answer, and why something was not found.

use loci_core::{
    Collection, Error, Filter, Get, Include, KeyTest, MetaValue, Result, Selection, Warning, quoted,
};
use loci_recall::{Answer, Request, WhyNot};
use serde::Serialize;

use crate::palace::Palace;

/// Values of a key that an answer lists at most, and that are looked at.
const LISTED: usize = 50;
const MOST_VALUES: usize = 10_000;

/// What there is where a search looked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// Drawers that the filter admits.
    pub drawers: u64,
    /// Drawers by wing.
    pub wings: Vec<(String, u64)>,
    /// Drawers by room.
    pub rooms: Vec<(String, u64)>,
}

/// The answer to a search, with what is available if it is short.
#[derive(Debug, Clone)]
pub struct Found {
    /// The answer itself.
    pub answer: Answer,
    /// What the filter admits, whenever fewer than k hits came back.
    pub available_in_scope: Option<Scope>,
}

impl Palace {
    /// Searches a collection by words and by meaning. Notes that the hits were shown; nobody waits for that.
    pub fn search(&self, collection: &str, request: &Request) -> Result<Found> {
        let ask = || {
            let (handle, warnings) = self.reading(collection)?;
            let answer = loci_recall::search(
                handle.collection.as_ref(),
                handle.embedder.as_deref(),
                request,
            )?;
            Ok((handle, warnings, answer))
        };
        // Another process may have made the vectors anew since the question was embedded: then once more.
        let (handle, mut warnings, mut answer) = match ask() {
            Err(Error::EmbedderMismatch { .. }) => ask()?,
            other => other?,
        };
        warnings.append(&mut answer.warnings);
        if answer.in_scope == 0 {
            warnings.extend(self.unknown_places(handle.collection.as_ref(), &request.selection)?);
        }
        // Why there is no embedder, or another one, was said already.
        let explained = warnings.iter().any(|warning| {
            matches!(
                warning,
                Warning::ModelMissing { .. } | Warning::UnknownEmbedder { .. }
            )
        });
        warnings.retain(|warning| !matches!(warning, Warning::NoEmbedder) || !explained);
        let stand_in = warnings
            .iter()
            .any(|warning| matches!(warning, Warning::CompatibleEmbedder { .. }));
        warnings.retain(|warning| !matches!(warning, Warning::ModelMissing { .. }) || !stand_in);
        answer.warnings = dedup(warnings);
        let available_in_scope = if answer.hits.len() < request.k {
            Some(scope(
                handle.collection.as_ref(),
                &request.selection,
                answer.in_scope,
            )?)
        } else {
            None
        };
        let records: Vec<u64> = answer.hits.iter().map(|hit| hit.record).collect();
        handle.collection.note_access(&records);
        Ok(Found {
            answer,
            available_in_scope,
        })
    }
}

impl Palace {
    /// Follows a drawer through a search: where it fell out, and what would bring it in.
    pub fn why_not(&self, collection: &str, request: &Request, id: &str) -> Result<WhyNot> {
        let (handle, _) = self.reading(collection)?;
        loci_recall::why_not(
            handle.collection.as_ref(),
            handle.embedder.as_deref(),
            request,
            id,
        )
    }

    /// Wings, rooms and sources that a filter asks for and no drawer has, with those that there are.
    fn unknown_places(
        &self,
        collection: &dyn Collection,
        selection: &Selection,
    ) -> Result<Vec<Warning>> {
        let mut warnings = Vec::new();
        for part in parts_of(selection) {
            let Filter::Key {
                key,
                test: KeyTest::Eq(MetaValue::Str(name)),
            } = part
            else {
                continue;
            };
            if !PLACES.iter().any(|(place, _)| *place == key) {
                continue;
            }
            let word = word_for(&key);
            let known = self.nearest_values(collection, &key, &name)?;
            if known.contains(&name) {
                continue;
            }
            warnings.push(Warning::UnknownPlace {
                kind: word.to_owned(),
                name,
                known: Some(known),
            });
        }
        if warnings.is_empty() {
            warnings.extend(conditions(collection, selection)?);
        }
        Ok(warnings)
    }

    /// Values of a metadata key that drawers have, the nearest to `name` first.
    pub fn nearest_values(
        &self,
        collection: &dyn Collection,
        key: &str,
        name: &str,
    ) -> Result<Vec<String>> {
        let facets = collection.facet_counts(key, &Selection::all(), MOST_VALUES)?;
        let mut values: Vec<String> = facets
            .values
            .iter()
            .map(|(value, _)| display(value))
            .collect();
        values.sort_by_cached_key(|value| (distance(name, value), value.clone()));
        Ok(values)
    }
}

/// Metadata keys that say where a drawer belongs, and what people call them.
const PLACES: [(&str, &str); 3] = [
    ("wing", "wing"),
    ("room", "room"),
    ("source_file", "source"),
];

/// How many drawers each condition of a selection admits by itself, where together they admit none.
fn conditions(collection: &dyn Collection, selection: &Selection) -> Result<Option<Warning>> {
    let mut alone: Vec<(String, Selection)> = parts_of(selection)
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
    if alone.len() < 2 {
        return Ok(None);
    }
    let mut counts = Vec::with_capacity(alone.len());
    for (name, only) in alone {
        let found = collection.get(&Get {
            include: Include::NONE,
            ..Get::new(only)
        })?;
        counts.push((name, found.ids.len() as u64));
    }
    Ok(Some(Warning::ConditionsExcludeEachOther {
        conditions: counts,
    }))
}

/// What people call a metadata key.
fn word_for(key: &str) -> &str {
    PLACES
        .iter()
        .find(|(place, _)| *place == key)
        .map_or(key, |(_, word)| word)
}

/// The conditions that a filter puts together.
fn parts_of(selection: &Selection) -> Vec<Filter> {
    match &selection.filter {
        Some(Filter::And(parts)) => parts.clone(),
        Some(filter) => vec![filter.clone()],
        None => Vec::new(),
    }
}

/// A moment that somebody typed: a date, or words such as `last week`, which mean its first day.
pub fn parse_moment(text: &str) -> Option<i64> {
    let text = text.trim();
    let is_year = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = |text: &str| {
        let when = loci_text::when::find(text, loci_recall::today())?;
        (when.phrase.len() == text.len()).then(|| loci_recall::start_of(when.from))?
    };
    if is_year {
        return loci_text::when::authored(&format!("{text}-01-01"));
    }
    loci_text::when::authored(text)
        .or_else(|| named(text))
        .or_else(|| named(&format!("last {text}")))
}

/// Steps from one name to another, by single characters; letter case does not count.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, from) in a.chars().take(100).enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (to, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let step = (diagonal + usize::from(from != *to))
                .min(left + 1)
                .min(*cell + 1);
            diagonal = *cell;
            *cell = step;
            left = step;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Each warning once, in order.
fn dedup(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut kept: Vec<Warning> = Vec::with_capacity(warnings.len());
    for warning in warnings {
        if !kept.contains(&warning) {
            kept.push(warning);
        }
    }
    kept
}

/// What a selection admits, by wing and room.
fn scope(collection: &dyn Collection, selection: &Selection, drawers: u64) -> Result<Scope> {
    let count = |key: &str| -> Result<Vec<(String, u64)>> {
        Ok(collection
            .facet_counts(key, selection, LISTED)?
            .values
            .into_iter()
            .map(|(value, count)| (display(&value), count))
            .collect())
    };
    Ok(Scope {
        drawers,
        wings: count("wing")?,
        rooms: count("room")?,
    })
}

fn display(value: &MetaValue) -> String {
    match value {
        MetaValue::Str(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_single_characters() {
        for (a, b, steps) in [
            ("alice", "Alice", 0),
            ("alcie", "alice", 2),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("été", "ete", 2),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
            assert_eq!(distance(b, a), steps, "{b} {a}");
        }
    }
}
