//! What people should know besides: agents that were left out, what is there of MemPalace, and how
//! wiring is undone.

use loci_agents::Home;
use loci_agents::wiring::{self, Act, Connect, Failed, Outcome, Plan};
use loci_palace::{ForeignKind, recognise, shell_quoted, usual_places};
use serde_json::{Value, json};

use crate::hint;

/// What was wired, and how that is undone.
pub(super) fn summary(home: &Home, outcome: &Outcome) -> String {
    let mut agents: Vec<&str> = outcome.changes.iter().map(|change| change.agent).collect();
    agents.dedup();
    let changed = |act: Act| act == Act::Changed;
    let backups = if outcome.changes.iter().any(|change| changed(change.act)) {
        let place = wiring::backups(home);
        format!("; the former files are in `{}`", place.display())
    } else {
        String::new()
    };
    format!(
        "wired: {}; they see it when they start anew; `loci disconnect` undoes it{backups}",
        agents.join(", ")
    )
}

/// The agents that were left out, with what to do about each.
pub(super) fn failed(failed: &[Failed], command: &str) -> Vec<String> {
    let lines = |failed: &Failed| {
        let agent = failed.agent;
        let hint = failed.error.advice().as_ref().and_then(hint::words);
        let help =
            hint.unwrap_or_else(|| format!("correct that file, then run `loci {command} {agent}`"));
        [
            format!("error: {agent} was left out: {}", message(failed)),
            format!("help: {help}"),
        ]
    };
    failed.iter().flat_map(lines).collect()
}

/// The same for programs.
pub(super) fn failed_json(failed: &[Failed]) -> Vec<Value> {
    let one = |failed: &Failed| json!({"agent": failed.agent, "code": failed.error.code(), "message": message(failed)});
    failed.iter().map(one).collect()
}

/// The message with the causes below it.
fn message(failed: &Failed) -> String {
    let mut message = failed.error.to_string();
    let mut cause = std::error::Error::source(&failed.error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = inner.source();
    }
    message
}

/// Where MemPalace stays wired beside Loci.
pub(super) fn mempalace(connect: &Connect, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if !plan.mempalace.is_empty() && !connect.replace_mempalace {
        let shown = plan.mempalace.join(", ");
        notes.push(format!(
            "note: MemPalace is wired to {shown} too; `loci connect --replace-mempalace` puts Loci in its place"
        ));
        notes.extend(plan.local.iter().map(|(directory, name)| {
            let place = shell_quoted(directory);
            format!("note: Claude Code runs it as `{name}` in {place}; `claude mcp remove {name}` there removes it alone")
        }));
    }
    if plan.agents.contains(&"claude-code")
        && let Ok(here) = std::env::current_dir()
    {
        let names = wiring::mempalace_in_project(&here);
        notes.extend(names.iter().map(|name| {
            let file = here.join(".mcp.json");
            format!(
                "note: the project's `{}` runs MemPalace as `{name}`; it belongs to all who work on the project, so Loci leaves it; `claude mcp remove {name} --scope project` here removes it",
                file.display()
            )
        }));
    }
    notes
}

/// How palaces of other programs are brought in: those that entries name, and those in the usual places.
pub(super) fn imports(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    for place in plan.palaces.iter().chain(&usual_places()) {
        let Some(found) = recognise(place).ok().flatten() else {
            continue;
        };
        if found.kind == ForeignKind::Loci {
            continue;
        }
        let path = shell_quoted(&found.path);
        let writer = found.writer;
        let note =
            format!("note: a palace of {writer} is at {path}; `loci import {path}` brings it in");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
