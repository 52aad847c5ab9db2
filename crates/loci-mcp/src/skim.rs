//! Finds the id of a message that is too long to be read, so that its sender gets an answer. It
//! reads each byte once and uses little memory.

use rmcp::model::RequestId;

/// Longer keys and ids are ignored.
const KEPT_BYTES: usize = 128;

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The key or value at the top level that is being read.
    word: Vec<u8>,
    /// Whether the next value belongs to `id`.
    is_id: bool,
    id: Option<Vec<u8>>,
}

impl Skim {
    /// Scans the next bytes of the message.
    pub(crate) fn look_at(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id, if there was one.
    pub(crate) fn id(self) -> Option<RequestId> {
        serde_json::from_slice(&self.id?).ok()
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.word.clear();
            }
            b':' if self.depth == 1 => {
                self.is_id = self.word == b"\"id\"";
                self.word.clear();
            }
            b',' if self.depth == 1 => self.end_of_value(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            space if space.is_ascii_whitespace() => {}
            other => self.keep(other),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < KEPT_BYTES {
            self.word.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        let word = std::mem::take(&mut self.word);
        if std::mem::take(&mut self.is_id) {
            self.id = Some(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_in(message: &str) -> Option<RequestId> {
        let mut skim = Skim::default();
        // In two parts, as they may come.
        let (head, tail) = message.as_bytes().split_at(message.len() / 2);
        skim.look_at(head);
        skim.look_at(tail);
        skim.id()
    }

    #[test]
    fn the_id_of_the_message_is_found_and_no_other() {
        let seven = Some(RequestId::Number(7));
        for (message, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"params":{"id":8}}"#,
                seven.clone(),
            ),
            (
                r#"{"params":{"id":8,"x":[{"id":9}]}, "id" : 7 }"#,
                seven.clone(),
            ),
            (r#"{"params":{"text":"\"id\":8}"},"id":7}"#, seven.clone()),
            (r#"{"text":"\\","id":7}"#, seven),
            (
                r#"{"id":"a,}b","method":"x"}"#,
                Some(RequestId::String("a,}b".into())),
            ),
            (r#"{"method":"id","params":{"id":8}}"#, None),
            (r#"[{"id":8}]"#, None),
            (r#"{"id":{"id":8}}"#, None),
            ("}}}}]]", None),
            ("", None),
        ] {
            assert_eq!(id_in(message), expected, "{message}");
        }
    }
}
