//! Says where a memory is from: the title and day of a session, a file and line, or the day of a
//! note.

use loci_palace::{MetaValue, Metadata, quoted};

use super::excerpt::beginning;

/// The most bytes of the title of a session.
const MAX_TITLE: usize = 80;

/// What is known of the place of a drawer.
pub(super) struct Place<'a> {
    pub(super) metadata: &'a Metadata,
    /// The title of its conversation.
    pub(super) title: Option<&'a str>,
    /// The day on which it was said, written or added; empty if it is unknown.
    pub(super) day: &'a str,
    /// Paths below this folder are relative to it.
    pub(super) folder: &'a str,
    /// How many lines below the beginning of the drawer the passage begins.
    pub(super) line: usize,
}

impl Place<'_> {
    /// Returns the place in words.
    pub(super) fn describe(&self) -> String {
        let text = |key: &str| self.metadata.get_str(key);
        let of_day = match self.day {
            "" => String::new(),
            day => format!(" of {day}"),
        };
        if text("conversation").is_some() || text("agent").is_some() {
            let title = self
                .title
                .map(|title| format!(" {}", quoted(beginning(title, MAX_TITLE))));
            return format!("session{}{of_day}", title.unwrap_or_default());
        }
        let Some(source) = text("source_file") else {
            return format!("note{of_day}");
        };
        let below = source
            .strip_prefix(self.folder)
            .and_then(|below| below.strip_prefix(['/', '\\']));
        let path = below.unwrap_or(source);
        let day = match self.day {
            "" => String::new(),
            day => format!(", {day}"),
        };
        match self.metadata.get("start_line") {
            Some(MetaValue::Int(first)) => {
                let line = first.saturating_add(i64::try_from(self.line).unwrap_or_default());
                format!("{path}:{line}{day}")
            }
            _ => format!("{path}{day}"),
        }
    }
}
