//! Finds the structure of JSON, YAML and TOML that is laid out in lines. Keys that hold other keys
//! are sections.
//!
//! It uses only lines and indentation and never parses, so damaged data gets chunks too.

use crate::document::Language;

use super::code::open_after;
use super::outline::{Outline, bounded};
use super::rows::{Cut, Row};
use super::trail::{Open, Trail, TrailHeading};

const LONGEST_KEY: usize = 100;
/// More deeply nested keys are not sections.
const DEEPEST_KEY: u8 = 3;

/// Reads all rows of pretty-printed JSON.
pub(super) fn json(text: &str, outline: &mut Outline) {
    for row in 0..outline.rows.len() {
        let Some(here) = outline.rows.get(row).copied() else {
            return;
        };
        let line = here.trimmed(text);
        match line.as_bytes().first() {
            Some(b'}' | b']') => {
                outline.leave(|step| step.column > here.column);
                outline.set_cut(row, Cut::AVOID);
            }
            Some(b'"') if line.ends_with(['{', '[']) => {
                let key = line.get(1..).and_then(|rest| rest.split_once('"'));
                key_begins(outline, row, here, key.map_or("", |(key, _)| key));
            }
            Some(b'{' | b'[') => {
                outline.set_cut(row, Cut::ITEM.at(here.column));
                outline.fall_back(row, here.column);
            }
            _ => outline.fall_back(row, here.column),
        }
    }
}

fn key_begins(outline: &mut Outline, row: usize, here: Row, key: &str) {
    outline.leave(|step| step.column >= here.column);
    let level = outline.next_level();
    if level <= DEEPEST_KEY {
        outline.begin(
            row,
            TrailHeading {
                level,
                column: here.column,
                title: bounded(key, LONGEST_KEY),
            },
        );
    }
}

/// Reads all rows of YAML.
pub(super) fn yaml(text: &str, outline: &mut Outline, trail: &Trail) {
    let mut lead = None;
    let mut scalar = match trail.open {
        Some(Open::Deeper(column)) => Some(column),
        _ => None,
    };
    for row in 0..outline.rows.len() {
        let Some(here) = outline.rows.get(row).copied() else {
            return;
        };
        if let Some(column) = scalar.filter(|column| here.column > *column) {
            outline.mark_inside(row, Open::Deeper(column));
            continue;
        }
        scalar = None;
        if here.gap {
            lead = None;
        }
        let line = here.trimmed(text);
        if line.starts_with('#') {
            lead.get_or_insert(row);
            continue;
        }
        let start = lead.take().unwrap_or(row);
        if here.column == 0 && (line == "---" || line == "...") {
            outline.leave(|_| true);
            outline.resume(row, 1);
            continue;
        }
        let item = line.starts_with("- ") || line == "-";
        if scalar_follows(line) {
            scalar = Some(here.column);
        }
        if item {
            // A list may have the same indentation as its key.
            outline.set_cut(
                row,
                if here.gap { Cut::PARAGRAPH } else { Cut::ITEM }.at(here.column),
            );
            outline.fall_back(row, here.column.saturating_add(1));
        } else if let Some(key) = line.strip_suffix(':')
            && block_follows(outline, text, row, here)
        {
            key_begins(outline, start, here, key.trim_matches(['"', '\'']));
        } else {
            outline.fall_back(row, here.column);
        }
    }
}

fn scalar_follows(line: &str) -> bool {
    let head = line.trim_end_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    head.strip_suffix(['|', '>'])
        .is_some_and(|before| before.ends_with(": ") || before == "- ")
}

fn block_follows(outline: &Outline, text: &str, row: usize, here: Row) -> bool {
    outline.rows.get(row + 1).is_some_and(|next| {
        let item = next.trimmed(text).starts_with('-');
        next.column > here.column || (next.column == here.column && item)
    })
}

/// Reads all rows of TOML.
pub(super) fn toml(text: &str, outline: &mut Outline, trail: &Trail) {
    let mut lead = None;
    let mut inside = match trail.open {
        Some(Open::Until(ending)) => Some(ending),
        _ => None,
    };
    // The full names of the tables that enclose each other at this point.
    let mut names: Vec<String> = trail.steps.iter().fold(Vec::new(), |mut names, step| {
        let outer: Option<&String> = names.last();
        let name = outer.map_or(step.title.clone(), |outer| {
            format!("{outer}.{}", step.title)
        });
        names.push(name);
        names
    });
    for row in 0..outline.rows.len() {
        let Some(here) = outline.rows.get(row).copied() else {
            return;
        };
        let line = here.trimmed(text);
        if let Some(ending) = inside {
            outline.mark_inside(row, Open::Until(ending));
            inside = open_after(line, inside, Language::Python);
            continue;
        }
        inside = open_after(line, None, Language::Python);
        if here.gap {
            lead = None;
        }
        if line.starts_with('#') {
            lead.get_or_insert(row);
            continue;
        }
        let start = lead.take().unwrap_or(row);
        let Some(name) = table(line) else { continue };
        while names.last().is_some_and(|outer| !encloses(outer, name)) {
            names.pop();
        }
        names.truncate(usize::from(DEEPEST_KEY) - 1);
        let level = names.len() as u8 + 1;
        outline.leave(|step| step.level >= level);
        let title = names
            .last()
            .and_then(|outer| name.get(outer.len() + 1..))
            .unwrap_or(name);
        outline.begin(
            start,
            TrailHeading {
                level,
                column: 0,
                title: bounded(title, LONGEST_KEY),
            },
        );
        names.push(name.to_owned());
    }
}

fn encloses(outer: &str, name: &str) -> bool {
    name.strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with('.'))
}

/// Returns the name in the header of a table or of an element of an array of tables.
fn table(line: &str) -> Option<&str> {
    let line = line
        .split_once(" #")
        .map_or(line, |(line, _)| line)
        .trim_end();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let name = inner
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(inner)
        .trim();
    let bare = |character: char| {
        character.is_alphanumeric()
            || matches!(
                character,
                '_' | '-' | '.' | '"' | '\'' | ' ' | ':' | '/' | '@'
            )
    };
    (!name.is_empty()
        && name
            .chars()
            .all(|character| bare(character) || name.contains(['"', '\''])))
    .then_some(name)
}
