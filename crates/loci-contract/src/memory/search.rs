//! Reading: brute force over the selected drawers.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{
    Change, Changes, FacetCounts, GetResult, Include, LexicalHit, LexicalResult, MetaValue, Metric,
    QueryResult, Selection, Warning,
};

use super::state::{Drawer, State};

pub(super) fn nearest(
    (name, state): (&str, &State),
    vectors: &[Vec<f32>],
    k: usize,
    selection: &Selection,
    include: Include,
) -> QueryResult {
    let selected = state.select(selection);
    let candidates: Vec<(&Drawer, &[f32])> = selected
        .iter()
        .filter_map(|drawer| Some((*drawer, drawer.embedding.as_deref()?)))
        .collect();
    let mut result = QueryResult {
        embeddings: include.embeddings.then(Vec::new),
        ..QueryResult::default()
    };
    if state.vectors() > 0 && selected.is_empty() {
        result.warnings.push(excludes_all(name, state));
    } else if candidates.is_empty() {
        result.warnings.push(Warning::NoVectors {
            collection: name.to_owned(),
            drawers: selected.len() as u64,
        });
    }
    for query in vectors {
        let mut hits: Vec<(f32, &Drawer)> = candidates
            .iter()
            .map(|(drawer, vector)| (distance(state.metric, query, vector), *drawer))
            .collect();
        hits.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        hits.truncate(k);
        let (distances, drawers): (Vec<f32>, Vec<&Drawer>) = hits.into_iter().unzip();
        let page = fields(&drawers, include);
        result.ids.push(page.ids);
        result.documents.push(page.documents);
        result.metadatas.push(page.metadatas);
        let distances = if include.distances { distances } else { vec![] };
        result.distances.push(distances);
        if let (Some(all), Some(page)) = (&mut result.embeddings, page.embeddings) {
            all.push(page);
        }
    }
    result
}

fn distance(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
    let sum = |term: fn(f64, f64) -> f64| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| term(f64::from(*a), f64::from(*b)))
            .sum()
    };
    let dot = sum(|a, b| a * b);
    let distance = match metric {
        Metric::L2 => sum(|a, b| (a - b) * (a - b)),
        Metric::Ip => 1.0 - dot,
        Metric::Cosine => {
            let norms = (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt();
            if norms > 0.0 { 1.0 - dot / norms } else { 1.0 }
        }
    };
    distance as f32
}

/// The fields of these drawers that were asked for.
pub(super) fn fields(drawers: &[&Drawer], include: Include) -> GetResult {
    let each = drawers.iter();
    GetResult {
        ids: each.clone().map(|drawer| drawer.id.clone()).collect(),
        documents: each
            .clone()
            .filter(|_| include.documents)
            .map(|drawer| drawer.document.clone().unwrap_or_default())
            .collect(),
        metadatas: each
            .clone()
            .filter(|_| include.metadatas)
            .map(|drawer| drawer.metadata.clone())
            .collect(),
        embeddings: include.embeddings.then(|| {
            each.map(|drawer| drawer.embedding.clone().unwrap_or_default())
                .collect()
        }),
        warnings: vec![],
    }
}

/// Ranks by the number of distinct words shared with the query.
pub(super) fn by_words(
    (name, state): (&str, &State),
    query: &str,
    k: usize,
    selection: &Selection,
) -> LexicalResult {
    let wanted: BTreeSet<String> = crate::words(query).collect();
    if wanted.is_empty() {
        return LexicalResult {
            hits: vec![],
            warnings: vec![Warning::EmptyQuery],
        };
    }
    let selected = state.select(selection);
    let mut result = LexicalResult::default();
    if selected.is_empty() && !state.drawers.is_empty() {
        result.warnings.push(excludes_all(name, state));
    }
    for drawer in selected {
        let document = drawer.document.as_deref().unwrap_or_default();
        let held: BTreeSet<String> = crate::words(document).collect();
        let shared = wanted.intersection(&held).count();
        if shared > 0 {
            result.hits.push(LexicalHit {
                id: drawer.id.clone(),
                document: document.into(),
                metadata: drawer.metadata.clone(),
                score: shared as f64,
            });
        }
    }
    result.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    result.hits.truncate(k);
    result
}

/// Values are told apart by their JSON text; ties are in the order of that text.
pub(super) fn facets(state: &State, key: &str, selection: &Selection, limit: usize) -> FacetCounts {
    let mut result = FacetCounts::default();
    let mut counts: BTreeMap<String, (MetaValue, u64)> = BTreeMap::new();
    for drawer in state.select(selection) {
        let values = match drawer.metadata.get(key) {
            None => {
                result.missing += 1;
                continue;
            }
            Some(MetaValue::List(items)) => items.clone(),
            Some(scalar) => vec![scalar.clone()],
        };
        let distinct: BTreeMap<String, MetaValue> = values
            .into_iter()
            .map(|value| (serde_json::to_string(&value).unwrap_or_default(), value))
            .collect();
        for (text, value) in distinct {
            counts.entry(text).or_insert((value, 0)).1 += 1;
        }
    }
    result.values = counts.into_values().collect();
    result
        .values
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    result.more = result.values.len().saturating_sub(limit) as u64;
    result.values.truncate(limit);
    result
}

pub(super) fn changes(state: &State, seq: u64, limit: usize) -> Changes {
    let live = state.drawers.iter().map(|(record, drawer)| Change {
        seq: drawer.seq,
        record: *record,
        id: Some(drawer.id.clone()),
    });
    let dead = state.tombstones.iter().map(|(seq, record)| Change {
        seq: *seq,
        record: *record,
        id: None,
    });
    let mut changes: Vec<Change> = live.chain(dead).filter(|change| change.seq > seq).collect();
    changes.sort_by_key(|change| change.seq);
    let more = changes.len() > limit;
    changes.truncate(limit);
    Changes {
        next: changes.last().map_or(seq, |change| change.seq),
        changes,
        more,
        reset: false,
    }
}

fn excludes_all(name: &str, state: &State) -> Warning {
    Warning::FilterExcludesAll {
        collection: name.to_owned(),
        drawers: state.drawers.len() as u64,
    }
}
