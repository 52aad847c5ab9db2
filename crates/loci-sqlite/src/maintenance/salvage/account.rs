//! Counts the drawers before and after a salvage, and lists the lost ones.
//!
//! The numbers must add up: before = saved + damaged + duplicates + lost. If they do not, the
//! report says so.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{KnownBy, LeftOut, LostDrawer, LostRelation, SalvageReport};

use super::evidence::{Evidence, Trace};
use super::finds::Finds;

/// Drawers of one collection that the salvage could read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadableDrawers {
    /// Its name in the new palace.
    pub(super) name: String,
    /// Number of saved, damaged and duplicate drawers.
    pub(super) drawers: u64,
}

/// Sources that may have lost a drawer.
pub(super) enum Doubtful {
    /// The sources with these names.
    Named(BTreeSet<String>),
    /// All sources, because a lost drawer may belong to any of them.
    All,
}

/// Lost drawers, by collection where it is known.
type Lost<'a> = Vec<(i64, &'a Trace)>;

/// Fills the part of the report that lists the losses.
pub(super) fn settle(
    finds: &Finds,
    evidence: &Evidence,
    found: &BTreeMap<i64, ReadableDrawers>,
    report: &mut SalvageReport,
) {
    let mut lost: Lost<'_> = evidence
        .traces
        .iter()
        .filter(|(row, trace)| is_lost(finds, evidence, **row, trace))
        .map(|(row, trace)| (*row, trace))
        .collect();
    let counted: u64 = finds.collections.values().map(|known| known.drawers).sum();
    let is_counted = |collection: Option<i64>| {
        collection.is_none_or(|collection| finds.collections.contains_key(&collection))
    };
    let read: u64 = found
        .iter()
        .filter(|(id, _)| finds.collections.contains_key(id))
        .map(|(_, found)| found.drawers)
        .sum();
    let missing = counted.saturating_sub(read);
    let has_counters = !finds.collections.is_empty();
    if has_counters {
        drop_stray_mentions(&mut lost, missing, is_counted);
    }
    let within = |trace: &Trace| has_counters && is_counted(trace.collection);
    let named = lost.iter().filter(|(_, trace)| within(trace)).count() as u64;
    let beyond = lost.len() as u64 - named;
    let uncounted: u64 = found
        .iter()
        .filter(|(id, _)| !finds.collections.contains_key(id))
        .map(|(_, found)| found.drawers)
        .sum();
    report.known_by = if has_counters && uncounted + beyond == 0 {
        KnownBy::Counter
    } else {
        KnownBy::Evidence
    };
    report.drawers_before = counted + uncounted + beyond;
    report.lost_drawers = missing.max(named) + beyond;
    report.lost = lost
        .into_iter()
        .map(|(row, trace)| lost_drawer(row, trace, found))
        .collect();
    report.lost_without_a_trace = report.lost_drawers.saturating_sub(report.lost.len() as u64);
    note_discrepancies(finds, found, report);
    settle_relations(finds, evidence, report);
    report.left_out = left_out(evidence);
}

/// Whether a row is mentioned but could not be read. A row that was deleted on purpose is mentioned
/// only by its tombstone. A single other mention beside a tombstone is a page from before the
/// delete.
fn is_lost(finds: &Finds, evidence: &Evidence, row: i64, trace: &Trace) -> bool {
    let possible = row > 0 && finds.seq.is_none_or(|seq| row <= seq);
    let dropped = trace
        .collection
        .is_some_and(|collection| finds.dropped.contains(&collection));
    let deleted = evidence.tombstones.contains(&row) && trace.strength() < 2;
    possible
        && !dropped
        && !deleted
        && !finds.drawers.contains_key(&row)
        && !finds.has_id(trace.collection, trace.id.as_deref())
}

/// Removes mentions that come from a damaged row number. If the counters leave no room for all
/// mentioned rows, those that only one place mentions are left out.
fn drop_stray_mentions(
    lost: &mut Lost<'_>,
    missing: u64,
    is_counted: impl Fn(Option<i64>) -> bool,
) {
    let of_counted = |trace: &Trace| is_counted(trace.collection);
    let named = lost.iter().filter(|(_, trace)| of_counted(trace)).count() as u64;
    let mut surplus = named.saturating_sub(missing);
    lost.retain(|(_, trace)| {
        let stray = surplus > 0 && of_counted(trace) && trace.strength() < 2;
        surplus -= u64::from(stray);
        !stray
    });
}

fn lost_drawer(row: i64, trace: &Trace, found: &BTreeMap<i64, ReadableDrawers>) -> LostDrawer {
    let collection = trace.collection.map(|id| match found.get(&id) {
        Some(found) => found.name.clone(),
        None => super::recovered_name(id),
    });
    LostDrawer {
        row: row as u64,
        id: trace.id.clone(),
        collection,
        wing: trace.wing.clone(),
        room: trace.room.clone(),
        source_file: trace.source_file.clone(),
        line: trace.line.clone(),
        evidence: trace.names(),
    }
}

fn note_discrepancies(
    finds: &Finds,
    found: &BTreeMap<i64, ReadableDrawers>,
    report: &mut SalvageReport,
) {
    for (id, known) in &finds.collections {
        let read = found.get(id).map_or(0, |found| found.drawers);
        if read > known.drawers {
            report.discrepancies.push(format!(
                "collection `{}` counted {} drawer(s), but {read} were read",
                known.name, known.drawers
            ));
        }
    }
    let accounted = report.saved + report.damaged_drawers + report.duplicates + report.lost_drawers;
    if accounted != report.drawers_before {
        report.discrepancies.push(format!(
            "{} drawer(s) before, but {} saved, {} damaged, {} duplicate(s) and {} lost make {accounted}",
            report.drawers_before,
            report.saved,
            report.damaged_drawers,
            report.duplicates,
            report.lost_drawers
        ));
    }
}

fn settle_relations(finds: &Finds, evidence: &Evidence, report: &mut SalvageReport) {
    let lost = |mentioned: &BTreeMap<i64, String>, is_read: &dyn Fn(i64) -> bool| {
        let gone = mentioned.iter().filter(|(row, _)| !is_read(**row));
        gone.map(|(row, what)| LostRelation {
            row: *row as u64,
            what: what.clone(),
        })
        .collect()
    };
    report.lost_facts = lost(&evidence.facts, &|row| finds.relations.has_fact(row));
    report.lost_links = lost(&evidence.links, &|row| finds.relations.has_link(row));
}

fn left_out(evidence: &Evidence) -> Vec<LeftOut> {
    let reason = |table: &str| match table {
        "runs" => "recorded runs and what their undo needs refer to rows of the damaged palace",
        "removed_duplicates" => "copies of duplicates that an earlier clean-up removed",
        _ => "rows that an earlier repair had moved out because their bytes were damaged",
    };
    let counted = evidence.counted.iter();
    counted
        .map(|(table, count)| LeftOut {
            what: (*table).to_owned(),
            count: *count,
            reason: reason(table).to_owned(),
        })
        .collect()
}

/// The sources of a collection that may have lost a drawer, or that have a damaged one.
pub(super) fn doubtful(
    finds: &Finds,
    report: &SalvageReport,
    damaged_origins: &BTreeSet<i64>,
    collection: &str,
) -> Doubtful {
    if report.lost_without_a_trace > 0 || report.known_by == KnownBy::Evidence {
        return Doubtful::All;
    }
    let damaged = damaged_origins
        .iter()
        .filter_map(|id| finds.sources.get(id));
    let mut names: BTreeSet<String> = damaged.map(|source| source.record.name.clone()).collect();
    for lost in &report.lost {
        if lost
            .collection
            .as_deref()
            .is_some_and(|name| name != collection)
        {
            continue;
        }
        match &lost.source_file {
            Some(file) => names.insert(file.clone()),
            None => return Doubtful::All,
        };
    }
    Doubtful::Named(names)
}
