//! Finds what a Markdown text refers to: tags, links to other files, and wikilinks.
//!
//! It reads lines as the splitter does: nothing in fences, in code or in scripts counts. The targets
//! of links are kept as they are written, because the file may move and its target may be mined
//! later; `loci-palace` resolves them when links are read.

mod links;
mod tags;

use crate::document::Format;
use crate::split::{FrontValue, Trail};

pub use links::{LinkTarget, target_name};

/// The most tags and links of one drawer.
const MOST: usize = 64;

/// A tag or a link, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The line, counted from the `first_line` given to [`find`].
    pub line: u32,
    /// What is there.
    pub kind: ReferenceKind,
}

/// What a line refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A tag, in lower case and without `#`.
    Tag(String),
    /// A link, as written.
    Link(String),
}

/// The references of a text, by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    all: Vec<Reference>,
}

impl References {
    /// The tags in these lines, without repetitions.
    pub fn tags(&self, lines: (u32, u32)) -> Vec<String> {
        self.within(lines, |kind| match kind {
            ReferenceKind::Tag(tag) => Some(tag),
            ReferenceKind::Link(_) => None,
        })
    }

    /// The targets of the links in these lines, without repetitions.
    pub fn links(&self, lines: (u32, u32)) -> Vec<String> {
        self.within(lines, |kind| match kind {
            ReferenceKind::Link(target) => Some(target),
            ReferenceKind::Tag(_) => None,
        })
    }

    fn within(
        &self,
        (first, last): (u32, u32),
        pick: impl Fn(&ReferenceKind) -> Option<&String>,
    ) -> Vec<String> {
        let start = self.all.partition_point(|reference| reference.line < first);
        let mut found: Vec<String> = Vec::new();
        let rest = self.all.get(start..).unwrap_or_default();
        for reference in rest.iter().take_while(|reference| reference.line <= last) {
            if let Some(text) = pick(&reference.kind)
                && !found.contains(text)
            {
                found.push(text.clone());
                if found.len() == MOST {
                    break;
                }
            }
        }
        found
    }
}

/// Finds the references of a text. Only Markdown and notebooks have any. `trail` is that of
/// [`crate::split::split`].
pub fn find(text: &str, format: &Format, first_line: u32, trail: &Trail) -> References {
    if !matches!(format, Format::Markdown | Format::Notebook) {
        return References::default();
    }
    let mut all = Vec::new();
    let mut lines = Lines::new(trail);
    let front = if first_line == 1 {
        crate::split::frontmatter_end(text)
    } else {
        0
    };
    let rest = text.get(front..).unwrap_or_default();
    let skipped = memchr::memchr_iter(b'\n', text.as_bytes().get(..front).unwrap_or_default());
    let first_line = first_line.saturating_add(skipped.count() as u32);
    let mut code = String::new();
    for (line, number) in rest.split('\n').zip(first_line..) {
        if !lines.is_prose(line) || !line.contains(['#', '[']) {
            continue;
        }
        let line = without_code(line, &mut code);
        if line.contains('#') {
            tags::each(line, |tag| {
                all.push(Reference {
                    line: number,
                    kind: ReferenceKind::Tag(tag),
                });
            });
        }
        if line.contains('[') {
            links::each(line, |target| {
                all.push(Reference {
                    line: number,
                    kind: ReferenceKind::Link(target),
                });
            });
        }
    }
    References { all }
}

/// Returns the tags that frontmatter gives to a whole file.
pub fn tags_of_front(front: &[(String, FrontValue)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (key, value) in front {
        if !matches!(key.as_str(), "tags" | "tag" | "keywords") {
            continue;
        }
        let given: Vec<String> = match value {
            FrontValue::List(items) => items.clone(),
            FrontValue::Str(text) if text.contains(',') => {
                text.split(',').map(str::to_owned).collect()
            }
            FrontValue::Str(text) => text.split_whitespace().map(str::to_owned).collect(),
            FrontValue::Int(number) => vec![number.to_string()],
            FrontValue::Float(_) | FrontValue::Bool(_) => Vec::new(),
        };
        for tag in given {
            let tag = tag
                .trim()
                .trim_matches(['"', '\'', '#', ' '])
                .to_lowercase();
            let fits = !tag.is_empty() && tag.len() <= tags::LONGEST;
            if fits && found.len() < MOST && !found.contains(&tag) {
                found.push(tag);
            }
        }
    }
    found
}

/// Tells prose from fences, indented code and scripts, line by line.
struct Lines {
    fence: Option<(char, usize)>,
    /// The end tag of an open script or style.
    raw: Option<&'static str>,
    /// Whether the line before was blank or indented code.
    after_gap: bool,
    in_list: bool,
}

impl Lines {
    fn new(trail: &Trail) -> Self {
        Self {
            fence: trail.fence(),
            raw: None,
            after_gap: true,
            in_list: false,
        }
    }

    fn is_prose(&mut self, line: &str) -> bool {
        let begin = line.trim_start();
        if begin.is_empty() {
            self.after_gap = true;
            return false;
        }
        let content = begin.trim_start_matches(['>', ' ', '\t']);
        if let Some((mark, length)) = self.fence {
            let rest = content.trim_start_matches(mark);
            if rest.trim().is_empty() && content.len() - rest.len() >= length {
                self.fence = None;
            }
            return false;
        }
        if let Some(end) = self.raw {
            if line.contains(end) {
                self.raw = None;
            }
            return false;
        }
        let item = content
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .trim_start_matches(['-', '*', '+', '.', ')'])
            .trim_start();
        for opening in [content, item] {
            let mark = opening.chars().next().unwrap_or_default();
            let info = opening.trim_start_matches(mark);
            let length = opening.len() - info.len();
            if matches!(mark, '`' | '~') && length >= 3 && !info.contains('`') {
                self.fence = Some((mark, length));
                return false;
            }
        }
        for (open, end) in [
            ("<script", "</script"),
            ("<style", "</style"),
            ("<pre", "</pre"),
        ] {
            if begin.starts_with(open) {
                self.raw = (!line.contains(end)).then_some(end);
                return false;
            }
        }
        let is_item = item.len() < content.len() && content.contains(' ');
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        if is_indented && !is_item && !self.in_list && self.after_gap {
            return false;
        }
        if !is_indented && self.after_gap {
            self.in_list = false;
        }
        self.in_list |= is_item;
        self.after_gap = false;
        true
    }
}

/// Replaces the code spans of a line by spaces.
fn without_code<'a>(line: &'a str, buffer: &'a mut String) -> &'a str {
    if !line.contains('`') {
        return line;
    }
    buffer.clear();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let (before, ticks) = rest.split_at(open);
        let inner = ticks.trim_start_matches('`');
        let length = ticks.len() - inner.len();
        buffer.push_str(before);
        rest = inner;
        let mut from = 0;
        while let Some(at) = inner.get(from..).and_then(|inner| inner.find('`')) {
            let close = inner.get(from + at..).unwrap_or_default();
            let after = close.trim_start_matches('`');
            let run = close.len() - after.len();
            if run == length {
                // A letter takes the place of the code, so that a tag does not begin after it.
                buffer.push('x');
                rest = after;
                break;
            }
            from += at + run;
        }
    }
    buffer.push_str(rest);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Vec<String> {
        find(text, &Format::Markdown, 1, &Trail::default()).tags((1, u32::MAX))
    }

    fn links(text: &str) -> Vec<String> {
        find(text, &Format::Markdown, 1, &Trail::default()).links((1, u32::MAX))
    }

    #[test]
    fn inline_tags_are_words_after_a_space_and_a_hash() {
        assert_eq!(
            tags("#start about #Tea and #work/Acme-1, #чай #茶。\n- #item\n> #quote\n(see #in)"),
            [
                "start",
                "tea",
                "work/acme-1",
                "чай",
                "茶",
                "item",
                "quote",
                "in"
            ]
        );
        assert_eq!(tags("#tea #TEA\n#tea"), ["tea"]);
        assert_eq!(tags("#trailing/ #dash-"), ["trailing", "dash"]);
    }

    #[test]
    fn headings_numbers_colours_code_and_fragments_are_no_tags() {
        let text = "# Title\n## Two #\nissue #123 and #1, #fff #A1B2C3 #ffffffff\n\
                    `#code` ``a ` #b`` x#no [a](#part) https://x.org/#frag \\#escaped\n\
                    ```c\n#include <a.h>\n```\n~~~\n#tilde\n~~~\n\n    #indented\n\n\
                    <style>\n#id { color: red }\n</style>\n#define(x) #a=b ##double";
        assert_eq!(tags(text), Vec::<String>::new());
    }

    #[test]
    fn front_matter_gives_tags_as_a_list_or_as_words() {
        let front = |text: &str| tags_of_front(&crate::split::frontmatter(text));
        assert_eq!(front("---\ntags: [Tea, \"#cups\"]\n---\n"), ["tea", "cups"]);
        assert_eq!(
            front("---\ntags:\n  - Green Tea\n  - x\n---\n"),
            ["green tea", "x"]
        );
        assert_eq!(
            front("---\ntag: tea cups\nkeywords: a b, c\n---\n"),
            ["tea", "cups", "a b", "c"]
        );
        assert_eq!(front("---\ntags: 2024\n---\n"), ["2024"]);
        assert_eq!(front("---\ntags:\n---\n"), Vec::<String>::new());
        assert_eq!(tags("---\ntitle: a #b\n---\n"), Vec::<String>::new());
    }

    #[test]
    fn wikilinks_and_relative_links_are_found_as_written() {
        let text = "[[Note]] [[Note|alias]] ![[Embed]] [[a/Note#Head ing|x]] [[Tab\\|le]]\n\
                    [b](../b.md#part) [c](<c d.md> \"title\") [d](d%20e.md) ![i](i.png)\n\
                    [u](https://x.org) [m](mailto:a@b) [f](#here) [r](/root.md) [[#Here]] `[[code]]`\n\
                    [ref]: ./ref.md 'x'\n[^1]: foot.md\n";
        assert_eq!(
            links(text),
            [
                "[[Note]]",
                "[[Embed]]",
                "[[a/Note#Head ing]]",
                "[[Tab]]",
                "../b.md#part",
                "c d.md",
                "d%20e.md",
                "./ref.md",
            ]
        );
    }

    #[test]
    fn references_belong_to_their_lines() {
        let text = "---\ntags: x\n---\n#one [[A]]\n\n#two [[B]]\n";
        let found = find(text, &Format::Markdown, 1, &Trail::default());
        assert_eq!(found.tags((4, 4)), ["one"]);
        assert_eq!(found.links((5, 6)), ["[[B]]"]);
        assert_eq!(
            find("#x", &Format::Text, 1, &Trail::default()),
            References::default()
        );
    }
}
