//! Extracts the text of HTML, with headings, lists and code as Markdown.
//!
//! It reads the stream of tags and builds no tree, so deep nesting costs nothing. Scripts and
//! styles are left out.

mod attributes;

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::page::Page;

const MOST_TITLE: usize = 1000;
const MOST_LISTS: usize = 64;
/// How many bytes the tokenizer receives at a time.
const STEP: usize = 64 * 1024;

/// Returns the text and title of a page.
pub(super) fn extract(source: &str) -> (String, Option<String>) {
    let options = TokenizerOpts {
        discard_bom: true,
        ..TokenizerOpts::default()
    };
    let tokenizer = Tokenizer::new(Sink::default(), options);
    let input = BufferQueue::default();
    let source = attributes::bounded(source);
    let mut rest = &*source;
    while !rest.is_empty() && !tokenizer.sink.0.borrow().page.is_full() {
        let mut end = STEP.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (step, after) = rest.split_at(end);
        rest = after;
        input.push_back(StrTendril::from_slice(step));
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    let mut reader = tokenizer.sink.0.take();
    reader.end_code();
    (reader.page.finish(), Some(reader.title))
}

/// The tokenizer passes its sink by shared reference, so the mutable state is in a cell.
#[derive(Default)]
struct Sink(RefCell<Reader>);

#[derive(Default)]
struct Reader {
    page: Page,
    title: String,
    titled: bool,
    /// The skipped element, and how many elements of its name are open.
    skipped: Option<(String, usize)>,
    in_title: bool,
    code: Option<String>,
    /// The next number of each open list, if the list is numbered.
    lists: Vec<Option<u32>>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reader = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return reader.tag(&tag),
            Token::CharacterTokens(text) => reader.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.in_title {
            if !self.titled && self.title.len() < MOST_TITLE {
                self.title.push_str(text);
            }
        } else if self.skipped.is_some() || self.page.is_full() {
        } else if let Some(code) = &mut self.code {
            code.push_str(text);
        } else {
            self.page.words(text);
        }
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let starts = tag.kind == TagKind::StartTag;
        if let Some((skipped, depth)) = &mut self.skipped {
            if name == skipped && !tag.self_closing {
                *depth = if starts { *depth + 1 } else { *depth - 1 };
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return raw(name, starts);
        }
        match name {
            "script" | "style" | "noscript" | "template" | "svg" | "iframe" | "noembed"
            | "noframes" | "textarea"
                if starts && !tag.self_closing =>
            {
                self.skipped = Some((name.to_owned(), 1));
            }
            "title" => {
                self.titled |= !starts;
                self.in_title = starts;
            }
            "pre" if starts => self.code = Some(String::new()),
            "pre" => self.end_code(),
            _ if self.code.is_some() => self.tag_in_code(name),
            _ if starts => self.start(name, tag),
            _ => self.end(name),
        }
        raw(name, starts)
    }

    fn tag_in_code(&mut self, name: &str) {
        if name == "br"
            && let Some(code) = &mut self.code
        {
            code.push('\n');
        }
    }

    fn end_code(&mut self) {
        if let Some(code) = self.code.take() {
            self.page.code(&code);
        }
    }

    fn start(&mut self, name: &str, tag: &Tag) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.bytes().last().map_or(1, |digit| digit - b'0');
                self.page.heading(level);
            }
            "ul" | "ol" | "menu" => {
                if self.lists.is_empty() {
                    self.page.paragraph();
                }
                if self.lists.len() < MOST_LISTS {
                    self.lists.push((name == "ol").then_some(1));
                }
            }
            "li" => {
                let depth = self.lists.len();
                let number = self.lists.last_mut().and_then(|next| {
                    let number = *next;
                    *next = next.map(|next| next.saturating_add(1));
                    number
                });
                self.page.item(depth, number);
            }
            "br" | "tr" | "dt" | "dd" | "option" => self.page.line(),
            "td" | "th" => self.page.cell(),
            "img" => {
                let alternative = tag
                    .attrs
                    .iter()
                    .find(|attribute| &*attribute.name.local == "alt");
                if let Some(alternative) = alternative {
                    self.page.words(&alternative.value);
                }
            }
            _ if is_block(name) => self.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.page.paragraph();
                } else {
                    self.page.line();
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.page.paragraph(),
            "li" | "tr" | "dt" | "dd" => self.page.line(),
            _ if is_block(name) => self.block(),
            _ => {}
        }
    }

    /// Starts a new block. Blocks inside a list item stay with the item.
    fn block(&mut self) {
        if self.lists.is_empty() {
            self.page.paragraph();
        } else {
            self.page.line();
        }
    }
}

/// How the tokenizer must read the text after the tag.
fn raw(name: &str, starts: bool) -> TokenSinkResult<()> {
    match name {
        _ if !starts => TokenSinkResult::Continue,
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => {
            TokenSinkResult::RawData(RawKind::Rawtext)
        }
        "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
        _ => TokenSinkResult::Continue,
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "main"
            | "aside"
            | "nav"
            | "dl"
            | "table"
            | "blockquote"
            | "form"
            | "figure"
            | "figcaption"
            | "address"
            | "details"
            | "summary"
            | "hr"
            | "fieldset"
            | "body"
            | "center"
            | "caption"
    )
}
