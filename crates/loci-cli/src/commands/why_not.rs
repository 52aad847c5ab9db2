//! `loci why-not`: the stage of a search that dropped a drawer.

use std::fmt::Write as _;

use loci_palace::Parts;
use loci_palace::why_not::{Request, Stage, Worded, Words as _};

use crate::args::WhyNotArguments;
use crate::commands::search::request;
use crate::failure::{Exit, Result};
use crate::hint::Flags;
use crate::input::Sources;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &WhyNotArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let sources = Sources::Palace(session, Some(&arguments.ask.collection));
    let request = Request {
        id: palace.complete_id(Some(&arguments.ask.collection), &arguments.id)?,
        search: request(&arguments.question, &arguments.ask, sources)?,
    };
    let mut worded = Flags.put(palace.why_not(&request)?);
    worded.title = palace.title_of_drawer(&request.search.collection, &request.id)?;
    let Worded {
        answer,
        reason,
        advice,
        title,
    } = &worded;
    let id = session.printer.strong(&answer.id);
    let mut text = match answer.stage {
        Stage::Found => format!("{id} is found: {reason}\n"),
        Stage::Unknown => format!("{}\n", session.printer.name(reason)),
        stage => format!("{id} was dropped by: {}\n  {reason}\n", name(stage)),
    };
    if let Some(title) = title {
        let _ = writeln!(text, "  session {}", session.printer.title(title));
    }
    let rank =
        |rank: Option<usize>| rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    if !matches!(answer.stage, Stage::Unknown | Stage::Filter) {
        let _ = writeln!(
            text,
            "  rank by words {}, by meaning {}, together {}",
            rank(answer.lexical_rank),
            rank(answer.semantic_rank),
            rank(answer.rank)
        );
    }
    for (owner, parts) in [("its", answer.parts), ("last hit's", answer.last_hit)] {
        if let Some(parts) = parts {
            let _ = writeln!(text, "  {owner} score {}", sum(parts));
        }
    }
    for advice in advice {
        let _ = writeln!(text, "  try: {advice}");
    }
    Ok(Reply::new(&worded, text)?.exit_if(answer.stage == Stage::Unknown, Exit::Nothing))
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Unknown => "nowhere, it is unknown",
        Stage::Found => "nowhere",
        Stage::Filter => "the filter",
        Stage::Arms => "the arms",
        Stage::MaxDistance => "the distance",
        Stage::Fusion => "the fusion",
        Stage::Same => "the same text",
        Stage::Source => "the same source",
        Stage::Budget => "the budget",
        Stage::Probability => "the probability",
    }
}

fn sum(parts: Parts) -> String {
    format!(
        "{:.3} = words {:.3} + source {:.3} + meaning {:.3}\n    + tokens {:.3} + speaker {:.2} + date {:.2} + length {:.2}",
        parts.score(),
        parts.words,
        parts.source,
        parts.meaning,
        parts.tokens,
        parts.speaker,
        parts.date,
        parts.length
    )
}
