//! Converts the times that formats write to RFC 3339 in UTC.

use super::scalar::Scalar;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Returns the time in a field. The field holds RFC 3339, a date and time without a zone (read as
/// UTC), or seconds, milliseconds or microseconds since 1970.
pub(super) fn time(field: &Scalar<'_>) -> Option<String> {
    match field {
        Scalar::Text(text) => from_text(text),
        Scalar::Number(number) => from_number(*number),
        Scalar::Bool(_) | Scalar::Other => None,
    }
}

pub(super) fn from_text(text: &str) -> Option<String> {
    let text = text.trim();
    if is_normal(text) {
        return Some(text.to_owned());
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.to_string());
    }
    if let Ok(number) = text.parse::<f64>() {
        return from_number(number);
    }
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().to_string())
}

pub(super) fn from_number(number: f64) -> Option<String> {
    // Numbers below 1e11 are seconds (until the year 5138); larger ones are milliseconds, then
    // microseconds.
    let micros = if number.abs() < 1e11 {
        number * 1e6
    } else if number.abs() < 1e14 {
        number * 1e3
    } else {
        number
    };
    if !micros.is_finite() || micros <= 0.0 {
        return None;
    }
    Timestamp::from_microsecond(micros.round() as i64)
        .ok()
        .map(|time| time.to_string())
}

/// Whether the text is `2025-01-02T03:04:05Z`, with or without a fraction. Most records carry such
/// times, and these need no parsing.
fn is_normal(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let two = |i: usize, most: u8| {
        digit(i) && digit(i + 1) && {
            let tens = bytes.get(i).map_or(0, |b| b - b'0');
            tens * 10 + bytes.get(i + 1).map_or(0, |b| b - b'0') <= most
        }
    };
    let is = |i: usize, byte: u8| bytes.get(i) == Some(&byte);
    let fraction = match bytes.get(19..) {
        Some([b'Z']) => true,
        Some([b'.', digits @ .., b'Z']) => {
            (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    fraction
        && (0..4).all(digit)
        && is(4, b'-')
        && two(5, 12)
        && is(7, b'-')
        && two(8, 28)
        && is(10, b'T')
        && two(11, 23)
        && is(13, b':')
        && two(14, 59)
        && is(16, b':')
        && two(17, 59)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_time_becomes_rfc_3339_in_utc() {
        for (given, wanted) in [
            ("2025-01-02T03:04:05.678Z", "2025-01-02T03:04:05.678Z"),
            ("2025-01-31T03:04:05Z", "2025-01-31T03:04:05Z"),
            ("2025-01-02T03:04:05+02:00", "2025-01-02T01:04:05Z"),
            (
                "2025-01-02T03:04:05.123456+00:00",
                "2025-01-02T03:04:05.123456Z",
            ),
            ("2025-01-02 03:04:05", "2025-01-02T03:04:05Z"),
            ("1700000000.000100", "2023-11-14T22:13:20.0001Z"),
        ] {
            assert_eq!(from_text(given).as_deref(), Some(wanted), "{given}");
        }
        assert_eq!(
            from_number(1_700_000_000.5).as_deref(),
            Some("2023-11-14T22:13:20.5Z")
        );
        assert_eq!(
            from_number(1_700_000_000_500.0).as_deref(),
            Some("2023-11-14T22:13:20.5Z")
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "soon",
            "2025-13-02T03:04:05Z",
            "2025-02-31T00:00:00Z",
            "inf",
            "-5",
            "1e300",
        ] {
            assert_eq!(from_text(text), None, "{text}");
        }
    }
}
