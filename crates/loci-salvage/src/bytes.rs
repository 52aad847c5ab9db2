//! Bounded reads of the big-endian numbers and varints in SQLite files. Every function returns
//! `None` instead of reading past the end.

pub(crate) fn be_u16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

pub(crate) fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// A varint at `at`: its value and the offset after it. Eight bytes hold seven bits each, and a
/// ninth holds eight.
pub(crate) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.get(at..)?.iter().take(9).enumerate() {
        let after = at + index + 1;
        if index == 8 {
            return Some(((value << 8) | u64::from(byte), after));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put_varint(value: u64) -> Vec<u8> {
        if value >> 56 != 0 {
            let mut bytes: Vec<u8> = (0..8)
                .map(|i| 0x80 | ((value >> (8 + 7 * (7 - i))) & 0x7f) as u8)
                .collect();
            bytes.push(value as u8);
            return bytes;
        }
        let width = (64 - value.leading_zeros()).div_ceil(7).max(1);
        (0..width)
            .rev()
            .map(|i| ((value >> (7 * i)) & 0x7f) as u8 | if i == 0 { 0 } else { 0x80 })
            .collect()
    }

    proptest! {
        #[test]
        fn a_varint_reads_back_as_written(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let bytes = put_varint(value);
            prop_assert_eq!(varint(&bytes, 0), Some((value, bytes.len())));
            prop_assert_eq!(varint(&bytes[..bytes.len() - 1], 0), None);
        }
    }

    #[test]
    fn reads_past_the_end_are_none() {
        assert_eq!(be_u16(&[1], 0), None);
        assert_eq!(be_u32(&[1, 2, 3, 4], 1), None);
        assert_eq!(be_u32(&[], usize::MAX), None);
        assert_eq!(varint(&[0xff; 8], 0), None);
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[], 3), None);
    }
}
