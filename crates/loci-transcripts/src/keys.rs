//! Reads the keys of a JSON object that may be truncated: the top-level keys, those of their values
//! that are short strings, and the keys of objects one level below.

/// Longer values are not kept.
const MAX_VALUE_BYTES: usize = 120;

/// The keys of one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    fields: Vec<(String, Option<String>)>,
    /// The keys of the objects in the fields, such as `message.role`.
    inner: Vec<String>,
}

impl Keys {
    /// Reads the object at the start of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut keys = Self::default();
        let (mut depth, mut in_string, mut escaped, mut is_value) = (0_u32, false, false, false);
        // Whether the value at the second level is an object, and whether its next string is a
        // value.
        let (mut in_object, mut is_inner_value) = (false, false);
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
                            Some((outer, _)) if depth == 2 && in_object && !is_inner_value => {
                                keys.inner.push(format!("{outer}.{text}"));
                            }
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
                b':' if depth == 2 => is_inner_value = true,
                b',' if depth == 2 => is_inner_value = false,
                b'{' | b'[' => {
                    depth += 1;
                    if depth == 2 {
                        (in_object, is_inner_value) = (byte == b'{', false);
                    }
                }
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

    /// Whether the object has a field with this key of an object inside, such as `message.role`.
    pub(super) fn has_inner(&self, path: &str) -> bool {
        self.inner.iter().any(|known| known == path)
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

    #[test]
    fn the_keys_of_inner_objects_are_known_by_their_path() {
        let keys = Keys::of(
            br#"{"a":"x","m":{"role":"user","n":{"deep":1},"parts":[{"text":"t"}]},"l":["p",{"q":1}],"o":{"k":"cut"#,
        );
        for path in ["m.role", "m.n", "m.parts", "o.k"] {
            assert!(keys.has_inner(path), "{path}");
        }
        for path in ["m.user", "m.deep", "m.text", "l.p", "l.q", "o.cut", "a.x"] {
            assert!(!keys.has_inner(path), "{path}");
        }
    }
}
