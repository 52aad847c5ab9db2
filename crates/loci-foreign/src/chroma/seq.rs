//! Sequence ids in the formats of ChromaDB's versions. Since 1.0 they are integers; before, they
//! were eight-byte big-endian blobs. Converting twice leaves an integer made of the ASCII codes of
//! the digits, which is decoded here.

use rusqlite::types::ValueRef;

/// A stored sequence id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeqId {
    /// An integer, as ChromaDB 1.x writes it.
    Integer(u64),
    /// A blob, as ChromaDB up to 0.6 wrote it.
    Blob(u64),
    /// An integer that was converted a second time.
    Poisoned {
        /// The stored value.
        stored: i64,
        /// The original value.
        decoded: u64,
    },
    /// Any other value, described in words.
    Unreadable(String),
}

impl SeqId {
    /// Reads a stored value; `None` for NULL.
    pub fn of(value: ValueRef<'_>) -> Option<Self> {
        Some(match value {
            ValueRef::Null => return None,
            ValueRef::Integer(stored) => match (poisoned(stored), u64::try_from(stored)) {
                (Some(decoded), _) => Self::Poisoned { stored, decoded },
                (None, Ok(value)) => Self::Integer(value),
                (None, Err(_)) => Self::Unreadable(format!("the negative number {stored}")),
            },
            ValueRef::Blob(bytes) if (1..=8).contains(&bytes.len()) => {
                let value = bytes
                    .iter()
                    .fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
                match i64::try_from(value) {
                    Ok(_) => Self::Blob(value),
                    Err(_) => Self::Unreadable(format!("a blob with the number {value}")),
                }
            }
            ValueRef::Blob(bytes) => Self::Unreadable(format!("a blob of {} bytes", bytes.len())),
            ValueRef::Real(value) => Self::Unreadable(format!("the float {value}")),
            ValueRef::Text(text) => {
                Self::Unreadable(format!("the text `{}`", String::from_utf8_lossy(text)))
            }
        })
    }

    /// The number, if it is known.
    pub fn value(&self) -> Option<u64> {
        match self {
            Self::Integer(value) | Self::Blob(value) => Some(*value),
            Self::Poisoned { decoded, .. } => Some(*decoded),
            Self::Unreadable(_) => None,
        }
    }
}

/// The number whose decimal digits are in the eight bytes as ASCII, after padding bytes of 0x11.
fn poisoned(stored: i64) -> Option<u64> {
    let bytes = stored.to_be_bytes();
    let start = bytes.iter().position(|byte| *byte != 0x11)?;
    let digits = bytes.get(start..)?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_version_are_read() {
        assert_eq!(SeqId::of(ValueRef::Null), None);
        assert_eq!(SeqId::of(ValueRef::Integer(42)), Some(SeqId::Integer(42)));
        let blob = 502_498_u64.to_be_bytes();
        assert_eq!(SeqId::of(ValueRef::Blob(&blob)), Some(SeqId::Blob(502_498)));
        let poison = SeqId::of(ValueRef::Integer(1_229_822_654_365_841_720));
        assert_eq!(poison.and_then(|id| id.value()), Some(502_498));
        let eight_digits = i64::from_be_bytes(*b"12345678");
        assert_eq!(
            SeqId::of(ValueRef::Integer(eight_digits)),
            Some(SeqId::Poisoned {
                stored: eight_digits,
                decoded: 12_345_678
            })
        );
    }

    #[test]
    fn an_id_that_cannot_be_told_has_no_value() {
        for value in [
            ValueRef::Integer(-1),
            ValueRef::Blob(&[0; 24]),
            ValueRef::Blob(&[0xFF; 8]),
            ValueRef::Blob(&[]),
            ValueRef::Text(b"12"),
        ] {
            assert_eq!(SeqId::of(value).and_then(|id| id.value()), None);
        }
    }
}
