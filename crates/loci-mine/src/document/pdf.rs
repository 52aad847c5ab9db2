//! Extracts the text of PDF, page by page in drawing order.
//!
//! Lines and paragraphs follow from the positions of the text. The unpacked size of streams is
//! bounded, nested forms are followed only a few levels deep, and a failure of the PDF library
//! becomes a [`Skip`].

mod font;
mod layout;
mod matrix;
mod work;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Error, LoadOptions, Object, Stream};

use super::{MOST_TEXT, Skip};
use font::Font;
use layout::Layout;
use matrix::Matrix;
use work::Work;

/// The most bytes that one page, or one stream, may unpack to. The parsed operations take up to
/// forty times as much memory.
const MOST_UNPACKED: usize = 8 * 1024 * 1024;
/// The same limit for a form. All nested forms are in memory at once.
const MOST_UNPACKED_FORM: usize = 2 * 1024 * 1024;
/// The most operations that are drawn for one document.
const MOST_OPERATIONS: usize = 20_000_000;
const DEEPEST_FORM: usize = 4;
const MOST_SAVED: usize = 64;

/// Returns the text and title of a document.
pub(super) fn extract(bytes: &[u8]) -> Result<(String, Option<String>), Skip> {
    // No panic of the library is known, but its input is untrusted.
    catch_unwind(AssertUnwindSafe(|| extract_unguarded(bytes))).unwrap_or(Err(Skip::Binary))
}

fn extract_unguarded(bytes: &[u8]) -> Result<(String, Option<String>), Skip> {
    let options = LoadOptions {
        max_decompressed_size: Some(MOST_UNPACKED),
        ..LoadOptions::default()
    };
    let document = match Document::load_mem_with_options(bytes, options) {
        Ok(document) if document.trailer.has(b"Encrypt") => return Err(Skip::Encrypted),
        Ok(document) => document,
        Err(Error::InvalidPassword | Error::Decryption(_)) => return Err(Skip::Encrypted),
        Err(_) if memchr::memmem::find(bytes, b"/Encrypt").is_some() => {
            return Err(Skip::Encrypted);
        }
        Err(_) => return Err(Skip::Binary),
    };
    let mut drawing = Drawing {
        document: &document,
        layout: Layout::default(),
        fonts: HashMap::new(),
        operations: 0,
        work: Work::default(),
    };
    for page in document.page_iter() {
        if drawing.is_full() {
            break;
        }
        let content = document.get_page_content_with_limit(page, MOST_UNPACKED);
        drawing
            .work
            .unpacked(content.as_deref().ok(), MOST_UNPACKED);
        let Ok(content) = content else { continue };
        let resources = page_resources(&document, page);
        drawing.draw(&content, &resources, Matrix::IDENTITY, 0);
        drawing.layout.paragraph();
    }
    Ok((drawing.layout.finish(), title(&document)))
}

fn title(document: &Document) -> Option<String> {
    let info = document
        .trailer
        .get_deref(b"Info", document)
        .ok()?
        .as_dict()
        .ok()?;
    lopdf::decode_text_string(info.get_deref(b"Title", document).ok()?).ok()
}

/// Returns the resources of a page, its own first.
fn page_resources(document: &Document, page: lopdf::ObjectId) -> Vec<&Dictionary> {
    let Ok((own, inherited)) = document.get_page_resources(page) else {
        return Vec::new();
    };
    let inherited = inherited
        .into_iter()
        .filter_map(|id| document.get_dictionary(id).ok());
    own.into_iter().chain(inherited).collect()
}

struct Drawing<'a> {
    document: &'a Document,
    layout: Layout,
    /// Fonts by their address in the document, because pages share them.
    fonts: HashMap<usize, Rc<Font>>,
    operations: usize,
    work: Work,
}

/// The state that a stream of operations changes.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    leading: f64,
    /// The extra space after each character and each space.
    spacing: (f64, f64),
    stretch: f64,
}

impl<'a> Drawing<'a> {
    fn is_full(&self) -> bool {
        self.operations > MOST_OPERATIONS || self.layout.bytes() > MOST_TEXT || self.work.is_done()
    }

    fn resource(
        &self,
        resources: &[&'a Dictionary],
        kind: &[u8],
        name: &[u8],
    ) -> Option<&'a Object> {
        resources.iter().find_map(|resources| {
            let group = resources
                .get_deref(kind, self.document)
                .ok()?
                .as_dict()
                .ok()?;
            group.get_deref(name, self.document).ok()
        })
    }

    fn font(&mut self, resources: &[&'a Dictionary], name: &[u8]) -> Option<Rc<Font>> {
        let dictionary = self.resource(resources, b"Font", name)?.as_dict().ok()?;
        let place = std::ptr::from_ref(dictionary).addr();
        let font = self
            .fonts
            .entry(place)
            .or_insert_with(|| Rc::new(Font::new(self.document, dictionary, &mut self.work)));
        Some(Rc::clone(font))
    }

    fn draw(&mut self, content: &[u8], resources: &[&'a Dictionary], page: Matrix, depth: usize) {
        let Ok(content) = Content::decode(content) else {
            return;
        };
        let mut state = State {
            page,
            font: None,
            size: 1.0,
            leading: 0.0,
            spacing: (0.0, 0.0),
            stretch: 1.0,
        };
        let mut saved = Vec::new();
        let (mut text, mut line) = (Matrix::IDENTITY, Matrix::IDENTITY);
        for Operation { operator, operands } in &content.operations {
            self.operations += 1;
            if self.is_full() {
                return;
            }
            let number = |place: usize| {
                operands
                    .get(place)
                    .and_then(|operand| operand.as_float().ok())
                    .map_or(0.0, f64::from)
            };
            match operator.as_str() {
                "q" if saved.len() < MOST_SAVED => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "cm" => state.page = Matrix::of(number).then(&state.page),
                "BT" => (text, line) = (Matrix::IDENTITY, Matrix::IDENTITY),
                "Tf" => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    state.font = name.and_then(|name| self.font(resources, name));
                    state.size = number(1);
                }
                "Tc" => state.spacing.0 = number(0),
                "Tw" => state.spacing.1 = number(0),
                "Tz" => state.stretch = number(0) / 100.0,
                "TL" => state.leading = number(0),
                "Td" | "TD" => {
                    if operator == "TD" {
                        state.leading = -number(1);
                    }
                    line = line.moved(number(0), number(1));
                    text = line;
                }
                "Tm" => {
                    line = Matrix::of(number);
                    text = line;
                }
                "T*" => {
                    line = line.moved(0.0, -state.leading);
                    text = line;
                }
                "Tj" => self.show(operands, &state, &mut text),
                "'" | "\"" => {
                    line = line.moved(0.0, -state.leading);
                    text = line;
                    self.show(operands, &state, &mut text);
                }
                "TJ" => {
                    if let Some(Ok(parts)) = operands.first().map(Object::as_array) {
                        self.show(parts, &state, &mut text);
                    }
                }
                "Do" => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    let object = name.and_then(|name| self.resource(resources, b"XObject", name));
                    if let Some(form) = object.and_then(|object| object.as_stream().ok()) {
                        self.form(form, resources, &state.page, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Draws the stream if it is a form.
    fn form(
        &mut self,
        form: &'a Stream,
        resources: &[&'a Dictionary],
        page: &Matrix,
        depth: usize,
    ) {
        let is_form = form
            .dict
            .get(b"Subtype")
            .and_then(Object::as_name)
            .is_ok_and(|kind| kind == b"Form");
        if !is_form || depth > DEEPEST_FORM {
            return;
        }
        let content = form.decompressed_content_with_limit(MOST_UNPACKED_FORM);
        self.work
            .unpacked(content.as_deref().ok(), MOST_UNPACKED_FORM);
        let Ok(content) = content else { return };
        let own = form
            .dict
            .get_deref(b"Resources", self.document)
            .and_then(Object::as_dict);
        let resources: Vec<_> = own
            .into_iter()
            .chain(resources.iter().copied())
            .take(DEEPEST_FORM + 8)
            .collect();
        let matrix = form
            .dict
            .get_deref(b"Matrix", self.document)
            .and_then(Object::as_array);
        let page = match matrix {
            Ok(numbers) => Matrix::of(|place| {
                let number = numbers.get(place).and_then(|number| number.as_float().ok());
                number.map_or(0.0, f64::from)
            })
            .then(page),
            Err(_) => *page,
        };
        self.draw(&content, &resources, page, depth);
    }

    /// Shows strings and moves by the numbers between them.
    fn show(&mut self, parts: &[Object], state: &State, text: &mut Matrix) {
        let Some(font) = &state.font else { return };
        for part in parts {
            if let Object::String(bytes, _) = part {
                let place = text.then(&state.page);
                let width = font.width(bytes, state.spacing, state.size) * state.stretch;
                self.layout
                    .show(&font.text(bytes), &place, state.size, width);
                *text = text.moved(width, 0.0);
            } else if let Ok(number) = part.as_float() {
                let width = -f64::from(number) / 1000.0 * state.size * state.stretch;
                *text = text.moved(width, 0.0);
            }
        }
    }
}
