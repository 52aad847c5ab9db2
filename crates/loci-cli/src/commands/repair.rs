//! `loci repair`: fix what verify finds, and say what was done.

mod chroma;

use std::fmt::Write as _;

use loci_palace::{RepairReport, SalvageReport};
use serde_json::{Value, json};

use crate::args::RepairArguments;
use crate::commands::verify::findings;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &RepairArguments, session: &Session<'_>) -> Result<Reply> {
    if let Some(path) = &arguments.chroma {
        return chroma::run(path, arguments, session);
    }
    let report = session.named()?.repair()?;
    // After a salvage this palace is as damaged as before; the new one is whole.
    let whole = report.remaining.is_empty() && report.salvage.is_none();
    let answer = json!({
        "ok": whole,
        "before": report.before,
        "actions": report.actions,
        "drawers_before": report.drawers_before,
        "drawers_after": report.drawers_after,
        "set_aside": report.set_aside,
        "copy": report.copy.as_ref().map(|path| path.to_string_lossy()),
        "salvage": report.salvage.as_ref().map(of_salvage),
        "remaining": report.remaining,
    });
    let text = shown(session.printer, &report);
    Ok(Reply::new(&answer, text)?.exit_if(!whole, Exit::Nothing))
}

fn of_salvage(salvage: &SalvageReport) -> Value {
    json!({
        "palace": salvage.palace.to_string_lossy(),
        "saved": salvage.saved,
        "facts": salvage.facts,
        "links": salvage.links,
        "without_vector": salvage.without_vector,
        "damaged": salvage.damaged,
        "duplicates": salvage.duplicates,
        "unreadable_pages": salvage.unreadable_pages,
        "damaged_records": salvage.damaged_records,
    })
}

fn shown(printer: Printer, report: &RepairReport) -> String {
    if report.before.is_empty() {
        return format!("{} drawer(s): nothing to repair", report.drawers_before);
    }
    let mut text = format!("found before:\n{}", findings(printer, &report.before));
    let _ = writeln!(text, "done:");
    for action in &report.actions {
        let _ = writeln!(text, "  {action}");
    }
    let _ = writeln!(
        text,
        "drawers: {} before, {} after, {} set aside",
        report.drawers_before,
        report.drawers_after,
        report.set_aside.len()
    );
    if let Some(salvage) = &report.salvage {
        let _ = writeln!(
            text,
            "salvaged: {} saved, {} of them without their vector, {} damaged, {} unreadable page(s)\n\
             this palace is still damaged; look at the new one with `loci status --palace {}`",
            salvage.saved,
            salvage.without_vector.len(),
            salvage.damaged.len(),
            salvage.unreadable_pages,
            salvage.palace.display()
        );
    } else if report.remaining.is_empty() {
        let _ = writeln!(text, "everything agrees now");
    } else {
        let _ = write!(
            text,
            "still found:\n{}",
            findings(printer, &report.remaining)
        );
    }
    text
}
