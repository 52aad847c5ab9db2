//! The layout of `loci doctor`: sections of aligned lines.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::print::Printer;

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

/// Bytes in a readable unit.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes as f64 >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => format!("{bytes} bytes"),
    }
}

/// A number with its noun, in the plural unless it is one.
pub(super) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
