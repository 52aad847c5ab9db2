//! JSON Lines, which are recognised here and imported by `loci-palace`.

use std::path::Path;

use serde::de::IgnoredAny;

use crate::importer::{Importer, Places, Signs};
use crate::recognise::BEGINNING_BYTES;

/// The line of the table of importers.
pub(crate) const IMPORTER: Importer = Importer {
    program: "JSON lines",
    family: None,
    mark: "line of JSON",
    signs: Signs {
        is_file: true,
        content: |path, bytes| is_named_so(path) || begins_with_a_record(bytes),
        ..Signs::NONE
    },
    open: None,
    usual_places: Places::NONE,
};

fn is_named_so(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl") || extension == "ndjson")
}

/// Whether the first line is a JSON object. For a line that is longer than the bytes read, only the
/// first byte is checked.
fn begins_with_a_record(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = text.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == text.len() && bytes.len() as u64 == BEGINNING_BYTES;
    line.starts_with(b"{") && (is_cut || serde_json::from_slice::<IgnoredAny>(line).is_ok())
}
