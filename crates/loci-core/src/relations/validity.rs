//! The validity of a fact: from the first moment of `valid_from` until just before the first moment
//! of `valid_to`.
//!
//! A date is a year, a month, a day or a moment. An end of `2026` means that the fact does not hold
//! in 2026. A fact that begins and ends on the same day or in the same year never holds.

use crate::quote::quoted;
use loci_text::when::authored;

use super::Fact;

const DAY_MS: i64 = 86_400_000;
/// The last days of the calendar, which mean "never". They are beyond the range of timestamps.
const LAST_DAYS: &str = "9999-12-3";

/// The first and the last millisecond of a written date, since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateSpan {
    /// Its first millisecond.
    pub first: i64,
    /// Its last millisecond; equal to the first for a moment.
    pub last: i64,
}

impl DateSpan {
    /// Parses a year, month, day or moment (RFC 3339, UTC if there is no offset); `None` for
    /// anything else.
    ///
    /// ```
    /// use loci_core::DateSpan;
    /// let january = DateSpan::parse("2026-01").unwrap();
    /// let last_day = DateSpan::parse("2026-01-31").unwrap();
    /// assert_eq!(january.last, last_day.last);
    /// assert_eq!(DateSpan::parse("soon"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let numbers: Option<Vec<u16>> = text
            .split('-')
            .zip([4, 2, 2])
            .map(|(part, length)| number(part, length))
            .collect();
        let first_of = |year: u16, month: u16| authored(&format!("{year:04}-{month:02}-01"));
        match (text.len(), numbers.as_deref()) {
            (4, Some([year])) => {
                let first = first_of(*year, 1)?;
                Some(Self::before(first, first_of(year + 1, 1), 365))
            }
            (7, Some([year, month])) => {
                let first = first_of(*year, *month)?;
                let next = if *month < 12 {
                    first_of(*year, month + 1)
                } else {
                    first_of(year + 1, 1)
                };
                Some(Self::before(first, next, 31))
            }
            (10, Some([year, month, day])) => {
                let is_last = text.starts_with(LAST_DAYS) && *day <= 31;
                authored(text).or(is_last.then_some(0))?;
                let first = first_of(*year, *month)? + i64::from(day - 1) * DAY_MS;
                Some(Self::before(first, None, 1))
            }
            _ => match authored(text) {
                Some(moment) => Some(Self {
                    first: moment,
                    last: moment,
                }),
                None if text.starts_with(LAST_DAYS) && text.len() > 10 => {
                    Self::parse(text.get(..10)?)
                }
                None => None,
            },
        }
    }

    /// From `first` until just before `next`. At the end of the calendar, `days` gives the length.
    fn before(first: i64, next: Option<i64>, days: i64) -> Self {
        Self {
            first,
            last: next.unwrap_or(first + days * DAY_MS) - 1,
        }
    }
}

fn number(part: &str, length: usize) -> Option<u16> {
    let fits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| part.parse().ok())?
}

impl Fact {
    /// The milliseconds in which it holds, the second bound excluded. A start that is absent or
    /// unreadable is the earliest possible moment. An unreadable end counts as passed.
    pub fn span(&self) -> (i64, i64) {
        let first = |date: &Option<String>| {
            let date = date.as_deref()?;
            Some(DateSpan::parse(date).map_or(i64::MIN, |span| span.first))
        };
        (
            first(&self.valid_from).unwrap_or(i64::MIN),
            first(&self.valid_to).unwrap_or(i64::MAX),
        )
    }

    /// Whether it holds at a moment, in milliseconds since 1970.
    pub fn holds_at(&self, moment: i64) -> bool {
        let (since, until) = self.span();
        since <= moment && moment < until
    }

    /// Whether it can be ended at a date: it has no end, or a later one in the future, and it does
    /// not begin after the date.
    pub fn can_end(&self, date: DateSpan, now: i64) -> bool {
        let (since, until) = self.span();
        let open = self.valid_to.is_none() || (until > date.first && until > now);
        open && since <= date.last
    }

    /// The statement for a message, as one line of limited length.
    pub fn statement(&self) -> String {
        let [subject, predicate, object] =
            [&self.subject, &self.predicate, &self.object].map(|name| quoted(name));
        format!("{subject} {predicate} {object}")
    }
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

    fn last(date: &str) -> i64 {
        DateSpan::parse(date).unwrap().last
    }

    #[test]
    fn a_date_spans_its_year_month_day_or_moment() {
        for (date, first, end) in [
            ("2024", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            ("2024-02", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("2023-12", "2023-12-01T00:00:00Z", "2024-01-01T00:00:00Z"),
            (
                " 2024-02-29 ",
                "2024-02-29T00:00:00Z",
                "2024-03-01T00:00:00Z",
            ),
            ("9999", "9999-01-01T00:00:00Z", "9999-12-30T00:00:00Z"),
        ] {
            let span = DateSpan::parse(date).unwrap();
            assert_eq!(Some(span.first), authored(first), "{date}");
            let days = if date == "9999" { 2 } else { 0 };
            let end = authored(end).unwrap() + days * DAY_MS;
            assert_eq!(span.last, end - 1, "{date}");
        }
        for never in ["9999-12-31", "9999-12-31T23:59:59Z", "9999-12-31 00:00"] {
            let span = DateSpan::parse(never).unwrap();
            assert_eq!(span.last, last("9999"), "{never}");
        }
        let moment = DateSpan::parse("2024-02-29T12:00:00+02:00").unwrap();
        assert_eq!(moment.first, moment.last);
        assert_eq!(
            moment.first,
            DateSpan::parse("2024-02-29T10:00:00Z").unwrap().first
        );
        for no_date in [
            "",
            "soon",
            "2024-13",
            "2023-02-29",
            "20-24",
            "2024-",
            "2024-1",
            "9999-12-32",
        ] {
            assert_eq!(DateSpan::parse(no_date), None, "{no_date}");
        }
    }

    #[test]
    fn a_fact_holds_on_the_day_that_it_begins_and_not_on_the_day_that_it_ends() {
        let day = last("2026-01-01");
        assert!(!fact(Some("2020"), Some("2026-01-01")).holds_at(day));
        assert!(fact(Some("2026-01-01"), None).holds_at(day));
        assert!(fact(Some("2020"), Some("2026-01-01")).holds_at(last("2025-12-31")));
        assert!(!fact(Some("2026-01-01"), None).holds_at(last("2025-12-31")));
        assert!(fact(None, None).holds_at(i64::MIN));
        assert!(!fact(Some("2026"), Some("2026")).holds_at(last("2026-06")));
        assert!(!fact(None, Some("once")).holds_at(0));
        assert!(fact(Some("once"), None).holds_at(0));
    }

    #[test]
    fn a_fact_that_has_ended_cannot_end_again() {
        let now = last("2026-06-15");
        let at = |date: &str| DateSpan::parse(date).unwrap();
        assert!(fact(None, None).can_end(at("1999"), now));
        assert!(fact(None, Some("2027")).can_end(at("2026-06-15"), now));
        assert!(!fact(None, Some("2027")).can_end(at("2027"), now));
        assert!(!fact(None, Some("2026-06-01")).can_end(at("2026-05-01"), now));
        assert!(!fact(Some("2026"), None).can_end(at("2025"), now));
        assert!(fact(Some("2026-06-15T09:00:00Z"), None).can_end(at("2026-06-15"), now));
    }
}
