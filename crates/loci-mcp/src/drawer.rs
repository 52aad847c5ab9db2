//! Recalled text for models, and the resource names of drawers.
//!
//! Recalled text is data. For models it is put in a fence, and passages that read like instructions
//! are flagged there.

use loci_palace::{
    Fence, Flag, MetaValue, ORDERS, RECALLED, get, instruction_like, quoted_unless_plain, search,
    single_line,
};

use crate::tool::DrawerLink;

/// The notice in every answer with recalled text. Some clients show models the structured answer
/// instead of the text. There the notice is the member `about`, which comes before the texts, and
/// each text is a JSON string that cannot end by itself.
pub(crate) const NOTICE: &str = RECALLED;

/// Prefix of the resource name of a drawer.
const DRAWER_URI: &str = "loci://drawer/";

/// A recalled text with its origin, for models.
#[derive(Debug, Clone)]
pub(crate) struct Passage<'a> {
    collection: &'a str,
    id: &'a str,
    wing: Option<&'a str>,
    room: Option<&'a str>,
    source: Option<&'a str>,
    title: Option<&'a str>,
    start_line: Option<&'a MetaValue>,
    end_line: Option<&'a MetaValue>,
    date: Option<&'a str>,
    text: &'a str,
    flags: &'a [Flag],
}

impl<'a> Passage<'a> {
    /// A hit of a search.
    pub(crate) fn of_hit(hit: &'a search::Hit) -> Self {
        Self {
            collection: &hit.collection,
            id: &hit.id,
            wing: hit.wing.value().map(String::as_str),
            room: hit.room.value().map(String::as_str),
            source: hit.source.value().map(String::as_str),
            title: hit.title.as_deref(),
            start_line: hit.start_line.value(),
            end_line: hit.end_line.value(),
            date: Some(&hit.date),
            text: &hit.text,
            flags: &hit.flags,
        }
    }

    /// A drawer of a list, or a whole one.
    pub(crate) fn of_drawer(drawer: &'a get::Drawer) -> Self {
        Self {
            collection: &drawer.collection,
            id: &drawer.id,
            wing: drawer.wing.as_deref(),
            room: drawer.room.as_deref(),
            source: drawer.source.as_deref(),
            title: drawer.title.as_deref(),
            start_line: drawer.start_line.as_ref(),
            end_line: drawer.end_line.as_ref(),
            date: drawer.date.as_deref(),
            text: &drawer.text,
            flags: &drawer.flags,
        }
    }

    /// Wing and room.
    fn place(&self) -> String {
        let parts = [self.wing, self.room].into_iter().flatten();
        let parts: Vec<String> = parts
            .filter(|name| !name.is_empty())
            .map(one_line)
            .collect();
        parts.join("/")
    }

    /// The title of the conversation, or the file and its lines.
    fn origin(&self) -> Option<String> {
        if let Some(title) = self.title {
            return Some(format!("session \"{}\"", one_line(title)));
        }
        let line = |value: Option<&MetaValue>| match value {
            Some(MetaValue::Int(line)) => Some(*line),
            _ => None,
        };
        let source = one_line(self.source?);
        Some(match (line(self.start_line), line(self.end_line)) {
            (Some(start), Some(end)) => format!("{source}:{start}-{end}"),
            (Some(start), None) => format!("{source}:{start}"),
            _ => source,
        })
    }

    /// A description in one line: id, place, day, source, flags.
    fn about(&self) -> String {
        let mut parts = vec![one_line(self.id)];
        // The line may be cut at its end, so the flags come first.
        let place = self.place();
        let title = self.title.unwrap_or_default();
        let is_order = |text: &str| !instruction_like(text).is_empty();
        if !self.flags.is_empty() || is_order(&place) || is_order(title) {
            parts.push(ORDERS.to_owned());
        }
        parts.push(place);
        parts.extend(self.date.map(str::to_owned));
        parts.extend(self.origin());
        parts.retain(|part| !part.is_empty());
        parts.join(" | ")
    }

    /// The text in a fence.
    pub(crate) fn fenced(&self, fence: &Fence) -> String {
        fence.around(&self.about(), self.text)
    }

    /// The link to its drawer.
    pub(crate) fn link(&self) -> DrawerLink {
        DrawerLink {
            collection: self.collection.to_owned(),
            id: self.id.to_owned(),
            title: self.place(),
        }
    }
}

/// The name of a drawer for `resources/read`.
pub(crate) fn uri(collection: &str, id: &str) -> String {
    format!("{DRAWER_URI}{}/{}", escaped(collection), escaped(id))
}

/// Collection and id of a resource name; `None` if it names no drawer.
pub(crate) fn parse_uri(uri: &str) -> Option<(String, String)> {
    let (collection, id) = uri.strip_prefix(DRAWER_URI)?.split_once('/')?;
    let (collection, id) = (unescaped(collection)?, unescaped(id)?);
    (!collection.is_empty() && !id.is_empty()).then_some((collection, id))
}

/// Stored text as a part of a line within a fence or its mark: printable, without brackets, and
/// not long. Outside a fence, [`name`] quotes it.
pub(crate) fn one_line(text: &str) -> String {
    const MOST_CHARACTERS: usize = 200;
    let cut: String = text.chars().take(MOST_CHARACTERS).collect();
    let mut line = single_line(&cut).replace('[', "(").replace(']', ")");
    if cut.len() < text.len() {
        line.push('…');
    }
    line
}

/// Recalled lines in a fence, with its meaning; empty if there are none.
pub(crate) fn fenced(about: &str, lines: &str) -> String {
    let lines = lines.trim_end();
    if lines.is_empty() {
        return String::new();
    }
    let fence = Fence::new();
    format!("{}\n{}\n", fence.meaning(), fence.recalled(about, lines))
}

/// A stored name outside a fence: a plain word as it is, everything else as one quoted, escaped
/// token that cannot end its quotation.
pub(crate) fn name(text: &str) -> String {
    quoted_unless_plain(text)
}

/// Everything but unreserved characters as `%XX`.
fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push((digit()? * 16 + digit()?) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_from_its_name() {
        for id in ["a", "a/b", "100 %", "é✓", "?x=1#y", "%2F"] {
            assert_eq!(
                parse_uri(&uri("drawers", id)),
                Some(("drawers".into(), id.into())),
                "{id}"
            );
        }
    }

    #[test]
    fn what_names_no_drawer_is_refused() {
        for uri in [
            "loci://drawer/",
            "loci://drawer/a",
            "loci://drawer/a/",
            "loci://drawer//b",
            "loci://drawer/a/%",
            "loci://drawer/a/%zz",
            "loci://drawer/a/%FF",
            "file:///etc/passwd",
        ] {
            assert_eq!(parse_uri(uri), None, "{uri}");
        }
    }

    #[test]
    fn stored_names_stay_in_one_line_and_close_no_fence() {
        assert_eq!(one_line("a\nb] c[\u{7}"), "a\\nb) c(\\u{7}");
        assert_eq!(one_line(&"x".repeat(300)).chars().count(), 201);
        assert_eq!(name("0197-a"), "0197-a");
        assert_eq!(name("a`\n\nobey"), "`a\\u{60}\\n\\nobey`");
    }
}
