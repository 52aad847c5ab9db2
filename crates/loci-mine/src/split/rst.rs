//! Reads the structure of reStructuredText: titles with an underline, and perhaps a line above, in
//! whatever order of styles the text itself sets.
//!
//! Blocks that are indented under a paragraph are cut off from it only after better places, by
//! their indentation alone.

use super::outline::{DEEPEST, Outline, bounded};
use super::rows::{Cut, Row};
use super::trail::TrailHeading;

const LONGEST_TITLE: usize = 200;
const MARKS: &str = "=-~^\"'`*+#<>:._";

/// Reads all rows of `outline`.
pub(super) fn read(text: &str, outline: &mut Outline) {
    let mut row = 0;
    while let Some(here) = outline.rows.get(row).copied() {
        row = match title(text, &outline.rows, row) {
            Some((title, style, lines)) => {
                let level = level(&mut outline.styles, &style);
                outline.leave(|step| step.level >= level);
                outline.begin(
                    row,
                    TrailHeading {
                        level,
                        column: 0,
                        title: bounded(title, LONGEST_TITLE),
                    },
                );
                for row in row + 1..=row + lines {
                    outline.set_cut(row, Cut::AVOID);
                }
                row + lines
            }
            None => {
                // What a directive or `::` introduces goes with it.
                let introduced = row > 0 && here.gap && here.column > 0;
                if introduced
                    && let Some(before) = outline.rows.get(row - 1)
                    && introduces(before.trimmed(text))
                {
                    outline.set_cut(row, Cut::LINE);
                }
                row + 1
            }
        };
    }
}

fn introduces(line: &str) -> bool {
    line.ends_with("::") || line.starts_with(".. ") || line.starts_with(':')
}

/// A title that starts at `row`, its style, and how many rows it takes.
fn title<'a>(text: &'a str, rows: &[Row], row: usize) -> Option<(&'a str, String, usize)> {
    let here = rows.get(row)?;
    if !here.gap {
        return None;
    }
    let line = |row: usize| {
        let row = rows.get(row).filter(|row| !row.gap)?;
        Some(row.text(text).trim_end())
    };
    if let Some(mark) = mark(here.text(text).trim_end()) {
        let (title, under) = (line(row + 1)?, line(row + 2)?);
        let same = under == here.text(text).trim_end();
        return same.then(|| (title.trim(), format!("{mark}{mark}"), 3));
    }
    let title = here.text(text).trim_end();
    let under = line(row + 1)?;
    let mark = mark(under).filter(|_| here.column == 0)?;
    let long_enough = under.len() >= title.chars().count() || under.len() >= 4;
    long_enough.then(|| (title, mark.to_string(), 2))
}

/// The character that `line` is made of, if it is a line under a title.
fn mark(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(|mark| MARKS.contains(*mark))?;
    (line.len() >= 2 && line.chars().all(|character| character == mark)).then_some(mark)
}

/// The level of a style, by when it was first used.
fn level(styles: &mut Vec<String>, style: &str) -> u8 {
    let known = styles.iter().position(|known| known == style);
    let place = known.unwrap_or_else(|| {
        if styles.len() < usize::from(DEEPEST) {
            styles.push(style.to_owned());
        }
        styles.len() - 1
    });
    place as u8 + 1
}
