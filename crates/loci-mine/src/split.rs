//! Splits a text into chunks with exact line spans, along its own structure.
//!
//! Each format has a reader that finds sections, paragraphs and blocks that stay whole. One packer
//! makes chunks of them. A chunk is always a contiguous slice of the given text: nothing is added,
//! changed, or left out inside it.

mod code;
mod data;
mod definition;
mod front;
mod markdown;
mod outline;
mod pack;
mod pieces;
mod rows;
mod rst;
mod trail;

use std::ops::Range;

use crate::document::Format;
use crate::noise::Span;

pub(crate) use front::frontmatter_end;
pub use front::{FrontValue, frontmatter};
pub use pieces::pieces;
pub use trail::Trail;

pub(crate) use outline::JOINT;
use outline::Outline;
use pack::Limits;
use rows::Cut;

/// The sizes of chunks, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Small blocks are packed together up to this size.
    pub target: usize,
    /// No chunk is larger, unless it is one block that is not cut, such as a fence.
    pub max: usize,
    /// A section of this size is not packed together with those before it.
    pub min: usize,
    /// At most this many bytes of whole lines are repeated from the chunk before, when a section
    /// was cut.
    pub overlap: usize,
}

impl Default for Size {
    fn default() -> Size {
        Size {
            target: 2000,
            max: 3000,
            min: 1100,
            overlap: 0,
        }
    }
}

/// A slice of a text that becomes one drawer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The first line. Lines are counted from the `first_line` given to [`split`].
    pub start_line: u32,
    /// The last line, inclusive.
    pub end_line: u32,
    /// The position in the given text. The drawer's text is exactly this slice, which excludes the
    /// terminator of its last line.
    pub bytes: Range<usize>,
    /// `(i, n)` if this is the i-th of n parts of one line, which is longer than `Size::max` or has
    /// noise in it. The parts join to the line; parts that are noise count and are in no chunk.
    pub part: Option<(u32, u32)>,
    /// The path of the headings or definitions above the whole chunk, such as `Guide > Install`. It
    /// may be empty.
    pub heading: String,
}

/// The result of [`split`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The chunks in text order. Every line that is not blank and no noise is in at least one.
    pub chunks: Vec<Chunk>,
    /// The trail at the start of the last chunk, before its first line. To split a long text in
    /// windows, drop the last chunk of each window and continue from its start with this trail. If
    /// the last chunk is a part of a line, the trail is that of the start of the line, and all
    /// parts of the line must be dropped.
    pub last_trail: Trail,
    /// The first heading of the outermost level, if the format has headings.
    pub title: Option<String>,
}

impl Split {
    /// Removes titles from the headings of all chunks and from the trail.
    pub(crate) fn leave_out_titles(&mut self, is_gone: &dyn Fn(&str) -> bool) {
        self.title = self.title.take().filter(|title| !is_gone(title));
        for chunk in &mut self.chunks {
            let left: Vec<&str> = chunk
                .heading
                .split(outline::JOINT)
                .filter(|title| !is_gone(title))
                .collect();
            chunk.heading = left.join(outline::JOINT);
        }
        for step in &mut self.last_trail.steps {
            if is_gone(&step.title) {
                step.title.clear();
            }
        }
    }
}

/// Splits `text` into chunks. `first_line` is the number of its first line. `trail` is the trail
/// before it, which is the default for a whole text.
///
/// It never fails, returns the same chunks for the same input, and takes linear time.
///
/// ```
/// use loci_mine::document::Format;
/// use loci_mine::split::{Size, Trail, split};
///
/// let text = "# Guide\n\nRead this first.\n";
/// let split = split(text, &Format::Markdown, &Size::default(), 1, &Trail::default());
/// let chunk = split.chunks.first().unwrap();
/// assert_eq!((chunk.start_line, chunk.end_line, chunk.heading.as_str()), (1, 3, "Guide"));
/// ```
pub fn split(text: &str, format: &Format, size: &Size, first_line: u32, trail: &Trail) -> Split {
    split_around(text, format, size, first_line, trail, &[])
}

/// Like [`split`], and leaves out `noise`, which is sorted. A chunk ends before it, and the next one
/// begins after it.
pub fn split_around(
    text: &str,
    format: &Format,
    size: &Size,
    first_line: u32,
    trail: &Trail,
    noise: &[Span],
) -> Split {
    let mut rows = rows::rows(text, first_line);
    rows::leave_out(&mut rows, noise);
    if rows.is_empty() {
        return Split {
            chunks: Vec::new(),
            last_trail: trail.clone(),
            title: None,
        };
    }
    let limits = Limits::of(size);
    let mut outline = Outline::new(rows, trail);
    match format {
        Format::Markdown | Format::Html | Format::Notebook | Format::Docx => {
            markdown::read(text, &mut outline, trail, limits.whole());
        }
        Format::Rst => rst::read(text, &mut outline),
        Format::Code(language) => code::read(text, &mut outline, *language, trail),
        Format::Json => data::json(text, &mut outline),
        Format::Yaml => data::yaml(text, &mut outline, trail),
        Format::Toml => data::toml(text, &mut outline, trail),
        Format::JsonLines => {
            for row in &mut outline.rows {
                row.cut = Cut::PARAGRAPH;
            }
        }
        Format::Text | Format::Svg | Format::Pdf => prose(text, &mut outline),
    }
    let has_headings = matches!(
        format,
        Format::Markdown | Format::Html | Format::Notebook | Format::Docx | Format::Rst
    );
    Split {
        title: outline
            .title()
            .filter(|_| has_headings && !trail.has_steps()),
        ..pack::pack(text, &outline, limits, noise)
    }
}

/// Inside paragraphs, prefers to cut after lines that end a sentence.
fn prose(text: &str, outline: &mut Outline) {
    let mut open = false;
    for row in &mut outline.rows {
        if !row.gap && open && row.column < 8 {
            row.cut = Cut::WRAPPED;
        }
        open = !ends_sentence(row.text(text));
    }
}

/// Whether the line ends with a mark that ends a sentence.
fn ends_sentence(line: &str) -> bool {
    line.trim_end()
        .ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '"', ')'])
}
