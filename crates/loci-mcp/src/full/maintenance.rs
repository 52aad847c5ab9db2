//! `loci_verify`: checks indexes and postings against the stored drawers.

use std::fmt::Write as _;

use loci_palace::{Capability, Result, message_line, verify};

use crate::core::{arguments, object};
use crate::structured::structured;
use crate::tool::{Answer, Call, Kind, Tool};

pub(super) const VERIFY: Tool = Tool {
    name: "loci_verify",
    title: "Verify",
    description: "Check the palace; deep also recomputes every row, posting and code. Changes nothing.",
    input: || {
        arguments(
            &[("deep", "boolean", "also recompute what is derived")],
            &[],
        )
    },
    output: || {
        object(
            &[
                ("ok", "boolean"),
                ("findings", "array"),
                ("drawers", "integer"),
            ],
            &["ok", "findings"],
        )
    },
    kind: Kind::Read,
    needs: &[Capability::Verification],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let deep = call.arguments.flag("deep")?;
    call.progress(0.0, Some(1.0), "checking");
    let report = call.palace()?.verify(&verify::Request { deep })?;
    call.progress(1.0, Some(1.0), "checked");
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{}: {}", finding.kind, message_line(&finding.detail));
    }
    let _ = writeln!(
        text,
        "{} drawer(s): {}",
        report.drawers,
        if report.ok() {
            "everything is consistent"
        } else {
            "the owner of this memory should repair it"
        }
    );
    Ok(Answer::new(structured(&report, &[])?, text))
}
