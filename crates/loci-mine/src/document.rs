//! From the bytes of a file to text with a format.
//!
//! Knows formats by names and first bytes, decodes what is not UTF-8, and extracts the text of
//! HTML, PDF and DOCX. It opens no files, and no bytes make it panic or use memory without bound.

mod docx;
mod encoding;
mod format;
mod generated;
mod html;
mod names;
mod page;
mod pdf;
mod recognise;

use std::fmt;
use std::path::Path;

pub use encoding::encoding_of;
pub use format::{Format, Language};
pub use generated::is_generated;
pub use recognise::recognise;

/// How much of a file's beginning decides what it is.
const HEAD: usize = 8 * 1024;
/// Largest file whose text is extracted.
const LARGEST: usize = 64 * 1024 * 1024;
/// Most text that is taken out of one file.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// Why a file has no text to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skip {
    /// It has no bytes, or only white space.
    Empty,
    /// It is not text, or is damaged.
    Binary,
    /// It can only be read with a password.
    Encrypted,
    /// It may be a document, but there is no text in it, such as a scan.
    NoText,
    /// It is larger than what is read as a whole.
    TooLarge,
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Skip::Empty => "empty",
            Skip::Binary => "binary",
            Skip::Encrypted => "encrypted",
            Skip::NoText => "no text in it",
            Skip::TooLarge => "too large",
        })
    }
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What the text is.
    pub format: Format,
    /// Byte for byte as in the file where that is UTF-8, without a byte order mark.
    pub text: String,
    /// The encoding, when it was not UTF-8.
    pub encoding: Option<String>,
    /// The text was taken out of another format, so its lines are not those of the file.
    pub extracted: bool,
    /// The title that an extracted document gives itself.
    pub title: Option<String>,
}

/// Reads a whole file of `bytes` that is named `path`. The path is only looked at, never opened.
///
/// Meant for text of a few MiB; HTML, PDF and DOCX may have 64 MiB.
pub fn read(path: &Path, bytes: Vec<u8>) -> Result<Document, Skip> {
    let format = recognise(path, bytes.get(..HEAD).unwrap_or(&bytes))?;
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
        _ => {
            let (text, encoding) = encoding::decode(bytes)?;
            (text, encoding, None)
        }
    };
    let extracted = matches!(format, Format::Pdf | Format::Docx | Format::Html);
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
