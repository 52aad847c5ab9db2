//! `loci_facts`: statements with the time in which they hold.

use std::fmt::Write as _;

use loci_palace::{Conflict, Error, Fact, FactSearch, FactState, Result};
use serde_json::json;

use super::{any_object, object, warned};
use crate::drawer::one_line;
use crate::tool::{Answer, Call, Kind, Tool};

/// Facts in one answer.
const MOST_FACTS: usize = 100;

const ACTIONS: [&str; 6] = [
    "query",
    "add",
    "supersede",
    "invalidate",
    "timeline",
    "conflicts",
];

pub(super) const TOOL: Tool = Tool {
    name: "loci_facts",
    title: "",
    description: "Facts and when they hold. action: query, add, supersede (new object), invalidate, timeline, \
                  conflicts. date: from, until or as of.",
    input: || {
        object(
            &[
                ("action", "string"),
                ("subject", "string"),
                ("predicate", "string"),
                ("object", "string"),
                ("date", "string"),
            ],
            &["action"],
        )
    },
    output: any_object,
    kind: Kind::Change { idempotent: false },
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let action = call.arguments.choice("action", &ACTIONS)?;
    match action.ok_or_else(|| call.arguments.missing("action"))? {
        "add" => add(call),
        "supersede" => supersede(call),
        "invalidate" => invalidate(call),
        "timeline" => timeline(call),
        "conflicts" => conflicts(call),
        _ => query(call),
    }
}

/// The names that were given, as a search. With nothing but a subject, it may stand on either side.
fn search(call: &Call<'_>) -> Result<FactSearch> {
    let text = |name: &str| -> Result<Option<String>> {
        Ok(call.arguments.text(name)?.map(str::to_owned))
    };
    Ok(FactSearch {
        subject: text("subject")?,
        predicate: text("predicate")?,
        object: text("object")?,
        limit: MOST_FACTS,
        ..FactSearch::default()
    })
}

/// The fact that was given, whole.
fn given(call: &Call<'_>) -> Result<Fact> {
    let arguments = &call.arguments;
    let fact = Fact {
        subject: arguments.required_text("subject")?.to_owned(),
        predicate: arguments.required_text("predicate")?.to_owned(),
        object: arguments.required_text("object")?.to_owned(),
        ..Fact::default()
    };
    Ok(fact)
}

fn query(call: &Call<'_>) -> Result<Answer> {
    let mut search = search(call)?;
    search.as_of = call.arguments.text("date")?.map(str::to_owned);
    if search.predicate.is_none() && search.object.is_none() {
        search.entity = search.subject.take();
    }
    let found = call.palace()?.facts(&search)?;
    let mut text = lines(found.facts.iter());
    let _ = writeln!(text, "{} of {} fact(s)", found.facts.len(), found.total);
    text.push_str(&warned(&found.warnings));
    Ok(Answer::new(json!(found), text))
}

fn timeline(call: &Call<'_>) -> Result<Answer> {
    let entity = call.arguments.text("subject")?;
    let found = call.palace()?.fact_timeline(entity, MOST_FACTS, 0)?;
    let mut text = lines(found.facts.iter());
    let _ = writeln!(text, "{} of {} fact(s)", found.facts.len(), found.total);
    text.push_str(&warned(&found.warnings));
    Ok(Answer::new(json!(found), text))
}

fn add(call: &Call<'_>) -> Result<Answer> {
    let mut fact = given(call)?;
    fact.valid_from = call.arguments.text("date")?.map(str::to_owned);
    fact.validate()?;
    let added = call.palace_to_write()?.add_facts(&[fact])?;
    let mut text = String::new();
    for one in &added {
        let what = if one.added { "added" } else { "known already" };
        let _ = writeln!(text, "{what} ({})", one_line(&one.id));
        for conflict in &one.conflicts {
            let _ = writeln!(text, "conflicts with: {}", line(conflict));
        }
        if !one.conflicts.is_empty() {
            text.push_str("use action `supersede` if the new one replaces them\n");
        }
    }
    let one = added.into_iter().next();
    Ok(Answer::new(json!(one), text))
}

fn supersede(call: &Call<'_>) -> Result<Answer> {
    let new = given(call)?;
    let old = FactSearch {
        subject: Some(new.subject.clone()),
        predicate: Some(new.predicate.clone()),
        ..FactSearch::default()
    };
    let date = call.arguments.text("date")?;
    let done = call.palace_to_write()?.supersede_fact(&old, &new, date)?;
    let mut text = format!("holds now: {}\n", line(&done.added));
    for fact in &done.ended {
        let _ = writeln!(text, "ended: {}", line(fact));
    }
    Ok(Answer::new(json!(done), text))
}

fn invalidate(call: &Call<'_>) -> Result<Answer> {
    let search = search(call)?;
    if search.subject.is_none() && search.predicate.is_none() && search.object.is_none() {
        return Err(Error::invalid(
            "which facts end",
            "is unclear; give `subject`, `predicate` or `object`",
        ));
    }
    let date = call.arguments.text("date")?;
    let ended = call.palace()?.invalidate_facts(&search, date)?;
    let mut text = format!("{} fact(s) ended\n", ended.len());
    for fact in &ended {
        let _ = writeln!(text, "{}", line(fact));
    }
    Ok(Answer::new(json!({"ended": ended}), text))
}

fn conflicts(call: &Call<'_>) -> Result<Answer> {
    let conflicts: Vec<Conflict> = call
        .palace()?
        .fact_conflicts(call.arguments.text("subject")?)?;
    let mut text = format!("{} conflict(s)\n", conflicts.len());
    for conflict in &conflicts {
        for fact in &conflict.facts {
            let _ = writeln!(text, "{}", line(fact));
        }
        text.push('\n');
    }
    Ok(Answer::new(json!({"conflicts": conflicts}), text))
}

fn lines<'a>(facts: impl Iterator<Item = &'a FactState>) -> String {
    facts
        .map(|state| {
            let ended = if state.current { "" } else { " (not now)" };
            format!("{}{ended}\n", line(&state.fact))
        })
        .collect()
}

/// A fact in a line.
fn line(fact: &Fact) -> String {
    let mut line = format!(
        "{} | {} | {}",
        one_line(&fact.subject),
        one_line(&fact.predicate),
        one_line(&fact.object)
    );
    if let Some(from) = &fact.valid_from {
        let _ = write!(line, " | from {}", one_line(from));
    }
    if let Some(to) = &fact.valid_to {
        let _ = write!(line, " | until {}", one_line(to));
    }
    if let Some(source) = &fact.source {
        let _ = write!(line, " | drawer {}", one_line(&source.id));
    }
    line
}

