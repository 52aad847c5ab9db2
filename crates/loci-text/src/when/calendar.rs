//! Spans of whole days. Weeks begin on Monday; seasons are the northern meteorological seasons.

use jiff::Span;
use jiff::civil::{Date, Weekday};

/// The days from one date until just before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) from: Date,
    pub(super) until: Date,
    /// Whether no year was named, so that the most recent one not after today was taken.
    pub(super) floating: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

/// A period that recurs every year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Yearly {
    Day { month: i8, day: i8 },
    Months { first: i8, count: i8 },
}

impl Days {
    pub(super) fn new(from: Date, until: Date) -> Self {
        Self {
            from,
            until,
            floating: false,
        }
    }

    pub(super) fn day(date: Date) -> Option<Self> {
        Some(Self::new(date, shift(date, Unit::Day, 1)?))
    }

    /// The first, second or last third.
    pub(super) fn third(self, which: i32) -> Option<Self> {
        let days = self.from.until(self.until).ok()?.get_days() / 3;
        if days == 0 {
            return None;
        }
        let at = |n: i32| shift(self.from, Unit::Day, i64::from(n * days));
        let until = if which == 2 {
            self.until
        } else {
            at(which + 1)?
        };
        Some(Self {
            from: at(which)?,
            until,
            ..self
        })
    }
}

/// Moves `date` by a number of units.
pub(super) fn shift(date: Date, unit: Unit, n: i64) -> Option<Date> {
    let span = Span::new();
    let span = match unit {
        Unit::Day => span.try_days(n),
        Unit::Week | Unit::Weekend => span.try_weeks(n),
        Unit::Month => span.try_months(n),
        Unit::Quarter => span.try_months(n.checked_mul(3)?),
        Unit::Year => span.try_years(n),
    };
    date.checked_add(span.ok()?).ok()
}

/// The calendar unit that contains `date`; for a weekend, the weekend of its week.
pub(super) fn containing(date: Date, unit: Unit) -> Option<Days> {
    let (from, length, count) = match unit {
        Unit::Day => (date, Unit::Day, 1),
        Unit::Week => (monday(date)?, Unit::Week, 1),
        Unit::Weekend => (shift(monday(date)?, Unit::Day, 5)?, Unit::Day, 2),
        Unit::Month => (date.first_of_month(), Unit::Month, 1),
        Unit::Quarter => {
            let first = (date.month() - 1) / 3 * 3 + 1;
            (Date::new(date.year(), first, 1).ok()?, Unit::Month, 3)
        }
        Unit::Year => (date.first_of_year(), Unit::Year, 1),
    };
    Some(Days::new(from, shift(from, length, count)?))
}

fn monday(date: Date) -> Option<Date> {
    let since = date.weekday().to_monday_zero_offset();
    shift(date, Unit::Day, -i64::from(since))
}

/// The nearest such weekday before `date` (-1), in its week (0) or after it (1).
pub(super) fn weekday(date: Date, day: Weekday, which: i64) -> Option<Days> {
    if which == 0 {
        let offset = i64::from(day.to_monday_zero_offset());
        return Days::day(shift(monday(date)?, Unit::Day, offset)?);
    }
    Days::day(date.nth_weekday(which as i32, day).ok()?)
}

impl Yearly {
    pub(super) fn in_year(self, year: i16) -> Option<Days> {
        match self {
            Self::Day { month, day } => Days::day(Date::new(year, month, day).ok()?),
            Self::Months { first, count } => {
                let from = Date::new(year, first, 1).ok()?;
                Some(Days::new(from, shift(from, Unit::Month, count.into())?))
            }
        }
    }

    /// The most recent occurrence that began by `today`.
    pub(super) fn recent(self, today: Date) -> Option<Days> {
        let found = self.back(today, |days| days.from <= today)?;
        Some(Days {
            floating: true,
            ..found
        })
    }

    /// The last complete occurrence (-1), this year's (0) or the next to begin (1).
    pub(super) fn relative(self, today: Date, which: i64) -> Option<Days> {
        match which {
            -1 => self.back(today, |days| days.until <= today),
            0 => self
                .back(today, |days| days.from <= today && today < days.until)
                .or_else(|| self.in_year(today.year())),
            _ => (0..=8)
                .filter_map(|n| self.in_year(today.year().checked_add(n)?))
                .find(|days| days.from > today),
        }
    }

    /// Leap days may need up to eight years.
    fn back(self, today: Date, fits: impl Fn(&Days) -> bool) -> Option<Days> {
        (0..=8)
            .filter_map(|n| self.in_year(today.year().checked_sub(n)?))
            .find(fits)
    }
}
