//! Tests how many calls a search makes. Each call may be a round trip.

use std::collections::BTreeMap;

use loci_core::rows::{Row, Rows};
use loci_core::{
    Candidates, FacetCounts, Metric, Outside, OutsideQuery, Selection, SourceLimits, Surroundings,
    TermQuery,
};

use super::*;
use crate::evidence::ProbeVector;

/// Counts the calls that may read.
struct Counted<'a> {
    inner: &'a mut dyn SearchView,
    calls: BTreeMap<&'static str, usize>,
    records_of_lengths: usize,
}

impl Counted<'_> {
    fn note(&mut self, call: &'static str) {
        *self.calls.entry(call).or_default() += 1;
    }
}

impl SearchView for Counted<'_> {
    fn statistics(&self) -> &Statistics {
        self.inner.statistics()
    }
    fn admits(&self, record: u64) -> bool {
        self.inner.admits(record)
    }
    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        self.note("candidates");
        self.inner.candidates(query)
    }
    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>> {
        self.note("newest");
        self.inner.newest(terms, limit)
    }
    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>> {
        self.records_of_lengths += records.len();
        self.inner.lengths(records)
    }
    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings> {
        self.note("surroundings");
        self.inner.surroundings(records, limits)
    }
    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>> {
        self.note("created_at");
        self.inner.created_at(records)
    }
    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>> {
        self.note("distances");
        self.inner.distances(vectors, records)
    }
    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>> {
        self.note("tokens");
        self.inner.tokens(records)
    }
    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>> {
        self.note("fetch");
        self.inner.fetch(records)
    }
    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>> {
        self.note("facets");
        self.inner.facets(keys, limit)
    }
    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside> {
        self.note("outside");
        self.inner.outside(query)
    }
}

struct Everything;

impl Judge for Everything {
    fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
        (0..findings.evidence.len()).collect()
    }
    fn narrow(&mut self, findings: &Findings) -> Vec<usize> {
        (0..findings.evidence.len()).collect()
    }
    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        findings.evidence.iter().map(|found| found.record).collect()
    }
}

/// Numbered texts of rising lengths, with vectors.
fn rows(count: u64) -> Rows {
    let row = |record: u64| Row {
        record,
        id: record.to_string(),
        document: Some(format!("quagga {}", "word ".repeat(record as usize % 97))),
        vector: Some(vec![record as f32, 1.0]),
        ..Row::default()
    };
    Rows::new("drawers", Metric::Cosine, (1..=count).map(row).collect())
}

fn run(rows: &Rows, probe: &Probe<'_>) -> (RecallResult, BTreeMap<&'static str, usize>, usize) {
    let request = ViewRequest {
        selection: probe.selection,
        vectors: true,
    };
    let vectors: Vec<SpaceVector> = probe
        .vectors
        .iter()
        .map(|vector| SpaceVector {
            space: vector.space.clone(),
            vector: vector.vector.clone(),
        })
        .collect();
    let mut answer = (RecallResult::default(), BTreeMap::new(), 0);
    rows.with_view(&request, &mut |inner| {
        let mut view = Counted {
            inner,
            calls: BTreeMap::new(),
            records_of_lengths: 0,
        };
        let search = Search {
            collection: "drawers",
            probe,
            vectors: &vectors,
            view: &mut view,
            warnings: Vec::new(),
        };
        let result = search.run(&mut Everything)?;
        answer = (result, view.calls, view.records_of_lengths);
        Ok(())
    })
    .unwrap();
    answer
}

fn probe(selection: &Selection, vector: bool) -> Probe<'_> {
    Probe {
        query: "quagga",
        vectors: vector
            .then(|| ProbeVector {
                space: None,
                pinned: None,
                vector: vec![1.0, 0.0],
            })
            .into_iter()
            .collect(),
        selection,
        depth: 20,
        near: 20,
        context: 2,
        dates: false,
        until: None,
    }
}

#[test]
fn a_search_makes_each_call_once_and_none_that_it_does_not_need() {
    let (rows, all) = (rows(500), Selection::all());
    let (result, calls, _) = run(&rows, &probe(&all, true));
    assert!(result.drawers.len() >= 20);
    let once = ["candidates", "distances", "fetch", "surroundings", "tokens"];
    assert_eq!(calls, once.map(|call| (call, 1)).into());
    let (_, calls, _) = run(&rows, &probe(&all, false));
    let once = ["candidates", "fetch", "surroundings", "tokens"];
    assert_eq!(calls, once.map(|call| (call, 1)).into());
}

#[test]
fn lengths_are_read_only_of_drawers_that_can_still_be_among_the_best() {
    let (mut rows, all) = (Vec::new(), Selection::all());
    for record in 1..=1_000_u64 {
        // The first drawers contain the word often, so the others cannot overtake them, however
        // short.
        let often = if record <= 100 { 30 } else { 1 };
        rows.push(Row {
            record,
            id: record.to_string(),
            document: Some("quagga ".repeat(often)),
            ..Row::default()
        });
    }
    let rows = Rows::new("drawers", Metric::Cosine, rows);
    let (result, _, read) = run(&rows, &probe(&all, false));
    assert_eq!(result.drawers.len(), 20);
    assert!(result.drawers.iter().all(|drawer| drawer.record <= 100));
    assert!(read < 200, "{read} lengths were read");
}
