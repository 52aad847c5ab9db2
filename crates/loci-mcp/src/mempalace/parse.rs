//! Parses arguments with MemPalace's rules: names of wings and rooms, names in facts, texts, dates
//! and numbers. As in MemPalace, numbers out of bounds are clamped, and a number may be a string.

use loci_palace::Error;
use serde_json::Value;

use super::outcome::{Outcome, Refusal, refuse};
use crate::arguments::{Arguments, shortened};

/// Maximum number of characters of a name.
const MOST_NAME: usize = 128;
/// Maximum number of characters of a text.
const MOST_CONTENT: usize = 100_000;
/// Maximum number of characters of a source's path.
const MOST_SOURCE: usize = 4096;

/// A required text, which may be blank.
pub(super) fn required<'a>(arguments: &Arguments<'a>, name: &str) -> Outcome<&'a str> {
    text(arguments, name)?.ok_or_else(|| Refusal::Call(arguments.missing(name)))
}

/// An optional text.
pub(super) fn text<'a>(arguments: &Arguments<'a>, name: &str) -> Outcome<Option<&'a str>> {
    arguments.text(name).map_err(Refusal::Call)
}

/// A name of a wing, room, agent, topic or predicate: letters, digits, spaces and a few marks, with
/// a letter or digit at both ends.
pub(super) fn name<'a>(value: &'a str, field: &str) -> Outcome<&'a str> {
    let value = value.trim();
    if value.is_empty() {
        return refuse(format!("{field} is empty; give a name"));
    }
    if value.chars().count() > MOST_NAME {
        return refuse(format!("{field} is longer than {MOST_NAME} characters"));
    }
    if value.contains("..") || value.contains(['/', '\\']) {
        return refuse(format!("{field} looks like a path; give a plain name"));
    }
    let inner = |letter: char| letter.is_alphanumeric() || "_ .'-".contains(letter);
    let edge = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    if !value.chars().all(inner) || !edge(value.chars().next()) || !edge(value.chars().next_back())
    {
        return refuse(format!(
            "{field} may hold letters, digits, spaces and _ . ' - only, and begins and ends with a letter or digit"
        ));
    }
    Ok(value)
}

/// A required name.
pub(super) fn required_name<'a>(arguments: &Arguments<'a>, field: &str) -> Outcome<&'a str> {
    name(required(arguments, field)?, field)
}

/// An optional name; a blank one counts as absent.
pub(super) fn optional_name<'a>(
    arguments: &Arguments<'a>,
    field: &str,
) -> Outcome<Option<&'a str>> {
    match text(arguments, field)? {
        Some(value) if !value.trim().is_empty() => name(value, field).map(Some),
        _ => Ok(None),
    }
}

/// A subject or object of a fact: any text up to the maximum length of a name.
pub(super) fn entity<'a>(value: &'a str, field: &str) -> Outcome<&'a str> {
    let value = value.trim();
    if value.is_empty() {
        return refuse(format!("{field} is empty; give a name"));
    }
    if value.chars().count() > MOST_NAME {
        return refuse(format!("{field} is longer than {MOST_NAME} characters"));
    }
    if value.contains('\0') {
        return refuse(format!("{field} holds a NUL character"));
    }
    Ok(value)
}

/// The text of a drawer or of a diary's entry.
pub(super) fn content(value: &str) -> Outcome<&str> {
    if value.trim().is_empty() {
        return refuse("content is empty; give the text");
    }
    if value.chars().count() > MOST_CONTENT {
        return refuse(format!(
            "content is longer than {MOST_CONTENT} characters; give it in parts"
        ));
    }
    if value.contains('\0') {
        return refuse("content holds a NUL character");
    }
    Ok(value)
}

/// The path of a source, as a filter; a blank one counts as absent.
pub(super) fn source<'a>(arguments: &Arguments<'a>) -> Outcome<Option<&'a str>> {
    let Some(value) = text(arguments, "source_file")?.map(str::trim) else {
        return Ok(None);
    };
    if value.contains('\0') || value.chars().count() > MOST_SOURCE {
        return refuse(format!(
            "source_file holds a NUL character or is longer than {MOST_SOURCE} characters"
        ));
    }
    Ok(Some(value).filter(|value| !value.is_empty()))
}

/// A day, or a moment in UTC, which is returned with `Z` at the end. A blank one counts as absent.
pub(super) fn date(arguments: &Arguments<'_>, field: &str) -> Outcome<Option<String>> {
    let Some(value) = text(arguments, field)?.map(str::trim) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    let moment = value.replacen("+00:00", "Z", 1);
    let day = is_day(&moment);
    let utc = moment.len() == 20 && moment.ends_with('Z') && is_moment(&moment);
    if day || utc {
        return Ok(Some(moment));
    }
    refuse(format!(
        "{field} is `{}`; give a date as YYYY-MM-DD or a moment as YYYY-MM-DDTHH:MM:SSZ",
        shortened(value)
    ))
}

/// A bound of a time window in local time: `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SS…`, without offset.
pub(super) fn bound(arguments: &Arguments<'_>, field: &str) -> Outcome<Option<String>> {
    let Some(value) = text(arguments, field)?.map(str::trim) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    let clock = wall_clock(value);
    match clock {
        Some(clock) => Ok(Some(clock)),
        None => refuse(format!(
            "{field} is `{}`; give a date such as 2026-04-01 or 2026-04-01T09:30:00",
            shortened(value)
        )),
    }
}

/// Date and time of day to the second, without offset. A date alone means midnight.
fn wall_clock(value: &str) -> Option<String> {
    let value = value.strip_suffix(['Z', 'z']).unwrap_or(value);
    if is_day(value) {
        return Some(value.to_owned());
    }
    let (day, time) = value.split_once(['T', ' '])?;
    let time = time.split(['+', '-']).next()?;
    let whole = time.split('.').next()?;
    let seconds = if whole.len() == 5 { ":00" } else { "" };
    let moment = format!("{day}T{whole}{seconds}");
    (is_day(day) && is_moment(&format!("{moment}Z"))).then(|| {
        moment
            .strip_suffix("T00:00:00")
            .unwrap_or(&moment)
            .to_owned()
    })
}

fn is_day(value: &str) -> bool {
    value.len() == 10 && value.parse::<jiff::civil::Date>().is_ok()
}

fn is_moment(value: &str) -> bool {
    value.parse::<jiff::Timestamp>().is_ok()
}

/// A whole number, clamped to its bounds.
pub(super) fn whole(
    arguments: &Arguments<'_>,
    field: &str,
    default: usize,
    bounds: (usize, usize),
) -> Outcome<usize> {
    let Some(number) = number(arguments, field)? else {
        return Ok(default);
    };
    let (least, most) = bounds;
    if number <= least as f64 {
        return Ok(least);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number between the bounds, cut to a whole one as int() does"
    )]
    let number = number as usize;
    Ok(number.min(most))
}

/// A number.
pub(super) fn number(arguments: &Arguments<'_>, field: &str) -> Outcome<Option<f64>> {
    let number = match arguments.value(field) {
        None => return Ok(None),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    match number.filter(|number| number.is_finite()) {
        Some(number) => Ok(Some(number)),
        None => Err(Refusal::Call(Error::invalid(
            arguments.named(field),
            "must be a number",
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn names_are_taken_and_refused_as_mempalace_does() {
        for good in [
            "home",
            "wing_claude code",
            "O'Neil",
            "a-b.c",
            "küche",
            "7",
            "日記",
        ] {
            assert_eq!(name(&format!(" {good} "), "wing").unwrap(), good);
        }
        let long = "x".repeat(MOST_NAME + 1);
        for bad in [
            "", "  ", "../x", "a/b", "a\\b", "_x", "x_", "a:b", "a\0b", &long,
        ] {
            assert!(name(bad, "wing").is_err(), "{bad}");
        }
        assert!(name(&"x".repeat(MOST_NAME), "wing").is_ok());
    }

    #[test]
    fn facts_hold_punctuation_in_names() {
        assert_eq!(
            entity(" Rome, Italy (2024) ", "object").unwrap(),
            "Rome, Italy (2024)"
        );
        assert!(entity(" ", "object").is_err());
        assert!(entity("a\0", "object").is_err());
    }

    #[test]
    fn dates_of_facts_are_days_or_moments_in_utc() {
        for (given, kept) in [
            (json!("2026-01-31"), Some("2026-01-31")),
            (
                json!("2026-01-31T10:00:00+00:00"),
                Some("2026-01-31T10:00:00Z"),
            ),
            (json!("2026-01-31T10:00:00Z"), Some("2026-01-31T10:00:00Z")),
            (json!(""), None),
            (json!(null), None),
        ] {
            let map = map(&json!({"at": given}));
            assert_eq!(date(&Arguments::new(&map), "at").unwrap().as_deref(), kept);
        }
        for bad in [
            "2026",
            "2026-02-30",
            "2026-01-31T10:00:00",
            "2026-01-31T10:00:00+02:00",
            "soon",
        ] {
            let map = map(&json!({"at": bad}));
            assert!(date(&Arguments::new(&map), "at").is_err(), "{bad}");
        }
    }

    #[test]
    fn bounds_in_time_drop_the_offset_and_midnight() {
        for (given, kept) in [
            ("2026-04-01", Some("2026-04-01")),
            ("2026-04-01Z", Some("2026-04-01")),
            ("2026-04-01T00:00:00", Some("2026-04-01")),
            ("2026-04-01T09:30:00", Some("2026-04-01T09:30:00")),
            ("2026-04-01 09:30", Some("2026-04-01T09:30:00")),
            ("2026-04-01T09:30:00.5+02:00", Some("2026-04-01T09:30:00")),
            ("2026-04-31", None),
            ("yesterday", None),
            ("2026-04-01T25:00:00", None),
        ] {
            assert_eq!(wall_clock(given).as_deref(), kept, "{given}");
        }
    }

    #[test]
    fn numbers_are_moved_into_their_bounds() {
        for (given, kept) in [
            (json!(7), 7),
            (json!("7"), 7),
            (json!(7.9), 7),
            (json!(0), 1),
            (json!(-3), 1),
            (json!(1e300), 100),
            (json!(null), 5),
        ] {
            let map = map(&json!({"limit": given}));
            let arguments = Arguments::new(&map);
            assert_eq!(whole(&arguments, "limit", 5, (1, 100)).unwrap(), kept);
        }
        let map = map(&json!({"limit": "two"}));
        assert!(matches!(
            whole(&Arguments::new(&map), "limit", 5, (1, 100)),
            Err(Refusal::Call(_))
        ));
    }
}
