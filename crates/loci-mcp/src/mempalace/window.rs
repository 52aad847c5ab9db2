//! A time window over `filed_at`, by MemPalace's rule: dates are texts without offset, and the
//! first bound is included. A filter cannot compare texts, but the texts between two dates are
//! those with certain prefixes, and there are few of these.

use std::collections::HashSet;

use loci_palace::{
    Collection, Filter, Get, Include, KeyTest, Period, Result, Selection, parse_moment,
};

const KEY: &str = "filed_at";

/// The validated bounds of a window: dates or moments without offset.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) since: Option<String>,
    pub(super) before: Option<String>,
}

impl Window {
    /// Whether both bounds are present and the first is not before the second.
    pub(super) fn is_inverted(&self) -> bool {
        matches!((&self.since, &self.before), (Some(since), Some(before)) if since >= before)
    }

    fn is_open(&self) -> bool {
        self.since.is_none() && self.before.is_none()
    }

    /// A selection restricted to the window. Drawers without `filed_at` are selected by the date of
    /// their content, else of adding them.
    pub(super) fn restrict(
        &self,
        collection: &dyn Collection,
        filters: Vec<Filter>,
    ) -> Result<Selection> {
        if self.is_open() {
            return Ok(selection(filters));
        }
        let period = Period {
            since: self.since.as_deref().and_then(parse_moment),
            before: self.before.as_deref().and_then(parse_moment),
        };
        let dated = ids(collection, selection(with(&filters, begins(""))))?;
        let by_period = Selection {
            period: Some(period),
            ..selection(filters.clone())
        };
        let has_date: HashSet<&String> = dated.iter().collect();
        let undated: Vec<String> = ids(collection, by_period)?
            .into_iter()
            .filter(|id| !has_date.contains(id))
            .collect();
        let inside = selection(with(&filters, self.filter()));
        if undated.is_empty() {
            return Ok(inside);
        }
        let mut found = ids(collection, inside)?;
        found.extend(undated);
        Ok(Selection::ids(found))
    }

    /// Drawers whose `filed_at` is in the window.
    fn filter(&self) -> Filter {
        let mut parts = Vec::new();
        if let Some(since) = &self.since {
            let mut later = beginnings(since, |digit, bound| digit > bound);
            later.push(begins(since));
            parts.push(Filter::Or(later));
        }
        if let Some(before) = &self.before {
            let mut earlier = beginnings(before, |digit, bound| digit < bound);
            // A date alone is midnight, which is before any later moment of that day.
            if let Some(day) = before.get(..10).filter(|_| before.len() > 10) {
                earlier.push(Filter::eq(KEY, day));
            }
            parts.push(Filter::Or(earlier));
        }
        Filter::And(parts)
    }
}

/// Prefixes of the texts that are equal to `bound` up to some digit and differ there in this way.
fn beginnings(bound: &str, differs: fn(char, char) -> bool) -> Vec<Filter> {
    let digits = bound.char_indices().filter(|(_, at)| at.is_ascii_digit());
    let mut made: Vec<Filter> = digits
        .flat_map(|(place, at)| {
            let others = ('0'..='9').filter(move |digit| differs(*digit, at));
            others.filter_map(move |digit| Some(begins(&format!("{}{digit}", bound.get(..place)?))))
        })
        .collect();
    if made.is_empty() {
        // No date is before the year 0, so this prefix matches nothing.
        made.push(begins("\u{10ffff}"));
    }
    made
}

fn begins(with: &str) -> Filter {
    Filter::Key {
        key: KEY.into(),
        test: KeyTest::StartsWith(with.into()),
    }
}

fn with(filters: &[Filter], more: Filter) -> Vec<Filter> {
    let mut filters = filters.to_vec();
    filters.push(more);
    filters
}

/// Drawers that meet all conditions.
pub(super) fn selection(filters: Vec<Filter>) -> Selection {
    Selection {
        filter: Filter::all(filters),
        ..Selection::default()
    }
}

fn ids(collection: &dyn Collection, selection: Selection) -> Result<Vec<String>> {
    let found = collection.get(&Get {
        include: Include::NONE,
        ..Get::new(selection)
    })?;
    Ok(found.ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_palace::{MetaValue, Metadata};

    fn admits(since: Option<&str>, before: Option<&str>, filed_at: &str) -> bool {
        let window = Window {
            since: since.map(str::to_owned),
            before: before.map(str::to_owned),
        };
        let metadata = Metadata([(KEY.to_owned(), MetaValue::Str(filed_at.to_owned()))].into());
        window.filter().matches(&metadata, None)
    }

    #[test]
    fn the_first_bound_is_included_and_the_last_is_not() {
        let day = Some("2026-04-01");
        assert!(admits(day, None, "2026-04-01"));
        assert!(admits(day, None, "2026-04-01T00:00:00.000001"));
        assert!(admits(day, None, "2027-01-01T00:00:00+02:00"));
        assert!(!admits(day, None, "2026-03-31T23:59:59.999999"));
        assert!(admits(None, day, "2026-03-31T23:59:59.999999"));
        assert!(!admits(None, day, "2026-04-01"));
        assert!(!admits(None, day, "2026-04-01T08:00:00"));
    }

    #[test]
    fn moments_are_compared_to_the_second() {
        let moment = Some("2026-04-01T09:30:00");
        assert!(admits(moment, None, "2026-04-01T09:30:00.5"));
        assert!(!admits(moment, None, "2026-04-01T09:29:59.9"));
        assert!(!admits(moment, None, "2026-04-01"));
        assert!(admits(None, moment, "2026-04-01"));
        assert!(admits(None, moment, "2026-04-01T09:29:59"));
        assert!(!admits(None, moment, "2026-04-01T09:30:00"));
    }

    #[test]
    fn both_bounds_hold_together() {
        let (since, before) = (Some("2026-04-01"), Some("2026-05-01"));
        assert!(admits(since, before, "2026-04-30T23:59:59"));
        assert!(!admits(since, before, "2026-05-01T00:00:00"));
        assert!(!admits(since, before, "2025-04-30"));
        assert!(!admits(since, before, ""));
    }

    #[test]
    fn the_year_0_is_a_bound_like_any_other() {
        assert!(!admits(None, Some("0000-00-00"), "2026-04-30"));
    }
}
