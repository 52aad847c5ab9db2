//! Reads the top-level keys of a JSON object that may be truncated, and those of their values that
//! are short strings.

/// Longer values are not kept.
const MAX_VALUE_BYTES: usize = 120;

/// The top-level keys of one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    fields: Vec<(String, Option<String>)>,
}

impl Keys {
    /// Reads the object at the start of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut keys = Self::default();
        let (mut depth, mut in_string, mut escaped, mut is_value) = (0_u32, false, false, false);
        let mut string: Vec<u8> = Vec::new();
        for &byte in bytes {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => {
                        in_string = false;
                        let text = String::from_utf8_lossy(&string).into_owned();
                        match keys.fields.last_mut().filter(|_| is_value) {
                            Some((_, value)) if depth == 1 => {
                                *value = Some(text).filter(|text| text.len() <= MAX_VALUE_BYTES);
                            }
                            None if depth == 1 => keys.fields.push((text, None)),
                            _ => {}
                        }
                        continue;
                    }
                    _ => {}
                }
                if string.len() <= MAX_VALUE_BYTES {
                    string.push(byte);
                }
                continue;
            }
            match byte {
                b'"' => {
                    in_string = true;
                    string.clear();
                }
                b':' if depth == 1 => is_value = true,
                b',' if depth == 1 => is_value = false,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        keys
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == key)
    }

    /// The value of a key if it is a short string, else empty.
    pub(super) fn value(&self, key: &str) -> &str {
        let field = self.fields.iter().find(|(name, _)| name == key);
        field
            .and_then(|(_, value)| value.as_deref())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_cut_off_tells_the_keys_before_the_cut() {
        let keys = Keys::of(
            br#" {"type":"user","n":{"inner":"x"},"list":["a","b"],"message":{"content":"cut o"#,
        );
        for key in ["type", "n", "list", "message"] {
            assert!(keys.has(key), "{key}");
        }
        assert!(!keys.has("inner") && !keys.has("a") && !keys.has("content"));
        assert_eq!(keys.value("type"), "user");
        assert_eq!(keys.value("list"), "");
    }
}
