//! `loci verify`: checks indexes and postings against the stored drawers.

use std::fmt::Write as _;

use loci_palace::{Finding, verify};

use crate::args::VerifyArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &VerifyArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.named()?;
    let working = session.printer.working("checking the palace");
    let report = palace.verify(&verify::Request {
        deep: arguments.deep,
    })?;
    drop(working);
    let how = if report.deep { "deep check" } else { "check" };
    let text = if report.ok() {
        let hint = if report.deep {
            ""
        } else {
            " (`--deep` also recomputes every row, posting and code)"
        };
        format!(
            "{how} of {} drawer(s): everything is consistent{hint}",
            report.drawers
        )
    } else {
        let mut text = findings(session.printer, &report.findings);
        let total = report.findings.len() as u64 + report.more;
        let _ = writeln!(
            text,
            "{how} of {} drawer(s): {total} finding(s); `loci repair` repairs them",
            report.drawers
        );
        text
    };
    Ok(Reply::new(&report, text)?.exit_if(!report.ok(), Exit::Nothing))
}

/// One line per finding.
pub(crate) fn findings(printer: Printer, findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = write!(text, "{:9}", finding.kind);
        for part in [&finding.collection, &finding.id].into_iter().flatten() {
            let _ = write!(text, " `{}`", printer.name(part));
        }
        let _ = writeln!(text, " {}", printer.name(&finding.detail));
    }
    text
}
