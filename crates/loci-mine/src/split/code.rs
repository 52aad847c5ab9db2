//! Finds the structure of code in any language from its lines: definitions, their enclosing blocks,
//! and the lines that belong to them.
//!
//! A definition extends over the following lines that are indented deeper or close it. Lines inside
//! multi-line strings and comments are not interpreted. Invalid code works like valid code, and the
//! time is linear.

use crate::document::Language;

use super::definition::{Kind, kind};
use super::outline::{DEEPEST, Outline, bounded};
use super::rows::{Cut, Row};
use super::trail::{Ending, Open, Trail, TrailHeading};

const LONGEST_SIGNATURE: usize = 100;

/// Reads all rows of `outline`.
pub(super) fn read(text: &str, outline: &mut Outline, language: Language, trail: &Trail) {
    let mut reader = Reader {
        text,
        outline,
        language,
        lead: None,
        inside: match trail.open {
            Some(Open::Until(ending)) => Some(ending),
            _ => None,
        },
    };
    for row in 0..reader.outline.rows.len() {
        reader.line(row);
    }
    reader.flush();
}

struct Reader<'a, 'b> {
    text: &'a str,
    outline: &'b mut Outline,
    language: Language,
    /// The first row of the comments and attributes directly before.
    lead: Option<usize>,
    /// The open string or comment.
    inside: Option<Ending>,
}

impl Reader<'_, '_> {
    fn row(&self, row: usize) -> Option<Row> {
        self.outline.rows.get(row).copied()
    }

    fn line(&mut self, row: usize) {
        let Some(here) = self.row(row) else { return };
        let line = here.trimmed(self.text);
        if let Some(ending) = self.inside {
            self.outline.mark_inside(row, Open::Until(ending));
            self.inside = open_after(line, self.inside, self.language);
            if ending == Ending::Comment && self.lead.is_some() {
                self.outline.set_cut(row, Cut::AVOID);
            }
            return;
        }
        self.inside = open_after(line, None, self.language);
        if here.gap {
            self.flush();
        }
        let mut kind = kind(line, self.language);
        if kind == Kind::Signature {
            kind = if self.block_follows(row, here) {
                Kind::Definition
            } else {
                Kind::Plain
            };
        }
        match kind {
            Kind::Lead => {
                if self.lead.is_some_and(|lead| {
                    self.row(lead)
                        .is_some_and(|lead| lead.column != here.column)
                }) {
                    self.flush();
                }
                if self.lead.is_some() {
                    self.outline.set_cut(row, Cut::AVOID);
                }
                self.lead.get_or_insert(row);
            }
            Kind::Definition => self.definition(row, here, line),
            Kind::Closing => {
                self.flush();
                self.outline.set_cut(row, Cut::AVOID);
                // A closing line belongs to the block that it closes, and ends the blocks inside
                // it.
                self.outline.leave(|step| step.column > here.column);
            }
            Kind::Margin => {
                if self.lead.is_some() {
                    self.flush();
                }
            }
            Kind::Plain | Kind::Signature => {
                self.flush();
                self.plain(row, here);
            }
        }
    }

    /// Handles lead rows that belong to nothing that follows.
    fn flush(&mut self) {
        if let Some(lead) = self.lead.take()
            && let Some(here) = self.row(lead)
        {
            self.plain(lead, here);
        }
    }

    /// Adds a row that belongs to its enclosing block by indentation.
    fn plain(&mut self, row: usize, here: Row) {
        self.outline.fall_back(row, here.column);
    }

    fn definition(&mut self, row: usize, here: Row, line: &str) {
        let same = self
            .lead
            .and_then(|lead| self.row(lead))
            .is_some_and(|lead| lead.column == here.column);
        if !same {
            self.flush();
        }
        let start = self.lead.take().unwrap_or(row);
        self.outline.leave(|step| step.column >= here.column);
        let level = self.outline.next_level();
        if level > DEEPEST {
            return;
        }
        if start < row {
            self.outline.set_cut(row, Cut::AVOID);
        }
        self.outline.begin(
            start,
            TrailHeading {
                level,
                column: here.column,
                title: bounded(signature(line), LONGEST_SIGNATURE),
            },
        );
    }

    /// Whether the row is the head of a block, which it or the next lines open.
    fn block_follows(&self, row: usize, here: Row) -> bool {
        let line = here.trimmed(self.text);
        if line.ends_with('{') || line.ends_with(':') || line.ends_with("do") {
            return true;
        }
        self.row(row + 1).is_some_and(|next| {
            let brace = next.column == here.column && next.trimmed(self.text).starts_with('{');
            brace || (next.column > here.column && line.ends_with(['(', ',']))
        })
    }
}

/// Returns the heading of a definition: its line without the part that opens the body.
fn signature(line: &str) -> &str {
    line.trim_end_matches(['{', ':', '(', '=', ' ', '\t'])
        .trim_end_matches("=>")
        .trim_end()
}

/// Returns what is open at the end of `line`, given what is open at its start.
pub(super) fn open_after(
    line: &str,
    mut open: Option<Ending>,
    language: Language,
) -> Option<Ending> {
    if open.is_none() && !language.has_slash_comments() && !language.has_triple_quotes() {
        return None;
    }
    let mut rest = line;
    // Lines with more delimiters than this are data.
    for _ in 0..64 {
        match open {
            Some(ending) => match after_ending(rest, ending) {
                Some(after) => {
                    rest = after;
                    open = None;
                }
                None => return open,
            },
            None => match opening(rest, language) {
                Some((ending, after)) => {
                    rest = after;
                    open = Some(ending);
                }
                None => return None,
            },
        }
    }
    None
}

fn after_ending(text: &str, ending: Ending) -> Option<&str> {
    let after = |mark: &str| text.split_once(mark).map(|(_, after)| after);
    match ending {
        Ending::Comment => after("*/"),
        Ending::DoubleQuotes => after("\"\"\""),
        Ending::SingleQuotes => after("'''"),
        Ending::Backtick => after("`"),
        Ending::Raw(count) => {
            let mut mark = String::from("\"");
            mark.extend(std::iter::repeat_n('#', usize::from(count)));
            after(&mark)
        }
    }
}

/// Returns the first delimiter in `text` that opens a multi-line string or comment, and the text
/// after it.
fn opening(text: &str, language: Language) -> Option<(Ending, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = || text.get(at..).unwrap_or("");
        match byte {
            b'/' if language.has_slash_comments() => {
                if rest().starts_with("//") {
                    return None;
                }
                if let Some(after) = rest().strip_prefix("/*") {
                    return Some((Ending::Comment, after));
                }
            }
            b'#' if !language.has_slash_comments() => return None,
            b'`' if matches!(
                language,
                Language::JavaScript | Language::TypeScript | Language::Go
            ) =>
            {
                return Some((Ending::Backtick, text.get(at + 1..).unwrap_or("")));
            }
            b'"' | b'\'' => {
                let triple = if byte == b'"' { "\"\"\"" } else { "'''" };
                if language.has_triple_quotes()
                    && let Some(after) = rest().strip_prefix(triple)
                {
                    let ending = if byte == b'"' {
                        Ending::DoubleQuotes
                    } else {
                        Ending::SingleQuotes
                    };
                    return Some((ending, after));
                }
                if byte == b'\'' && language == Language::Rust {
                    // A character literal or a lifetime.
                    at += if bytes.get(at + 2) == Some(&b'\'') {
                        2
                    } else {
                        0
                    };
                } else {
                    at = string_end(bytes, at, byte);
                }
            }
            b'r' if language == Language::Rust => {
                let hashes = bytes
                    .iter()
                    .skip(at + 1)
                    .take_while(|byte| **byte == b'#')
                    .count();
                if hashes > 0 && hashes < 200 && bytes.get(at + 1 + hashes) == Some(&b'"') {
                    let after = text.get(at + 2 + hashes..).unwrap_or("");
                    return Some((Ending::Raw(hashes as u8), after));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the position of the quote that closes the string opened at `at`, or the end of the line
/// if there is none.
fn string_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 1,
            _ if byte == quote => return end,
            _ => {}
        }
        end += 1;
    }
    end
}
