//! The source of a line, as it is printed after it.

use std::collections::HashMap;

use loci_core::MetaValue;
use loci_recall::date_of;

use super::excerpt::cut;
use super::read::Read;
use super::turns::is_conversation;
use crate::diary::DIARY_ROOM;

/// Maximum number of characters of a place.
const MOST_PLACE: usize = 60;

/// What the places of drawers are named after.
pub(super) struct Wings<'a> {
    pub(super) wing: Option<&'a str>,
    pub(super) tops: Vec<String>,
}

impl Wings<'_> {
    /// The path of a file from the top of its project.
    pub(super) fn path<'a>(&self, source: &'a str) -> &'a str {
        let below = |top: &String| {
            source
                .strip_prefix(top.as_str())
                .and_then(|path| path.strip_prefix('/'))
        };
        self.tops
            .iter()
            .filter_map(below)
            .min_by_key(|path| path.len())
            .unwrap_or(source)
    }

    /// The line of a drawer: where it is from, and the text.
    pub(super) fn line(&self, drawer: &Read, place: &str, text: &str) -> String {
        let wing = match (self.wing, drawer.metadata.get_str("wing")) {
            (None, Some(wing)) => wing,
            _ => "",
        };
        let parts: Vec<&str> = [wing, place]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let about = cut(&parts.join(", "), 1, MOST_PLACE);
        format!("- {text} ({about})")
    }

    /// Where a drawer is from: a file with its line, a session, a diary entry or a note.
    pub(super) fn place(
        &self,
        drawer: &Read,
        text: &str,
        titles: &HashMap<&str, String>,
    ) -> String {
        let day = drawer.moment.map(date_of).unwrap_or_default();
        let day = day.get(..10).unwrap_or_default();
        let of_day = |what: &str| {
            if day.is_empty() {
                what.to_owned()
            } else {
                format!("{what} of {day}")
            }
        };
        let source = drawer.source();
        if is_conversation(&drawer.metadata) {
            let title = titles.get(source).map_or("session", String::as_str);
            return if day.is_empty() {
                title.to_owned()
            } else {
                format!("{title}, {day}")
            };
        }
        if source.is_empty() {
            let in_diary = drawer.metadata.get_str("room") == Some(DIARY_ROOM);
            return of_day(if in_diary { "diary" } else { "note" });
        }
        let path = self.path(source);
        match drawer.metadata.get("start_line") {
            Some(MetaValue::Int(start)) => {
                let start = start.saturating_add(line_of(&drawer.text, text));
                format!("{path}:{start}")
            }
            _ => path.to_owned(),
        }
    }
}

/// The number of lines before the first one that contains the end of a statement.
fn line_of(text: &str, statement: &str) -> i64 {
    let end: String = statement
        .trim_end_matches(['…', ' '])
        .chars()
        .rev()
        .take(16)
        .collect();
    let end: String = end.chars().rev().collect();
    let at = text.lines().position(|line| line.contains(end.trim()));
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or_default()
}
