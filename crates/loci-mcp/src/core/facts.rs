//! `loci_facts`: statements with validity dates.

use std::fmt::Write as _;

use loci_palace::facts::{self, Selector};
use loci_palace::{Capability, Error, Fact, Result};
use serde_json::{Value, json};

use super::{answer_schema, arguments, masked_line};
use crate::drawer::{self, name, one_line};
use crate::structured::{recalled, structured, structured_with_data};
use crate::tool::{Answer, Call, Kind, Tool};

/// Maximum number of facts in one answer.
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
    description: "Facts with validity dates. supersede ends the old fact and adds the new object.",
    input,
    output: || answer_schema(&[]),
    kind: Kind::Change { idempotent: false },
    needs: &[Capability::Relations],
    run,
};

fn input() -> Value {
    let mut schema = arguments(
        &[
            ("action", "string", "what to do"),
            ("subject", "string", "whom or what it is about"),
            ("predicate", "string", "such as works at"),
            ("object", "string", "the value"),
            (
                "date",
                "string",
                "start (add, supersede), end (invalidate), as of (query)",
            ),
        ],
        &["action"],
    );
    if let Some(Value::Object(action)) = schema.pointer_mut("/properties/action") {
        action.insert("enum".into(), json!(ACTIONS));
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

/// The facts that the arguments name.
fn selector(call: &Call<'_>) -> Result<Selector> {
    let text = |name: &str| -> Result<Option<String>> {
        Ok(call.arguments.text(name)?.map(str::to_owned))
    };
    Ok(Selector {
        subject: text("subject")?,
        predicate: text("predicate")?,
        object: text("object")?,
        ..Selector::default()
    })
}

/// The complete fact in the arguments.
fn stated(call: &Call<'_>) -> Result<Fact> {
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
    let mut selector = selector(call)?;
    selector.as_of = call.arguments.text("date")?.map(str::to_owned);
    // A single name may be the subject or the object.
    if selector.predicate.is_none() && selector.object.is_none() {
        selector.entity = selector.subject.take();
    }
    let request = facts::query::Request {
        selector,
        limit: MOST_FACTS,
        ..facts::query::Request::default()
    };
    page(&call.palace()?.query_facts(&request)?)
}

fn timeline(call: &Call<'_>) -> Result<Answer> {
    let request = facts::timeline::Request {
        entity: call.arguments.text("subject")?.map(str::to_owned),
        limit: MOST_FACTS,
        offset: 0,
    };
    page(&call.palace()?.fact_timeline(&request)?)
}

fn add(call: &Call<'_>) -> Result<Answer> {
    let mut fact = stated(call)?;
    fact.valid_from = call.arguments.text("date")?.map(str::to_owned);
    fact.validate()?;
    let request = facts::add::Request { fact };
    let answer = call.palace_to_write()?.add_fact(&request)?;
    let outcome = if answer.added {
        "added"
    } else {
        "known already"
    };
    let mut text = format!("{outcome} ({})\n", name(&answer.id));
    if !answer.conflicts.is_empty() {
        text.push_str("conflicts with these; use action `supersede` if it replaces them\n");
    }
    text.push_str(&fenced(answer.conflicts.iter().map(|of| line(&of.fact))));
    text.push_str(&masked_line(&answer.masked));
    // These warnings are about the fact of the call, and their data repeats its arguments.
    let structured = structured_with_data(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, text))
}

fn supersede(call: &Call<'_>) -> Result<Answer> {
    let new = stated(call)?;
    let request = facts::supersede::Request {
        old: Selector {
            subject: Some(new.subject.clone()),
            predicate: Some(new.predicate.clone()),
            ..Selector::default()
        },
        new,
        at: call.arguments.text("date")?.map(str::to_owned),
    };
    let done = call.palace_to_write()?.supersede_fact(&request)?;
    let ended = done
        .ended
        .iter()
        .map(|ended| format!("ended: {}", line(&ended.fact)));
    let now = std::iter::once(format!("holds now: {}", line(&done.added)));
    let text = format!("{}{}", fenced(now.chain(ended)), masked_line(&done.masked));
    Ok(Answer::new(structured(&done, &[])?, text))
}

fn invalidate(call: &Call<'_>) -> Result<Answer> {
    let selector = selector(call)?;
    if selector.subject.is_none() && selector.predicate.is_none() && selector.object.is_none() {
        return Err(Error::invalid(
            "which facts end",
            "is unclear; give `subject`, `predicate` or `object`",
        ));
    }
    let request = facts::invalidate::Request {
        selector,
        ended: call.arguments.text("date")?.map(str::to_owned),
    };
    let answer = call.palace()?.invalidate_facts(&request)?;
    let text = format!(
        "{} fact(s) ended\n{}",
        answer.ended.len(),
        fenced(answer.ended.iter().map(|of| line(&of.fact)))
    );
    Ok(Answer::new(structured(&answer, &answer.warnings)?, text))
}

fn conflicts(call: &Call<'_>) -> Result<Answer> {
    let request = facts::conflicts::Request {
        entity: call.arguments.text("subject")?.map(str::to_owned),
    };
    let answer = call.palace()?.fact_conflicts(&request)?;
    let facts = answer.conflicts.iter().flat_map(|of| &of.facts);
    let text = format!(
        "{} conflict(s)\n{}",
        answer.conflicts.len(),
        fenced(facts.map(|of| line(&of.fact)))
    );
    Ok(Answer::new(recalled(&answer, &[])?, text))
}

/// A page of facts.
fn page(answer: &facts::query::Answer) -> Result<Answer> {
    let lines = answer.facts.iter().map(|state| {
        let ended = if state.current { "" } else { " (not now)" };
        format!("{}{ended}", line(&state.fact))
    });
    let mut text = fenced(lines);
    let _ = writeln!(text, "{} of {} fact(s)", answer.facts.len(), answer.total);
    Ok(Answer::new(recalled(answer, &answer.warnings)?, text))
}

/// Facts in a fence, because they are recalled text like any other.
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
