//! The first hundred bytes of a database. They are used only if magic, page size, reserved bytes
//! and payload fractions are all valid. One flipped bit in the page size makes them invalid.

use crate::bytes::{array, be_u16, be_u32};

pub(crate) const HEADER_BYTES: usize = 100;

/// The smallest usable page that SQLite accepts.
const MIN_USABLE_BYTES: u32 = 480;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) page_size: u32,
    pub(crate) reserved: u32,
    pub(crate) auto_vacuum: bool,
    pub(crate) utf8: bool,
    /// The number of pages, if the writer kept that field up to date.
    pub(crate) pages: Option<u32>,
}

impl Header {
    pub(crate) fn parse(page: &[u8]) -> Option<Self> {
        if page.get(..16)? != b"SQLite format 3\0" || array(page, 21)? != [64_u8, 32, 32] {
            return None;
        }
        let page_size = match be_u16(page, 16)? {
            1 => 65_536,
            size => u32::from(size),
        };
        let reserved = u32::from(*page.get(20)?);
        if !is_page_size(page_size) || page_size - reserved < MIN_USABLE_BYTES {
            return None;
        }
        let up_to_date = be_u32(page, 24)? == be_u32(page, 92)?;
        Some(Self {
            page_size,
            reserved,
            auto_vacuum: be_u32(page, 52)? != 0,
            utf8: matches!(be_u32(page, 56)?, 0 | 1),
            pages: be_u32(page, 28).filter(|&pages| pages != 0 && up_to_date),
        })
    }
}

pub(crate) fn is_page_size(size: u32) -> bool {
    size.is_power_of_two() && (512..=65_536).contains(&size)
}
