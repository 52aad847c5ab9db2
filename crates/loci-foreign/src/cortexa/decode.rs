//! Decodes CortexaDB's records: bincode 1 with fixed-width little-endian integers. Every length is
//! checked against the rest before it is used, and a record must use up its bytes exactly.

/// The first byte of a record with a version.
const MAGIC: u8 = 0xFF;
/// The only existing version.
const VERSION: u32 = 0;
/// The length of the shortest entry: id, two lengths, no vector, no metadata, time, importance.
const SHORTEST_ENTRY: usize = 8 + 8 + 8 + 1 + 8 + 8 + 4;

/// The bytes left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    left: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    pub(super) fn left(&self) -> usize {
        self.left.len()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(count)?;
        self.left = left;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    /// A number of items that take at least `each` bytes.
    pub(super) fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.u64()?).ok()?;
        (count.checked_mul(each)? <= self.left.len()).then_some(count)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count(1)?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

/// A memory that borrows the bytes it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry<'a> {
    pub(super) id: u64,
    pub(super) collection: &'a str,
    pub(super) content: &'a [u8],
    /// The stored vector, four bytes per number.
    pub(super) vector: Option<&'a [u8]>,
    /// Sorted by key. The file has them in no order.
    pub(super) metadata: Vec<(&'a str, &'a str)>,
    /// Seconds since 1970.
    pub(super) created_at: u64,
    pub(super) importance: f32,
}

impl<'a> Entry<'a> {
    /// Reads an entry and leaves the cursor after it.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        if cursor.left() < SHORTEST_ENTRY {
            return None;
        }
        let id = cursor.u64()?;
        let collection = cursor.text()?;
        let content = cursor.bytes()?;
        let vector = match cursor.array::<1>()? {
            [0] => None,
            [1] => {
                let numbers = cursor.count(4)?;
                Some(cursor.take(numbers.checked_mul(4)?)?)
            }
            _ => return None,
        };
        let pairs = cursor.count(16)?;
        let mut metadata = Vec::with_capacity(pairs);
        for _ in 0..pairs {
            metadata.push((cursor.text()?, cursor.text()?));
        }
        metadata.sort_unstable();
        Some(Self {
            id,
            collection,
            content,
            vector,
            metadata,
            created_at: cursor.u64()?,
            importance: f32::from_le_bytes(cursor.array()?),
        })
    }

    /// How many of its bytes precede the metadata.
    pub(super) fn fixed_bytes(&self) -> usize {
        let vector = self.vector.map_or(0, |vector| 8 + vector.len());
        8 + 8 + self.collection.len() + 8 + self.content.len() + 1 + vector
    }

    /// An entry that uses exactly these bytes.
    pub(super) fn exactly(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let entry = Self::read(&mut cursor)?;
        (cursor.left() == 0).then_some(entry)
    }
}

/// One command of the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command<'a> {
    /// The entry, and the offset of its bytes in the payload.
    Add(Entry<'a>, usize),
    Delete(u64),
    Connect {
        from: u64,
        to: u64,
        relation: &'a str,
    },
    Disconnect {
        from: u64,
        to: u64,
    },
}

/// Reads the payload of a record of the log.
pub(super) fn command(payload: &[u8]) -> Option<Command<'_>> {
    let (mut cursor, header) = versioned(payload)?;
    let read = match cursor.u32()? {
        0 => Command::Add(Entry::read(&mut cursor)?, header + 4),
        1 => Command::Delete(cursor.u64()?),
        2 => Command::Connect {
            from: cursor.u64()?,
            to: cursor.u64()?,
            relation: cursor.text()?,
        },
        3 => Command::Disconnect {
            from: cursor.u64()?,
            to: cursor.u64()?,
        },
        _ => return None,
    };
    (cursor.left() == 0).then_some(read)
}

/// Reads the payload of a record of a segment. Returns the entry and the offset of its bytes.
pub(super) fn segment_entry(payload: &[u8]) -> Option<(Entry<'_>, usize)> {
    let (cursor, header) = versioned(payload)?;
    Some((Entry::exactly(cursor.left)?, header))
}

/// Skips the version. Records without a version are older; their first byte is never the magic one.
fn versioned(payload: &[u8]) -> Option<(Cursor<'_>, usize)> {
    match payload.split_first()? {
        (&MAGIC, rest) => {
            let mut cursor = Cursor::new(rest);
            (cursor.u32()? == VERSION).then_some((cursor, 5))
        }
        _ => Some((Cursor::new(payload), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_bytes_is_no_entry() {
        let mut bytes = vec![0; 64];
        if let Some(length) = bytes.get_mut(8..16) {
            length.fill(0xFF);
        }
        assert_eq!(Entry::exactly(&bytes), None);
    }

    #[test]
    fn a_record_with_bytes_left_over_is_refused() {
        let delete = |extra: usize| {
            let mut bytes = vec![MAGIC, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend(vec![0; extra]);
            bytes
        };
        assert_eq!(command(&delete(0)), Some(Command::Delete(7)));
        assert_eq!(command(&delete(1)), None);
    }
}
