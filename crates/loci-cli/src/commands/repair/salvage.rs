//! The report of a salvage for people: what was saved and what is lost.

use std::fmt::Write as _;

use loci_palace::{LostDrawer, LostRelation, SalvageReport};

use super::counted;
use crate::commands::export::left_out;
use crate::print::Printer;

/// Lost drawers that are shown one by one; `--json` has them all.
const SHOWN: usize = 20;

pub(super) fn text(printer: Printer, salvage: &SalvageReport) -> String {
    let mut text = format!(
        "salvaged: {} saved, {} of them without their vector, {} damaged, {} duplicate(s), {} unreadable page(s)\n",
        counted(salvage.saved),
        salvage.without_vector.len(),
        salvage.damaged.len(),
        salvage.duplicates,
        salvage.unreadable_pages,
    );
    if salvage.known_by == loci_palace::KnownBy::Evidence {
        let _ = writeln!(
            text,
            "the counters are lost too; there may have been more drawers than these"
        );
    }
    for lost in salvage.lost.iter().take(SHOWN) {
        let _ = writeln!(text, "lost: {}", printer.name(&drawer(lost)));
    }
    if let Some(more) = salvage
        .lost
        .len()
        .checked_sub(SHOWN)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(
            text,
            "and {} more; `--json` lists them all",
            counted(more as u64)
        );
    }
    if salvage.lost_without_a_trace > 0 {
        let _ = writeln!(
            text,
            "lost: {} drawer(s) of which only the count is known",
            counted(salvage.lost_without_a_trace)
        );
    }
    relations(printer, "fact", &salvage.lost_facts, &mut text);
    relations(printer, "link", &salvage.lost_links, &mut text);
    if salvage.incomplete_sources > 0 {
        let _ = writeln!(
            text,
            "{} mined source(s) may have lost a drawer; the next `loci mine` reads them again",
            counted(salvage.incomplete_sources)
        );
    }
    for note in left_out(&salvage.left_out) {
        let _ = writeln!(text, "{note}");
    }
    for discrepancy in &salvage.discrepancies {
        let _ = writeln!(
            text,
            "the numbers do not add up: {}",
            printer.name(discrepancy)
        );
    }
    text
}

fn relations(printer: Printer, kind: &str, lost: &[LostRelation], text: &mut String) {
    for relation in lost.iter().take(SHOWN) {
        let _ = writeln!(text, "lost: {kind} {}", printer.name(&relation.what));
    }
    if let Some(more) = lost.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more {kind}s; `--json` lists them all");
    }
}

/// One line: the id or row, and where the drawer belonged.
fn drawer(lost: &LostDrawer) -> String {
    let mut line = match &lost.id {
        Some(id) => format!("`{id}`"),
        None => format!("row {}", lost.row),
    };
    if let Some(collection) = &lost.collection {
        let _ = write!(line, " in `{collection}`");
    }
    match (&lost.wing, &lost.room) {
        (Some(wing), Some(room)) => {
            let _ = write!(line, ", {wing}/{room}");
        }
        (Some(place), None) | (None, Some(place)) => {
            let _ = write!(line, ", {place}");
        }
        (None, None) => {}
    }
    if let Some(file) = &lost.source_file {
        let _ = write!(line, ", {file}");
        if let Some(at) = &lost.line {
            let _ = write!(line, ":{at}");
        }
    }
    line
}
