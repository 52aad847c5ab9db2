//! Turns the bytes of a file into text with a format.
//!
//! This module recognises formats by name and first bytes, decodes text that is not UTF-8, and
//! extracts the text of HTML, SVG, notebooks, PDF and DOCX. It opens no files. No input makes it panic or use
//! unbounded memory.

mod docx;
mod encoding;
mod format;
mod generated;
mod html;
mod names;
mod notebook;
mod page;
mod pdf;
mod recognise;
mod svg;

use std::fmt;
use std::path::Path;

use crate::noise::Noise;

pub use encoding::encoding_of;
pub use format::{Format, Language};
pub use generated::is_generated;
pub use recognise::recognise;

/// How many bytes at the start of a file decide its format.
const HEAD: usize = 8 * 1024;
/// The largest file whose text is extracted.
const LARGEST: usize = 64 * 1024 * 1024;
/// The most text that is extracted from one file.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// The reason that a file has no text to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skip {
    /// The file is empty, or contains only white space.
    Empty,
    /// The file is not text, or is damaged.
    Binary,
    /// The file needs a password.
    Encrypted,
    /// The file contains no text, for example because it is a scan.
    NoText,
    /// The file is too large to be read as a whole.
    TooLarge,
    /// The file is too large for its format, which cannot be read in sections.
    TooLargeForKind,
    /// A program generated the file: a lock file, minified code, or a file that says so.
    Generated,
    /// The file consists of data that nobody can read.
    Noise(Noise),
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Skip::Empty => "empty",
            Skip::Binary => "binary",
            Skip::Encrypted => "encrypted",
            Skip::NoText => "no text in it",
            Skip::TooLarge => "too large",
            Skip::TooLargeForKind => "too large for its kind",
            Skip::Generated => "generated",
            Skip::Noise(noise) => return noise.fmt(formatter),
        })
    }
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The format of the text.
    pub format: Format,
    /// The text, without a byte order mark. If the file is UTF-8, the text has the same bytes as
    /// the file.
    pub text: String,
    /// The encoding of the file, if it is not UTF-8.
    pub encoding: Option<String>,
    /// Whether the text was extracted from another format, so that its lines are not those of the
    /// file.
    pub extracted: bool,
    /// The title of an extracted document.
    pub title: Option<String>,
}

/// Reads the content of a whole file named `path`. The path is not opened.
///
/// Text should have a few MiB at most; formats whose text is extracted may have 64 MiB.
pub fn read(path: &Path, bytes: Vec<u8>) -> Result<Document, Skip> {
    let mut format = recognise(path, bytes.get(..HEAD).unwrap_or(&bytes))?;
    if bytes.len() > LARGEST {
        return Err(Skip::TooLarge);
    }
    let (text, encoding, title) = match format {
        Format::Pdf => {
            let (text, title) = pdf::extract(&bytes)?;
            (text, None, title)
        }
        Format::Docx => {
            let (text, title) = docx::extract(&bytes)?;
            (text, None, title)
        }
        Format::Html => {
            let (source, encoding) = encoding::decode_html(bytes)?;
            let (text, title) = html::extract(&source);
            (text, encoding, title)
        }
        Format::Svg => {
            let (source, encoding) = encoding::decode_html(bytes)?;
            let (text, title) = svg::extract(&source);
            (text, encoding, title)
        }
        Format::Notebook => {
            let (source, encoding) = encoding::decode(bytes)?;
            match notebook::extract(&source) {
                Some(text) => (text, encoding, None),
                None => {
                    format = Format::Json;
                    (source, encoding, None)
                }
            }
        }
        _ => {
            let (text, encoding) = encoding::decode(bytes)?;
            (text, encoding, None)
        }
    };
    let extracted = format.is_extracted();
    if text.trim().is_empty() {
        return Err(if extracted { Skip::NoText } else { Skip::Empty });
    }
    Ok(Document {
        format,
        text,
        encoding,
        extracted,
        title: title
            .map(|title| title.trim().to_owned())
            .filter(|title| !title.is_empty()),
    })
}
