//! Queries rows by vector, by comparing every vector.

use super::{Row, Rows, fields};
use crate::batch::{MAX_RESULTS, validate_vector};
use crate::collection::{Metric, Query};
use crate::error::{Error, Result};
use crate::result::QueryResult;
use crate::warning::Warning;

impl Rows {
    /// [`crate::Collection::query`] for these vectors. The `input` of the query is ignored: a
    /// caller with texts embeds them first.
    pub fn query(&self, vectors: &[Vec<f32>], query: &Query) -> Result<QueryResult> {
        if query.k == 0 || query.k > MAX_RESULTS {
            return Err(Error::invalid(
                "k",
                format!("{}; must be 1 to {MAX_RESULTS}", query.k),
            ));
        }
        for (at, vector) in vectors.iter().enumerate() {
            validate_vector(&format!("query vector {at}"), vector)?;
            self.check_dimension(vector.len())?;
        }
        let selected = self.select(&query.selection);
        let mut result = QueryResult {
            embeddings: query.include.embeddings.then(Vec::new),
            ..QueryResult::default()
        };
        if self.vectors() > 0 && selected.is_empty() {
            let drawers = self.own.len() as u64;
            result.warnings.push(Warning::FilterExcludesAll {
                collection: self.name.clone(),
                drawers,
            });
        } else if selected.iter().all(|row| row.vector.is_none()) {
            result.warnings.push(Warning::NoVectors {
                collection: self.name.clone(),
                drawers: selected.len() as u64,
            });
        }
        for vector in vectors {
            let nearest = nearest(self.metric, vector, &selected, query.k);
            let (distances, rows): (Vec<f32>, Vec<&Row>) = nearest.into_iter().unzip();
            let page = fields(&rows, query.include);
            result.ids.push(page.ids);
            result.documents.push(page.documents);
            result.metadatas.push(page.metadatas);
            let wanted = query.include.distances;
            result
                .distances
                .push(if wanted { distances } else { Vec::new() });
            if let (Some(all), Some(page)) = (&mut result.embeddings, page.embeddings) {
                all.push(page);
            }
        }
        Ok(result)
    }

    fn check_dimension(&self, got: usize) -> Result<()> {
        match self.vector_dimension() {
            Some(expected) if expected != got => Err(Error::DimensionMismatch {
                collection: self.name.clone(),
                expected,
                got,
            }),
            _ => Ok(()),
        }
    }
}

/// The nearest of these rows. Ties keep the order of the rows.
pub(super) fn nearest<'a>(
    metric: Metric,
    vector: &[f32],
    rows: &[&'a Row],
    k: usize,
) -> Vec<(f32, &'a Row)> {
    let compared = |row: &&'a Row| {
        let other = row.vector.as_deref()?;
        Some((distance(metric, vector, other), *row))
    };
    let mut hits: Vec<(f32, &Row)> = rows.iter().filter_map(compared).collect();
    hits.sort_by(|a, b| a.0.total_cmp(&b.0));
    hits.truncate(k);
    hits
}

/// The distance between two vectors, summed in double precision.
pub(super) fn distance(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
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
