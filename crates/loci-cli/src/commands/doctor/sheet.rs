//! The layout of `loci doctor`: sections of aligned lines.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::print::Printer;
pub(super) use crate::units::{count, size};

/// Width of the label column; longer labels overflow it.
const LABEL: usize = 14;
const GAP: usize = 2;

/// A section: a title over lines of a label and a text.
#[derive(Debug)]
pub(super) struct Section {
    title: &'static str,
    lines: Vec<(String, String)>,
}

impl Section {
    pub(super) fn new(title: &'static str) -> Self {
        Self {
            title,
            lines: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, label: impl Into<String>, text: impl Into<String>) {
        self.lines.push((label.into(), text.into()));
    }
}

/// The sections one after the other, with one column for all labels.
pub(super) fn render(printer: Printer, sections: &[Section]) -> String {
    let labels = sections.iter().flat_map(|section| &section.lines);
    let widths = labels.map(|(label, _)| label.width());
    let column = GAP + widths.filter(|width| *width <= LABEL).max().unwrap_or(0);
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.lines.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", printer.strong(section.title));
        for (label, words) in &section.lines {
            let gap = " ".repeat(column.saturating_sub(label.width()).max(GAP));
            let (label, words) = (printer.stored(label), printer.stored(words));
            let _ = writeln!(text, "  {label}{gap}{words}");
        }
    }
    text
}
