//! The context at a position of a text: its headings, and an open block.
//!
//! A trail allows a long text to be split window by window. It holds only titles of bounded length,
//! never the text itself.

use serde::{Deserialize, Serialize};

/// The context at a position, which allows a long text to be split section by section.
///
/// The default is the trail at the start of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {
    pub(super) steps: Vec<TrailHeading>,
    pub(super) open: Option<Open>,
    /// The title styles of reStructuredText in order of first use. A style with an overline has its
    /// character twice.
    pub(super) styles: Vec<String>,
    /// Whether the text began before this position, so that there is no frontmatter here.
    pub(super) begun: bool,
}

impl Trail {
    /// Whether there is a heading above this position.
    pub(super) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The character and the length of the fence around this position.
    pub(crate) fn fence(&self) -> Option<(char, usize)> {
        match self.open {
            Some(Open::Fence { mark, length, .. }) => Some((mark, length as usize)),
            Some(Open::Until(_) | Open::Deeper(_)) | None => None,
        }
    }
}

/// One heading or definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrailHeading {
    /// The level; 1 is the outermost.
    pub(super) level: u8,
    /// The indentation, if that decides the nesting.
    pub(super) column: u16,
    pub(super) title: String,
}

/// A block whose lines have no structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Open {
    /// A Markdown fence: its character, its length, whether it is in a quote, and how far its
    /// closing line may be indented.
    Fence {
        mark: char,
        length: u32,
        quoted: bool,
        indent: u16,
    },
    /// A string or comment in code, by its closing delimiter.
    Until(Ending),
    /// Lines indented deeper than this column belong to a scalar.
    Deeper(u16),
}

/// The end of a multi-line string or comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Comment,
    DoubleQuotes,
    SingleQuotes,
    Backtick,
    /// A raw string of Rust with this many `#`.
    Raw(u8),
}
