//! Parses dates in metadata.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use super::names;

/// A longer value is not a date.
const LONGEST: usize = 64;

/// Parses a date to milliseconds since 1970 in UTC. A value without an offset counts as UTC, and a
/// value without a time as midnight.
///
/// Formats: RFC 3339, RFC 2822, `2023-05-07`, `2023-05-07 13:56`, `1:56 pm on 8 May, 2023`,
/// `2023/05/20 (Sat) 02:21` and whole numbers. Nine to eleven digits are seconds since 1970, and
/// twelve to fourteen are milliseconds.
///
/// ```
/// use loci_text::when::authored;
/// assert_eq!(authored("2023-05-08T13:56:00Z"), Some(1_683_554_160_000));
/// assert_eq!(authored("1:56 pm on 8 May, 2023"), Some(1_683_554_160_000));
/// assert_eq!(authored("someday"), None);
/// ```
pub fn authored(value: &str) -> Option<i64> {
    let value = value.trim();
    if value.is_empty() || value.len() > LONGEST || !value.is_ascii() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits(value);
    }
    let stamp = value
        .parse::<Timestamp>()
        .or_else(|_| jiff::fmt::rfc2822::parse(value).map(|zoned| zoned.timestamp()));
    if let Ok(stamp) = stamp {
        return Some(stamp.as_millisecond());
    }
    // Values such as `2023-05-07T13:56:10[Europe/Rome]` need a time zone database, which is not
    // available here.
    let plain = value
        .parse::<DateTime>()
        .ok()
        .filter(|_| !value.contains('['));
    utc(plain.or_else(|| written(value))?)
}

fn utc(time: DateTime) -> Option<i64> {
    let zoned = time.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

fn digits(value: &str) -> Option<i64> {
    let number: i64 = value.parse().ok()?;
    match value.len() {
        // 20230507 is a date. As a number of seconds it would be in 1970.
        8 => {
            let field = |range: std::ops::Range<usize>| value.get(range)?.parse::<i16>().ok();
            let (year, month, day) = (field(0..4)?, field(4..6)?, field(6..8)?);
            let date = Date::new(year, month as i8, day as i8).ok()?;
            (1900..2200).contains(&year).then(|| utc(date.into()))?
        }
        9..=11 => number.checked_mul(1000),
        12..=14 => Some(number),
        _ => None,
    }
}

/// The fields of a date in words that were read so far.
#[derive(Default)]
struct Fields {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<(i8, i8, i8)>,
    afternoon: Option<bool>,
}

/// Every word of the value must be understood, and no field may appear twice.
fn written(value: &str) -> Option<DateTime> {
    let mut fields = Fields::default();
    let lower = value.to_ascii_lowercase();
    let words = lower
        .split([' ', ',', '(', ')', '\t'])
        .filter(|word| !word.is_empty());
    for word in words {
        fields.read(word)?;
    }
    let date = Date::new(fields.year?, fields.month?, fields.day?).ok()?;
    let (hour, minute, second) = match (fields.time, fields.afternoon) {
        (None, None) => (0, 0, 0),
        (Some(time), None) => time,
        (Some((12, minute, second)), Some(afternoon)) => {
            (if afternoon { 12 } else { 0 }, minute, second)
        }
        (Some((hour @ 1..=11, minute, second)), Some(afternoon)) => {
            (if afternoon { hour + 12 } else { hour }, minute, second)
        }
        _ => return None,
    };
    Some(date.to_datetime(Time::new(hour, minute, second, 0).ok()?))
}

impl Fields {
    fn read(&mut self, word: &str) -> Option<()> {
        let word = word.strip_suffix('.').unwrap_or(word);
        if matches!(word, "on" | "at" | "of" | "the" | "utc") || is_weekday(word) {
            return Some(());
        }
        if let Some(month) = names::month(word) {
            return fill(&mut self.month, month);
        }
        if matches!(word, "am" | "pm") {
            return fill(&mut self.afternoon, word == "pm");
        }
        if word.contains(':') {
            return self.read_time(word);
        }
        if let Some((year, rest)) = word.split_once(['/', '-']) {
            let (month, day) = rest.split_once(['/', '-'])?;
            fill(&mut self.year, number(year, 4, 4)?)?;
            fill(&mut self.month, number(month, 1, 2)? as i8)?;
            return fill(&mut self.day, number(day, 1, 2)? as i8);
        }
        if word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            return fill(&mut self.year, number(word, 4, 4)?);
        }
        let day = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        match word.get(day.len()..)? {
            "" | "st" | "nd" | "rd" | "th" => fill(&mut self.day, number(day, 1, 2)? as i8),
            _ => None,
        }
    }

    /// `13:56`, `13:56:10`, `1:56pm`
    fn read_time(&mut self, word: &str) -> Option<()> {
        let clock = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        match word.get(clock.len()..)? {
            "" => {}
            half @ ("am" | "pm") => fill(&mut self.afternoon, half == "pm")?,
            _ => return None,
        }
        let mut fields = clock.split(':');
        let hour = number(fields.next()?, 1, 2)?;
        let minute = number(fields.next()?, 2, 2)?;
        let second = fields.next().map_or(Some(0), |word| number(word, 2, 2))?;
        if fields.next().is_some() {
            return None;
        }
        fill(&mut self.time, (hour as i8, minute as i8, second as i8))
    }
}

fn fill<T>(field: &mut Option<T>, value: T) -> Option<()> {
    field.is_none().then(|| *field = Some(value))
}

fn number(word: &str, fewest: usize, most: usize) -> Option<i16> {
    let fits = (fewest..=most).contains(&word.len());
    (fits && word.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| word.parse().ok())
        .flatten()
}

fn is_weekday(word: &str) -> bool {
    let short = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    short.contains(&word) || names::weekday(word).is_some()
}
