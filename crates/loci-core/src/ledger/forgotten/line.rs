//! Splits a text into lines and hashes them with a key.

/// Shorter lines are not used to recognise a text in any source.
const LINE_BYTES: usize = 4;
/// A line of at least this length is unlikely to appear in two texts by chance.
const TELLING_LINE_BYTES: usize = 24;

/// Represents the position before the first line of a source.
pub(super) const BEGINNING: u64 = 1;

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Line number in its text, counted from 1.
    pub(super) number: u32,
    /// Keyed hash. The lowest bit is 1 for a line with content.
    pub(super) hash: u64,
    /// The hash without that bit, for a line that may be recognised in any source.
    pub(super) plain: Option<u64>,
    /// Whether it has content and is long.
    pub(super) is_telling: bool,
}

/// Whether a hashed line has content of its own. A line that ends with a colon only introduces what
/// follows, such as a speaker or a tool. A line without a letter or a digit is punctuation.
pub(super) fn has_content(hash: u64) -> bool {
    hash & 1 == 1
}

/// The lines of a text without blank ones. Surrounding white space is ignored.
pub(super) fn lines_of(key: &[u8; 32], text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let plain = hash_of(key, line);
        let content = !line.ends_with([':', '：']) && line.chars().any(char::is_alphanumeric);
        lines.push(Line {
            number,
            hash: plain & !1 | u64::from(content),
            plain: (line.len() >= LINE_BYTES).then_some(plain),
            is_telling: content && line.len() >= TELLING_LINE_BYTES,
        });
    }
    lines
}

/// Keyed hash of the name of a source. 0 means no source.
pub fn source_hash(key: &[u8; 32], name: &str) -> u64 {
    hash_of(key, &format!("source\0{name}")).max(1)
}

fn hash_of(key: &[u8; 32], text: &str) -> u64 {
    let hash = blake3::keyed_hash(key, text.as_bytes());
    hash.as_bytes()
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
