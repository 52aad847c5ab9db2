//! Reads the bytes of a pickle in order. Every length is checked against the rest of the file.

/// Why a read failed.
pub(super) type Problem = &'static str;

pub(super) const ENDS: Problem = "the file ends here";

/// The rest of the file.
#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
        }
    }

    /// The number of bytes read so far.
    pub(super) fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// The number of bytes left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(ENDS)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Problem> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A little-endian length of `N` bytes.
    pub(super) fn length<const N: usize>(&mut self) -> Result<u64, Problem> {
        let mut wide = [0; 8];
        for (to, from) in wide.iter_mut().zip(self.array::<N>()?) {
            *to = from;
        }
        Ok(u64::from_le_bytes(wide))
    }

    pub(super) fn bytes(&mut self, length: u64) -> Result<&'a [u8], Problem> {
        let length = usize::try_from(length).map_err(|_| ENDS)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ENDS)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn text(&mut self, length: u64) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.bytes(length)?).map_err(|_| "a text is not UTF-8")
    }

    /// Reads up to and including the next line feed.
    pub(super) fn line(&mut self) -> Result<&'a [u8], Problem> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or(ENDS)?;
        let line = self.bytes(end as u64)?;
        self.byte()?;
        Ok(line)
    }

    /// A line of ASCII.
    pub(super) fn ascii_line(&mut self) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.line()?).map_err(|_| "a line is not ASCII")
    }
}

/// A signed little-endian number of any width, if it is between 0 and 2⁶⁴ − 1.
pub(super) fn whole(bytes: &[u8]) -> Option<u64> {
    let mut wide = [0; 8];
    for (index, byte) in bytes.iter().enumerate() {
        match wide.get_mut(index) {
            Some(to) => *to = *byte,
            None if *byte == 0 => {}
            None => return None,
        }
    }
    let negative = bytes.len() <= 8 && bytes.last().is_some_and(|byte| *byte >= 0x80);
    (!negative).then(|| u64::from_le_bytes(wide))
}

/// Decodes a line in which `\uXXXX` and `\UXXXXXXXX` are escapes and every other byte is Latin-1.
pub(super) fn unescape(line: &[u8]) -> Result<String, Problem> {
    const BAD: Problem = "a text has a broken escape";
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((byte, after)) = rest.split_first() {
        let digits = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(*byte));
                rest = after;
                continue;
            }
        };
        let code = after.get(1..=digits).ok_or(BAD)?;
        let code = std::str::from_utf8(code).map_err(|_| BAD)?;
        let code = u32::from_str_radix(code, 16).map_err(|_| BAD)?;
        text.push(char::from_u32(code).ok_or(BAD)?);
        rest = after.get(digits + 1..).unwrap_or_default();
    }
    Ok(text)
}
