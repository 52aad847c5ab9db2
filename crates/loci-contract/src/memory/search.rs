//! Converts drawers to rows, which [`loci_core::rows`] reads by brute force.

use loci_core::rows::{Row, Rows};
use loci_core::{Change, Changes};

use super::state::{Drawer, Palace, State};

/// The drawers of a collection, with those of the other collections of its palace.
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
        seq: drawer.seq,
    }
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
