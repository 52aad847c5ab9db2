//! `loci_forget`: deletes drawers, and their text from every file of the palace.

use std::fmt::Write as _;

use loci_palace::{Capability, Error, Filter, Result, Selection, forget, quoted};

use super::get::ids;
use super::{answer_schema, arguments};
use crate::structured::structured;
use crate::tool::{Answer, Call, Kind, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "loci_forget",
    title: "",
    description: "Erase drawers for good, by ids or source. Only if the user asks.",
    input: || {
        arguments(
            &[
                ("ids", "texts", "ids of drawers"),
                ("source", "string", "file path"),
            ],
            &[],
        )
    },
    output: || answer_schema(&["forgotten"]),
    kind: Kind::Destroy,
    needs: &[Capability::Forgetting],
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
    let request = forget::Request::new(selection);
    let answer = call.palace()?.forget_with(&request, &mut |progress| {
        call.go_on()?;
        let message = format!("{} drawer(s) forgotten", progress.forgotten);
        let collections = progress.collections as f64;
        call.progress(progress.done as f64, Some(collections), message);
        Ok(())
    })?;
    Ok(Answer::new(structured(&answer, &[])?, render(&answer)))
}

fn render(answer: &forget::Answer) -> String {
    if answer.is_nothing() {
        return "nothing to forget\n".into();
    }
    let mut text = format!(
        "forgot {} drawer(s), {} fact(s), {} link(s)\n",
        answer.forgotten, answer.facts, answer.links
    );
    if answer.purge_pending {
        let reason = answer.pending_detail.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let _ = writeln!(
            text,
            "the text may still be in a file of the palace{reason}; the next process that uses the palace removes it"
        );
    }
    if !answer.removed_files.is_empty() {
        let _ = writeln!(
            text,
            "deleted {} other file(s) that could contain the text",
            answer.removed_files.len()
        );
    }
    if let Some(backup) = &answer.backup {
        let _ = writeln!(
            text,
            "the backup {} may still hold the text",
            quoted(backup)
        );
    }
    text
}
