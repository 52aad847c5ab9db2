//! Finds the stored names of a metadata key that are most similar to a typed name.

use loci_core::{FacetCounts, MetaValue};

/// The stored values of a metadata key, the most similar to `name` first.
pub(crate) fn nearest_values(counts: &FacetCounts, name: &str) -> Vec<String> {
    let values = counts.values.iter().map(|(value, _)| display(value));
    let mut values: Vec<String> = values.collect();
    values.sort_by_cached_key(|value| (distance(name, value), value.clone()));
    values
}

/// A metadata value as a name.
pub(crate) fn display(value: &MetaValue) -> String {
    match value {
        MetaValue::Str(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// Edit distance of two names; case is ignored.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, from) in a.chars().take(100).enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (to, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let step = (diagonal + usize::from(from != *to))
                .min(left + 1)
                .min(*cell + 1);
            diagonal = *cell;
            *cell = step;
            left = step;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_single_characters() {
        for (a, b, steps) in [
            ("alice", "Alice", 0),
            ("alcie", "alice", 2),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("été", "ete", 2),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
            assert_eq!(distance(b, a), steps, "{b} {a}");
        }
    }
}
