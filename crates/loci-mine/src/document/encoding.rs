//! Detects the encoding of bytes and decodes them.
//!
//! UTF-8 is kept byte for byte. Bytes that are not text in any encoding are binary.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::{HEAD, Skip};

/// How many bytes the detector examines.
const SAMPLE: usize = 256 * 1024;
const DAMAGED: &str = "utf-8, with damaged bytes";

/// Returns the encoding of a file that begins with `head`, or `None` if it is binary. A character
/// that is cut off at the end of `head` does not count as damage.
pub fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"\xff\xfe\0\0") {
        return None;
    }
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return Some(encoding);
    }
    if head.contains(&0) {
        return utf_16(head);
    }
    if is_noise(head) {
        return None;
    }
    match std::str::from_utf8(head) {
        Ok(_) => Some(UTF_8),
        Err(error) if error.error_len().is_none() => Some(UTF_8),
        Err(_) if is_damaged_utf_8(head) => Some(UTF_8),
        Err(error) => Some(detect(head, error.valid_up_to())),
    }
}

/// Returns the text of `bytes`, and its encoding if that is not UTF-8.
pub(super) fn decode(bytes: Vec<u8>) -> Result<(String, Option<String>), Skip> {
    decode_as(bytes, detect)
}

/// Like [`decode`], but an encoding that the page declares takes precedence over detection.
pub(super) fn decode_html(bytes: Vec<u8>) -> Result<(String, Option<String>), Skip> {
    decode_as(bytes, |bytes, invalid| {
        declared(bytes).unwrap_or_else(|| detect(bytes, invalid))
    })
}

fn decode_as(
    mut bytes: Vec<u8>,
    guess: impl Fn(&[u8], usize) -> &'static Encoding,
) -> Result<(String, Option<String>), Skip> {
    let head = bytes.get(..HEAD).unwrap_or(&bytes);
    let encoding = encoding_of(head).ok_or(Skip::Binary)?;
    if encoding == UTF_16LE || encoding == UTF_16BE {
        let (text, _) = encoding.decode_with_bom_removal(&bytes);
        return Ok((text.into_owned(), Some(name(encoding))));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok((text, None)),
        Err(error) => error,
    };
    let invalid = error.utf8_error().valid_up_to();
    let bytes = error.into_bytes();
    if is_damaged_utf_8(&bytes) {
        return Ok((
            String::from_utf8_lossy(&bytes).into_owned(),
            Some(DAMAGED.to_owned()),
        ));
    }
    let encoding = guess(&bytes, invalid);
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    Ok((text.into_owned(), Some(name(encoding))))
}

fn name(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

/// Detects the encoding of `bytes`, which are invalid UTF-8 from `invalid` on.
fn detect(bytes: &[u8], invalid: usize) -> &'static Encoding {
    let start = invalid.saturating_sub(1024);
    let rest = bytes.get(start..).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(rest.get(..SAMPLE).unwrap_or(rest), true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Returns the encoding that an HTML page declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..1024).unwrap_or(bytes).to_ascii_lowercase();
    let at = memchr::memmem::find(&head, b"charset=")?;
    let label = head.get(at + 8..)?;
    let label = label
        .strip_prefix(b"\"")
        .or(label.strip_prefix(b"'"))
        .unwrap_or(label);
    let end = label
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':')))?;
    let encoding = Encoding::for_label(label.get(..end)?)?;
    // This declaration was read as ASCII, so the page cannot be UTF-16.
    (encoding != UTF_8 && encoding != UTF_16LE && encoding != UTF_16BE).then_some(encoding)
}

/// Whether most characters beyond ASCII are valid, so that UTF-8 is still the best guess.
fn is_damaged_utf_8(bytes: &[u8]) -> bool {
    let (mut sound, mut damaged) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        sound += chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
        damaged += usize::from(!chunk.invalid().is_empty());
    }
    sound > damaged
}

/// Detects UTF-16 without a byte order mark. Such text is mostly ASCII, so one byte of each pair is
/// zero.
fn utf_16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let (mut first, mut second) = (0, 0);
    let mut units = 0;
    for pair in head.chunks_exact(2) {
        let (Some(&one), Some(&two)) = (pair.first(), pair.last()) else {
            continue;
        };
        if one == 0 && two == 0 {
            return None;
        }
        first += usize::from(one == 0);
        second += usize::from(two == 0);
        units += usize::from((one == 0 && is_control(two)) || (two == 0 && is_control(one)));
    }
    if pairs < 2 || units * 50 > pairs {
        return None;
    }
    if second * 2 > pairs && first * 20 < pairs {
        Some(UTF_16LE)
    } else if first * 2 > pairs && second * 20 < pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Whether the byte is a control character that does not occur in text, not even in a log with
/// colours.
fn is_control(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b))
}

fn is_noise(head: &[u8]) -> bool {
    head.iter().filter(|byte| is_control(**byte)).count() * 33 > head.len()
}
