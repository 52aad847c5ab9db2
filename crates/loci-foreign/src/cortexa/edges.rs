//! The edges between memories, indexed by both ends.

use std::collections::BTreeSet;

/// Directed, labelled edges; one per pair and label.
#[derive(Debug, Default)]
pub(super) struct Edges {
    out: BTreeSet<(u64, u64, String)>,
    back: BTreeSet<(u64, u64, String)>,
}

impl Edges {
    pub(super) fn insert(&mut self, from: u64, to: u64, relation: &str) {
        self.out.insert((from, to, relation.to_owned()));
        self.back.insert((to, from, relation.to_owned()));
    }

    /// Removes every edge from one memory to another.
    pub(super) fn disconnect(&mut self, from: u64, to: u64) {
        for edge in range(&self.out, (from, to), (from, to)) {
            self.back.remove(&(to, from, edge.2.clone()));
            self.out.remove(&edge);
        }
    }

    /// Removes every edge that starts or ends at a memory.
    pub(super) fn remove_all_of(&mut self, id: u64) {
        for edge in range(&self.out, (id, 0), (id, u64::MAX)) {
            self.back.remove(&(edge.1, id, edge.2.clone()));
            self.out.remove(&edge);
        }
        for edge in range(&self.back, (id, 0), (id, u64::MAX)) {
            self.out.remove(&(edge.1, id, edge.2.clone()));
            self.back.remove(&edge);
        }
    }

    /// All edges, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        self.out
            .iter()
            .map(|(from, to, relation)| (*from, *to, relation.as_str()))
    }
}

fn range(
    edges: &BTreeSet<(u64, u64, String)>,
    first: (u64, u64),
    last: (u64, u64),
) -> Vec<(u64, u64, String)> {
    edges
        .range((first.0, first.1, String::new())..)
        .take_while(|edge| (edge.0, edge.1) <= last)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_a_deleted_memory_go_with_it() {
        let mut edges = Edges::default();
        edges.insert(1, 2, "a");
        edges.insert(1, 3, "b");
        edges.insert(3, 2, "c");
        edges.insert(1, 2, "d");
        edges.remove_all_of(3);
        assert_eq!(edges.iter().collect::<Vec<_>>(), [(1, 2, "a"), (1, 2, "d")]);
        edges.disconnect(1, 2);
        assert_eq!(edges.iter().count(), 0);
        assert!(edges.back.is_empty());
    }
}
