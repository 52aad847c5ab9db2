//! `loci_diary`: what an agent notes for itself.

use std::fmt::Write as _;

use loci_palace::{DiaryNote, Fence, Result};
use serde_json::{Value, json};

use super::{masked_line, object, warned};
use crate::drawer::{NOTICE, flagged, name, one_line};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, Kind, Tool};

/// Entries, if no number is given.
const LAST: u64 = 10;
const MOST_ENTRIES: u64 = 100;

pub(super) const TOOL: Tool = Tool {
    name: "loci_diary",
    title: "",
    description: "Your diary: with text, writes an entry; without, reads the last.",
    input: || {
        object(
            &[
                ("agent", "string"),
                ("text", "string"),
                ("topic", "string"),
                ("last", "integer"),
            ],
            &["agent"],
        )
    },
    output: || {
        object(
            &[
                ("entry", "object"),
                ("entries", "array"),
                ("total", "integer"),
                ("warnings", "array"),
            ],
            &[],
        )
    },
    kind: Kind::Change { idempotent: false },
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    if call.arguments.has("text") {
        write(call)
    } else {
        read(call)
    }
}

fn write(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let note = DiaryNote {
        agent: arguments.required_text("agent")?,
        text: arguments.required_text("text")?,
        topic: arguments.text("topic")?,
        wing: None,
    };
    let written = call.palace_to_write()?.write_diary(&note)?;
    let text = format!(
        "written: {}\n{}{}",
        name(&written.entry.id),
        masked_line(&written.masked),
        warned(&written.warnings)
    );
    let structured = json!({
        "entry": written.entry,
        "warnings": hint::warnings(&written.warnings, Tools::Loci),
        "masked": written.masked,
    });
    Ok(Answer::new(structured, text))
}

fn read(call: &Call<'_>) -> Result<Answer> {
    let agent = call.arguments.required_text("agent")?;
    let last = call.arguments.integer("last", 1, MOST_ENTRIES)?;
    let last = last.unwrap_or(LAST) as usize;
    let page = call.palace()?.read_diary(Some(agent), None, last)?;
    let fence = Fence::new();
    let mut text = String::new();
    if !page.entries.is_empty() {
        let _ = writeln!(text, "{}", fence.meaning());
    }
    for entry in &page.entries {
        let about = format!(
            "{} | {} | {}",
            one_line(&entry.id),
            one_line(&entry.written_at),
            one_line(&entry.topic)
        );
        let _ = writeln!(text, "{}", fence.recalled(&about, &entry.text));
    }
    let _ = writeln!(text, "{} of {} entries", page.entries.len(), page.total);
    let entries: Vec<Value> = page
        .entries
        .iter()
        .map(|entry| flagged(entry, &entry.text))
        .collect();
    let structured = json!({
        "about": NOTICE,
        "entries": entries,
        "total": page.total,
    });
    Ok(Answer::new(structured, text))
}
