//! Finds the structure of reStructuredText: titles with an underline, and optionally an overline.
//! The text itself defines the order of the styles.
//!
//! Indented blocks under a paragraph are separated from it only if there is no better cut.

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
                // The block after a directive or `::` stays with it.
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

/// Returns the title that starts at `row`, its style, and its number of rows.
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

/// Returns the character of `line`, if it can underline a title.
fn mark(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(|mark| MARKS.contains(*mark))?;
    (line.len() >= 2 && line.chars().all(|character| character == mark)).then_some(mark)
}

/// Returns the level of a style, by the order of first use.
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
