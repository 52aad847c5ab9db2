//! Notes for people: agents that were skipped, entries of MemPalace, and how to undo the changes.

use loci_agents::Home;
use loci_agents::wiring::{self, Act, Connect, Failed, Outcome, Plan};
use loci_palace::{ForeignKind, recognise, shell_quoted, usual_places};
use serde_json::{Value, json};

use crate::hint;

/// The connected agents, and how to undo it.
pub(super) fn summary(home: &Home, outcome: &Outcome) -> String {
    let mut agents: Vec<&str> = outcome.changes.iter().map(|change| change.agent).collect();
    agents.dedup();
    let changed = |act: Act| act == Act::Changed;
    let backups = if outcome.changes.iter().any(|change| changed(change.act)) {
        let place = wiring::backups(home);
        format!("; backups of the files are in `{}`", place.display())
    } else {
        String::new()
    };
    format!(
        "connected: {}; restart them to use it; `loci disconnect` undoes it{backups}",
        agents.join(", ")
    )
}

/// The agents that were skipped, each with a hint.
pub(super) fn failed(failed: &[Failed], command: &str) -> Vec<String> {
    let lines = |failed: &Failed| {
        let agent = failed.agent;
        let hint = failed.error.advice().as_ref().and_then(hint::words);
        let help =
            hint.unwrap_or_else(|| format!("correct that file, then run `loci {command} {agent}`"));
        [
            format!("error: {agent} was skipped: {}", message(failed)),
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

/// The message, followed by its causes.
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

/// The agents in which MemPalace stays connected beside Loci.
pub(super) fn mempalace(connect: &Connect, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if !plan.mempalace.is_empty() && !connect.replace_mempalace {
        let shown = plan.mempalace.join(", ");
        notes.push(format!(
            "note: MemPalace is connected to {shown} too; `loci connect --replace-mempalace` replaces it with Loci"
        ));
        notes.extend(plan.local.iter().map(|(directory, name)| {
            let place = shell_quoted(directory);
            format!("note: Claude Code runs it as `{name}` in {place}; `claude mcp remove {name}` in that folder removes it")
        }));
    }
    if plan.agents.contains(&"claude-code")
        && let Ok(here) = std::env::current_dir()
    {
        let names = wiring::mempalace_in_project(&here);
        notes.extend(names.iter().map(|name| {
            let file = here.join(".mcp.json");
            format!(
                "note: the project's `{}` runs MemPalace as `{name}`; Loci does not change it, because everybody in the project shares it; `claude mcp remove {name} --scope project` here removes it",
                file.display()
            )
        }));
    }
    notes
}

/// How to import the palaces of other programs that entries name or that are in the usual places.
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
            format!("note: found a palace of {writer} at {path}; `loci import {path}` imports it");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
