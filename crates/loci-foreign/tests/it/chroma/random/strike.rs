//! One random damage to one file, as a failing disk, a truncated copy or a killed program leaves
//! it.

use std::fmt;

use fastrand::Rng;

/// Numbers that cause an overflow if they are trusted.
const EXTREMES: [u64; 8] = [
    0,
    1,
    i32::MAX as u64,
    u32::MAX as u64,
    1 << 32,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];
/// Lengths of blocks: a number, a sector, a page.
const BLOCKS: [usize; 5] = [4, 8, 64, 512, 4096];

/// A change to the bytes of a file.
#[derive(Clone, Debug)]
pub enum Strike {
    /// Offsets, and the bytes to write there.
    Flip(Vec<(usize, u8)>),
    Truncate(usize),
    Zero(usize, usize),
    Garbage(usize, Vec<u8>),
    /// Two blocks of the same length are swapped.
    Swap(usize, usize, usize),
    Number(usize, u64),
    Append(Vec<u8>),
    Empty,
}

impl Strike {
    /// A flip or a truncation in two of three cases, otherwise something larger. Never a no-op.
    pub fn choose(random: &mut Rng, bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Append(garbage(random));
        }
        loop {
            let strike = Self::any(random, bytes.len());
            if strike.applied(bytes) != bytes {
                return strike;
            }
        }
    }

    fn any(random: &mut Rng, length: usize) -> Self {
        let at = random.usize(..length);
        let block = *random.choice(&BLOCKS).unwrap();
        match random.u8(..18) {
            0..7 => {
                let places = if random.bool() { 1 } else { random.usize(1..9) };
                let flips = (0..places).map(|_| (random.usize(..length), 1 << random.u8(..8)));
                Self::Flip(flips.collect())
            }
            7..9 => Self::Flip(vec![(at, random.u8(1..))]),
            9..12 => Self::Truncate(at),
            12 => Self::Zero(at, block),
            13 => Self::Garbage(at, garbage(random)),
            14 => Self::Swap(
                at / block * block,
                random.usize(..length) / block * block,
                block,
            ),
            15 => Self::Number(at / 4 * 4, *random.choice(&EXTREMES).unwrap()),
            16 => Self::Append(garbage(random)),
            _ => Self::Empty,
        }
    }

    /// The changed bytes.
    pub fn applied(&self, bytes: &[u8]) -> Vec<u8> {
        let mut after = bytes.to_vec();
        match self {
            Self::Flip(flips) => {
                for (at, mask) in flips {
                    after[*at] ^= mask;
                }
            }
            Self::Truncate(length) => after.truncate(*length),
            Self::Zero(at, length) => {
                let end = (at + length).min(after.len());
                after[*at..end].fill(0);
            }
            Self::Garbage(at, garbage) => put(&mut after, *at, garbage),
            Self::Number(at, number) => put(&mut after, *at, &number.to_le_bytes()),
            Self::Swap(one, other, length) => {
                let (low, high) = (*one.min(other), *one.max(other));
                let length = *length.min(&(high - low)).min(&(after.len() - high));
                for offset in 0..length {
                    after.swap(low + offset, high + offset);
                }
            }
            Self::Append(garbage) => after.extend(garbage),
            Self::Empty => after.clear(),
        }
        after
    }

    /// Whether whole pages of a database are missing.
    pub fn cuts_pages(&self, length: usize) -> bool {
        match self {
            Self::Empty => true,
            Self::Truncate(left) => length - left >= 4096,
            _ => false,
        }
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Garbage(at, bytes) => write!(out, "{} bytes of garbage at {at}", bytes.len()),
            Self::Append(bytes) => write!(out, "{} bytes of garbage appended", bytes.len()),
            other => write!(out, "{other:?}"),
        }
    }
}

fn put(bytes: &mut [u8], at: usize, over: &[u8]) {
    for (byte, new) in bytes.iter_mut().skip(at).zip(over) {
        *byte = *new;
    }
}

fn garbage(random: &mut Rng) -> Vec<u8> {
    let length = random.usize(1..5000);
    (0..length).map(|_| random.u8(..)).collect()
}
