//! Reading: drawers as plain rows, which [`loci_core::rows`] reads by brute force.

use loci_core::rows::{Row, Rows, fields};
use loci_core::{Change, Changes, GetResult, Include, Selection};

use super::state::{Drawer, Palace, State};

/// The drawers of a collection, beside those of the other collections of its palace.
pub(super) fn rows(palace: &Palace, name: &str, state: &State) -> Rows {
    let others = palace
        .collections
        .iter()
        .filter(|(other, _)| *other != name);
    let beside = others.flat_map(|(_, other)| all_rows(other)).collect();
    Rows::new(name, state.metric, all_rows(state).collect())
        .dimension(state.dimension)
        .embedder(state.embedder.clone())
        .beside(beside)
}

fn all_rows(state: &State) -> impl Iterator<Item = Row> + '_ {
    state
        .drawers
        .iter()
        .map(|(record, drawer)| row(*record, drawer))
}

fn row(record: u64, drawer: &Drawer) -> Row {
    Row {
        record,
        id: drawer.id.clone(),
        document: drawer.document.clone(),
        metadata: drawer.metadata.clone(),
        vector: drawer.embedding.clone(),
        created_at: drawer.created_at,
        updated_at: drawer.updated_at,
    }
}

/// The drawers changed last, newest first.
pub(super) fn recent(
    state: &State,
    limit: usize,
    selection: &Selection,
    include: Include,
) -> GetResult {
    let drawers = state.drawers.iter();
    let mut selected: Vec<(&u64, &Drawer)> = drawers
        .filter(|(_, drawer)| drawer.is_in(selection))
        .collect();
    selected.sort_by_key(|(_, drawer)| std::cmp::Reverse(drawer.seq));
    selected.truncate(limit);
    let rows: Vec<Row> = selected
        .into_iter()
        .map(|(record, drawer)| row(*record, drawer))
        .collect();
    fields(&rows.iter().collect::<Vec<_>>(), include)
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
