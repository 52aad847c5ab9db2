//! What is in force at a point of a text: headings, and a block that was open there.
//!
//! A trail lets a long text be split window by window. It never holds the text itself, only titles
//! of bounded length.

use serde::{Deserialize, Serialize};

/// Headings in force at a point; lets a long text be split section by section.
///
/// The default is the trail at the start of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {
    pub(super) steps: Vec<TrailHeading>,
    pub(super) open: Option<Open>,
    /// Characters of the title styles of reStructuredText in order of first use; a style with an
    /// overline has the character twice.
    pub(super) styles: Vec<String>,
    /// The text has begun before this point, so there is no frontmatter here.
    pub(super) begun: bool,
}

/// One heading or definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrailHeading {
    /// 1 is outermost.
    pub(super) level: u8,
    /// Indentation, where that decides what is enclosed.
    pub(super) column: u16,
    pub(super) title: String,
}

/// A block whose lines are not read as structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Open {
    /// A fence of Markdown: its character, its length, whether it stands in a quote, and how far
    /// its closing line may be indented.
    Fence {
        mark: char,
        length: u32,
        quoted: bool,
        indent: u16,
    },
    /// A string or comment of code, by the delimiter that ends it.
    Until(Ending),
    /// Lines indented deeper than this column belong to a scalar.
    Deeper(u16),
}

/// What ends a string or comment that spans lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Comment,
    DoubleQuotes,
    SingleQuotes,
    Backtick,
    /// A raw string of Rust with this many `#`.
    Raw(u8),
}
