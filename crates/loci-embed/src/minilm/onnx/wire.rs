//! The wire format of protocol buffers, as far as ONNX files need it. Lengths are checked against
//! the remaining bytes.

/// The fields of a message, in file order.
#[derive(Debug)]
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Eight,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = number(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Number(number(&mut self.rest)?),
            1 => {
                self.take(8)?;
                Value::Eight
            }
            2 => {
                let length = number(&mut self.rest)?;
                Value::Bytes(self.take(usize::try_from(length).ok()?)?)
            }
            5 => Value::Four(self.take(4)?.try_into().ok()?),
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Message<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or_else(|| "is damaged or cut short".into()))
    }
}

/// A sequence of numbers without keys.
pub(super) fn packed(mut bytes: &[u8]) -> impl Iterator<Item = Result<u64, String>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let value = number(&mut bytes);
        if value.is_none() {
            bytes = &[];
        }
        Some(value.ok_or_else(|| "is damaged or cut short".into()))
    })
}

pub(super) fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "has a name that is not UTF-8".into())
}

/// A varint: seven bits per byte, lowest first, at most ten bytes.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order_with_their_values() {
        let bytes = [
            0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let fields: Vec<_> = Message::new(&bytes).map(Result::unwrap).collect();
        let expected = [
            (1, Value::Number(300)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Four([1, 2, 3, 4])),
            (4, Value::Eight),
        ];
        assert_eq!(fields, expected);
        for length in [1, 2, 4, 5, 6, 8, 10, 13, 20] {
            let last = Message::new(&bytes[..length]).last().unwrap();
            assert!(last.is_err(), "{length}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_and_endless_numbers_are_errors() {
        let huge = [
            0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ];
        assert!(Message::new(&huge).all(|field| field.is_err()));
        assert_eq!(Message::new(&[0x80; 40]).count(), 1);
        assert_eq!(packed(&[0x80; 40]).count(), 1);
        let numbers: Vec<_> = packed(&[1, 0xac, 2]).map(Result::unwrap).collect();
        assert_eq!(numbers, [1, 300]);
    }
}
