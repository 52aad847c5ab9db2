//! The candidates of a question with their features, as `cargo xtask fit` needs them.

use std::collections::HashSet;

use loci_core::{Collection, Embedder, Metadata, Recalled, Result};

use crate::answer::Request;
use crate::evidence::{Findings, Judge};
use crate::feature::Features;
use crate::rank::Ranker;
use crate::search::Run;

/// A drawer that a search would rank.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its features, all of them known.
    pub features: Features,
}

/// All candidates of a question and the number of drawers of the palace. Unlike a search, this
/// compares the vectors, tokens and texts of every candidate.
pub fn examine(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
) -> Result<(Vec<Candidate>, u64)> {
    let mut run = Run::new(collection, embedder, request)?;
    let criteria = run.criteria(request, crate::rank::depth_for(request.k));
    let mut everything = Everything {
        ranker: Ranker::new(criteria.clone(), usize::MAX),
    };
    let result = run.probe(collection, request, criteria.depth, &mut everything)?;
    let ranker = everything.ranker;
    let found = result.drawers.into_iter().filter_map(|drawer| {
        let ranked = ranker.ranked.iter();
        let ranked = ranked
            .clone()
            .find(|ranked| ranked.record == drawer.record)?;
        Some(Candidate {
            id: drawer.id,
            metadata: drawer.metadata,
            features: ranked.features,
        })
    });
    Ok((found.collect(), ranker.findings.drawers))
}

/// Ranks like a search, but leaves nothing out.
struct Everything {
    ranker: Ranker,
}

impl Judge for Everything {
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
        self.ranker.keep_all(findings)
    }

    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
        self.ranker.narrow(findings);
        for ranked in &mut self.ranker.ranked {
            ranked.is_compared = true;
        }
        self.ranker.ranked.iter().map(|ranked| ranked.at).collect()
    }

    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        self.ranker.choose(findings);
        let records: Vec<u64> = self
            .ranker
            .ranked
            .iter()
            .map(|ranked| ranked.record)
            .collect();
        self.ranker.chosen = records.iter().copied().collect::<HashSet<u64>>();
        records
    }

    fn order(&mut self, findings: &Findings, drawers: Vec<Recalled>) -> Vec<Recalled> {
        self.ranker.order(findings, drawers)
    }
}
