//! The column `tokens` of a passage: distinct tokens, ascending.
//!
//! Each is stored as its difference to the one before, in 7 bits per byte. The number of bytes is
//! odd, if need be with a zero byte at the end, which no difference begins with. An even number of
//! bytes are two bytes for each token, as before format 9.

/// Stored bytes of tokens.
pub(super) fn to_bytes(tokens: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tokens.len() + tokens.len() / 4);
    let mut before = None;
    for token in tokens {
        // The first token is counted from -1, because it may be 0.
        let step = match before {
            None => u32::from(*token) + 1,
            Some(before) if before < *token => u32::from(*token - before),
            Some(_) => return to_pairs(tokens),
        };
        put_varint(&mut bytes, step);
        before = Some(*token);
    }
    if !bytes.is_empty() && bytes.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes
}

/// Stored bytes of tokens before format 9.
pub(super) fn to_pairs(tokens: &[u16]) -> Vec<u8> {
    tokens
        .iter()
        .flat_map(|token| token.to_le_bytes())
        .collect()
}

/// The tokens of stored bytes. Damaged bytes give other tokens, or fewer.
pub(super) fn from_bytes(bytes: &[u8]) -> Vec<u16> {
    if bytes.len().is_multiple_of(2) {
        let (tokens, _) = bytes.as_chunks::<2>();
        return tokens
            .iter()
            .map(|token| u16::from_le_bytes(*token))
            .collect();
    }
    let mut tokens = Vec::with_capacity(bytes.len());
    let (mut next, mut step, mut shift) = (0_u32, 0_u32, 0_u32);
    for byte in bytes {
        step |= u32::from(byte & 127) << shift;
        if *byte > 127 {
            shift = (shift + 7).min(21);
            continue;
        }
        let Some(token) = (next + step)
            .checked_sub(1)
            .and_then(|token| u16::try_from(token).ok())
        else {
            break;
        };
        if step > 0 {
            tokens.push(token);
        }
        (next, step, shift) = (u32::from(token) + 1, 0, 0);
    }
    tokens
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_stand_where_the_format_says() {
        assert!(to_bytes(&[]).is_empty());
        assert_eq!(to_bytes(&[0]), [1]);
        assert_eq!(to_bytes(&[4, 5]), [5, 1, 0]);
        assert_eq!(to_bytes(&[4, 204, 205]), [5, 200, 1, 1, 0]);
        assert_eq!(to_bytes(&[65_535]), [0x80, 0x80, 4]);
        assert_eq!(from_bytes(&[4, 0, 205, 0]), [4, 205], "before format 9");
        assert_eq!(to_bytes(&[5, 4]), [5, 0, 4, 0], "not ascending");
    }

    proptest! {
        #[test]
        fn tokens_come_back(tokens in prop::collection::btree_set(any::<u16>(), 0..300)) {
            let tokens: Vec<u16> = tokens.into_iter().collect();
            prop_assert_eq!(from_bytes(&to_bytes(&tokens)), tokens.clone());
            prop_assert_eq!(from_bytes(&to_pairs(&tokens)), tokens);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(from_bytes(&bytes).len() <= bytes.len());
        }
    }
}
