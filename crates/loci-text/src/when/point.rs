//! Parses a single time in a question: `yesterday`, `two weeks ago`, `last May`, `7 May 2023`.

use jiff::civil::Date;

use super::calendar::{Days, Unit, Yearly, containing, shift, weekday};
use super::names;
use super::token::{Kind, Token};

/// The word before a time. The more specific it is, the less specific the time must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// None. Only an unambiguous expression is a time.
    Bare,
    /// `on`: a day follows.
    On,
    /// `in`, `since` and similar: a month or a year alone is a time too.
    In,
}

/// A time and the index of the next token.
pub(super) type ReadTime = Option<(Days, usize)>;

/// Reads a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) tokens: &'a [Token<'a>],
    pub(super) today: Date,
}

impl Reader<'_> {
    pub(super) fn kind(&self, i: usize) -> Option<&Kind> {
        self.tokens.get(i).map(|token| &token.kind)
    }

    /// The word at `i`, or an empty string.
    pub(super) fn word(&self, i: usize) -> &str {
        match self.kind(i) {
            Some(Kind::Word(word)) => word,
            _ => "",
        }
    }

    /// The index after `word` if it is at `i`, otherwise `i`.
    pub(super) fn skip(&self, i: usize, word: &str) -> usize {
        i + usize::from(self.word(i) == word)
    }

    /// The time that begins at `i` and does not refer to another time.
    pub(super) fn simple(&self, i: usize, context: Context) -> ReadTime {
        self.near(i)
            .or_else(|| self.ago(i))
            .or_else(|| self.dated(i, context))
            .or_else(|| self.month_first(i, context))
            .or_else(|| self.day_first(i, context))
            .or_else(|| self.season(i, context))
    }

    /// `today`, `last week`, `this May`, `the past three days`
    fn near(&self, i: usize) -> ReadTime {
        let day = |n| Days::day(shift(self.today, Unit::Day, n)?);
        let second = self.word(i + 1);
        let which = match (self.word(i), second) {
            ("today" | "tonight", _) => return Some((day(0)?, i + 1)),
            ("yesterday", _) => return Some((day(-1)?, i + 1)),
            ("tomorrow", _) => return Some((day(1)?, i + 1)),
            ("this", "morning" | "afternoon" | "evening") => return Some((day(0)?, i + 2)),
            ("last", "night" | "evening") => return Some((day(-1)?, i + 2)),
            ("last" | "past" | "previous", _) => -1,
            ("this" | "current", _) => 0,
            ("next", _) => 1,
            _ => return None,
        };
        if which == -1
            && let Some(found) = self.rolling(i)
        {
            return Some(found);
        }
        let days = if let Some(unit) = names::unit(second) {
            containing(shift(self.today, unit, which)?, unit)
        } else if let Some(name) = names::weekday(second) {
            weekday(self.today, name, which)
        } else if which == 0 && !self.is_name_of_month(i + 1, Context::Bare) {
            // `this may be`
            None
        } else {
            self.yearly(i + 1)?.relative(self.today, which)
        };
        Some((days?, i + 2))
    }

    /// `last three days`, `past week`: until today, inclusive.
    fn rolling(&self, i: usize) -> ReadTime {
        let (n, next) = match self.count(i + 1) {
            Some((n, next)) => (n, next),
            None if self.word(i) == "past" => (1, i + 1),
            None => return None,
        };
        let unit = names::unit(self.word(next))?;
        let from = shift(self.today, unit, n.checked_neg()?)?;
        let until = shift(self.today, Unit::Day, 1)?;
        Some((Days::new(from, until), next + 1))
    }

    /// `two weeks ago`: that day, or the calendar week, month or year that contains it.
    fn ago(&self, i: usize) -> ReadTime {
        let (n, next) = self.count(i)?;
        let unit = names::unit(self.word(next))?;
        if self.word(next + 1) != "ago" {
            return None;
        }
        let date = shift(self.today, unit, n.checked_neg()?)?;
        Some((containing(date, unit)?, next + 2))
    }

    fn count(&self, i: usize) -> Option<(i64, usize)> {
        if let Some(Kind::Number {
            value,
            ordinal: false,
            ..
        }) = self.kind(i)
        {
            return Some((*value, i + 1));
        }
        if self.word(i) == "a" && self.word(i + 1) == "couple" {
            return Some((2, self.skip(i + 2, "of")));
        }
        Some((names::number(self.word(i))?, i + 1))
    }

    /// `2023-05-07`, `2023-05`, a year, a weekday
    fn dated(&self, i: usize, context: Context) -> ReadTime {
        let days = match self.kind(i)? {
            Kind::Day(date) => Days::day(*date),
            Kind::Month(date) => containing(*date, Unit::Month),
            Kind::Word(word) if context != Context::Bare => {
                let name = names::weekday(word)?;
                weekday(shift(self.today, Unit::Day, 1)?, name, -1)
            }
            Kind::Number { .. } if context == Context::In && !self.counts_things(i + 1) => {
                containing(Date::new(self.year(i)?, 1, 1).ok()?, Unit::Year)
            }
            _ => None,
        };
        Some((days?, i + 1))
    }

    /// Whether a plural follows a number: `in 2000 drawers` does not name a year.
    fn counts_things(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(|token| {
            let raw = token.raw;
            raw.ends_with('s')
                && raw.bytes().all(|byte| byte.is_ascii_lowercase())
                && !matches!(raw, "was" | "is" | "has" | "does" | "this" | "us" | "as")
        })
    }

    /// `May 7th, 2023`, `May 7`, `May 2023`, `May`
    fn month_first(&self, i: usize, context: Context) -> ReadTime {
        let month = names::month(self.word(i))?;
        if let Some((day, ordinal)) = self.day_of_month(i + 1) {
            let day = Yearly::Day { month, day };
            let sure = ordinal || self.is_name_of_month(i, context);
            return self.with_year(day, i + 2, sure);
        }
        let months = Yearly::Months {
            first: month,
            count: 1,
        };
        self.with_year(months, i + 1, context == Context::In)
    }

    /// `7 May 2023`, `7th of May`
    fn day_first(&self, i: usize, context: Context) -> ReadTime {
        let (day, ordinal) = self.day_of_month(i)?;
        let next = self.skip(i + 1, "of");
        let month = names::month(self.word(next))?;
        let sure = ordinal || next > i + 1 || self.is_name_of_month(next, context);
        self.with_year(Yearly::Day { month, day }, next + 1, sure)
    }

    /// `summer of 2023`, `in the summer`, `Q2 2023`
    fn season(&self, i: usize, context: Context) -> ReadTime {
        let season = names::season(self.word(i))?;
        self.with_year(season, i + 1, context == Context::In)
    }

    /// The period in the year at `i`. Without a year, the most recent one, if the expression is
    /// unambiguous (`sure`).
    fn with_year(&self, yearly: Yearly, i: usize, sure: bool) -> ReadTime {
        let at = i + usize::from(self.kind(i) == Some(&Kind::Comma));
        let at = self.skip(at, "of");
        if let Some(year) = self.year(at) {
            return Some((yearly.in_year(year)?, at + 1));
        }
        let days = sure.then(|| yearly.recent(self.today)).flatten()?;
        Some((days, i))
    }

    fn yearly(&self, i: usize) -> Option<Yearly> {
        let month = |first| Yearly::Months { first, count: 1 };
        names::month(self.word(i))
            .map(month)
            .or_else(|| names::season(self.word(i)))
    }

    /// `may` and `march` are months only after a preposition, with a capital letter inside a
    /// sentence, or if the question has no other words.
    fn is_name_of_month(&self, i: usize, context: Context) -> bool {
        if context != Context::Bare || !names::is_also_a_verb(self.word(i)) {
            return true;
        }
        let before = i.checked_sub(1).and_then(|before| self.kind(before));
        let begins = matches!(before, None | Some(Kind::Stop));
        let capital = |token: &Token<'_>| token.raw.starts_with(|c: char| c.is_ascii_uppercase());
        self.tokens.len() == 2 || !begins && self.tokens.get(i).is_some_and(capital)
    }

    fn day_of_month(&self, i: usize) -> Option<(i8, bool)> {
        match self.kind(i)? {
            Kind::Number {
                value: value @ 1..=31,
                ordinal,
                ..
            } => Some((*value as i8, *ordinal)),
            _ => None,
        }
    }

    fn year(&self, i: usize) -> Option<i16> {
        match self.kind(i)? {
            Kind::Number {
                value: value @ 1900..=2199,
                digits: 4,
                ordinal: false,
            } => Some(*value as i16),
            _ => None,
        }
    }
}
