//! Sizes, counts and spans of time for people.

/// Bytes in a readable unit.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes as f64 >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => format!("{bytes} bytes"),
    }
}

/// A number with its noun, in the plural unless it is one.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A span of time in the largest fitting unit.
pub(crate) fn span(seconds: u64) -> String {
    let minutes = seconds / 60;
    let (number, unit) = match (minutes / (24 * 60), minutes / 60, minutes) {
        (0, 0, 0) => (seconds, "second"),
        (0, 0, minutes) => (minutes, "minute"),
        (0, hours, _) => (hours, "hour"),
        (days, _, _) => (days, "day"),
    };
    count(number, unit)
}

/// How long ago something was.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_reported_in_the_unit_that_fits() {
        let spans = [0, 1, 59, 60, 10_685, 86_400, 200_000].map(span);
        assert_eq!(
            spans,
            [
                "0 seconds",
                "1 second",
                "59 seconds",
                "1 minute",
                "2 hours",
                "1 day",
                "2 days"
            ]
        );
        assert_eq!([0, 90].map(ago), ["just now", "1 minute ago"]);
    }
}
