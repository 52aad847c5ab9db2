//! `loci_forget`: drawers go, and with them every trace of their text.

use std::fmt::Write as _;

use loci_palace::{Error, Filter, ForgetOutcome, Result, Selection};
use serde_json::json;

use super::get::ids;
use super::object;
use crate::tool::{Answer, Call, Kind, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "loci_forget",
    title: "",
    description: "Erase drawers for good, by ids or source. Only if the user asks.",
    input: || object(&[("ids", "texts"), ("source", "string")], &[]),
    output: || {
        object(
            &[
                ("forgotten", "integer"),
                ("facts", "integer"),
                ("links", "integer"),
                ("purge_pending", "boolean"),
                ("pending_reason", "string"),
            ],
            &["forgotten"],
        )
    },
    kind: Kind::Destroy,
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let source = call.arguments.text("source")?;
    let selection = match (ids(call)?, source) {
        (Some(ids), None) => Selection::ids(ids),
        (None, Some(source)) if !source.is_empty() => {
            Selection::matching(Filter::eq("source_file", source))
        }
        _ => {
            return Err(Error::invalid(
                "what to forget",
                "is unclear; give either `ids` or `source`",
            ));
        }
    };
    let palace = call.palace()?;
    let mut outcome = ForgetOutcome::default();
    let collections = palace.scope(None)?;
    // Every collection is asked: a repair or a run may have taken a drawer out and kept a copy.
    for (at, collection) in collections.iter().enumerate() {
        call.go_on()?;
        let message = format!("{} drawer(s) forgotten", outcome.forgotten);
        call.progress(at as f64, Some(collections.len() as f64), message);
        let done = palace.forget(collection.name(), &selection)?;
        outcome.forgotten += done.forgotten;
        outcome.facts += done.facts;
        outcome.links += done.links;
        // Each call looks at the whole palace: the last answer counts.
        outcome.purge_pending = done.purge_pending;
        outcome.pending_reason = done.pending_reason;
        outcome.removed_files.extend(done.removed_files);
    }
    let mut structured = json!({
        "forgotten": outcome.forgotten,
        "facts": outcome.facts,
        "links": outcome.links,
        "purge_pending": outcome.purge_pending,
        "removed_files": outcome.removed_files,
    });
    if let Some((reason, answer)) = outcome
        .pending_reason
        .as_ref()
        .zip(structured.as_object_mut())
    {
        answer.insert("pending_reason".into(), reason.code().into());
    }
    Ok(Answer::new(structured, shown(&outcome)))
}

fn shown(outcome: &ForgetOutcome) -> String {
    if outcome.forgotten + outcome.facts + outcome.links == 0 {
        return "there was nothing to forget\n".into();
    }
    let mut text = format!(
        "forgot {} drawer(s), {} fact(s), {} link(s)\n",
        outcome.forgotten, outcome.facts, outcome.links
    );
    if outcome.purge_pending {
        let reason = outcome.pending_reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let _ = writeln!(
            text,
            "the text may still be in a file of the palace{reason}; the next process that uses the palace removes it"
        );
    }
    if !outcome.removed_files.is_empty() {
        let _ = writeln!(
            text,
            "removed {} set-aside file(s) that could hold the text too",
            outcome.removed_files.len()
        );
    }
    text
}
