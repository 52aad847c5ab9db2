//! Findings of `loci doctor` without a path, each with advice.

use std::fmt::Write as _;

use loci_palace::{Error, Severity};
use serde::Serialize;

use crate::failure::Failure;
use crate::print::Printer;

/// One finding. `code` is stable; the text may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DoctorFinding {
    pub(super) code: String,
    pub(super) severity: Severity,
    /// The finding.
    pub(super) what: String,
    /// What to do, in one line.
    pub(super) advice: String,
}

/// All findings of a run.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<DoctorFinding>,
    /// Whether this process may read the palace and not write it.
    read_only: bool,
}

impl Findings {
    /// Records that this process cannot write the palace.
    pub(super) fn palace_is_read_only(&mut self) {
        self.read_only = true;
    }

    /// Advice that needs to write the palace. Where this process cannot, only its owner can follow
    /// it.
    pub(super) fn to_write(&self, advice: impl Into<String>) -> String {
        let advice = advice.into();
        if self.read_only {
            format!("as the user who owns the palace: {advice}")
        } else {
            advice
        }
    }

    /// Whether this process may read the palace and not write it.
    pub(super) fn read_only(&self) -> bool {
        self.read_only
    }

    pub(super) fn note(&mut self, code: &str, what: impl AsRef<str>, advice: impl AsRef<str>) {
        self.add(Severity::Note, code, what.as_ref(), advice.as_ref());
    }

    pub(super) fn warn(&mut self, code: &str, what: impl AsRef<str>, advice: impl AsRef<str>) {
        self.add(Severity::Warning, code, what.as_ref(), advice.as_ref());
    }

    pub(super) fn wrong(&mut self, code: &str, what: impl AsRef<str>, advice: impl AsRef<str>) {
        self.add(Severity::Error, code, what.as_ref(), advice.as_ref());
    }

    /// An error that ended one part of the check. The advice is the error's own help, if it has
    /// any.
    pub(super) fn failed(&mut self, code: &str, error: Error, otherwise: &str) -> String {
        let failure = Failure::from(error);
        let advice = failure.help(&None).unwrap_or_else(|| otherwise.to_owned());
        let what = failure.message();
        self.wrong(code, &what, advice);
        what
    }

    fn add(&mut self, severity: Severity, code: &str, what: &str, advice: &str) {
        self.list.push(DoctorFinding {
            code: code.to_owned(),
            severity,
            what: one_line(what),
            advice: one_line(advice),
        });
    }

    /// Sorted by severity, then in the order in which they were found.
    pub(super) fn sorted(mut self) -> Vec<DoctorFinding> {
        self.list
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.list
    }
}

/// Whether something needs to be done.
pub(super) fn needs_action(findings: &[DoctorFinding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity > Severity::Note)
}

/// The findings as text, with a summary.
pub(super) fn render(printer: Printer, findings: &[DoctorFinding]) -> String {
    let mut text = String::new();
    if !findings.is_empty() {
        let _ = writeln!(text, "\n{}", printer.strong("findings"));
    }
    for finding in findings {
        let severity = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let (what, advice) = (printer.name(&finding.what), printer.name(&finding.advice));
        let _ = writeln!(
            text,
            "  {}  {what}\n           help: {advice}",
            printer.strong(&format!("{severity:7}"))
        );
    }
    let grave = findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
        .count();
    let _ = match grave {
        0 => writeln!(text, "\nnothing needs to be done"),
        1 => writeln!(text, "\n1 finding needs action"),
        many => writeln!(text, "\n{many} findings need action"),
    };
    text
}

/// Joins text that may have several lines into one.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first_and_notes_need_nothing() {
        let mut findings = Findings::default();
        findings.note("a", "one\ntwo", "x");
        assert!(!needs_action(&findings.list));
        findings.wrong("b", "y", "z");
        findings.warn("c", "y", "z");
        let sorted = findings.sorted();
        let codes: Vec<&str> = sorted.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, ["b", "c", "a"]);
        assert_eq!(sorted.last().map(|one| one.what.as_str()), Some("one two"));
        assert!(needs_action(&sorted));
    }
}
