//! `loci_facts`: statements with the time in which they hold.

use std::fmt::Write as _;

use loci_palace::{Conflict, Error, Fact, FactAnswer, FactSearch, Result};
use serde_json::{Value, json};

use super::{masked_line, object, warned};
use crate::drawer::{self, NOTICE, flagged, name, one_line};
use crate::hint::{self, Tools};
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
    description: "Facts and when they hold. supersede ends what held and adds the new object. date: since when (add, \
                  supersede), until when (invalidate), as of when (query).",
    input,
    output: || {
        object(
            &[
                ("facts", "array"),
                ("ended", "array"),
                ("conflicts", "array"),
                ("total", "integer"),
                ("warnings", "array"),
            ],
            &[],
        )
    },
    kind: Kind::Change { idempotent: false },
    run,
};

fn input() -> Value {
    let mut schema = object(
        &[
            ("action", "string"),
            ("subject", "string"),
            ("predicate", "string"),
            ("object", "string"),
            ("date", "string"),
        ],
        &["action"],
    );
    if let Some(action) = schema.pointer_mut("/properties/action") {
        *action = json!({"type": "string", "enum": ACTIONS});
    }
    schema
}

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
    Ok(found(&call.palace()?.facts(&search)?))
}

fn timeline(call: &Call<'_>) -> Result<Answer> {
    let entity = call.arguments.text("subject")?;
    Ok(found(&call.palace()?.fact_timeline(entity, MOST_FACTS, 0)?))
}

fn add(call: &Call<'_>) -> Result<Answer> {
    let mut fact = given(call)?;
    fact.valid_from = call.arguments.text("date")?.map(str::to_owned);
    fact.validate()?;
    let added = call.palace_to_write()?.add_facts(&[fact])?;
    let mut text = String::new();
    for one in &added {
        let what = if one.added { "added" } else { "known already" };
        let _ = writeln!(text, "{what} ({})", name(&one.id));
        if !one.conflicts.is_empty() {
            text.push_str("conflicts with these; use action `supersede` if it replaces them\n");
        }
        text.push_str(&fenced(one.conflicts.iter().map(line)));
        text.push_str(&masked_line(&one.masked));
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
    let ended = done
        .ended
        .iter()
        .map(|fact| format!("ended: {}", line(fact)));
    let now = std::iter::once(format!("holds now: {}", line(&done.added)));
    let text = format!("{}{}", fenced(now.chain(ended)), masked_line(&done.masked));
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
    let facts = fenced(ended.iter().map(line));
    let text = format!("{} fact(s) ended\n{facts}", ended.len());
    Ok(Answer::new(json!({"ended": of_facts(&ended)}), text))
}

fn conflicts(call: &Call<'_>) -> Result<Answer> {
    let conflicts: Vec<Conflict> = call
        .palace()?
        .fact_conflicts(call.arguments.text("subject")?)?;
    let facts = conflicts.iter().flat_map(|conflict| &conflict.facts);
    let text = format!(
        "{} conflict(s)\n{}",
        conflicts.len(),
        fenced(facts.map(line))
    );
    let conflicts: Vec<Value> = conflicts
        .iter()
        .map(|conflict| {
            json!({
                "subject": conflict.subject,
                "predicate": conflict.predicate,
                "facts": of_facts(&conflict.facts),
            })
        })
        .collect();
    Ok(Answer::new(
        json!({"about": NOTICE, "conflicts": conflicts}),
        text,
    ))
}

/// Facts that were asked for.
fn found(answer: &FactAnswer) -> Answer {
    let lines = answer.facts.iter().map(|state| {
        let ended = if state.current { "" } else { " (not now)" };
        format!("{}{ended}", line(&state.fact))
    });
    let mut text = fenced(lines);
    let _ = writeln!(text, "{} of {} fact(s)", answer.facts.len(), answer.total);
    text.push_str(&warned(&answer.warnings));
    let facts: Vec<Value> = answer
        .facts
        .iter()
        .map(|state| flagged(state, &said(&state.fact)))
        .collect();
    let structured = json!({
        "about": NOTICE,
        "facts": facts,
        "total": answer.total,
        "warnings": hint::warnings(&answer.warnings, Tools::Loci),
    });
    Answer::new(structured, text)
}

/// Facts as programs get them, flagged like any other recalled text.
fn of_facts(facts: &[Fact]) -> Vec<Value> {
    facts
        .iter()
        .map(|fact| flagged(fact, &said(fact)))
        .collect()
}

/// The words of a fact.
fn said(fact: &Fact) -> String {
    format!("{} {} {}", fact.subject, fact.predicate, fact.object)
}

/// Facts are recalled text like any other.
fn fenced(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    drawer::fenced("facts", &lines.join("\n"))
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
