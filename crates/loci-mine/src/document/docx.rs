//! Extracts the text of a DOCX file: paragraphs, headings by their styles, list items, and rows of
//! tables.
//!
//! Headers, footers, notes and comments are left out. The unpacked size is bounded, whatever sizes
//! the archive declares.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;
use zip::result::ZipError;

use super::Skip;
use super::page::Page;

/// The most XML that is unpacked from one document.
const MOST_XML: u64 = 64 * 1024 * 1024;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Returns the text and title of a document.
pub(super) fn extract(bytes: &[u8]) -> Result<(String, Option<String>), Skip> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Skip::Binary)?;
    let mut left = MOST_XML;
    let body = member(&mut archive, "word/document.xml", &mut left)?.ok_or(Skip::Binary)?;
    let styles = member(&mut archive, "word/styles.xml", &mut left)?.unwrap_or_default();
    let properties = member(&mut archive, "docProps/core.xml", &mut left)?.unwrap_or_default();
    let text = body_text(&body, &headings(&styles));
    Ok((text, title(&properties)))
}

/// Returns a member of the archive as text, or `None` if there is none of this name. Subtracts its
/// size from `left`.
fn member(archive: &mut Archive<'_>, name: &str, left: &mut u64) -> Result<Option<String>, Skip> {
    let mut bytes = Vec::new();
    match archive.by_name(name) {
        Ok(file) => {
            if file.encrypted() {
                return Err(Skip::Encrypted);
            }
            // If the end of the member is damaged, the part before it is kept.
            let _ = file.take(*left + 1).read_to_end(&mut bytes);
        }
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(ZipError::UnsupportedArchive(message)) if message == ZipError::PASSWORD_REQUIRED => {
            return Err(Skip::Encrypted);
        }
        Err(_) => return Err(Skip::Binary),
    }
    *left = left.checked_sub(bytes.len() as u64).ok_or(Skip::TooLarge)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn reader(xml: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    reader
}

/// Returns the value of an attribute by its local name.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == name);
    found.map(|attribute| attribute.value.into_owned())
}

/// Returns the level of each heading style. The names of built-in styles are English in every
/// language, but their ids are not.
fn headings(styles: &str) -> HashMap<String, u8> {
    let mut headings = HashMap::new();
    let mut reader = reader(styles);
    let mut style = None;
    while let Ok(event) = reader.read_event() {
        let (Event::Start(element) | Event::Empty(element)) = event else {
            if event == Event::Eof {
                break;
            }
            continue;
        };
        match element.local_name().as_ref() {
            "style" => style = attribute(&element, "styleId"),
            "name" => {
                let name = attribute(&element, "val")
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                let level = match name.strip_prefix("heading ") {
                    Some(level) => level.parse().ok(),
                    None => (name == "title").then_some(1),
                };
                if let (Some(style), Some(level)) = (&style, level) {
                    headings.insert(style.clone(), level);
                }
            }
            _ => {}
        }
    }
    headings
}

fn body_text(xml: &str, headings: &HashMap<String, u8>) -> String {
    let mut page = Page::default();
    let mut reader = reader(xml);
    let mut in_text = false;
    // Elements inside a fallback repeat the text of the main alternative, so they are skipped.
    let mut fallback = 0usize;
    let mut rows = 0usize;
    while let Ok(event) = reader.read_event() {
        if page.is_full() {
            break;
        }
        match event {
            Event::Start(element) if element.local_name().as_ref() == "Fallback" => fallback += 1,
            Event::End(element) if element.local_name().as_ref() == "Fallback" => {
                fallback = fallback.saturating_sub(1);
            }
            Event::Eof => break,
            _ if fallback > 0 => {}
            Event::Start(element) | Event::Empty(element) => match element.local_name().as_ref() {
                "p" if rows == 0 => page.paragraph(),
                "t" => in_text = true,
                "tab" => page.words(" "),
                "br" | "cr" => page.line(),
                "tr" => {
                    rows += 1;
                    page.line();
                }
                "tc" => page.cell(),
                "pStyle" => {
                    let style = attribute(&element, "val").unwrap_or_default();
                    if let Some(level) = headings.get(&style) {
                        page.heading(*level);
                    }
                }
                "ilvl" => {
                    let level =
                        attribute(&element, "val").and_then(|level| level.parse::<usize>().ok());
                    page.item(level.unwrap_or(0).min(8) + 1, None);
                }
                _ => {}
            },
            Event::End(element) => match element.local_name().as_ref() {
                "t" => in_text = false,
                "p" if rows > 0 => page.words(" "),
                "p" => page.paragraph(),
                "tr" => {
                    rows = rows.saturating_sub(1);
                    page.line();
                }
                _ => {}
            },
            Event::Text(text) if in_text => page.words(&text.xml10_content()),
            Event::CData(text) if in_text => page.words(&text.xml10_content()),
            Event::GeneralRef(reference) if in_text => {
                if let Ok(Some(character)) = reference.resolve_char_ref() {
                    page.words(character.encode_utf8(&mut [0; 4]));
                } else if let Some(text) = quick_xml::escape::resolve_predefined_entity(&reference)
                {
                    page.words(text);
                }
            }
            _ => {}
        }
    }
    page.finish()
}

fn title(properties: &str) -> Option<String> {
    let mut reader = reader(properties);
    let mut title = None;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(element) if element.local_name().as_ref() == "title" => {
                title = Some(String::new());
            }
            Event::Text(text) => {
                if let Some(title) = &mut title {
                    title.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                let text = quick_xml::escape::resolve_predefined_entity(&reference);
                if let (Some(title), Some(text)) = (&mut title, text) {
                    title.push_str(text);
                }
            }
            Event::End(element) if element.local_name().as_ref() == "title" => return title,
            Event::Eof => break,
            _ => {}
        }
    }
    None
}
