//! The characters and widths of the codes of a PDF font.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Object};

use super::work::Work;

/// The most widths that one font can have.
const MOST_WIDTHS: usize = 65_536;
/// The most bytes that the character table of a font may unpack to.
const MOST_UNPACKED: usize = 8 * 1024 * 1024;
/// The work of looking up all codes of a font, and of keeping one of them.
const WORK_OF_FONT: usize = 1024;
const WORK_OF_WIDE_FONT: usize = 256 * 1024;
const WORK_OF_CODE: usize = 512;

/// A font, with the text of its codes looked up once.
#[derive(Debug)]
pub(super) struct Font {
    /// Whether codes have two bytes.
    wide: bool,
    /// The text of each code. Single codes are kept, because strings repeat less often than codes.
    characters: HashMap<u16, String>,
    widths: HashMap<u16, f64>,
    default_width: f64,
}

impl Font {
    /// Reads a font. It gets no characters if the document has used up its work limit.
    pub(super) fn new(document: &Document, font: &Dictionary, work: &mut Work) -> Font {
        let wide = font
            .get(b"Subtype")
            .and_then(Object::as_name)
            .is_ok_and(|kind| kind == b"Type0");
        let mut widths = HashMap::new();
        let default_width = if wide {
            wide_widths(document, font, &mut widths)
        } else {
            simple_widths(document, font, &mut widths)
        };
        Font {
            wide,
            characters: known_characters(document, font, work, wide),
            widths,
            default_width,
        }
    }

    fn codes<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = u16> + 'b {
        let length = if self.wide { 2 } else { 1 };
        bytes.chunks(length).map(|code| {
            code.iter()
                .fold(0, |code, byte| code << 8 | u16::from(*byte))
        })
    }

    /// Returns the text of a string in this font.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        self.codes(bytes)
            .filter_map(|code| self.characters.get(&code))
            .map(String::as_str)
            .collect()
    }

    /// Returns the width of a string at `size`, with extra space after each character and each
    /// space.
    pub(super) fn width(&self, bytes: &[u8], spacing: (f64, f64), size: f64) -> f64 {
        self.codes(bytes)
            .map(|code| {
                let width = self.widths.get(&code).unwrap_or(&self.default_width);
                let space = if code == 32 && !self.wide {
                    spacing.1
                } else {
                    0.0
                };
                width / 1000.0 * size + spacing.0 + space
            })
            .sum()
    }
}

/// Returns the text of all codes, within the work limit.
fn known_characters(
    document: &Document,
    font: &Dictionary,
    work: &mut Work,
    wide: bool,
) -> HashMap<u16, String> {
    work.add(if wide {
        WORK_OF_WIDE_FONT
    } else {
        WORK_OF_FONT
    });
    let table = font.get_deref(b"ToUnicode", document);
    if let Ok(table) = table.and_then(Object::as_stream) {
        let table = table.decompressed_content_with_limit(MOST_UNPACKED);
        work.unpacked(table.as_deref().ok(), MOST_UNPACKED);
    }
    if work.is_done() {
        return HashMap::new();
    }
    let characters = characters(document, font, MOST_UNPACKED, wide);
    work.add(characters.len() * WORK_OF_CODE);
    characters
}

/// Returns the text of all codes. The Unicode table of the font takes precedence over glyph names,
/// which may be arbitrary.
fn characters(
    document: &Document,
    font: &Dictionary,
    most: usize,
    wide: bool,
) -> HashMap<u16, String> {
    let identity = font
        .get(b"Encoding")
        .and_then(Object::as_name)
        .is_ok_and(|name| name.starts_with(b"Identity"));
    if identity && !font.has(b"ToUnicode") {
        // Codes are glyph indices of the embedded font, so their characters are unknown.
        return HashMap::new();
    }
    let mut mapped = font.clone();
    if font.has(b"ToUnicode") {
        mapped.remove(b"Encoding");
    }
    let decode = |font: &Dictionary| {
        let encoding = font.get_font_encoding_with_limit(document, most).ok()?;
        let last = if wide { u16::MAX } else { 255 };
        let mut characters = HashMap::new();
        for code in 0..=last {
            let bytes = code.to_be_bytes();
            let bytes = if wide {
                bytes.as_slice()
            } else {
                bytes.get(1..)?
            };
            if let Ok(text) = encoding.bytes_to_string(bytes)
                && !text.is_empty()
                && !text.contains('\u{fffd}')
            {
                characters.insert(code, text);
            }
        }
        Some(characters)
    };
    let mut characters = decode(&mapped).unwrap_or_default();
    if !wide && font.has(b"ToUnicode") && font.has(b"Encoding") {
        for (code, text) in decode(font).unwrap_or_default() {
            characters.entry(code).or_insert(text);
        }
    }
    characters
}

fn simple_widths(document: &Document, font: &Dictionary, widths: &mut HashMap<u16, f64>) -> f64 {
    let first = font.get(b"FirstChar").and_then(Object::as_i64).unwrap_or(0);
    let listed = font
        .get_deref(b"Widths", document)
        .and_then(Object::as_array);
    for (number, width) in listed.into_iter().flatten().take(256).enumerate() {
        let code = u16::try_from(first.saturating_add(number as i64));
        if let (Ok(code), Ok(width)) = (code, width.as_float()) {
            widths.insert(code, f64::from(width));
        }
    }
    // The standard fonts need no widths. Those of fixed width have 600; the others have about 500
    // on average.
    500.0
}

fn wide_widths(document: &Document, font: &Dictionary, widths: &mut HashMap<u16, f64>) -> f64 {
    let descendant = font
        .get_deref(b"DescendantFonts", document)
        .and_then(Object::as_array)
        .ok()
        .and_then(|fonts| fonts.first())
        .and_then(|font| document.dereference(font).ok())
        .and_then(|(_, font)| font.as_dict().ok());
    let Some(descendant) = descendant else {
        return 1000.0;
    };
    let listed = descendant
        .get_deref(b"W", document)
        .and_then(Object::as_array);
    let mut rest = listed.map(Vec::as_slice).unwrap_or_default();
    // Widths are counted as they are read, because ranges may name the same codes repeatedly.
    let mut read = 0;
    while read < MOST_WIDTHS {
        // An entry is a code and a list of widths, or two codes and one width for the range.
        let number = |place: usize| rest.get(place).and_then(|number| number.as_float().ok());
        let Some(first) = number(0) else { break };
        let list = rest.get(1).and_then(|list| document.dereference(list).ok());
        if let Some(Ok(list)) = list.map(|(_, list)| list.as_array()) {
            read += list.len().max(1);
            for (code, width) in (first as u16..=u16::MAX).zip(list) {
                widths.insert(code, width.as_float().map_or(0.0, f64::from));
            }
            rest = rest.get(2..).unwrap_or_default();
        } else if let (Some(last), Some(width)) = (number(1), number(2)) {
            let codes = first as u16..=last as u16;
            read += codes.len().max(1);
            for code in codes {
                widths.insert(code, f64::from(width));
            }
            rest = rest.get(3..).unwrap_or_default();
        } else {
            break;
        }
    }
    descendant
        .get(b"DW")
        .and_then(Object::as_float)
        .map_or(1000.0, f64::from)
}
