//! `loci connect` and `loci disconnect`: agents wired to the palace.

mod shown;
mod transcripts;

use loci_agents::Home;
use loci_agents::wiring::{self, Change, Connect, Plan};
use loci_palace::{DEFAULT_COLLECTION, Error, ForeignKind, recognise, shell_quoted, usual_places};
use serde_json::{Value, json};

use self::transcripts::Transcripts;
use super::mine;
use crate::args::{ConnectArguments, DisconnectArguments, MineArguments, ReadingArguments};
use crate::failure::{Exit, Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ConnectArguments, session: &Session<'_>) -> Result<Reply> {
    let home = Home::of_user()?;
    let mut connect = asked(&home, arguments, session)?;
    let mut plan = wiring::plan(&home, &connect)?;
    if plan.agents.is_empty() {
        let known = wiring::agents().join(", ");
        let text = format!("no agent found on this machine; name one: {known}");
        return Ok(answer(&plan, &[], None, text)?.exit_if(true, Exit::Nothing));
    }
    if !arguments.dry_run && offer_replacement(arguments, session, &plan) {
        connect.replace_mempalace = true;
        plan = wiring::plan(&home, &connect)?;
    }
    let shown = shown::changes(session.printer, &plan.changes, true);
    if arguments.dry_run {
        let text = if plan.changes.is_empty() {
            already(&plan)
        } else {
            format!("{shown}\nnothing was written")
        };
        return finished(arguments, &plan, &plan.changes, text);
    }
    if !plan.changes.is_empty() && !arguments.yes && !confirmed(session, &plan, &shown)? {
        let text = "nothing done".to_owned();
        return Ok(answer(&plan, &[], None, text)?.exit_if(true, Exit::Nothing));
    }
    let done = wiring::connect(&home, &connect, &mut |_| Ok(()))?;
    let text = if done.is_empty() {
        already(&plan)
    } else {
        shown::changes(session.printer, &done, arguments.yes)
    };
    let reply = finished(arguments, &plan, &done, text)?;
    if arguments.mine {
        return mined(reply, session);
    }
    Ok(reply)
}

pub(crate) fn disconnect(arguments: &DisconnectArguments, session: &Session<'_>) -> Result<Reply> {
    let home = Home::of_user()?;
    let changes = wiring::disconnect(&home, &arguments.agents, arguments.dry_run)?;
    let text = match (changes.is_empty(), arguments.dry_run) {
        (true, _) => "nothing of Loci is in the configuration of these agents".to_owned(),
        (false, dry_run) => {
            let shown = shown::changes(session.printer, &changes, dry_run);
            let end = if dry_run { "\nnothing was written" } else { "" };
            format!("{shown}{end}")
        }
    };
    let answer = json!({"changes": changes, "dry_run": arguments.dry_run});
    Ok(Reply::new(&answer, text)?.exit_if(changes.is_empty(), Exit::Nothing))
}

fn asked(home: &Home, arguments: &ConnectArguments, session: &Session<'_>) -> Result<Connect> {
    let palace = session
        .named_palace()
        .map(std::path::absolute)
        .transpose()
        .map_err(|error| Error::invalid("--palace", error.to_string()))?;
    Ok(Connect {
        agents: arguments.agents.clone(),
        program: wiring::program(home)?,
        palace,
        tools: arguments.tools.map(|tools| tools.name().to_owned()),
        name: arguments.name.clone(),
        hooks: arguments.hooks,
        replace_mempalace: arguments.replace_mempalace,
    })
}

/// Asks about MemPalace, where it is found and nothing was said about it.
fn offer_replacement(arguments: &ConnectArguments, session: &Session<'_>, plan: &Plan) -> bool {
    let decided = arguments.replace_mempalace || arguments.keep_mempalace || arguments.yes;
    if plan.mempalace.is_empty() || decided {
        return false;
    }
    let question = format!(
        "MemPalace is wired to {}. Put Loci in its place, under its name and with its tools?",
        plan.mempalace.join(", ")
    );
    session.printer.confirm(&question) == Some(true)
}

fn confirmed(session: &Session<'_>, plan: &Plan, shown: &str) -> Result<bool> {
    let question = format!("{shown}\nchange these files?");
    session.printer.confirm(&question).ok_or_else(|| {
        Failure::usage(
            format!(
                "{} file(s) would change, and nobody is there to ask",
                plan.changes.len()
            ),
            "pass `--yes` to change them, or `--dry-run` to see how",
        )
    })
}

fn already(plan: &Plan) -> String {
    format!("already wired: {}", plan.agents.join(", "))
}

/// The answer with what is left to do.
fn finished(
    arguments: &ConnectArguments,
    plan: &Plan,
    changes: &[Change],
    text: String,
) -> Result<Reply> {
    let transcripts = Transcripts::of_agents();
    let mut reply = answer(plan, changes, Some(&transcripts), text)?;
    reply
        .notes
        .extend(plan.hints.iter().map(|hint| format!("note: {hint}")));
    if !plan.mempalace.is_empty() && !arguments.replace_mempalace && !arguments.keep_mempalace {
        let shown = plan.mempalace.join(", ");
        reply.notes.push(format!(
            "note: MemPalace is wired to {shown} too; `loci connect --replace-mempalace` puts Loci in its place"
        ));
    }
    reply.notes.extend(imports());
    if transcripts.files > 0 && !arguments.mine {
        reply.notes.push(format!(
            "note: {} transcript(s) of agents are on this machine; `loci mine --agents` reads them into the palace",
            transcripts.files
        ));
    }
    Ok(reply)
}

/// How palaces of other programs are brought in.
fn imports() -> Vec<String> {
    usual_places()
        .iter()
        .filter_map(|place| recognise(place).ok().flatten())
        .filter(|found| found.kind != ForeignKind::Loci)
        .map(|found| {
            let path = shell_quoted(&found.path);
            let writer = found.writer;
            format!("note: a palace of {writer} is at {path}; `loci import {path}` brings it in")
        })
        .collect()
}

fn answer(
    plan: &Plan,
    changes: &[Change],
    transcripts: Option<&Transcripts>,
    text: String,
) -> Result<Reply> {
    let answer = json!({
        "agents": plan.agents,
        "changes": changes,
        "mempalace": plan.mempalace,
        "transcripts": transcripts,
    });
    Reply::new(&answer, text)
}

/// Reads the transcripts in, and answers for both.
fn mined(connected: Reply, session: &Session<'_>) -> Result<Reply> {
    if Transcripts::of_agents().files == 0 {
        return Ok(connected);
    }
    let arguments = MineArguments {
        paths: Vec::new(),
        agents: true,
        dry_run: false,
        limit: None,
        force: false,
        watch: false,
        reading: ReadingArguments {
            collection: DEFAULT_COLLECTION.to_owned(),
            ..ReadingArguments::default()
        },
    };
    let mut mined = mine::run(&arguments, session)?;
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
    let mut both = value(&connected.json);
    if let Some(both) = both.as_object_mut() {
        both.insert("mined".to_owned(), value(&mined.json));
    }
    let mut reply = Reply::new(&both, format!("{}\n{}", connected.text, mined.text))?;
    reply.notes = connected.notes;
    reply.notes.append(&mut mined.notes);
    reply.exit = mined.exit;
    Ok(reply)
}
