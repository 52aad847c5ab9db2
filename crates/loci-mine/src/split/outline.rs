//! The structure of a text: its rows, its sections, and the tree of their headings.
//!
//! The readers of the formats fill it from top to bottom. It keeps titles, but no other text.

use super::rows::{Cut, Row};
use super::trail::{Open, Trail, TrailHeading};

/// The deepest level that becomes a section of its own.
pub(super) const DEEPEST: u8 = 8;
const LONGEST_PATH: usize = 200;
pub(crate) const JOINT: &str = " > ";

/// The rows from one heading or definition to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    /// The first row.
    pub(super) row: usize,
    pub(super) level: u8,
    /// The heading of the section.
    node: Node,
    /// The heading that applies just before the first row.
    outer: Node,
}

/// One more than an index in `Outline::steps`; 0 is the root.
type Node = u32;

#[derive(Debug)]
struct Entry {
    step: TrailHeading,
    parent: Node,
    /// The number of ancestors.
    depth: u16,
}

/// The structure of a text.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) rows: Vec<Row>,
    pub(super) sections: Vec<Section>,
    pub(super) opens: Vec<Open>,
    pub(super) styles: Vec<String>,
    entries: Vec<Entry>,
    now: Node,
    begun: bool,
}

impl Outline {
    /// Creates an outline without sections, under the headings of `trail`.
    pub(super) fn new(rows: Vec<Row>, trail: &Trail) -> Outline {
        let mut outline = Outline {
            rows,
            sections: Vec::new(),
            opens: Vec::new(),
            styles: trail.styles.clone(),
            entries: Vec::new(),
            now: 0,
            begun: trail.begun,
        };
        for step in &trail.steps {
            outline.enter(step.clone());
        }
        let level = trail.steps.last().map_or(0, |step| step.level);
        outline.sections.push(Section {
            row: 0,
            level,
            node: outline.now,
            outer: outline.now,
        });
        outline
    }

    fn entry(&self, node: Node) -> Option<&Entry> {
        self.entries.get((node as usize).checked_sub(1)?)
    }

    /// The first heading of the outermost level.
    pub(super) fn title(&self) -> Option<String> {
        let first = self.entries.iter().find(|entry| entry.step.level == 1)?;
        Some(first.step.title.clone()).filter(|title| !title.is_empty())
    }

    /// The innermost current heading.
    pub(super) fn top(&self) -> Option<&TrailHeading> {
        self.entry(self.now).map(|entry| &entry.step)
    }

    /// Leaves headings for as long as `leave` returns `true`.
    pub(super) fn leave(&mut self, mut leave: impl FnMut(&TrailHeading) -> bool) {
        while let Some(entry) = self.entry(self.now) {
            if !leave(&entry.step) {
                break;
            }
            self.now = entry.parent;
        }
    }

    fn enter(&mut self, step: TrailHeading) {
        let depth = self.entry(self.now).map_or(0, |entry| entry.depth + 1);
        let parent = self.now;
        self.entries.push(Entry {
            step,
            parent,
            depth,
        });
        self.now = self.entries.len() as Node;
    }

    /// Begins a section with its own heading at `row`.
    pub(super) fn begin(&mut self, row: usize, step: TrailHeading) {
        let (outer, level) = (self.now, step.level);
        self.enter(step);
        self.start(Section {
            row,
            level,
            node: self.now,
            outer,
        });
    }

    /// Continues the text of the current heading at `row`, after a nested section. The cut there
    /// counts as at `level`.
    pub(super) fn resume(&mut self, row: usize, level: u8) {
        if self.sections.last().map(|last| last.node) != Some(self.now) {
            self.start(Section {
                row,
                level,
                node: self.now,
                outer: self.now,
            });
        }
    }

    /// The level of a section that begins inside the current heading.
    pub(super) fn next_level(&self) -> u8 {
        self.top().map_or(0, |step| step.level).saturating_add(1)
    }

    /// Leaves all headings that are indented at least to `column`, the column of `row`. If there
    /// are any, the enclosing text resumes.
    pub(super) fn fall_back(&mut self, row: usize, column: u16) {
        let before = self.now;
        self.leave(|step| step.column >= column);
        if self.now != before {
            self.resume(row, self.next_level());
        }
    }

    /// Records that `row` begins inside `open`.
    pub(super) fn mark_inside(&mut self, row: usize, open: Open) {
        if self.opens.last() != Some(&open) {
            self.opens.push(open);
        }
        let inside = self.opens.len() as u32;
        if let Some(row) = self.rows.get_mut(row) {
            row.inside = inside;
        }
    }

    fn start(&mut self, section: Section) {
        // A section may extend back over rows that were taken for the end of the one before.
        while self
            .sections
            .last()
            .is_some_and(|last| last.row >= section.row)
        {
            self.sections.pop();
        }
        if let Some(row) = self.rows.get_mut(section.row) {
            row.cut = Cut::section(section.level);
        }
        self.sections.push(section);
    }

    pub(super) fn set_cut(&mut self, row: usize, cut: Cut) {
        if let Some(row) = self.rows.get_mut(row) {
            row.cut = cut;
        }
    }

    /// Marks `rows` as one block that stays whole, except before its first row. A block of more
    /// than `most` bytes is not marked.
    pub(super) fn keep_whole(&mut self, from: usize, to: usize, most: usize) {
        let whole = self.bytes(from, to) <= most;
        for row in self.rows.get_mut(from + 1..to).unwrap_or_default() {
            if whole {
                row.cut = Cut::NEVER;
                row.inside = 0;
            }
        }
    }

    /// Returns the number of bytes from the start of one row to the end of the row before another.
    pub(super) fn bytes(&self, from: usize, to: usize) -> usize {
        let start = self.rows.get(from).map_or(0, |row| row.start);
        let end = to.checked_sub(1).and_then(|last| self.rows.get(last));
        end.map_or(0, |row| row.end).saturating_sub(start)
    }

    /// Returns the first row after section `index`.
    pub(super) fn section_end(&self, index: usize) -> usize {
        self.sections
            .get(index + 1)
            .map_or(self.rows.len(), |next| next.row)
    }

    /// Returns the path of the headings above all sections from `first` to `last`.
    pub(super) fn heading(&self, first: usize, last: usize) -> String {
        let mut node = self.sections.get(first).map_or(0, |section| section.node);
        for section in self.sections.get(first + 1..=last).unwrap_or_default() {
            node = self.shared(node, section.node);
        }
        self.path(node)
    }

    fn shared(&self, mut one: Node, mut other: Node) -> Node {
        while one != other {
            let (a, b) = (self.entry(one), self.entry(other));
            match (a, b) {
                (Some(a), Some(b)) if a.depth < b.depth => other = b.parent,
                (Some(a), Some(_)) => one = a.parent,
                _ => return 0,
            }
        }
        one
    }

    /// Returns the titles from the outermost inwards. If the path is too long, the outermost titles
    /// are left out first.
    fn path(&self, mut node: Node) -> String {
        let mut titles: Vec<&str> = Vec::new();
        let mut bytes = 0;
        while let Some(entry) = self.entry(node) {
            let title = entry.step.title.as_str();
            node = entry.parent;
            if title.is_empty() {
                continue;
            }
            bytes += title.len() + JOINT.len();
            if bytes > LONGEST_PATH && !titles.is_empty() {
                break;
            }
            titles.push(title);
        }
        titles.reverse();
        titles.join(JOINT)
    }

    /// Returns the trail at the start of `row`, which lies in section `section`.
    pub(super) fn trail(&self, section: usize, row: usize) -> Trail {
        let mut steps = Vec::new();
        let mut node = self.sections.get(section).map_or(0, |section| {
            if section.row == row {
                section.outer
            } else {
                section.node
            }
        });
        while let Some(entry) = self.entry(node) {
            steps.push(entry.step.clone());
            node = entry.parent;
        }
        steps.reverse();
        let inside = self.rows.get(row).map_or(0, |row| row.inside as usize);
        Trail {
            steps,
            open: inside
                .checked_sub(1)
                .and_then(|open| self.opens.get(open).copied()),
            styles: self.styles.clone(),
            begun: self.begun || row > 0,
        }
    }
}

/// Returns a title of at most `most` bytes: `title` itself, or its beginning and an ellipsis.
pub(super) fn bounded(title: &str, most: usize) -> String {
    if title.len() <= most {
        return title.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !title.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", title.get(..end).unwrap_or("").trim_end())
}
