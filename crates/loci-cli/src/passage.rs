//! The passage of a text that a terminal shows: the lines with most words of the question, wrapped,
//! with these words highlighted.

use std::ops::Range;

use loci_palace::matching_spans;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::print::Printer;

/// Columns of a line, including the indent.
const COLUMNS: usize = 80;
const INDENT: &str = "   ";
/// Lines shown of one text.
const LINES: usize = 4;

/// The lines of a passage, each with its line end.
pub(crate) fn render(printer: Printer, text: &str, terms: &[&str]) -> String {
    let spans = matching_spans(text, terms);
    let words = words(text);
    let lines = wrap(text, &words);
    let start = best_start(&lines, &spans);
    let mut shown = String::new();
    let last = (start + LINES).min(lines.len());
    for (at, line) in lines.iter().enumerate().skip(start).take(LINES) {
        shown.push_str(INDENT);
        if at == start && start > 0 {
            shown.push_str("… ");
        }
        let mut first = true;
        for word in line {
            if !first {
                shown.push(' ');
            }
            first = false;
            shown.push_str(&marked(printer, text, word, &spans));
        }
        if at + 1 == last && last < lines.len() {
            shown.push_str(" …");
        }
        shown.push('\n');
    }
    shown
}

/// A word with its matching parts highlighted.
fn marked(printer: Printer, text: &str, word: &Range<usize>, spans: &[Range<usize>]) -> String {
    let mut shown = String::new();
    let mut at = word.start;
    for span in spans
        .iter()
        .filter(|span| span.start < word.end && span.end > word.start)
    {
        let (from, to) = (span.start.max(word.start), span.end.min(word.end));
        shown.push_str(&printer.stored(text.get(at..from).unwrap_or_default()));
        shown.push_str(&printer.matched(text.get(from..to).unwrap_or_default()));
        at = to;
    }
    shown.push_str(&printer.stored(text.get(at..word.end).unwrap_or_default()));
    shown
}

/// The runs without white space; a run longer than a line is split.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut width = 0;
    for (at, c) in text.char_indices() {
        match (start, c.is_whitespace()) {
            (Some(from), true) => {
                words.push(from..at);
                start = None;
            }
            (Some(from), false)
                if width + c.width().unwrap_or_default() > COLUMNS - INDENT.len() - 4 =>
            {
                words.push(from..at);
                start = Some(at);
                width = 0;
            }
            (None, false) => {
                start = Some(at);
                width = 0;
            }
            _ => {}
        }
        width += c.width().unwrap_or_default();
    }
    if let Some(from) = start {
        words.push(from..text.len());
    }
    words
}

fn wrap(text: &str, words: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    let room = COLUMNS - INDENT.len() - 4;
    let mut lines: Vec<Vec<Range<usize>>> = Vec::new();
    let mut width = 0;
    for word in words {
        let length = text.get(word.clone()).map_or(0, UnicodeWidthStr::width);
        match lines.last_mut() {
            Some(line) if width + 1 + length <= room => {
                line.push(word.clone());
                width += 1 + length;
            }
            _ => {
                lines.push(vec![word.clone()]);
                width = length;
            }
        }
    }
    lines
}

/// The first line of the window with the most matches.
fn best_start(lines: &[Vec<Range<usize>>], spans: &[Range<usize>]) -> usize {
    let matches = |line: &Vec<Range<usize>>| {
        let (first, last) = (line.first(), line.last());
        match (first, last) {
            (Some(first), Some(last)) => spans
                .iter()
                .filter(|span| span.start < last.end && span.end > first.start)
                .count(),
            _ => 0,
        }
    };
    let counts: Vec<usize> = lines.iter().map(matches).collect();
    let mut best = (0, 0);
    for start in 0..lines.len().saturating_sub(LINES - 1).max(1) {
        let sum: usize = counts.iter().skip(start).take(LINES).sum();
        if sum > best.1 {
            best = (start, sum);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let printer = Printer::new(false);
        for text in [
            "word ".repeat(300),
            "x".repeat(900),
            "日本語のとても長い文章".repeat(30),
            String::new(),
        ] {
            for line in render(printer, &text, &["word"]).lines() {
                assert!(line.width() <= COLUMNS, "{line}");
            }
        }
    }

    #[test]
    fn the_part_that_matches_is_shown() {
        let printer = Printer::new(false);
        let text = format!(
            "{} the pottery class {}",
            "filler ".repeat(200),
            "more ".repeat(200)
        );
        let shown = render(printer, &text, &["potteri"]);
        assert!(shown.contains("pottery"), "{shown}");
        assert!(shown.lines().count() <= LINES);
        assert!(shown.contains('…'));
    }
}
