//! `loci_diary`: writes and reads the diary entries of an agent.

use std::fmt::Write as _;

use loci_palace::{Detail, Fence, Result, diary};

use super::{answer_schema, arguments, masked_line};
use crate::drawer::{name, one_line};
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, Kind, Tool};

/// Default number of entries.
const LAST: u64 = 10;
const MOST_ENTRIES: u64 = 100;

pub(super) const TOOL: Tool = Tool {
    name: "loci_diary",
    title: "",
    description: "Diary. With text: adds an entry. Without: reads the last ones.",
    input: || {
        arguments(
            &[
                ("agent", "string", "whose diary"),
                ("text", "string", "the new entry"),
                ("topic", "string", "of the entry"),
                ("limit", "integer", "most entries, 10"),
            ],
            &["agent"],
        )
    },
    output: || answer_schema(&[]),
    kind: Kind::Change { idempotent: false },
    needs: &[],
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
    let request = diary::write::Request {
        agent: arguments.required_text("agent")?.to_owned(),
        text: arguments.required_text("text")?.to_owned(),
        topic: arguments.text("topic")?.map(str::to_owned),
        wing: None,
        detail: Detail::Brief,
    };
    let written = call.palace_to_write()?.write_diary(&request)?;
    let text = format!(
        "written: {}\n{}",
        name(&written.entry.id),
        masked_line(&written.masked)
    );
    Ok(Answer::new(structured(&written, &written.warnings)?, text))
}

fn read(call: &Call<'_>) -> Result<Answer> {
    let agent = call.arguments.required_text("agent")?;
    let last = call.arguments.integer("limit", 1, MOST_ENTRIES)?;
    let page = call.palace()?.read_diary(&diary::read::Request {
        agent: Some(agent.to_owned()),
        wing: None,
        last: last.unwrap_or(LAST) as usize,
    })?;
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
    Ok(Answer::new(recalled(&page, &[])?, text))
}
