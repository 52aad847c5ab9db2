//! Finds the time in a question, and parses the dates in metadata.
//!
//! English only. An ambiguous expression does not count as a time: without a time nothing is lost,
//! but a wrong time hides the answer.

mod authored;
mod calendar;
mod names;
mod point;
mod relation;
mod token;

use std::ops::Range;

use jiff::civil::{Date, date};

pub use authored::authored;

use calendar::{Days, Unit, shift};
use point::{Context, Reader};

/// The start of `before`.
const EARLIEST: Date = date(1, 1, 1);
/// The end of `after`.
const LATEST: Date = date(9999, 12, 31);

/// The time in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// The first day; 0001-01-01 if there is no first day.
    pub from: Date,
    /// The day after the last day, later than `from`; 9999-12-31 if there is no last day.
    pub until: Date,
    /// The byte range of the expression in the question, including its preposition.
    pub phrase: Range<usize>,
}

/// The first time in a question, if there is one.
///
/// ```
/// use jiff::civil::date;
/// let when = loci_text::when::find("What did we plan last week?", date(2023, 5, 20)).unwrap();
/// assert_eq!((when.from, when.until), (date(2023, 5, 8), date(2023, 5, 15)));
/// ```
pub fn find(query: &str, today: Date) -> Option<When> {
    let tokens = token::tokens(query);
    let reader = Reader {
        tokens: &tokens,
        today,
    };
    (0..reader.tokens.len()).find_map(|i| {
        let (days, next) = expression(&reader, i)?;
        let start = reader.tokens.get(i)?.place.start;
        let end = reader.tokens.get(next.checked_sub(1)?)?.place.end;
        (days.from < days.until).then_some(When {
            from: days.from,
            until: days.until,
            phrase: start..end,
        })
    })
}

/// The time that begins at token `i`, with its preposition, and the index of the next token.
fn expression(reader: &Reader<'_>, i: usize) -> Option<(Days, usize)> {
    let object = |context| reader.point(reader.skip(i + 1, "the"), context);
    match reader.word(i) {
        "between" => range(reader, i + 1, &["and"]),
        "from" => range(reader, i + 1, &["to", "until", "till", "through"])
            .or_else(|| object(Context::In)),
        "since" => {
            let (days, next) = object(Context::In)?;
            let tomorrow = shift(reader.today, Unit::Day, 1)?;
            Some((Days::new(days.from, tomorrow), next))
        }
        "before" | "until" | "till" => {
            let (days, next) = object(Context::In)?;
            Some((Days::new(EARLIEST, days.from), next))
        }
        "after" => {
            let (days, next) = object(Context::In)?;
            Some((Days::new(days.until, LATEST), next))
        }
        "as" if reader.word(i + 1) == "of" => {
            let (days, next) = reader.point(reader.skip(i + 2, "the"), Context::In)?;
            Some((Days::new(EARLIEST, days.until), next))
        }
        "in" | "during" | "around" => object(Context::In),
        "of" if !is_count(reader, i) => object(Context::In),
        "on" => object(Context::On),
        _ => reader.point(i, Context::Bare),
    }
}

/// `a total of 2000` is not a year.
fn is_count(reader: &Reader<'_>, i: usize) -> bool {
    let before = i.checked_sub(1).map_or("", |before| reader.word(before));
    matches!(
        before,
        "total" | "sum" | "out" | "number" | "maximum" | "limit" | "count" | "most" | "batch"
    )
}

/// `X and Y`. If the first time has no year, it is the last one before the second time.
fn range(reader: &Reader<'_>, i: usize, joints: &[&str]) -> Option<(Days, usize)> {
    let (mut first, joint) = reader.point(reader.skip(i, "the"), Context::In)?;
    if !joints.contains(&reader.word(joint)) {
        return None;
    }
    let (last, next) = reader.point(reader.skip(joint + 1, "the"), Context::In)?;
    if first.floating {
        let then = Reader {
            today: last.from,
            ..*reader
        };
        (first, _) = then.point(reader.skip(i, "the"), Context::In)?;
    }
    Some((
        Days::new(first.from.min(last.from), first.until.max(last.until)),
        next,
    ))
}
