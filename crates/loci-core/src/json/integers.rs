//! Finds integers that do not fit into 64 bits. serde_json reads them as floats and loses digits,
//! so an id of 30 digits would become another number. The text is therefore scanned before it is
//! parsed.

use crate::error::{Error, Result};

/// An integer that would lose digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeInteger {
    /// The key of the value; empty at the top level.
    pub key: String,
    /// Its digits, truncated if there are many.
    pub digits: String,
}

/// Number of digits that an error shows.
const SHOWN: usize = 40;

impl LargeInteger {
    /// The problem, for an error message.
    pub fn problem(&self) -> String {
        let Self { key, digits } = self;
        let place = match key.as_str() {
            "" => String::new(),
            key => format!("key `{key}`: "),
        };
        format!("{place}the integer {digits} does not fit into 64 bits; pass it as a string")
    }
}

/// Refuses JSON text with an integer that does not fit into 64 bits, signed or unsigned. `what`
/// names the text in the error. Numbers directly under the key `floats` are ignored, because they
/// are read as floats anyway.
pub fn refuse_large_integers(what: &str, json: &str, floats: Option<&str>) -> Result<()> {
    match large_integer(json.as_bytes(), floats) {
        Some(integer) => Err(Error::invalid(what, integer.problem())),
        None => Ok(()),
    }
}

/// The first integer in JSON text that does not fit into 64 bits. The result is unspecified for
/// text that is not JSON, which the parser refuses.
pub fn large_integer(json: &[u8], floats: Option<&str>) -> Option<LargeInteger> {
    // The last string, and the keys of the enclosing objects and lists.
    let (mut text, mut keys): (&[u8], Vec<&[u8]>) = (b"", Vec::new());
    let mut key: &[u8] = b"";
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let rest = json.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => {
                let length = string_length(rest);
                text = rest.get(1..length.saturating_sub(1)).unwrap_or_default();
                length
            }
            b':' => {
                key = text;
                1
            }
            b'{' | b'[' => {
                keys.push(key);
                1
            }
            b'}' | b']' => {
                key = keys.pop().unwrap_or_default();
                1
            }
            b'-' | b'0'..=b'9' => {
                let length = number_length(rest);
                let number = rest.get(..length).unwrap_or_default();
                if is_large(number) && floats.is_none_or(|floats| floats.as_bytes() != key) {
                    return Some(LargeInteger {
                        key: String::from_utf8_lossy(key).into_owned(),
                        digits: shortened(number),
                    });
                }
                length
            }
            _ => 1,
        };
        at += length.max(1);
    }
    None
}

/// Length in bytes of the string that starts here, quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn number_length(text: &[u8]) -> usize {
    let ends = |byte: &u8| !matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    text.iter().position(ends).unwrap_or(text.len())
}

fn is_large(number: &[u8]) -> bool {
    // 18 digits always fit.
    if number.len() <= 18 || number.iter().any(|byte| b".eE".contains(byte)) {
        return false;
    }
    let text = String::from_utf8_lossy(number);
    text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

fn shortened(number: &[u8]) -> String {
    let text = String::from_utf8_lossy(number);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "123456789012345678901234567890";

    fn key_of(json: &str) -> Option<String> {
        large_integer(json.as_bytes(), Some("embedding")).map(|found| found.key)
    }

    #[test]
    fn an_integer_of_30_digits_is_found_with_its_key() {
        for (json, key) in [
            (LONG.to_owned(), ""),
            (format!("[-{LONG}]"), ""),
            (format!(r#"{{"n": {LONG}}}"#), "n"),
            (format!(r#"{{"a": "b:1", "n" : [1, {LONG}]}}"#), "n"),
            (format!(r#"{{"k": [{{"x": 1}}, {LONG}]}}"#), "k"),
            (format!(r#"{{"a": {{"b": 1}}, "c": {LONG}}}"#), "c"),
            (
                format!(r#"{{"$or": [{{"y": {{"$gte": {LONG}}}}}]}}"#),
                "$gte",
            ),
            (r#"{"n": 18446744073709551616}"#.into(), "n"),
            (r#"{"n": -9223372036854775809}"#.into(), "n"),
        ] {
            assert_eq!(key_of(&json).as_deref(), Some(key), "{json}");
        }
    }

    #[test]
    fn floats_texts_and_integers_that_fit_are_left_alone() {
        for json in [
            format!(r#"{{"n": "{LONG}", "m\"": "\\", "{LONG}": 1}}"#),
            format!(r#"{{"a": {LONG}.0, "b": {LONG}e1, "c": 1e30, "d": 1E400}}"#),
            format!(r#"{{"embedding": [{LONG}]}}"#),
            r#"{"a": 18446744073709551615, "b": -9223372036854775808, "c": -0, "d": 0.1}"#.into(),
            "\"unfinished".into(),
            "\"\\".into(),
            String::new(),
        ] {
            assert_eq!(key_of(&json), None, "{json}");
        }
    }
}
