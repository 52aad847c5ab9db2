//! Why a drawer is not among the hits: where it fell out, and what would bring it in.

use loci_core::{Collection, Embedder, Filter, Get, Include, Period, Result, Selection, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Request;
use crate::evidence::{Findings, Judge, MAX_DEPTH};
use crate::rank::{Ranked, depth_for};
use crate::score::Parts;
use crate::search::{MAX_HITS, Run, search};

/// Where a drawer fell out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is no such drawer.
    Unknown,
    /// It is a hit.
    Found,
    /// The filter excludes it.
    Filter,
    /// No arm named it among the candidates.
    Arms,
    /// It is farther than `--max-distance` and holds no word of the question.
    MaxDistance,
    /// Others have a higher score.
    Fusion,
    /// Another hit has the same text.
    Same,
    /// Another hit is of the same source, and one per source was asked for.
    Source,
    /// It did not fit the budget.
    Budget,
}

/// The way of one drawer through a search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhyNot {
    /// The drawer.
    pub id: String,
    /// Where it fell out.
    pub stage: Stage,
    /// What happened there.
    pub reason: String,
    /// What would bring it in.
    pub advice: Vec<String>,
    /// Its place after fusion, if it came so far.
    pub rank: Option<usize>,
    /// Its place in the lexical arm, up to the ten-thousandth.
    pub lexical_rank: Option<usize>,
    /// Its place in the semantic arm, up to the ten-thousandth.
    pub semantic_rank: Option<usize>,
    /// Its distance to the question.
    pub distance: Option<f32>,
    /// What its score is made of, if it came so far.
    pub parts: Option<Parts>,
    /// The same of the last hit.
    pub last_hit: Option<Parts>,
}

/// Follows a drawer through a search.
pub fn why_not(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    id: &str,
) -> Result<WhyNot> {
    let mut answer = WhyNot {
        id: id.to_owned(),
        stage: Stage::Filter,
        reason: String::new(),
        advice: Vec::new(),
        rank: None,
        lexical_rank: None,
        semantic_rank: None,
        distance: None,
        parts: None,
        last_hit: None,
    };
    if !exists(collection, &Selection::ids([id]))? {
        answer.stage = Stage::Unknown;
        answer.reason = format!(
            "there is no {} in collection {}",
            quoted(id),
            quoted(collection.name())
        );
        return Ok(answer);
    }
    let excluding = excluding(collection, &request.selection, id)?;
    if !excluding.is_empty() {
        answer.reason = format!(
            "the search admits other drawers only: {}",
            excluding.join("; ")
        );
        answer.advice = excluding
            .iter()
            .map(|condition| format!("search without {condition}"))
            .collect();
        return Ok(answer);
    }
    let mut run = Run::new(collection, embedder, request)?;
    let Some(record) = record_of(collection, &mut run, request, id)? else {
        answer.stage = Stage::Arms;
        answer.advice = vec!["ask with words that stand in it".into()];
        if run.is_by_meaning() {
            answer.reason =
                "it holds no word of the question and has no vector that can be compared".into();
            answer
                .advice
                .push("give it a vector: `loci reembed --model static`".into());
        } else {
            answer.reason = "it holds no word of the question, and only words were searched".into();
        }
        return Ok(answer);
    };
    follow(collection, embedder, request, &mut run, record, &mut answer)?;
    Ok(answer)
}

fn follow(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    run: &mut Run<'_>,
    record: u64,
    answer: &mut WhyNot,
) -> Result<()> {
    let deep = run.criteria(request, MAX_DEPTH);
    let (ranker, _) = run.recall(collection, request, &deep, 0)?;
    let of = |ranked: &[Ranked]| ranked.iter().position(|ranked| ranked.record == record);
    if let Some(ranked) = of(&ranker.ranked).and_then(|at| ranker.ranked.get(at)) {
        answer.lexical_rank = ranked.lexical_rank;
        answer.semantic_rank = ranked.semantic_rank;
        answer.distance = ranked.distance;
        answer.parts = Some(ranked.parts);
    } else {
        answer.stage = Stage::MaxDistance;
        let near = Request {
            max_distance: None,
            ..request.clone()
        };
        let open = run.criteria(&near, MAX_DEPTH);
        let (ranker, _) = run.recall(collection, &near, &open, 0)?;
        let ranked = of(&ranker.ranked).and_then(|at| ranker.ranked.get(at));
        answer.distance = ranked.and_then(|ranked| ranked.distance);
        answer.semantic_rank = ranked.and_then(|ranked| ranked.semantic_rank);
        answer.reason =
            "it holds no word of the question and is farther than `--max-distance`".into();
        answer.advice = vec!["raise or leave out `--max-distance`".into()];
        return Ok(());
    }
    let usual = run.criteria(request, depth_for(request.k));
    let (ranker, _) = run.recall(collection, request, &usual, 0)?;
    let Some(at) = of(&ranker.ranked) else {
        answer.stage = Stage::Arms;
        answer.reason = format!(
            "both arms name other candidates first: {} looked at from each",
            usual.depth
        );
        answer.advice = vec![
            more_hits(collection, embedder, request, record)?,
            "ask with words that stand in it".into(),
        ];
        return Ok(());
    };
    answer.rank = Some(at + 1);
    answer.last_hit = ranker.ranked.get(request.k - 1).map(|last| last.parts);
    let found = search(collection, embedder, request)?;
    if let Some(place) = found.hits.iter().position(|hit| hit.record == record) {
        answer.stage = Stage::Found;
        answer.reason = format!("it is hit {}", place + 1);
        return Ok(());
    }
    if let Some(same) = found
        .hits
        .iter()
        .find(|hit| hit.also_in.contains(&answer.id))
    {
        answer.stage = Stage::Same;
        answer.reason = format!(
            "{} has the same text and is shown for both",
            quoted(&same.id)
        );
        return Ok(());
    }
    let source = ranker.ranked.get(at).and_then(|ranked| ranked.source);
    let above = ranker.ranked.iter().take(at);
    if request.by_source && source.is_some() && above.clone().any(|other| other.source == source) {
        answer.stage = Stage::Source;
        answer.reason = "a better hit of the same source is shown for it".into();
        answer.advice = vec!["leave out `--by-source`".into()];
        return Ok(());
    }
    if at < request.k && request.budget.is_some() {
        answer.stage = Stage::Budget;
        answer.reason = format!("it is number {} but does not fit the budget", at + 1);
        answer.advice = vec![
            "raise or leave out `--budget`".into(),
            format!("read it with `loci get {}`", answer.id),
        ];
        return Ok(());
    }
    answer.stage = Stage::Fusion;
    answer.reason = format!("it is number {} of {}", at + 1, ranker.ranked.len());
    answer.advice = vec![more_hits(collection, embedder, request, record)?];
    if let (Some(own), Some(last)) = (answer.parts, answer.last_hit) {
        answer.advice.push(weakest(own, last));
    }
    Ok(())
}

/// The number of hits that brings a drawer in, tried out: more hits also mean more candidates.
fn more_hits(
    collection: &dyn Collection,
    embedder: Option<&dyn Embedder>,
    request: &Request,
    record: u64,
) -> Result<String> {
    let mut k = request.k;
    while k < MAX_HITS {
        k = (k * 2).min(MAX_HITS);
        let wider = Request {
            k,
            ..request.clone()
        };
        let found = search(collection, embedder, &wider)?;
        if let Some(place) = found.hits.iter().position(|hit| hit.record == record) {
            let fewer = Request {
                k: place + 1,
                ..request.clone()
            };
            let enough = search(collection, embedder, &fewer)?
                .hits
                .iter()
                .any(|hit| hit.record == record);
            let k = if enough { place + 1 } else { k };
            return Ok(format!("ask for more hits: `-k {k}` brings it in"));
        }
    }
    Ok(format!("more hits do not bring it in, up to {MAX_HITS}"))
}

/// Which part of the score falls furthest behind the last hit's.
fn weakest(own: Parts, last: Parts) -> String {
    let gaps = [
        (
            last.words - own.words,
            "its words fit less: name words that stand in it",
        ),
        (
            last.source - own.source,
            "its source fits less: name what its source is about, or search within it with `--source`",
        ),
        (
            last.meaning + last.tokens - own.meaning - own.tokens,
            "its meaning fits less: put the question closer to its text",
        ),
        (last.speaker - own.speaker, "name who speaks in it"),
        (last.date - own.date, "name its date"),
    ];
    gaps.iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or("", |(_, advice)| advice)
        .to_owned()
}

fn exists(collection: &dyn Collection, selection: &Selection) -> Result<bool> {
    let found = collection.get(&Get {
        selection: selection.clone(),
        limit: Some(1),
        offset: 0,
        include: Include::NONE,
    })?;
    Ok(!found.ids.is_empty())
}

/// The conditions of a selection that exclude a drawer, in words.
fn excluding(collection: &dyn Collection, selection: &Selection, id: &str) -> Result<Vec<String>> {
    let mut conditions: Vec<(String, Selection)> = Vec::new();
    let parts = match &selection.filter {
        Some(Filter::And(parts)) => parts.clone(),
        Some(filter) => vec![filter.clone()],
        None => Vec::new(),
    };
    for part in parts {
        let name = match &part {
            Filter::Key { key, .. } if key == "source_file" => "`--source`".into(),
            Filter::Key { key, .. } if key == "wing" || key == "room" => format!("`--{key}`"),
            Filter::Key { key, .. } => format!("the condition on {}", quoted(key)),
            _ => "the condition `--where`".into(),
        };
        conditions.push((name, Selection::matching(part)));
    }
    if let Some(document) = &selection.document {
        let only = Selection {
            document: Some(document.clone()),
            ..Selection::default()
        };
        conditions.push(("the condition `--where-document`".into(), only));
    }
    if selection.period.is_some() {
        let only = Selection {
            period: selection.period,
            ..Selection::default()
        };
        let name = match selection.period {
            Some(Period { before: None, .. }) => "`--since`",
            Some(Period { since: None, .. }) => "`--before`",
            _ => "`--since` and `--before`",
        };
        conditions.push((name.into(), only));
    }
    let mut excluding = Vec::new();
    if selection
        .ids
        .as_ref()
        .is_some_and(|ids| !ids.iter().any(|other| other == id))
    {
        excluding.push("the list of ids".into());
    }
    for (name, mut condition) in conditions {
        condition.ids = Some(vec![id.to_owned()]);
        if !exists(collection, &condition)? {
            excluding.push(name);
        }
    }
    Ok(excluding)
}

/// The number of a drawer, if an arm can find it at all.
fn record_of(
    collection: &dyn Collection,
    run: &mut Run<'_>,
    request: &Request,
    id: &str,
) -> Result<Option<u64>> {
    struct Only(Option<u64>);
    impl Judge for Only {
        fn shortlist(&mut self, findings: &Findings) -> Vec<usize> {
            let mut found = findings
                .evidence
                .iter()
                .filter(|found| found.lexical.is_some() || found.semantic.is_some());
            self.0 = found.next().map(|found| found.record);
            Vec::new()
        }
        fn narrow(&mut self, _: &Findings) -> Vec<usize> {
            Vec::new()
        }
        fn choose(&mut self, _: &Findings) -> Vec<u64> {
            Vec::new()
        }
    }
    let mut only = Only(None);
    let alone = Request {
        selection: Selection::ids([id]),
        ..request.clone()
    };
    run.probe(collection, &alone, 1, &mut only)?;
    Ok(only.0)
}
