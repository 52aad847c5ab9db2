//! `loci hook try`: shows what the prompt hook would add to a prompt, and why.

use std::fmt::Write as _;

use loci_agents::hooks::{Candidate, Injection, PROMPT_TOKENS, Prompt, choose, inject, is_command};
use loci_palace::{Config, DEFAULT_COLLECTION, Error, quoted, today};
use serde::Serialize;

use crate::args::HookArguments;
use crate::failure::{Exit, Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

/// What would be added, and the drawers that were considered.
#[derive(Debug, Serialize)]
struct Trial {
    /// The wing of the project.
    wing: String,
    /// The text for the model.
    added: Option<String>,
    /// The drawers, the most relevant first.
    considered: Vec<Considered>,
}

#[derive(Debug, Serialize)]
struct Considered {
    id: String,
    place: String,
    /// The wing, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    wing: Option<String>,
    relevance: f32,
    /// The relevance that it needs.
    needed: f32,
    matched_words: Vec<String>,
    /// The drawer that seems to replace it.
    #[serde(skip_serializing_if = "Option::is_none")]
    later: Option<String>,
    added: bool,
}

pub(super) fn run(arguments: &HookArguments, session: &Session<'_>) -> Result<Reply> {
    let Some(text) = arguments.prompt.as_deref() else {
        return Err(Failure::usage(
            "`loci hook try` needs a prompt",
            "loci hook try \"why do we cap retries at 10 s?\"",
        ));
    };
    let palace = session.existing()?;
    let folder = std::env::current_dir()
        .map_err(|error| Error::io("cannot find", "the current folder", error))?;
    let folder = folder.to_string_lossy();
    let wing = match &arguments.wing {
        Some(wing) => wing.clone(),
        None => palace.wing_of_folder(DEFAULT_COLLECTION, &folder)?,
    };
    let config = Config::of_user()?.hooks.unwrap_or_default();
    let candidates = choose(
        palace,
        &Prompt {
            text,
            wing: Some(&wing),
            other_wings: config.other_wings.unwrap_or(true),
            transcript: None,
            today: today(),
        },
    )?;
    let relevant: Vec<&Candidate> = candidates.iter().filter(|one| one.is_relevant()).collect();
    let budget = config.prompt_tokens.unwrap_or(PROMPT_TOKENS);
    let injection = inject(&relevant, &wing, &folder, budget);
    let trial = Trial {
        considered: considered(&candidates, injection.as_ref(), &folder),
        added: injection.map(|injection| injection.text),
        wing,
    };
    let text = describe(&trial, is_command(text));
    Ok(Reply::new(&trial, text)?.exit_if(trial.added.is_none(), Exit::Nothing))
}

fn considered(
    candidates: &[Candidate],
    injection: Option<&Injection>,
    folder: &str,
) -> Vec<Considered> {
    let passages = injection.map_or(&[][..], |injection| &injection.passages);
    let candidates = candidates.iter();
    let considered = candidates.map(|candidate| Considered {
        id: candidate.hit.id.clone(),
        place: candidate.place(folder),
        wing: candidate.elsewhere.clone(),
        relevance: candidate.relevance,
        needed: candidate.needed,
        matched_words: candidate.matched_words().to_vec(),
        later: candidate.hit.later.clone(),
        added: passages.iter().any(|one| one.drawer == candidate.hit.id),
    });
    considered.collect()
}

fn describe(trial: &Trial, is_command: bool) -> String {
    let mut text = match &trial.added {
        Some(added) => format!("{added}\n"),
        None if is_command => "nothing would be added: the prompt is a command".to_owned(),
        None => "nothing would be added".to_owned(),
    };
    if trial.considered.is_empty() {
        return text;
    }
    let _ = write!(text, "\nconsidered, in wing {}:", quoted(&trial.wing));
    for drawer in &trial.considered {
        let mark = if drawer.added { '+' } else { ' ' };
        let (relevance, needed) = (drawer.relevance, drawer.needed);
        let _ = write!(
            text,
            "\n{mark} {relevance:.2} of {needed:.2}  {}",
            drawer.place
        );
        if let Some(wing) = &drawer.wing {
            let _ = write!(text, ", wing {}", quoted(wing));
        }
        let words = drawer.matched_words.join(", ");
        let _ = write!(text, "  [{words}]  {}", drawer.id);
        if let Some(later) = &drawer.later {
            let _ = write!(text, "  later: {later}");
        }
    }
    text
}
