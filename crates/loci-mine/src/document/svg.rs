//! Extracts the text of an SVG file: its title, its descriptions and its labels.
//!
//! A drawing with a few numbers at an axis has no text. Damaged files give what comes before the
//! damage.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::page::Page;

const MOST_TITLE: usize = 1_000;
/// Fewer letters are no text.
const LETTERS: usize = 8;

/// The elements whose text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Title,
    Description,
    Label,
}

/// Returns the text and title of a drawing. The text is empty if there is hardly any.
pub(super) fn extract(source: &str) -> (String, Option<String>) {
    let mut reader = Reader::from_str(source);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    let mut page = Page::default();
    let mut title = String::new();
    let mut words = String::new();
    let mut open: Option<(Part, usize)> = None;
    let mut before = Part::Title;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Eof => break,
            Event::Start(element) => match (&mut open, part(element.local_name().as_ref())) {
                (Some((_, depth)), _) => {
                    *depth += 1;
                    words.push(' ');
                }
                (None, Some(part)) => open = Some((part, 1)),
                (None, None) => {}
            },
            Event::End(_) => {
                let Some((part, depth)) = &mut open else {
                    continue;
                };
                *depth -= 1;
                if *depth == 0 {
                    let line = std::mem::take(&mut words);
                    if *part == Part::Title && title.is_empty() && line.len() <= MOST_TITLE {
                        line.trim().clone_into(&mut title);
                    }
                    if line.chars().any(char::is_alphabetic) {
                        if *part == Part::Label && before == Part::Label {
                            page.line();
                        } else {
                            page.paragraph();
                        }
                        page.words(&line);
                        before = *part;
                    }
                    open = None;
                }
            }
            Event::Text(text) if open.is_some() => words.push_str(&text.xml10_content()),
            Event::CData(text) if open.is_some() => words.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) if open.is_some() => {
                if let Ok(Some(character)) = reference.resolve_char_ref() {
                    words.push(character);
                } else if let Some(text) = quick_xml::escape::resolve_predefined_entity(&reference)
                {
                    words.push_str(text);
                }
            }
            _ => {}
        }
        if page.is_full() {
            break;
        }
    }
    let text = page.finish();
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    if letters < LETTERS {
        return (String::new(), None);
    }
    (text, Some(title))
}

fn part(name: &str) -> Option<Part> {
    match name {
        "title" => Some(Part::Title),
        "desc" => Some(Part::Description),
        "text" => Some(Part::Label),
        _ => None,
    }
}
