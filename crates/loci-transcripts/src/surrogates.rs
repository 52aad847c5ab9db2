//! Repairs JSON that JavaScript writes and `serde_json` rejects: escapes of half a UTF-16 surrogate
//! pair. Each becomes U+FFFD.

/// Replaces lone surrogate escapes. Returns `None` if there are none.
pub(super) fn replace_lone_surrogates(json: &str) -> Option<String> {
    if !json.contains("\\u") {
        return None;
    }
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    let mut changed = false;
    while let Some((before, from)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        repaired.push_str(before);
        let length = match unit(from) {
            Some(0xD800..=0xDBFF) => match from.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => 0,
            },
            Some(0xDC00..=0xDFFF) => 0,
            Some(_) => 6,
            // Any other escape. Skipping both bytes of `\\` keeps its second backslash from
            // starting an escape.
            None => 1 + from.chars().nth(1).map_or(0, char::len_utf8),
        };
        if length == 0 {
            repaired.push_str("\\ufffd");
            changed = true;
        }
        let (escape, after) = from
            .split_at_checked(if length == 0 { 6 } else { length })
            .unwrap_or((from, ""));
        if length > 0 {
            repaired.push_str(escape);
        }
        rest = after;
    }
    repaired.push_str(rest);
    changed.then_some(repaired)
}

/// Returns the code unit of an escape such as `\ud83d` at the start of the text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        assert_eq!(replace_lone_surrogates(r#"{"a":"\ud83d\ude00 \n"}"#), None);
        assert_eq!(replace_lone_surrogates(r#"{"a":"\\ud83d"}"#), None);
        assert_eq!(
            replace_lone_surrogates(r#"{"a":"\ud83d x"}"#).as_deref(),
            Some(r#"{"a":"\ufffd x"}"#)
        );
        assert_eq!(
            replace_lone_surrogates(r#""\ude00\ud83d\ud83d\ude00""#).as_deref(),
            Some(r#""\ufffd\ufffd\ud83d\ude00""#)
        );
    }

    proptest! {
        #[test]
        fn any_units_become_readable_json(units in proptest::collection::vec(any::<u16>(), 0..12)) {
            let escaped: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{}\"", escaped.concat());
            let json = replace_lone_surrogates(&json).unwrap_or(json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), String::from_utf16_lossy(&units));
        }
    }
}
