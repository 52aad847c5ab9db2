//! Prompts: a recap of recent work, and a handoff for the next session. Both are built from the
//! fenced content of the palace.

use std::fmt::Write as _;

use loci_palace::{
    Capability, Error, Fence, Filter, Palace, Period, Result, Selection, count_tokens, diary,
    facts, list, parse_moment, quoted,
};
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};

use crate::arguments::{Arguments, shortened};
use crate::drawer::{Passage, one_line};
use crate::handle::PalaceHandle;

/// Tokens of recalled text in a prompt.
const BUDGET: usize = 3_000;
/// Maximum number of drawers that are read.
const DRAWERS: usize = 50;
/// Diary entries and facts in a handoff.
const ENTRIES: usize = 5;
const FACTS: usize = 30;

/// The prompts there are.
pub(crate) fn listed() -> Vec<Prompt> {
    let wing = || PromptArgument::new("wing").with_description("Only this wing");
    vec![
        Prompt::new(
            "recap",
            Some("What happened lately, from memory"),
            Some(vec![
                wing(),
                PromptArgument::new("since")
                    .with_description("A date, or words such as `3 days ago`; a week if absent"),
            ]),
        ),
        Prompt::new(
            "handoff",
            Some("What the next session must know, from memory"),
            Some(vec![
                wing(),
                PromptArgument::new("agent").with_description("Whose diary is looked at, too"),
            ]),
        ),
    ]
}

/// A prompt, filled in.
pub(crate) fn get(
    handle: &PalaceHandle,
    name: &str,
    arguments: &Arguments<'_>,
) -> Result<GetPromptResult> {
    let (about, text) = match name {
        "recap" => {
            arguments.only(&["wing", "since"])?;
            (
                "What happened lately",
                recap(&*handle.existing()?, arguments)?,
            )
        }
        "handoff" => {
            arguments.only(&["wing", "agent"])?;
            (
                "What the next session must know",
                handoff(&*handle.existing()?, arguments)?,
            )
        }
        other => {
            return Err(Error::invalid(
                format!("prompt `{}`", shortened(other)),
                "does not exist; there are: recap, handoff",
            ));
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(about))
}

fn recap(palace: &Palace, arguments: &Arguments<'_>) -> Result<String> {
    let wing = arguments.text("wing")?;
    let since = match arguments.moment("since")? {
        Some(since) => Some(since),
        None => parse_moment("7 days ago"),
    };
    let fence = Fence::new();
    let lately = drawers(palace, &fence, wing, since)?;
    let what = match wing {
        Some(wing) => format!(" in wing {}", quoted(wing)),
        None => String::new(),
    };
    if lately.is_empty() {
        return Ok(format!(
            "Nothing was added to memory{what} in this time. Say so, and offer to look further back with `loci_list`."
        ));
    }
    Ok(format!(
        "Sum up what happened lately{what}: what was done, what was decided, what is open. Use only the notes below, newest \
         first, and name the ids you rely on.\n\n{}\n{lately}",
        fence.meaning()
    ))
}

fn handoff(palace: &Palace, arguments: &Arguments<'_>) -> Result<String> {
    let (wing, agent) = (arguments.text("wing")?, arguments.text("agent")?);
    let fence = Fence::new();
    let mut notes = drawers(palace, &fence, wing, None)?;
    let request = diary::read::Request {
        agent: agent.map(str::to_owned),
        wing: wing.map(str::to_owned),
        last: ENTRIES,
    };
    for entry in palace.read_diary(&request)?.entries {
        let about = format!(
            "diary of {} | {}",
            one_line(&entry.agent),
            one_line(&entry.written_at)
        );
        let _ = writeln!(notes, "{}", fence.recalled(&about, &entry.text));
    }
    let facts = palace.query_facts(&facts::query::Request {
        limit: FACTS,
        ..facts::query::Request::default()
    })?;
    let facts: Vec<String> = facts
        .facts
        .iter()
        .map(|state| &state.fact)
        .map(|fact| {
            let parts = [&fact.subject, &fact.predicate, &fact.object];
            parts.map(|part| one_line(part)).join(" | ")
        })
        .collect();
    if !facts.is_empty() {
        let _ = writeln!(
            notes,
            "{}",
            fence.recalled("facts that hold", &facts.join("\n"))
        );
    }
    let before = if notes.is_empty() {
        "Memory holds nothing about it yet.".to_owned()
    } else {
        format!(
            "What memory holds, newest first:\n{}\n{notes}",
            fence.meaning()
        )
    };
    let keep = if palace.offers(Capability::Writing) {
        " Then keep it with `loci_diary`."
    } else {
        ""
    };
    Ok(format!(
        "Write a handoff for the next session: where things stand, what was decided and why, what is open, and the next \
         step. Be brief and concrete.{keep}\n\n{before}"
    ))
}

/// The newest drawers of a wing, fenced, as many as fit.
fn drawers(
    palace: &Palace,
    fence: &Fence,
    wing: Option<&str>,
    since: Option<i64>,
) -> Result<String> {
    let selection = Selection {
        filter: wing.map(|wing| Filter::eq("wing", wing)),
        period: since.map(|since| Period {
            since: Some(since),
            before: None,
        }),
        ..Selection::default()
    };
    let found = palace.list(&list::Request {
        selection,
        limit: DRAWERS,
        order: list::Order::Recent,
        ..list::Request::default()
    })?;
    let mut text = String::new();
    let mut left = BUDGET;
    for drawer in &found.drawers {
        let fenced = Passage::of_drawer(drawer).fenced(fence);
        let tokens = count_tokens(&fenced);
        if tokens <= left {
            left -= tokens;
            let _ = writeln!(text, "{fenced}");
        }
    }
    Ok(text)
}
