//! Parses the dates of facts.

use loci_core::clock::now_ms;
use loci_core::{DateSpan, Error, Fact, Result};
use loci_recall::{date_of, start_of, today};

/// A parsed date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedDate {
    /// The stored form: a year, month or day as written, or a moment.
    pub(super) written: String,
    /// The period that it spans.
    pub(super) span: DateSpan,
}

/// Parses a date: a year, month, day or moment, or words such as `yesterday`, which are stored as
/// their first day.
pub(super) fn read(what: &str, text: &str) -> Result<ParsedDate> {
    let text = text.trim();
    let read = match text {
        "now" => Some(now()),
        // Handled separately, because a period needs a next day and the last representable day has
        // none.
        "today" => kept(&today().to_string()),
        _ => kept(text).or_else(|| named(text)),
    };
    read.ok_or_else(|| {
        Error::invalid(
            format!("{what} {}", loci_core::quoted(text)),
            "not a date; write a year, month or day such as 2026-01-31, a moment such as 2026-01-31T09:30:00Z, or words such \
             as `yesterday`",
        )
    })
}

/// The current moment, to the second.
pub(super) fn now() -> ParsedDate {
    let moment = now_ms() / 1000 * 1000;
    ParsedDate {
        written: date_of(moment),
        span: DateSpan {
            first: moment,
            last: moment,
        },
    }
}

/// Refuses a fact that ends before it begins. A fact that ends in the period in which it begins is
/// accepted, because the exact hours are unknown.
pub(super) fn check_order(fact: &Fact, until: DateSpan) -> Result<()> {
    let (since, _) = fact.span();
    if since <= until.last {
        return Ok(());
    }
    Err(Error::invalid(
        format!("end of {}", fact.statement()),
        format!(
            "{} is before its beginning, {}",
            fact.valid_to.as_deref().unwrap_or_default(),
            fact.valid_from.as_deref().unwrap_or_default()
        ),
    ))
}

/// A year, month, day or moment.
fn kept(text: &str) -> Option<ParsedDate> {
    let span = DateSpan::parse(text)?;
    let bytes = text.as_bytes();
    let is_plain = matches!(bytes.get(4), None | Some(b'-')) && !text.contains(' ');
    Some(ParsedDate {
        written: if is_plain {
            text.to_owned()
        } else {
            date_of(span.first)
        },
        span,
    })
}

/// Parses words such as `yesterday` or `last week`.
fn named(text: &str) -> Option<ParsedDate> {
    let find = |text: &str| {
        let when = loci_text::when::find(text, today())?;
        (when.phrase.len() == text.len()).then_some(when)
    };
    let when = find(text).or_else(|| find(&format!("last {text}")))?;
    let (first, end) = (start_of(when.from)?, start_of(when.until)?);
    Some(ParsedDate {
        written: date_of(first).split('T').next()?.to_owned(),
        span: DateSpan {
            first,
            last: end - 1,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_kept_as_written_and_words_as_their_first_day() {
        for (given, written) in [
            ("2024", "2024"),
            (" 2024-05 ", "2024-05"),
            ("2024-05-31", "2024-05-31"),
            ("2024-05-31T10:00:00+02:00", "2024-05-31T10:00:00+02:00"),
            ("31 May 2024", "2024-05-31T00:00:00Z"),
            ("2024-05-31 10:00", "2024-05-31T10:00:00Z"),
        ] {
            assert_eq!(read("date", given).unwrap().written, written);
        }
        let today = date_of(now_ms()).split('T').next().unwrap().to_owned();
        let yesterday = read("date", "yesterday").unwrap();
        assert_eq!(yesterday.written.len(), 10);
        assert!(yesterday.written < today);
        assert_eq!(DateSpan::parse(&yesterday.written), Some(yesterday.span));
        for bad in [
            "",
            "soon",
            "2024-13",
            "2024-05-31 or so",
            "yesterday evening perhaps",
        ] {
            let error = read("end", bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("end `{bad}`")), "{error}");
        }
    }
}
