//! JSON web tokens: base64url parts joined by dots. The first part names an algorithm.

use super::base64;
use super::scan::Scan;
use super::shape::{self, Body};

const KIND: &str = "JWT";
/// The longest part. Headers are small.
const MAX_HEADER: usize = 2_048;
const MAX_PART: usize = 16_384;
/// The shortest signature. Signatures in use have at least 32 bytes.
const MIN_SIGNATURE: usize = 20;
/// An encrypted token has five parts.
const MAX_PARTS: usize = 5;

/// Examines an `eyJ` at `start`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize) {
    let in_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let header_end = shape::run_end(scan, Body::Url, start);
    let sized = header_end - start <= MAX_HEADER && scan.at(header_end) == b'.';
    if !sized || !is_header(scan.slice(start, header_end)) {
        return;
    }
    let (mut end, mut parts, mut last) = (header_end, 1, 0);
    while parts < MAX_PARTS && scan.at(end) == b'.' {
        let next = scan.run(end + 1, MAX_PART, in_part);
        if next == end + 1 && parts > 1 {
            break;
        }
        last = next - end - 1;
        end = next;
        parts += 1;
    }
    if parts >= 3 && last >= MIN_SIGNATURE {
        scan.certain(KIND, start, end);
    }
}

fn is_header(part: &str) -> bool {
    base64::decode(part)
        .and_then(|json| serde_json::from_slice::<serde_json::Value>(&json).ok())
        .is_some_and(|header| header.get("alg").is_some())
}
