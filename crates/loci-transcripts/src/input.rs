//! Renders the input of a tool call as text. A string stays as it is, an object becomes
//! `key: value` lines with its strings as they are, and anything else becomes JSON.

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Renders the input as text.
pub(super) fn render(input: &RawValue) -> String {
    let json = input.get();
    if json.starts_with('"') {
        return serde_json::from_str(json).unwrap_or_else(|_| json.to_owned());
    }
    if !json.starts_with('{') {
        return if json == "null" {
            String::new()
        } else {
            json.to_owned()
        };
    }
    let mut text = String::with_capacity(json.len());
    let mut deserializer = serde_json::Deserializer::from_str(json);
    match deserializer.deserialize_map(Fields(&mut text)) {
        Ok(()) => text,
        Err(_) => json.to_owned(),
    }
}

/// Renders input that is JSON inside a string. A string that is not JSON stays as it is.
pub(super) fn render_text(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(input) if input.get().starts_with('{') => render(input),
        _ => text.to_owned(),
    }
}

/// Renders input that is already parsed.
pub(super) fn render_value(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        _ => render_text(&input.to_string()),
    }
}

struct Fields<'a>(&'a mut String);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let text = self.0;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let value: &'de RawValue = map.next_value()?;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&key);
            let value: Cow<'_, str> = if value.get().starts_with('"') {
                serde_json::from_str(value.get()).map_err(serde::de::Error::custom)?
            } else {
                Cow::Borrowed(value.get())
            };
            text.push_str(if value.contains('\n') { ":\n" } else { ": " });
            text.push_str(&value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        render(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn strings_of_an_object_stand_as_they_are() {
        assert_eq!(
            text(r#"{"command":"ls -l","timeout":5}"#),
            "command: ls -l\ntimeout: 5"
        );
        assert_eq!(
            text(r#"{"new_string":"a\n  \"b\""}"#),
            "new_string:\na\n  \"b\""
        );
        assert_eq!(text(r#"{"todos":[{"x": 1}]}"#), r#"todos: [{"x": 1}]"#);
        assert_eq!(text(r#""raw \t""#), "raw \t");
        assert_eq!(text("null"), "");
        assert_eq!(text("[1]"), "[1]");
    }

    #[test]
    fn json_in_a_string_is_read_and_other_strings_are_not() {
        assert_eq!(render_text(r#"{"cmd":"a"}"#), "cmd: a");
        assert_eq!(render_text("*** Begin Patch\n{"), "*** Begin Patch\n{");
        assert_eq!(render_text("12"), "12");
    }
}
