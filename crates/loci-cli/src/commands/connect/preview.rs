//! Shows changes of configuration files to people. Only the changed lines are shown, because the
//! rest of such files may contain keys.

use std::fmt::Write as _;

use loci_agents::wiring::{Act, Change, Edit};

use crate::print::Printer;

/// Longer lines are cut.
const WIDTH: usize = 160;

/// Every file with the kind of its change, and with `edits` the changed lines.
pub(super) fn changes(printer: Printer, changes: &[Change], edits: bool) -> String {
    let mut lines = Vec::new();
    for change in changes {
        let act = match change.act {
            Act::Created => "created",
            Act::Changed => "changed",
            Act::Restored => "restored byte for byte",
            Act::Removed => "removed; Loci had created it",
        };
        lines.push(format!(
            "{}: {} ({act})",
            change.agent,
            change.path.display()
        ));
        if edits {
            lines.extend(change.edits.iter().flat_map(edit));
        }
    }
    let shown: Vec<String> = lines.iter().map(|line| printer.stored(line)).collect();
    shown.join("\n")
}

fn edit(edit: &Edit) -> Vec<String> {
    let (removed, inserted) = (parts(&edit.removed), parts(&edit.inserted));
    if removed.is_empty() && inserted.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("  line {}", edit.line)];
    for (sign, part) in [("-", removed), ("+", inserted)] {
        lines.extend(part.iter().map(|line| {
            let mut shown = format!("  {sign} ");
            let cut: String = line.chars().take(WIDTH).collect();
            let more = if cut.len() < line.len() { "…" } else { "" };
            let _ = write!(shown, "{cut}{more}");
            shown
        }));
    }
    lines
}

/// The lines of a piece of text, without common indentation and without the comma that joins it to
/// the text before it.
fn parts(text: &str) -> Vec<String> {
    let text = text.strip_prefix(',').unwrap_or(text);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().map(indent).min().unwrap_or_default();
    lines
        .iter()
        .map(|line| line.get(least..).unwrap_or(line).to_owned())
        .collect()
}
