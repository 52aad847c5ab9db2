//! `loci repair`: repairs the findings of a verification, and reports the repairs and the losses.

mod chroma;
mod salvage;

use std::fmt::Write as _;

use loci_palace::{path_text, repair};

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
    let palace = session.named()?;
    let working = session.printer.working("checking and repairing the palace");
    let report = palace.repair(&repair::Request {
        replace: arguments.replace,
    })?;
    drop(working);
    let text = lines(session.printer, &report);
    Ok(Reply::new(&report, text)?.exit_if(!report.is_complete(), Exit::Nothing))
}

fn lines(printer: Printer, report: &repair::Answer) -> String {
    if report.before.is_empty() {
        return format!("{} drawer(s): nothing to repair", report.drawers_before);
    }
    let mut text = format!("found before:\n{}", findings(printer, &report.before));
    let _ = writeln!(text, "done:");
    for action in &report.actions {
        let _ = writeln!(text, "  {action}");
    }
    let lost = match &report.salvage {
        Some(salvage) => format!("{} lost", counted(salvage.lost_drawers)),
        None => format!("{} set aside", report.set_aside.len()),
    };
    let _ = writeln!(
        text,
        "drawers: {} before, {} after, {lost}",
        counted(report.drawers_before),
        counted(report.drawers_after),
    );
    if let Some(salvage) = &report.salvage {
        text.push_str(&salvage::text(printer, salvage));
    }
    match (&report.salvage, &report.replaced) {
        (Some(_), Some(old)) => {
            let _ = writeln!(text, "the damaged database is kept as `{}`", path_text(old));
        }
        (Some(salvage), None) => {
            let _ = writeln!(
                text,
                "this palace is still damaged; inspect the new one with `loci status --palace {}`,\n\
                 or replace this one with it: `loci repair --replace`",
                path_text(&salvage.palace)
            );
            return text;
        }
        (None, _) => {}
    }
    if report.remaining.is_empty() {
        let everything = if report.is_complete() {
            "everything"
        } else {
            "what was saved"
        };
        let _ = writeln!(text, "{everything} is consistent");
    } else {
        let _ = write!(
            text,
            "still found:\n{}",
            findings(printer, &report.remaining)
        );
    }
    text
}

/// A number with commas between groups of three digits.
fn counted(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn large_numbers_are_grouped_by_three_digits() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (2_970, "2,970"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(counted(number), shown);
        }
    }
}
