//! `loci connect` and `loci disconnect`: add Loci to the configuration of agents, and remove it.

mod notes;
mod preview;
mod transcripts;

use std::path::PathBuf;

use loci_agents::Home;
use loci_agents::wiring::{self, Connect, Failed, Outcome, Plan};
use loci_palace::{Config, DEFAULT_COLLECTION, Error, PalaceRef, default_palace};
use serde_json::{Value, json};

use self::transcripts::Transcripts;
use super::mine;
use crate::args::{ConnectArguments, DisconnectArguments, MineArguments, ReadingArguments};
use crate::failure::{Exit, Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ConnectArguments, session: &Session<'_>) -> Result<Reply> {
    let home = Home::of_user()?;
    known(&arguments.agents)?;
    let mut connect = asked(&home, arguments, session)?;
    let mut plan = wiring::plan(&home, &connect)?;
    if plan.agents.is_empty() {
        let known = wiring::agents().join(", ");
        let text = format!("no agent found on this machine; name one: {known}");
        return nothing(&plan, text);
    }
    if !arguments.dry_run && offer_replacement(arguments, session, &plan) {
        connect.replace_mempalace = true;
        plan = wiring::plan(&home, &connect)?;
    }
    let shown = preview::changes(session.printer, &plan.changes, true);
    if arguments.dry_run {
        let text = if plan.changes.is_empty() {
            already(&plan, &plan.failed)
        } else {
            format!("{shown}\nnothing was written")
        };
        let outcome = Outcome {
            changes: plan.changes.clone(),
            failed: std::mem::take(&mut plan.failed),
        };
        return finished(arguments, &connect, &plan, &outcome, text);
    }
    if !plan.changes.is_empty() && !arguments.yes && !confirmed(session, &plan, &shown)? {
        return nothing(&plan, "nothing done".to_owned());
    }
    let done = wiring::connect(&home, &connect, &mut |_| Ok(()))?;
    let text = if done.changes.is_empty() {
        already(&plan, &done.failed)
    } else {
        let shown = preview::changes(session.printer, &done.changes, arguments.yes);
        format!("{shown}\n{}", notes::summary(&home, &done))
    };
    let reply = finished(arguments, &connect, &plan, &done, text)?;
    if arguments.mine {
        let reply = mined(reply, session)?;
        return Ok(reply.exit_if(!done.failed.is_empty(), Exit::Error));
    }
    Ok(reply)
}

pub(crate) fn disconnect(arguments: &DisconnectArguments, session: &Session<'_>) -> Result<Reply> {
    let home = Home::of_user()?;
    known(&arguments.agents)?;
    let Outcome { changes, failed } =
        wiring::disconnect(&home, &arguments.agents, arguments.dry_run)?;
    let text = match (changes.is_empty(), arguments.dry_run) {
        (true, _) if !failed.is_empty() => "nothing was undone".to_owned(),
        (true, _) => "the configuration of these agents has no entries of Loci".to_owned(),
        (false, dry_run) => {
            let shown = preview::changes(session.printer, &changes, dry_run);
            let end = if dry_run { "\nnothing was written" } else { "" };
            format!("{shown}{end}")
        }
    };
    let answer = json!({
        "changes": changes,
        "failed": notes::failed_json(&failed),
        "dry_run": arguments.dry_run,
    });
    let mut reply = Reply::new(&answer, text)?.exit_if(changes.is_empty(), Exit::Nothing);
    reply.note(notes::failed(&failed, "disconnect"));
    Ok(reply.exit_if(!failed.is_empty(), Exit::Error))
}

/// Refuses unknown names of agents.
fn known(names: &[String]) -> Result<()> {
    let agents = wiring::agents();
    let Some(name) = names.iter().find(|name| !agents.contains(&name.as_str())) else {
        return Ok(());
    };
    let help = match wiring::similar_agent(name) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!("known agents: {}", agents.join(", ")),
    };
    Err(Failure::usage(format!("unknown agent `{name}`"), help))
}

fn nothing(plan: &Plan, text: String) -> Result<Reply> {
    let mut reply = answer(plan, &Outcome::default(), None, text)?;
    reply.note(notes::failed(&plan.failed, "connect"));
    Ok(reply.exit_if(true, Exit::Nothing))
}

fn asked(home: &Home, arguments: &ConnectArguments, session: &Session<'_>) -> Result<Connect> {
    let palace = match session.asked()? {
        Some((palace, _)) => Some(in_entries(&palace)?),
        None => palace_of_variables(home)?,
    };
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

/// The palace, as the entry of an agent names it.
fn in_entries(palace: &PalaceRef) -> Result<PathBuf> {
    match palace.absolute()? {
        PalaceRef::Directory(path) => Ok(path),
        PalaceRef::Url(url) => Err(Error::invalid(
            format!("palace `{url}`"),
            "a URL is not written into the files of agents, because it may contain a password; set `palace` in config.toml",
        )
        .into()),
    }
}

/// The palace that an environment variable names. Agents do not pass variables to their servers, so
/// their entries must name it.
fn palace_of_variables(home: &Home) -> Result<Option<PathBuf>> {
    let palace = default_palace()?;
    // A URL stays in the user's configuration, which every process of this user can read.
    let Some(palace) = palace.as_directory() else {
        return Ok(None);
    };
    let moved = if Config::of_user()?.palace.is_some() {
        home.config != home.home.join(".config")
    } else {
        palace != home.home.join(".local/share/loci/palace")
    };
    Ok(moved.then(|| palace.to_path_buf()))
}

/// Asks whether to replace MemPalace, if it is connected and no flag decides.
fn offer_replacement(arguments: &ConnectArguments, session: &Session<'_>, plan: &Plan) -> bool {
    let decided = arguments.replace_mempalace || arguments.keep_mempalace || arguments.yes;
    if plan.mempalace.is_empty() || decided {
        return false;
    }
    let question = format!(
        "MemPalace is connected to {}. Replace it with Loci, under the same name and with the same tools?",
        plan.mempalace.join(", ")
    );
    session.printer.confirm(&question) == Some(true)
}

fn confirmed(session: &Session<'_>, plan: &Plan, shown: &str) -> Result<bool> {
    let failed = notes::failed(&plan.failed, "connect").join("\n");
    let between = if failed.is_empty() { "" } else { "\n" };
    let question = format!("{shown}{between}{failed}\nchange these files?");
    session.printer.confirm(&question).ok_or_else(|| {
        Failure::usage(
            format!(
                "{} file(s) would change, and there is no terminal to ask for confirmation",
                plan.changes.len()
            ),
            "pass `--yes` to change them, or `--dry-run` to see how",
        )
    })
}

fn already(plan: &Plan, failed: &[Failed]) -> String {
    let mut wired = plan.agents.clone();
    wired.retain(|agent| failed.iter().all(|failed| failed.agent != *agent));
    if wired.is_empty() {
        return "nothing was changed".to_owned();
    }
    format!("already connected: {}", wired.join(", "))
}

/// The answer, with notes about the remaining steps.
fn finished(
    arguments: &ConnectArguments,
    connect: &Connect,
    plan: &Plan,
    outcome: &Outcome,
    text: String,
) -> Result<Reply> {
    let transcripts = Transcripts::of_agents();
    let mut reply = answer(plan, outcome, Some(&transcripts), text)?;
    reply.note(notes::failed(&outcome.failed, "connect"));
    reply.note(plan.hints.iter().map(|hint| format!("note: {hint}")));
    if !arguments.keep_mempalace {
        reply.note(notes::mempalace(connect, plan));
    }
    reply.note(notes::imports(plan));
    if transcripts.files > 0 && !arguments.mine {
        reply.note([format!(
            "note: found {} transcript(s) of agents on this machine; `loci mine --agents` mines them",
            transcripts.files
        )]);
    }
    Ok(reply.exit_if(!outcome.failed.is_empty(), Exit::Error))
}

fn answer(
    plan: &Plan,
    outcome: &Outcome,
    transcripts: Option<&Transcripts>,
    text: String,
) -> Result<Reply> {
    let answer = json!({
        "agents": plan.agents,
        "changes": outcome.changes,
        "failed": notes::failed_json(&outcome.failed),
        "mempalace": plan.mempalace,
        "transcripts": transcripts,
    });
    Reply::new(&answer, text)
}

/// Mines the transcripts, and returns one answer for both commands.
fn mined(mut connected: Reply, session: &Session<'_>) -> Result<Reply> {
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
    reply.take_notes(&mut connected);
    reply.take_notes(&mut mined);
    reply.exit = mined.exit;
    Ok(reply)
}
