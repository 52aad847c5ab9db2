//! Parses times that refer to another time: `late May`, `the last week of October`, `the Saturday
//! after May 7`.
//!
//! The other time is a simple one, so the recursion depth does not depend on the length of the
//! question.

use super::calendar::{Days, Unit, containing, shift, weekday};
use super::names;
use super::point::{Context, ReadTime, Reader};
use super::token::Kind;

impl Reader<'_> {
    /// The time that begins at `i`.
    pub(super) fn point(&self, i: usize, context: Context) -> ReadTime {
        self.third(i)
            .or_else(|| self.nth(i))
            .or_else(|| self.beside(i))
            .or_else(|| self.simple(i, context))
    }

    /// The time that others refer to.
    fn other(&self, i: usize) -> ReadTime {
        self.simple(self.skip(i, "the"), Context::In)
    }

    /// `early May`, `the end of last year`
    fn third(&self, i: usize) -> ReadTime {
        let (which, next) = match (self.word(i), self.word(i + 1)) {
            ("early", _) => (0, i + 1),
            ("mid", _) => (1, i + 1),
            ("late", _) => (2, i + 1),
            ("beginning" | "start", "of") => (0, i + 2),
            ("middle", "of") => (1, i + 2),
            ("end", "of") => (2, i + 2),
            _ => return None,
        };
        let (days, next) = self.other(next)?;
        Some((days.third(which)?, next))
    }

    /// `first week of May`, `last weekend in May`. The first week of a month is its first seven
    /// days.
    fn nth(&self, i: usize) -> ReadTime {
        let which = match (self.word(i), self.kind(i)) {
            ("first", _) => 0,
            ("second", _) => 1,
            ("third", _) => 2,
            ("fourth", _) => 3,
            ("last", _) => -1,
            (
                _,
                Some(Kind::Number {
                    value: value @ 1..=4,
                    ordinal: true,
                    ..
                }),
            ) => value - 1,
            _ => return None,
        };
        let unit = names::unit(self.word(i + 1))?;
        if !matches!(self.word(i + 2), "of" | "in") {
            return None;
        }
        let (days, next) = self.other(i + 3)?;
        let found = match (unit, which) {
            (Unit::Weekend, -1) => beside(days.until, Unit::Weekend, -1)?,
            (Unit::Weekend, n) => {
                let first = beside(days.from, Unit::Weekend, 1)?;
                containing(shift(first.from, Unit::Week, n)?, Unit::Weekend)?
            }
            (unit, -1) => Days::new(shift(days.until, unit, -1)?, days.until),
            (unit, n) => {
                let from = shift(days.from, unit, n)?;
                Days::new(from, shift(from, unit, 1)?)
            }
        };
        let within = days.from <= found.from && found.until <= days.until;
        (within || unit == Unit::Weekend).then_some((found, next))
    }

    /// `week before May 7`, `Saturday after May 7`
    fn beside(&self, i: usize) -> ReadTime {
        let side = match self.word(i + 1) {
            "before" => -1,
            "after" => 1,
            _ => return None,
        };
        let word = self.word(i);
        let unit = names::unit(word);
        let name = names::weekday(word);
        if unit.is_none() && name.is_none() {
            return None;
        }
        let (days, next) = self.other(i + 2)?;
        let edge = if side < 0 { days.from } else { days.until };
        let found = match (unit, name) {
            (Some(unit), _) => beside(edge, unit, side),
            (None, Some(name)) if side < 0 => weekday(edge, name, -1),
            (None, Some(name)) => weekday(shift(edge, Unit::Day, -1)?, name, 1),
            (None, None) => None,
        };
        Some((found?, next))
    }
}

/// The unit that ends or begins at `edge`; for a weekend, the nearest one.
fn beside(edge: jiff::civil::Date, unit: Unit, side: i64) -> Option<Days> {
    if unit == Unit::Weekend {
        let same = containing(edge, Unit::Weekend)?;
        let fits = if side < 0 {
            same.until <= edge
        } else {
            edge <= same.from
        };
        return if fits {
            Some(same)
        } else {
            containing(shift(edge, Unit::Week, side)?, Unit::Weekend)
        };
    }
    let far = shift(edge, unit, side)?;
    Some(Days::new(edge.min(far), edge.max(far)))
}
