//! Decodes base64 in either alphabet, to inspect its content.

/// Returns the bytes, or `None` if a character is in neither alphabet. Padding is optional.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn both_alphabets_are_read() {
        assert_eq!(decode("dXNlcjpwdw=="), Some(b"user:pw".to_vec()));
        assert_eq!(decode("-_-_"), decode("+/+/"));
        assert_eq!(decode("a b"), None);
        assert_eq!(decode(""), Some(Vec::new()));
    }
}
