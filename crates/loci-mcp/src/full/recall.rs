//! `loci_wake_up`, `loci_duplicates` and `loci_why_not`.

use std::fmt::Write as _;

use loci_palace::add::NEAR_DUPLICATE;
use loci_palace::why_not::Words as _;
use loci_palace::{
    Capability, Detail, Fence, Result, check_duplicate, message_line, wake_up, why_not,
};

use crate::core::{SEARCH_ARGUMENTS, arguments, object, request};
use crate::drawer::{name, one_line};
use crate::hint::Arguments;
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, DrawerLink, Kind, Tool};

const MOST_TOKENS: u64 = 20_000;

pub(super) const WAKE_UP: Tool = Tool {
    name: "loci_wake_up",
    title: "Wake up",
    description: "Context for a new session: whose memory this is, pinned drawers, decisions, rules, open tasks, people, last sessions, facts. Call once, first.",
    input: || {
        arguments(
            &[
                ("wing", "string", "person or project"),
                ("agent", "string", "the agent whose diary is read"),
                ("budget", "integer", "most tokens, 800"),
            ],
            &[],
        )
    },
    output: || {
        object(
            &[
                ("text", "string"),
                ("tokens", "integer"),
                ("drawers", "texts"),
            ],
            &["text", "tokens"],
        )
    },
    kind: Kind::Read,
    needs: &[],
    run: wake,
};

pub(super) const DUPLICATES: Tool = Tool {
    name: "loci_duplicates",
    title: "Duplicates",
    description: "Drawers with the same or nearly the same text; threshold: similarity, 0 to 1.",
    input: || {
        arguments(
            &[
                ("text", "string", "the text to compare"),
                ("threshold", "number", "least similarity, 0 to 1"),
            ],
            &["text"],
        )
    },
    output: || {
        object(
            &[("threshold", "number"), ("twins", "array")],
            &["threshold", "twins"],
        )
    },
    kind: Kind::Read,
    needs: &[Capability::Recall],
    run: duplicates,
};

pub(super) const WHY_NOT: Tool = Tool {
    name: "loci_why_not",
    title: "Why not found",
    description: "Why a search does not find a drawer, and how to find it. Takes the arguments of the search.",
    input: || {
        let mut members = vec![("id", "string", "the drawer that was not found")];
        members.extend(SEARCH_ARGUMENTS);
        arguments(&members, &["id", "query"])
    },
    output: || {
        object(
            &[
                ("stage", "string"),
                ("reason", "string"),
                ("advice", "texts"),
            ],
            &["stage", "reason"],
        )
    },
    kind: Kind::Read,
    needs: &[Capability::Recall],
    run: explain_miss,
};

fn wake(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let budget = arguments.integer("budget", 1, MOST_TOKENS)?;
    let woken = call.palace()?.wake_up(&wake_up::Request {
        wing: arguments.text("wing")?.map(str::to_owned),
        agent: arguments.text("agent")?.map(str::to_owned),
        budget: budget.unwrap_or_default() as usize,
    })?;
    let mut text = match woken.text.as_str() {
        "" => "nothing is remembered yet".to_owned(),
        text => text.to_owned(),
    };
    text.push('\n');
    Ok(Answer::new(structured(&woken, &woken.warnings)?, text))
}

fn duplicates(call: &Call<'_>) -> Result<Answer> {
    let text = call.arguments.required_text("text")?;
    let threshold = call.arguments.number("threshold", 0.0, 1.0)?;
    let threshold = threshold.map_or(NEAR_DUPLICATE, |given| given as f32);
    let answer = call.palace()?.check_duplicate(&check_duplicate::Request {
        threshold,
        detail: Detail::Brief,
        ..check_duplicate::Request::new(text)
    })?;
    let fence = Fence::new();
    let mut words = format!(
        "{} duplicate(s) at threshold {:.2}\n",
        answer.similar.len(),
        answer.threshold
    );
    if answer.duplicate {
        let _ = writeln!(words, "{}", fence.meaning());
    }
    for drawer in &answer.similar {
        let id = one_line(&drawer.id);
        let about = format!("{id} | similarity {:.2}", drawer.similarity);
        let text = drawer.text.as_deref().unwrap_or_default();
        let _ = writeln!(words, "{}", fence.recalled(&about, text));
    }
    let links = answer.similar.iter().map(|drawer| DrawerLink {
        collection: answer.collection.clone(),
        id: drawer.id.clone(),
        title: String::new(),
    });
    let structured = recalled(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, words).links(links.collect()))
}

fn explain_miss(call: &Call<'_>) -> Result<Answer> {
    let request = why_not::Request {
        id: call.arguments.required_text("id")?.to_owned(),
        search: request(call)?,
    };
    let palace = call.palace()?;
    let mut worded = Arguments.put(palace.why_not(&request)?);
    let collection = &request.search.collection;
    worded.title = palace.title_of_drawer(collection, &request.id)?;
    let id = name(&worded.answer.id);
    let mut text = format!("{id}: {}\n", message_line(&worded.reason));
    for advice in &worded.advice {
        let _ = writeln!(text, "try: {}", message_line(advice));
    }
    let content = match worded.title {
        Some(_) => recalled(&worded, &[])?,
        None => structured(&worded, &[])?,
    };
    Ok(Answer::new(content, text))
}
