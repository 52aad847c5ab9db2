//! Collects extracted text: paragraphs, headings, list items and code, as Markdown.
//!
//! White space is collapsed as in a browser. The text stops growing at a limit, and everything
//! after the limit is dropped.

use super::MOST_TEXT;

/// Lists and tables nested deeper than this are not indented further.
const DEEPEST_LIST: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    /// The white space to insert before the next word.
    space: Space,
    prefix: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    #[default]
    None,
    Word,
    Line,
    Paragraph,
}

impl Page {
    /// Ends a paragraph.
    pub(super) fn paragraph(&mut self) {
        self.space = Space::Paragraph;
        self.prefix.clear();
    }

    /// Ends a line.
    pub(super) fn line(&mut self) {
        self.space = self.space.max(Space::Line);
    }

    /// Starts a heading.
    pub(super) fn heading(&mut self, level: u8) {
        self.paragraph();
        self.prefix = "#".repeat(usize::from(level.clamp(1, 6)));
        self.prefix.push(' ');
    }

    /// Starts a list item; `depth` is 1 for the outermost list.
    pub(super) fn item(&mut self, depth: usize, number: Option<u32>) {
        self.line();
        self.prefix = "  ".repeat(depth.saturating_sub(1).min(DEEPEST_LIST));
        match number {
            Some(number) => {
                self.prefix.push_str(&number.to_string());
                self.prefix.push_str(". ");
            }
            None => self.prefix.push_str("- "),
        }
    }

    /// Starts another cell of a row.
    pub(super) fn cell(&mut self) {
        if self.space < Space::Line && !self.text.is_empty() {
            self.text.push_str(" |");
            self.space = Space::Word;
        }
    }

    /// Adds words, with each run of white space as one space.
    pub(super) fn words(&mut self, text: &str) {
        for (number, word) in text.split(is_space).enumerate() {
            if number > 0 {
                self.space = self.space.max(Space::Word);
            }
            if !word.is_empty() {
                self.separate();
                self.text.push_str(word);
            }
        }
    }

    /// Adds code with its lines unchanged.
    pub(super) fn code(&mut self, code: &str) {
        let code = code.trim_matches(['\n', '\r']);
        if code.trim().is_empty() {
            return;
        }
        self.paragraph();
        self.separate();
        // The fence must be longer than every run of backticks in the code.
        let longest = code.split(|letter| letter != '`').map(str::len).max();
        let fence = "`".repeat(longest.map_or(3, |longest| (longest + 1).max(3)));
        for part in [&fence, "\n", code, "\n", &fence] {
            self.text.push_str(part);
        }
        self.paragraph();
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str(match self.space {
                Space::None => "",
                Space::Word => " ",
                Space::Line => "\n",
                Space::Paragraph => "\n\n",
            });
        }
        self.space = Space::None;
        self.text.push_str(&self.prefix);
        self.prefix.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= MOST_TEXT
    }

    pub(super) fn finish(mut self) -> String {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }
}

/// Whether the character collapses into a space. A non-breaking space is kept.
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\u{200b}'
}
