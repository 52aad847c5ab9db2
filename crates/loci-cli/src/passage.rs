//! The passage of a text that a terminal shows: the lines around the best match, with the words of
//! the question highlighted. Lines of the text stay lines, so that code and lists can be read; lines
//! that are too long are wrapped.

use std::ops::Range;

use loci_palace::{Mark, front_matter_end};
use unicode_width::UnicodeWidthChar;

use crate::print::Printer;

/// The columns before each line.
pub(crate) const INDENT: &str = "   ";
/// Rows shown of one text.
const ROWS: usize = 5;
/// Columns of a tab.
const TAB: usize = 4;
/// The space for ` …` at the end of a row.
const MORE: usize = 2;

/// A text and what matches in it.
#[derive(Clone, Copy)]
pub(crate) struct Passage<'a> {
    pub(crate) text: &'a str,
    pub(crate) marks: &'a [Mark],
    /// The byte where the line that matches best begins.
    pub(crate) best_line: usize,
}

impl<'a> Passage<'a> {
    /// The beginning of a text, after its front matter.
    pub(crate) fn beginning(text: &'a str) -> Self {
        let body = front_matter_end(text).filter(|end| *end < text.len());
        Self {
            text,
            marks: &[],
            best_line: body.unwrap_or(0),
        }
    }
}

/// A row of the terminal.
struct Row {
    /// What it shows of the text.
    bytes: Range<usize>,
    /// Columns of white space before it.
    indent: usize,
    /// Whether it goes on with the line of the row before.
    is_continued: bool,
    /// Whether there is a blank line before it.
    is_after_gap: bool,
}

/// The rows of a passage for a terminal with so many columns, each with its line end.
pub(crate) fn render(printer: Printer, passage: Passage<'_>, columns: usize) -> String {
    let room = columns.saturating_sub(INDENT.len() + MORE).max(10);
    let rows = rows_of(passage, room);
    let start = first_row(&rows, passage);
    let shown = rows.iter().enumerate().skip(start).take(ROWS);
    let mut text = String::new();
    for (at, row) in shown {
        text.push_str(INDENT);
        let mut indent = row.indent;
        if at == start && row.is_continued {
            text.push_str("… ");
            indent = indent.saturating_sub(2);
        }
        text.push_str(&" ".repeat(indent));
        text.push_str(&marked(printer, passage, &row.bytes));
        if at + 1 == start + ROWS && at + 1 < rows.len() {
            text.push_str(" …");
        }
        text.push('\n');
    }
    text
}

/// The first row of a passage as text, to compare it with a heading.
pub(crate) fn first_line(passage: Passage<'_>, columns: usize) -> &str {
    let room = columns.saturating_sub(INDENT.len() + MORE).max(10);
    let rows = rows_of(passage, room);
    let row = rows.get(first_row(&rows, passage));
    row.and_then(|row| passage.text.get(row.bytes.clone()))
        .unwrap_or_default()
}

/// The part of a text in which marks are highlighted.
fn marked(printer: Printer, passage: Passage<'_>, part: &Range<usize>) -> String {
    let plain = |range: Range<usize>| {
        let text = passage.text.get(range).unwrap_or_default();
        printer.stored(&on_one_row(text))
    };
    let mut shown = String::new();
    let mut at = part.start;
    for mark in passage.marks {
        let (from, to) = (mark.span.start.max(at), mark.span.end.min(part.end));
        if from >= to {
            continue;
        }
        shown.push_str(&plain(at..from));
        shown.push_str(&printer.matched(passage.text.get(from..to).unwrap_or_default()));
        at = to;
    }
    shown.push_str(&plain(at..part.end));
    shown
}

/// A part of a text for one row: line breaks, with the white space after them, are spaces.
fn on_one_row(text: &str) -> String {
    let mut row = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            row.push(' ');
        }
        let line = if number > 0 { line.trim_start() } else { line };
        row.push_str(&line.trim_end_matches('\r').replace('\t', &" ".repeat(TAB)));
    }
    row
}

/// The rows of a text. Blank lines are left out, and so is front matter, unless it matches best.
fn rows_of(passage: Passage<'_>, room: usize) -> Vec<Row> {
    let text = passage.text;
    let body = front_matter_end(text).filter(|end| *end <= passage.best_line);
    let mut rows = Vec::new();
    let mut at = 0;
    let mut is_after_gap = false;
    let mut is_code = false;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        if body.is_some_and(|body| start < body) {
            continue;
        }
        let trimmed = line.trim_start();
        if trimmed.trim_end().is_empty() {
            is_after_gap = true;
            continue;
        }
        is_code ^= is_fence(trimmed);
        let white = line.len() - trimmed.len();
        let indent = columns_of(line.get(..white).unwrap_or_default()).min(room / 3);
        let mut end = start + line.trim_end().len();
        // The lines of a paragraph that are too wide are wrapped as one, so that no short rows are
        // left between long ones.
        let is_wide = columns_of(trimmed.trim_end()) > room - indent;
        while is_wide && !is_code && !stands_alone(trimmed) {
            let Some(next) = lines.next_if(|next| goes_on(next)) else {
                break;
            };
            end = at + next.trim_end().len();
            at += next.len();
        }
        let content = start + white..end;
        for (number, bytes) in wrapped(text, content, room - indent)
            .into_iter()
            .enumerate()
        {
            rows.push(Row {
                bytes,
                indent,
                is_continued: number > 0,
                is_after_gap: number == 0 && is_after_gap,
            });
        }
        is_after_gap = false;
    }
    rows
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a line of Markdown is no part of a paragraph: a heading, or a row of a table.
fn stands_alone(line: &str) -> bool {
    line.starts_with(['#', '|']) || is_fence(line)
}

/// Whether a line can be the next one of a paragraph: it begins no item, quotation or block.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let Some(first) = line.chars().next() else {
        return false;
    };
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && after_number.starts_with(['.', ')']);
    let is_item = line.starts_with(['-', '*', '+']) && line.get(1..2) == Some(" ");
    !(is_numbered || is_item || stands_alone(line) || matches!(first, '>' | '{' | '}' | '<'))
}

fn columns_of(text: &str) -> usize {
    text.chars()
        .map(|c| {
            if c == '\t' {
                TAB
            } else {
                c.width().unwrap_or(0)
            }
        })
        .sum()
}

/// Splits a line into parts of at most so many columns, between words if possible.
fn wrapped(text: &str, line: Range<usize>, room: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = line.start;
    while start < line.end {
        let rest = text.get(start..line.end).unwrap_or_default();
        let mut width = 0;
        let mut space = None;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            width += if c == '\t' {
                TAB
            } else {
                c.width().unwrap_or(0)
            };
            if width > room {
                end = match space {
                    Some(space) => space,
                    // At least one character, so that the line comes to an end.
                    None if at == 0 => c.len_utf8(),
                    None => at,
                };
                break;
            }
            if c.is_whitespace() {
                space = Some(at);
            }
        }
        let part = rest.get(..end).unwrap_or_default();
        parts.push(start..start + part.trim_end().len());
        let after = rest.get(end..).unwrap_or_default();
        start += end + (after.len() - after.trim_start().len());
    }
    parts
}

/// The first row to show: the rows contain the best line and as many other matches as possible.
fn first_row(rows: &[Row], passage: Passage<'_>) -> usize {
    let line_end = passage
        .text
        .get(passage.best_line..)
        .and_then(|rest| rest.find('\n'))
        .map_or(passage.text.len(), |end| passage.best_line + end);
    let of_best = |row: &Row| row.bytes.end > passage.best_line && row.bytes.start < line_end;
    let Some(first) = rows.iter().position(of_best) else {
        return 0;
    };
    let last = rows.iter().rposition(of_best).unwrap_or(first);
    let most = rows.len().saturating_sub(ROWS);
    let weight = |start: usize| -> f32 {
        let shown = rows.get(start..rows.len().min(start + ROWS));
        let shown = shown.unwrap_or_default();
        let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
            return 0.0;
        };
        let (from, to) = (first.bytes.start, last.bytes.end);
        let mut seen: Vec<usize> = Vec::new();
        let mut sum = 0.0;
        for mark in passage.marks {
            let is_shown = mark.span.start >= from && mark.span.end <= to;
            if is_shown && !seen.contains(&mark.term) {
                seen.push(mark.term);
                sum += mark.weight;
            }
        }
        sum
    };
    // A line before the match gives it context, if it belongs to the same paragraph or is a heading.
    let is_context = |at: usize| {
        let (before, here) = (rows.get(at.wrapping_sub(1)), rows.get(at));
        let heading = before.is_some_and(|row| {
            let text = passage.text.get(row.bytes.clone()).unwrap_or_default();
            text.starts_with('#')
        });
        before.is_some() && (heading || here.is_some_and(|row| !row.is_after_gap))
    };
    let preferred = if is_context(first) { first - 1 } else { first };
    let windows = (first + 1).saturating_sub(ROWS)..=last;
    let mut best: Option<(f32, usize, usize)> = None;
    for start in windows {
        let (sum, away) = (weight(start), start.abs_diff(preferred));
        if best.is_none_or(|(most, nearest, _)| {
            sum > most * 1.001 || (sum >= most * 0.999 && away < nearest)
        }) {
            best = Some((sum, away, start));
        }
    }
    let start = best.map_or(first, |(_, _, start)| start);
    start.min(most)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn marks(text: &str, words: &[&str]) -> Vec<Mark> {
        let find = |(term, word): (usize, &&str)| {
            let found: Vec<Mark> = text
                .match_indices(*word)
                .map(|(at, word)| Mark {
                    span: at..at + word.len(),
                    term,
                    weight: 1.0,
                })
                .collect();
            found
        };
        let mut marks: Vec<Mark> = words.iter().enumerate().flat_map(find).collect();
        marks.sort_by_key(|mark| mark.span.start);
        marks
    }

    fn shown(text: &str, words: &[&str], best: &str, columns: usize) -> String {
        let passage = Passage {
            text,
            marks: &marks(text, words),
            best_line: text.find(best).unwrap(),
        };
        render(Printer::new(false), passage, columns)
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for text in [
            "word ".repeat(300),
            "x".repeat(900),
            "日本語のとても長い文章".repeat(30),
            format!("{}\tlet word = 1;\n", "\t".repeat(9)),
            "    indented word\n        deeper word\n".repeat(9),
            String::new(),
        ] {
            for columns in [20, 40, 80, 180] {
                for row in shown(&text, &["word"], "", columns).lines() {
                    assert!(row.width() <= columns, "{columns}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn the_best_line_and_other_matches_are_shown() {
        let filler = "Nothing is said here.\n".repeat(20);
        let text =
            format!("# Pottery\n{filler}The pottery class is on Monday.\nBring clay.\n{filler}");
        let shown = shown(&text, &["pottery", "clay"], "The pottery", 80);
        assert!(
            shown.contains("   The pottery class is on Monday.\n   Bring clay.\n"),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), ROWS);
        assert!(shown.ends_with(" …\n"), "{shown}");
    }

    #[test]
    fn lines_of_code_and_lists_stay_lines() {
        let text = "fn main() {\n    let cap = 10;\n\n    run(cap);\n}\n";
        let expected = "   fn main() {\n       let cap = 10;\n       run(cap);\n   }\n";
        assert_eq!(shown(text, &["cap"], "    let cap", 80), expected);
    }

    #[test]
    fn a_paragraph_that_is_too_wide_is_wrapped_as_one_and_a_list_is_not() {
        let text = "one two three four five\n  six seven\n- eight\n- nine\n";
        let expected = "   one two three\n   four five six\n   seven\n   - eight\n   - nine\n";
        assert_eq!(shown(text, &["six"], "one", 20), expected);
    }

    #[test]
    fn front_matter_is_not_shown() {
        let text = "---\ntitle: cap\n---\n\n# Cap\n\nThe cap is 10 s.\n";
        let expected = "   # Cap\n   The cap is 10 s.\n";
        assert_eq!(shown(text, &["cap"], "The cap", 80), expected);
        let only = "---\ntitle: cap\n---\n";
        assert!(shown(only, &["cap"], "title", 80).contains("title: cap"));
    }

    #[test]
    fn a_long_line_is_shown_where_it_matches() {
        let text = format!(
            "{}the pottery class {}",
            "filler ".repeat(200),
            "more ".repeat(200)
        );
        let shown = shown(&text, &["pottery"], "", 60);
        assert!(shown.contains("pottery"), "{shown}");
        assert!(
            shown.starts_with("   … ") && shown.ends_with(" …\n"),
            "{shown}"
        );
        assert!(shown.lines().count() <= ROWS);
    }
}
