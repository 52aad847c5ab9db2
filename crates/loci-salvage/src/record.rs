//! The record format: a header of serial types, then the values. A payload decodes only if header
//! and body fill it exactly, as SQLite writes it. This rejects most garbage.

use crate::bytes::{array, varint};

/// SQLite's hard limit on columns. It bounds the cost of a header of one-byte serial types.
const MAX_COLUMNS: usize = 32_767;

/// A stored value. A `REAL` column may hold a whole number as `Integer`, an `INTEGER PRIMARY KEY`
/// column holds `Null` (its value is the rowid), and columns added by `ALTER TABLE` are missing at
/// the end of older records.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// An integer of any stored width.
    Integer(i64),
    /// A floating point number.
    Real(f64),
    /// Text that is valid UTF-8.
    Text(String),
    /// Text whose bytes are not UTF-8.
    InvalidText(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

/// The damage of a record's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordDamage {
    #[error("record header does not fit its payload")]
    Header,
    #[error("record has no columns or more than SQLite allows")]
    Columns,
    #[error("serial type {0} is reserved")]
    SerialType(u64),
    #[error("record values do not fill the payload")]
    Length,
}

pub(crate) fn decode(payload: &[u8]) -> Result<Vec<Value>, RecordDamage> {
    let (header_bytes, mut at) = varint(payload, 0).ok_or(RecordDamage::Header)?;
    let header_bytes = usize::try_from(header_bytes).map_err(|_| RecordDamage::Header)?;
    let (header, mut body) = payload
        .split_at_checked(header_bytes)
        .ok_or(RecordDamage::Header)?;
    if at > header_bytes {
        return Err(RecordDamage::Header);
    }
    let mut values = Vec::new();
    while at < header_bytes {
        if values.len() == MAX_COLUMNS {
            return Err(RecordDamage::Columns);
        }
        let (serial_type, after) = varint(header, at).ok_or(RecordDamage::Header)?;
        let length = stored_bytes(serial_type)?;
        let (content, rest) = body.split_at_checked(length).ok_or(RecordDamage::Length)?;
        values.push(value(serial_type, content));
        body = rest;
        at = after;
    }
    if !body.is_empty() {
        return Err(RecordDamage::Length);
    }
    if values.is_empty() {
        return Err(RecordDamage::Columns);
    }
    Ok(values)
}

fn stored_bytes(serial_type: u64) -> Result<usize, RecordDamage> {
    Ok(match serial_type {
        0 | 8 | 9 => 0,
        1 => 1,
        2 => 2,
        3 => 3,
        4 => 4,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return Err(RecordDamage::SerialType(serial_type)),
        _ => usize::try_from((serial_type - 12) / 2).map_err(|_| RecordDamage::Length)?,
    })
}

fn value(serial_type: u64, content: &[u8]) -> Value {
    match serial_type {
        0 => Value::Null,
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        7 => {
            let real = f64::from_bits(array(content, 0).map_or(0, u64::from_be_bytes));
            // SQLite reads a stored NaN as NULL.
            if real.is_nan() {
                Value::Null
            } else {
                Value::Real(real)
            }
        }
        1..=6 => Value::Integer(signed(content)),
        _ if serial_type.is_multiple_of(2) => Value::Blob(content.to_vec()),
        _ => match std::str::from_utf8(content) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::InvalidText(content.to_vec()),
        },
    }
}

fn signed(content: &[u8]) -> i64 {
    let fill = if content.first().is_some_and(|byte| byte & 0x80 != 0) {
        -1
    } else {
        0
    };
    content
        .iter()
        .fold(fill, |number, &byte| (number << 8) | i64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_serial_type_decodes_to_its_value() {
        let payload = [
            10, 0, 1, 2, 3, 5, 8, 9, 15, 14, // header
            0xff, 0x01, 0x00, 0x80, 0x00, 0x00, 0, 0, 0, 1, 0, 0, b'a', 7,
        ];
        assert_eq!(
            decode(&payload),
            Ok(vec![
                Value::Null,
                Value::Integer(-1),
                Value::Integer(256),
                Value::Integer(-8_388_608),
                Value::Integer(65_536),
                Value::Integer(0),
                Value::Integer(1),
                Value::Text("a".to_owned()),
                Value::Blob(vec![7]),
            ])
        );
    }

    #[test]
    fn text_that_is_not_utf8_keeps_its_bytes() {
        assert_eq!(
            decode(&[2, 15, 0xff]),
            Ok(vec![Value::InvalidText(vec![0xff])])
        );
    }

    #[test]
    fn a_payload_that_is_not_filled_exactly_is_damaged() {
        assert_eq!(decode(&[2, 1]), Err(RecordDamage::Length));
        assert_eq!(decode(&[2, 1, 5, 6]), Err(RecordDamage::Length));
        assert_eq!(decode(&[2, 11]), Err(RecordDamage::SerialType(11)));
        assert_eq!(decode(&[1]), Err(RecordDamage::Columns));
        assert_eq!(decode(&[0]), Err(RecordDamage::Header));
        assert_eq!(decode(&[]), Err(RecordDamage::Header));
        assert_eq!(decode(&[9, 0]), Err(RecordDamage::Header));
    }

    #[test]
    fn a_header_of_too_many_columns_is_damaged() {
        let mut payload = vec![0x84, 0x80, 0x00];
        payload.resize(65_536, 0);
        assert_eq!(decode(&payload), Err(RecordDamage::Columns));
    }

    proptest! {
        #[test]
        fn no_payload_panics(payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&payload);
        }
    }
}
