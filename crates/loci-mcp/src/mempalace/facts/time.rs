//! When a fact is valid, by MemPalace's rule: dates are compared as texts, and a day begins at its
//! first second and ends at its last. Loci's facts may also have a year or a month.

use std::cmp::Ordering;

use loci_palace::{Fact, clock};

/// Whether a fact is valid now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    Active,
    Historical,
    Future,
}

pub(super) fn bucket(fact: &Fact, now: &str) -> Bucket {
    let begins = fact.valid_from.as_deref().map(start);
    let ends = fact.valid_to.as_deref().map(end);
    if begins.is_some_and(|begins| begins.as_str() > now) {
        Bucket::Future
    } else if ends.is_some_and(|ends| ends.as_str() < now) {
        Bucket::Historical
    } else {
        Bucket::Active
    }
}

/// Whether a fact was valid at a date or moment. It is not valid at its end.
pub(super) fn held(fact: &Fact, as_of: &str) -> bool {
    let at = start(as_of);
    let begun = fact
        .valid_from
        .as_deref()
        .is_none_or(|from| start(from) <= at);
    begun && fact.valid_to.as_deref().is_none_or(|to| end(to) > at)
}

/// Whether an end is before a beginning.
pub(super) fn inverted(from: &str, to: &str) -> bool {
    end(to) < start(from)
}

/// The order of a timeline: by beginning (facts without one last), then by id.
pub(super) fn begun_first(one: &Fact, other: &Fact) -> Ordering {
    let key = |fact: &Fact| (fact.valid_from.is_none(), fact.valid_from.clone());
    key(one)
        .cmp(&key(other))
        .then_with(|| one.id.cmp(&other.id))
}

fn start(date: &str) -> String {
    match date.len() {
        4 => format!("{date}-01-01T00:00:00Z"),
        7 => format!("{date}-01T00:00:00Z"),
        10 => format!("{date}T00:00:00Z"),
        _ => date.to_owned(),
    }
}

fn end(date: &str) -> String {
    match date.len() {
        4 => format!("{date}-12-31T23:59:59Z"),
        // As a text, the 31st is at or after the last day of every month.
        7 => format!("{date}-31T23:59:59Z"),
        10 => format!("{date}T23:59:59Z"),
        _ => date.to_owned(),
    }
}

pub(super) fn now() -> String {
    clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn today() -> String {
    clock::now().strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(from: Option<&str>, to: Option<&str>) -> Fact {
        Fact {
            valid_from: from.map(str::to_owned),
            valid_to: to.map(str::to_owned),
            ..Fact::default()
        }
    }

    #[test]
    fn a_fact_holds_through_its_last_day() {
        let day = fact(Some("2024-01-01"), Some("2025-01-31"));
        assert!(held(&day, "2024-01-01"));
        assert!(held(&day, "2025-01-31T15:00:00Z"));
        assert!(!held(&day, "2025-02-01"));
        assert!(!held(&day, "2023-12-31"));
        let month = fact(Some("2024"), Some("2025-02"));
        assert!(held(&month, "2025-02-28T23:00:00Z"));
        assert!(!held(&month, "2025-03-01"));
    }

    #[test]
    fn at_the_moment_of_its_end_a_fact_has_ended() {
        let moment = fact(None, Some("2025-01-31T12:00:00Z"));
        assert!(held(&moment, "2025-01-31T11:59:59Z"));
        assert!(!held(&moment, "2025-01-31T12:00:00Z"));
    }

    #[test]
    fn timelines_begin_with_what_began_first_and_end_with_what_is_unknown() {
        let mut facts = [
            fact(None, None),
            fact(Some("2025"), None),
            fact(Some("2024-05-01"), None),
        ];
        facts.sort_by(begun_first);
        let dates = facts.map(|fact| fact.valid_from);
        let expected = [Some("2024-05-01"), Some("2025"), None];
        assert_eq!(dates, expected.map(|date| date.map(str::to_owned)));
    }

    #[test]
    fn an_end_on_the_first_day_is_not_inverted() {
        assert!(!inverted("2025-01-01", "2025-01-01"));
        assert!(inverted("2025-01-02", "2025-01-01"));
    }
}
