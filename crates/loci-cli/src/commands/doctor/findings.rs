//! Findings as text: the problem, its evidence, its consequence and its repair.

use std::fmt::Write as _;

use loci_palace::{FindingCode, ForeignFinding, Severity};
use serde_json::{Map, Value};

use crate::hint;
use crate::print::Printer;

/// Entries of a list that people see; JSON has more.
const SHOWN: usize = 5;

/// Findings with which the owning program destroys or loses data when it opens the files.
const HARMED_BY_OPENING: [FindingCode; 13] = [
    FindingCode::PickleMissing,
    FindingCode::IndexMissing,
    FindingCode::SeqIdPoisoned,
    FindingCode::SeqIdBeyond,
    FindingCode::JournalPresent,
    FindingCode::SqliteDamaged,
    FindingCode::TablesMissing,
    FindingCode::DatabaseDamaged,
    FindingCode::WalDamaged,
    FindingCode::WalMissing,
    FindingCode::WalTailCut,
    FindingCode::SegmentsOnly,
    FindingCode::SegmentDamaged,
];

/// Whether opening it with its own program would make it worse.
pub(super) fn harmed_by_opening(findings: &[ForeignFinding]) -> bool {
    findings
        .iter()
        .any(|finding| HARMED_BY_OPENING.contains(&finding.code))
}

/// Findings that are more than notes.
pub(crate) fn grave(findings: &[ForeignFinding]) -> impl Iterator<Item = &ForeignFinding> {
    findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
}

/// One finding, on a few lines.
pub(super) fn describe(printer: Printer, finding: &ForeignFinding, text: &mut String) {
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let _ = write!(text, "{} {}", printer.strong(severity), finding.code);
    for part in [&finding.collection, &finding.file].into_iter().flatten() {
        let _ = write!(text, " `{}`", printer.name(part));
    }
    let _ = writeln!(text, "\n  {}", printer.name(&finding.message));
    let evidence = evidence(&finding.evidence);
    if !evidence.is_empty() {
        let _ = writeln!(text, "  evidence: {}", printer.name(&evidence));
    }
    if !finding.consequence.is_empty() {
        let _ = writeln!(
            text,
            "  consequence: {}",
            printer.name(&finding.consequence)
        );
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "  help: {}", printer.name(&hint::of_fix(fix)));
    }
}

/// Names with their values. A list that is cut shows its length.
fn evidence(of: &Map<String, Value>) -> String {
    let parts: Vec<String> = of
        .iter()
        .filter(|(name, _)| list_counted_by(name, of).is_none())
        .map(|(name, value)| {
            let words = name.replace('_', " ");
            match value {
                Value::Array(values) => {
                    let counted = of.get(&format!("{name}_count")).and_then(Value::as_u64);
                    let count = counted.unwrap_or(values.len() as u64);
                    format!("{words} {}", list(values, count))
                }
                value => format!("{words} {}", plain(value)),
            }
        })
        .collect();
    parts.join("; ")
}

/// The list that `name` only counts.
fn list_counted_by<'a>(name: &str, of: &'a Map<String, Value>) -> Option<&'a Vec<Value>> {
    of.get(name.strip_suffix("_count")?)?.as_array()
}

fn list(values: &[Value], count: u64) -> String {
    let shown: Vec<String> = values.iter().take(SHOWN).map(plain).collect();
    let text = shown.join(", ");
    let more = count.saturating_sub(shown.len() as u64);
    match (shown.is_empty(), more) {
        (_, 0) => text,
        (true, more) => more.to_string(),
        (false, more) => format!("{text} and {more} more ({count} in all)"),
    }
}

/// A value without JSON quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => list(values, values.len() as u64),
        Value::Null => "unknown".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_in_words_and_a_cut_list_says_how_long_it_is() {
        let finding = ForeignFinding::new("x", Severity::Note, "y")
            .list("ids", ["a", "b"])
            .list("rows", 1..=12)
            .with("rows_read", 7)
            .with("detail", "odd");
        assert_eq!(
            evidence(&finding.evidence),
            "detail odd; ids a, b; rows 1, 2, 3, 4, 5 and 7 more (12 in all); rows read 7"
        );
    }

    #[test]
    fn an_empty_list_shows_its_length_alone() {
        let finding = ForeignFinding::new("x", Severity::Note, "y")
            .with("ids", Value::Array(Vec::new()))
            .with("ids_count", 3);
        assert_eq!(evidence(&finding.evidence), "ids 3");
    }
}
