//! Recognises text without anything to read: encoded data, tables of numbers, minified code and
//! drawings.
//!
//! It looks at the content alone, in one pass over the lines, and never parses. A false alarm loses
//! text that somebody wrote, and a miss only costs a drawer, so every rule has a high threshold.
//! Nothing here decides what happens to the text: `split` leaves the spans out of chunks, and `tree`
//! skips files that consist of them.

mod blocks;
mod drawing;
mod line;
mod lock;
mod runs;
mod verdict;

use std::fmt;
use std::ops::Range;

use crate::document::Format;

pub use drawing::is_drawing;
pub use lock::is_lock_file;

/// A kind of text without anything to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Noise {
    /// Base64, hexadecimal and other encoded data.
    Encoded,
    /// Numbers, and tables of code points.
    Numbers,
    /// Code without white space.
    Minified,
    /// A drawing as markup.
    Drawing,
}

impl Noise {
    /// All kinds.
    const ALL: [Noise; 4] = [
        Noise::Encoded,
        Noise::Numbers,
        Noise::Minified,
        Noise::Drawing,
    ];
}

impl fmt::Display for Noise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Noise::Encoded => "encoded data",
            Noise::Numbers => "table of numbers",
            Noise::Minified => "generated",
            Noise::Drawing => "drawing without text",
        })
    }
}

/// A part of a text without anything to read: whole lines, or a part of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its position in the text. A span of whole lines begins at the start of a line and ends before
    /// the terminator of a line.
    pub bytes: Range<usize>,
    /// Its kind.
    pub kind: Noise,
}

/// The parts of a text that have nothing to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoiseMap {
    /// The spans, in the order of the text. They do not overlap.
    pub spans: Vec<Span>,
}

/// Which kinds are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// All kinds.
    #[default]
    All,
    /// Not what a program generates as text: the user asked for generated files, and this is one.
    NotGenerated,
}

impl Search {
    fn finds(self, kind: Noise) -> bool {
        self == Search::All || matches!(kind, Noise::Encoded | Noise::Drawing)
    }
}

/// Finds the parts of `text` that have nothing to read. Takes linear time.
///
/// ```
/// use loci_mine::document::Format;
/// use loci_mine::noise::{Search, find};
///
/// let prose = "A note about tea.\n";
/// assert!(find(prose, &Format::Markdown, Search::All).spans.is_empty());
/// ```
pub fn find(text: &str, format: &Format, search: Search) -> NoiseMap {
    NoiseMap {
        spans: blocks::find(text, format, search),
    }
}

impl NoiseMap {
    /// The number of lines that are in no chunk. Parts of lines are not counted.
    pub fn lines(&self, text: &str) -> u64 {
        let whole = self.spans.iter().filter(|span| {
            let before = text.get(..span.bytes.start).unwrap_or_default();
            let after = text.get(span.bytes.end..).unwrap_or_default();
            (before.is_empty() || before.ends_with('\n'))
                && (after.is_empty() || after.starts_with(['\n', '\r']))
        });
        whole
            .map(|span| {
                let lines = text.get(span.bytes.clone()).unwrap_or_default();
                memchr::memchr_iter(b'\n', lines.as_bytes()).count() as u64 + 1
            })
            .sum()
    }
}
