//! One hit of a search for people: where it is, the passage that matches, and what else is known.

use std::fmt::Write as _;

use loci_palace::search::{Answer, Hit};
use loci_palace::{MatchedVia, Nullable, shell_quoted};
use unicode_width::UnicodeWidthStr;

use crate::passage::{self, INDENT, Passage};
use crate::print::Printer;

/// How many ids of drawers with the same text are shown.
const MOST_COPIES: usize = 5;

/// Where the hits of an answer are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HitOrigin {
    Palace,
    Files,
}

/// Appends a hit.
pub(super) fn write(
    printer: Printer,
    rank: usize,
    hit: &Hit,
    origin: HitOrigin,
    text: &mut String,
) {
    let columns = printer.columns();
    let _ = write!(text, "{rank}. {}", place(printer, hit));
    if hit.gone {
        let _ = write!(text, "  {}", printer.alert("gone"));
    }
    text.push('\n');
    let passage = Passage {
        text: &hit.text,
        marks: hit
            .details
            .as_ref()
            .map_or(&[], |details| &details.marks[..]),
        best_line: hit.details.as_ref().map_or(0, |details| details.best_line),
    };
    if let Some(heading) = heading(hit)
        && !repeats(passage::first_line(passage, columns), heading)
    {
        let room = columns.saturating_sub(INDENT.len());
        let heading = printer.dim(&printer.stored_line(heading, room));
        let _ = writeln!(text, "{INDENT}{heading}");
    }
    text.push_str(&passage::render(printer, passage, columns));
    text.push_str(&known(printer, hit, origin, columns));
    if let Some(later) = &hit.later {
        let _ = writeln!(text, "{INDENT}later: {}", printer.name(later));
    }
    let copies = hit.also_in.as_deref().unwrap_or_default();
    if !copies.is_empty() {
        let shown: Vec<String> = copies
            .iter()
            .take(MOST_COPIES)
            .map(|id| printer.name(id))
            .collect();
        let more = copies.len() - shown.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "{INDENT}the same text is also in {}{more}",
            shown.join(", ")
        );
    }
}

/// The file and line of a hit, the title of its conversation, or else its wing and room.
fn place(printer: Printer, hit: &Hit) -> String {
    if let Some(title) = &hit.title {
        return printer.strong(&printer.title(title));
    }
    if let Some(source) = named(&hit.source) {
        return printer.path(source, hit.line);
    }
    let wing_and_room = wing_and_room(hit);
    printer.strong(match wing_and_room.as_str() {
        "" if has_own_name(hit) => &hit.id,
        "" => "note",
        place => place,
    })
}

/// Whether somebody chose the id, so that it says something.
fn has_own_name(hit: &Hit) -> bool {
    let is_part_of_uuid = |c: char| c.is_ascii_hexdigit() || c == '-';
    hit.id.len() != 36 || !hit.id.chars().all(is_part_of_uuid)
}

fn wing_and_room(hit: &Hit) -> String {
    let parts = [named(&hit.wing), named(&hit.room)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// The heading above the passage. A conversation has its title instead.
fn heading(hit: &Hit) -> Option<&str> {
    let metadata = hit.details.as_ref().map(|details| &details.metadata)?;
    let heading = metadata.get_str("heading")?.trim();
    (hit.title.is_none() && !heading.is_empty()).then_some(heading)
}

/// Whether a line of Markdown is the last part of a heading.
fn repeats(line: &str, heading: &str) -> bool {
    let last = heading.rsplit(" > ").next().unwrap_or(heading);
    line.starts_with('#') && line.trim_start_matches('#').trim() == last
}

/// How probable the hit is, where it belongs, its day and its id.
fn known(printer: Printer, hit: &Hit, origin: HitOrigin, columns: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    if hit.matched_via != MatchedVia::Conditions {
        parts.push(percent(hit.probability));
    }
    let room = columns.saturating_sub(INDENT.len());
    let place = wing_and_room(hit);
    let has_own_line = hit.title.is_none() && named(&hit.source).is_none();
    if !place.is_empty() && !has_own_line {
        parts.push(printer.stored_line(&place, room));
    }
    parts.push(hit.date.clone());
    // The id of a hit in files exists only in the cache.
    let is_place = has_own_line && place.is_empty() && has_own_name(hit);
    if origin == HitOrigin::Palace && !is_place {
        parts.push(printer.name(&hit.id));
    }
    if hit.cut {
        parts.push("cut".to_owned());
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.width() + 2 + part.width() <= room => {
                line.push_str("  ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{INDENT}{}", printer.dim(&line));
    }
    text
}

/// A probability for people.
fn percent(probability: f32) -> String {
    match (probability * 100.0).round() as u32 {
        0 => "less than 1 %".to_owned(),
        100 => "more than 99 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// The name, unless it is empty.
fn named(name: &Nullable<String>) -> Option<&str> {
    let name = name.value().map(String::as_str);
    name.filter(|name| !name.is_empty())
}

/// Notes about the hits of an answer.
pub(super) fn notes(answer: &Answer) -> Vec<String> {
    let mut notes = Vec::new();
    if answer.hits.is_empty() && !answer.operators.is_empty() {
        notes.push(format!(
            "the question has conditions: {}",
            answer.operators.join(" ")
        ));
    }
    let mut gone = answer.hits.iter().filter(|hit| hit.gone);
    if let Some(first) = gone.next() {
        let count = 1 + gone.count();
        let file = std::path::Path::new(named(&first.source).unwrap_or_default());
        let folder = file
            .ancestors()
            .skip(1)
            .find(|folder| folder.is_dir())
            .unwrap_or(file);
        notes.push(format!(
            "{count} hit(s) are from files that are gone; `loci sync {}` lists their drawers",
            shell_quoted(folder)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_the_passage_begins_with_is_not_shown_twice() {
        assert!(repeats("## Install", "Guide > Install"));
        assert!(!repeats("Install it.", "Guide > Install"));
        assert!(!repeats("# Guide", "Guide > Install"));
    }
}
