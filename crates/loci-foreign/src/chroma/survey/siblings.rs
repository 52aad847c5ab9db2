//! Searches for missing vectors in quarantined index files: `<uuid>.drift-…` directories, and
//! directories that no collection claims.

use std::collections::{HashMap, HashSet};

use super::files::IndexFiles;
use super::labels::{self, AtFlush, RowRank};
use super::{Origin, Survey, live, usable};
use crate::chroma::catalog::CollectionRow;
use crate::chroma::directory::Directory;
use crate::chroma::pickle::LabelMap;

/// Adds vectors that other directories still hold.
pub(super) fn search(directory: &Directory, row: &CollectionRow, survey: &mut Survey) {
    let mut missing: HashMap<String, usize> = survey
        .live
        .iter()
        .enumerate()
        .filter(|(_, live)| live.origin == Origin::Missing)
        .map(|(at, live)| (live.id.clone(), at))
        .collect();
    if missing.is_empty() {
        return;
    }
    let named: HashSet<String> = survey.live.iter().map(|live| live.id.clone()).collect();
    for name in directory.quarantined(row.vector_segment.as_deref()) {
        let files = IndexFiles::open(&directory.path().join(&name), row.metric, survey.dimension);
        survey.denied.extend(files.denied);
        let (Some(segment), Some(map)) = (files.segment, files.map) else {
            continue;
        };
        if survey
            .dimension
            .is_some_and(|length| length != segment.dimension())
        {
            continue;
        }
        if is_disputed(directory, row, segment.dimension(), &map) {
            continue;
        }
        // The ids at the time of writing are unknown, so only the pickle counts.
        let at = AtFlush {
            ids: map
                .pairs
                .iter()
                .map(|(id, _)| (id.as_str(), RowRank { row: 0 }))
                .collect(),
            vanished: HashSet::new(),
            ordered: false,
            named: named.iter().map(String::as_str).collect(),
        };
        let resolved = labels::resolve(&segment, Some(&map), &at);
        let number = survey.aside.len() as u32;
        let mut found = false;
        for (id, element) in &resolved.elements {
            let Some(place) = missing.get(id).copied() else {
                continue;
            };
            if resolved.is_contested(&segment, *element) {
                continue;
            }
            if !matches!(usable(Some(&segment), *element), Origin::Segment { .. }) {
                continue;
            }
            if let Some(live) = survey.live.get_mut(place) {
                live.origin = Origin::Sibling {
                    directory: number,
                    element: *element,
                };
                missing.remove(id);
                found = true;
            }
        }
        if found {
            survey.aside.push(segment);
            survey.siblings.push(name);
        }
        if missing.is_empty() {
            break;
        }
    }
}

/// Whether index files may also belong to another collection, because the catalog has lost the rows
/// of both segments. Ids do not distinguish collections that have the same ones.
fn is_disputed(
    directory: &Directory,
    row: &CollectionRow,
    dimension: usize,
    map: &LabelMap,
) -> bool {
    let labels: HashSet<&str> = map.pairs.iter().map(|(id, _)| id.as_str()).collect();
    let others = directory.collections().iter();
    others
        .filter(|other| other.id != row.id && other.vector_segment.is_none())
        .filter(|other| other.dimension.is_none_or(|length| length == dimension))
        .filter_map(CollectionRow::record_segment)
        .any(|segment| {
            // Unreadable rows are not evidence.
            let records = live::rows(directory.snapshot(), segment).unwrap_or_default();
            let mut stored = records.stored.iter();
            stored.any(|record| labels.contains(record.id.as_str()))
        })
}
