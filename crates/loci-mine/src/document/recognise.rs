//! Recognises the format of a file by its name, then by its first bytes.

use std::path::Path;

use super::encoding::encoding_of;
use super::format::{Format, Language};
use super::names::{Named, interpreted, named};
use super::{HEAD, Skip};

/// A PDF header may follow this many bytes of other data.
const PDF_WITHIN: usize = 1024;
/// The container of older office formats, and of encrypted newer ones.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Returns the format of the file at `path`, by its name and then by the first 8 KiB of `head`. If
/// the name belongs to a binary format, `head` is not needed.
pub fn recognise(path: &Path, head: &[u8]) -> Result<Format, Skip> {
    let named = named(path);
    if named == Named::Binary {
        return Err(Skip::Binary);
    }
    let head = head.get(..HEAD).unwrap_or(head);
    if head.is_empty() {
        return Err(Skip::Empty);
    }
    let front = head.get(..PDF_WITHIN).unwrap_or(head);
    if memchr::memmem::find(front, b"%PDF-")
        .is_some_and(|at| at == 0 || named == Named::Format(Format::Pdf))
    {
        return Ok(Format::Pdf);
    }
    if named == Named::Format(Format::Docx) {
        if head.starts_with(b"PK\x03\x04") {
            return Ok(Format::Docx);
        }
        if head.starts_with(COMPOUND) {
            return Err(Skip::Encrypted);
        }
    }
    if encoding_of(head).is_none() {
        return Err(Skip::Binary);
    }
    Ok(match named {
        // The content does not match the name.
        Named::Format(Format::Pdf | Format::Docx) | Named::Binary | Named::Unknown => {
            by_content(head)
        }
        Named::Format(Format::Code(Language::Other("xml"))) if begins_svg(head) => Format::Svg,
        Named::Format(format) => format,
    })
}

/// Whether the first element of XML is `svg`.
fn begins_svg(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    // The declaration, comments and the document type come before the first element.
    for _ in 0..16 {
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") || rest.starts_with("<!") {
            ">"
        } else {
            break;
        };
        let Some((_, after)) = rest.split_once(end) else {
            return false;
        };
        rest = after.trim_start();
    }
    rest.strip_prefix("<svg")
        .is_some_and(|after| after.starts_with(|next: char| next.is_whitespace() || next == '>'))
}

fn by_content(head: &[u8]) -> Format {
    if let Some(language) = interpreted(head) {
        return Format::Code(language);
    }
    let start = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    let begins = |with: &[u8]| {
        start
            .get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if begins(b"<!doctype html") || begins(b"<html") {
        return Format::Html;
    }
    if begins_svg(start) {
        return Format::Svg;
    }
    Format::Text
}
