//! Recognises the format of a file by its first bytes and its name.
//!
//! An ambiguous file is not recognised.

use std::path::Path;

use super::format::Format;
use super::keys::Keys;

/// Only this much of a file is examined.
pub(super) const HEAD_BYTES: usize = 64 * 1_024;
/// How many records at the start of a file are examined, because the first ones may not be
/// messages.
const MAX_LINES: usize = 40;

/// How a format is recognised. Each function examines one kind of content.
pub(super) enum Sign {
    /// The keys of a record in JSON lines. The first record that any format accepts decides.
    Record(fn(&Keys, &Path) -> bool),
    /// The keys of a file that is one JSON object.
    Object(fn(&Keys, &Path) -> bool),
    /// The keys of the first object in a file that is one JSON array.
    Array(fn(&Keys, &Path) -> bool),
    /// The name of an SQLite database.
    Database(fn(&Path) -> bool),
    /// The beginning of a text file.
    Text(fn(&[u8], &Path) -> bool),
}

/// Returns the format of a conversation that begins with `head`, or `None` if it is not one.
pub fn recognise(path: &Path, head: &[u8]) -> Option<Format> {
    let head = head.get(..HEAD_BYTES).unwrap_or(head);
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.starts_with(b"SQLite format 3\0") {
        return first(|sign| matches!(sign, Sign::Database(accepts) if accepts(path)));
    }
    let start = head.trim_ascii_start();
    match start.first()? {
        b'{' => record(start, path).or_else(|| object(&Keys::of(start), path)),
        b'[' => array(start.get(1..)?.trim_ascii_start(), path),
        _ => first(|sign| matches!(sign, Sign::Text(accepts) if accepts(head, path))),
    }
}

/// Returns the first format whose sign is accepted.
fn first(accepts: impl Fn(&Sign) -> bool) -> Option<Format> {
    let mut formats = Format::ALL.iter().copied();
    formats.find(|format| accepts(&format.spec().sign))
}

fn record(start: &[u8], path: &Path) -> Option<Format> {
    start
        .split(|byte| *byte == b'\n')
        .filter(|line| line.trim_ascii_start().first() == Some(&b'{'))
        .take(MAX_LINES)
        .find_map(|line| {
            let keys = Keys::of(line);
            first(|sign| matches!(sign, Sign::Record(accepts) if accepts(&keys, path)))
        })
}

fn object(keys: &Keys, path: &Path) -> Option<Format> {
    first(|sign| matches!(sign, Sign::Object(accepts) if accepts(keys, path)))
}

fn array(start: &[u8], path: &Path) -> Option<Format> {
    if start.first() != Some(&b'{') {
        return None;
    }
    let keys = Keys::of(start);
    first(|sign| matches!(sign, Sign::Array(accepts) if accepts(&keys, path)))
}

/// The name of a file as text.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether a file name ends with this extension, ignoring case.
pub(super) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether a folder of this name is among the parents of a file.
pub(super) fn is_below(path: &Path, folder: &str) -> bool {
    let mut parents = path.ancestors().skip(1);
    parents.any(|parent| parent.file_name().is_some_and(|name| name == folder))
}

/// The name of the folder that holds a file, as text.
pub(super) fn folder_name(path: &Path) -> String {
    path.parent().map(file_name).unwrap_or_default()
}
