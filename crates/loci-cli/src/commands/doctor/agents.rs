//! Agents: the configuration of each, and the last calls of its hooks. An agent that is not
//! connected is not a problem.

use std::path::{Path, PathBuf};

use loci_agents::hooks::HookRun;
use loci_agents::wiring::{AgentState, Wired};
use loci_palace::{Config, shell_quoted};
use serde_json::Value;

use super::advice::Findings;
use super::sheet::Section;
use crate::failure::Result;
use crate::hint;
use crate::reply::json_of;

/// The harness of calls that could not be parsed. Such a call never succeeds later, so it is only a
/// note.
const UNKNOWN: &str = "unknown";

/// Each agent that is installed or connected. `palace` is the palace that is checked.
pub(super) fn wiring(
    agents: &[AgentState],
    runs: &[HookRun],
    palace: Option<&Path>,
    findings: &mut Findings,
) -> Section {
    let mut section = Section::new("agents");
    let known = |agent: &&AgentState| {
        agent.found
            || [agent.server, agent.hooks]
                .iter()
                .any(|wired| is_entry(*wired))
    };
    let (mut idle, mut absent) = (Vec::new(), Vec::new());
    for agent in agents {
        if !known(&agent) {
            absent.push(agent.name);
            continue;
        }
        section.line(agent.name, words_of(agent));
        of_agent(agent, runs, findings);
        if let Some(palace) = palace {
            of_palace(agent, palace, findings);
        }
        if agent.server == Wired::No {
            idle.push(agent.name);
        }
    }
    if !absent.is_empty() {
        section.line("not found", absent.join(", "));
    }
    if !idle.is_empty() {
        findings.note(
            "not_wired",
            format!("not connected to Loci: {}", idle.join(", ")),
            "`loci connect --dry-run` shows the changes, `loci connect` makes them",
        );
    }
    section
}

/// Whether there is an entry for Loci, valid or not.
fn is_entry(wired: Wired) -> bool {
    matches!(wired, Wired::Yes | Wired::Outdated | Wired::Unreadable)
}

fn words_of(agent: &AgentState) -> String {
    let mut words = format!("server {}", state(agent, agent.server, false));
    if agent.hooks != Wired::Unsupported {
        words = format!("{words}, hooks {}", state(agent, agent.hooks, true));
    }
    let mut palaces: Vec<_> = agent
        .entries
        .iter()
        .filter_map(|entry| entry.palace.as_ref())
        .collect();
    palaces.dedup();
    for palace in palaces {
        words = format!("{words}, palace {}", palace.display());
    }
    if agent.mempalace {
        words.push_str(", MemPalace is connected too");
    }
    words
}

fn state(agent: &AgentState, wired: Wired, hook: bool) -> String {
    let words = match wired {
        Wired::Outdated => return outdated(agent, hook),
        Wired::Yes => "connected",
        Wired::No => "not connected",
        Wired::Unreadable => "unknown: the configuration cannot be read",
        Wired::Unsupported => "not supported by it",
    };
    words.to_owned()
}

/// Why entries are incorrect: they run the wrong program, or parts are missing.
fn outdated(agent: &AgentState, hook: bool) -> String {
    let stale = agent
        .entries
        .iter()
        .find(|entry| entry.hook == hook && !entry.current);
    match stale {
        Some(entry) if entry.gone => {
            format!("runs `{}`, which does not exist", entry.program)
        }
        Some(entry) => format!("runs `{}`, which is another program", entry.program),
        None => "incomplete".to_owned(),
    }
}

/// The palace of an entry that names none. Agents do not pass environment variables on, so
/// variables do not count.
fn usual_palace() -> Option<PathBuf> {
    match Config::of_user().ok().and_then(|config| config.palace) {
        Some(configured) => configured.as_directory().map(Path::to_path_buf),
        None => std::env::home_dir().map(|home| home.join(".local/share/loci/palace")),
    }
}

/// Adds a finding if an agent uses another palace than the one that is checked.
fn of_palace(agent: &AgentState, palace: &Path, findings: &mut Findings) {
    let resolved = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        absolute.canonicalize().unwrap_or(absolute)
    };
    let looked_at = resolved(palace);
    let used = agent
        .entries
        .iter()
        .filter_map(|entry| entry.palace.clone().or_else(usual_palace));
    let Some(other) = used
        .map(|used| resolved(&used))
        .find(|used| *used != looked_at)
    else {
        return;
    };
    findings.warn(
        "agent_other_palace",
        format!(
            "{} uses the palace `{}`, but this checks `{}`",
            agent.name,
            other.display(),
            looked_at.display()
        ),
        format!(
            "`loci connect {} --palace {}` switches it to this one, `loci doctor --palace {}` checks its own",
            agent.agent,
            shell_quoted(&looked_at),
            shell_quoted(&other)
        ),
    );
}

fn of_agent(agent: &AgentState, runs: &[HookRun], findings: &mut Findings) {
    let advice = |otherwise: &str| match &agent.advice {
        Some(advice) => hint::of_wiring(advice),
        None => otherwise.to_owned(),
    };
    let both = [agent.server, agent.hooks];
    if both.contains(&Wired::Unreadable) {
        let files: Vec<String> = agent
            .unreadable
            .iter()
            .map(|file| format!("`{}`", file.display()))
            .collect();
        findings.warn(
            "agent_unreadable",
            format!(
                "the configuration of {} cannot be read: {}",
                agent.name,
                files.join(", ")
            ),
            advice("correct the file; until then Loci does not change it"),
        );
    } else if both.contains(&Wired::Outdated) {
        findings.warn(
            "agent_outdated",
            format!("{}: {}", agent.name, words_of(agent)),
            advice(&format!("`loci connect {}` connects it again", agent.agent)),
        );
    } else if agent.mempalace {
        findings.note(
            "agent_mempalace",
            format!(
                "MemPalace's server or hooks are connected to {}",
                agent.name
            ),
            advice(&format!(
                "`loci connect {}` offers to replace them",
                agent.agent
            )),
        );
    }
    let never = runs.iter().all(|run| run.harness != agent.agent);
    if agent.hooks == Wired::Yes && never {
        findings.note(
            "hooks_never_ran",
            format!("no hook of {} has run yet", agent.name),
            "start a new session in it; agents read their hooks when they start",
        );
    }
}

/// The agents as JSON, with `advice` as text.
pub(super) fn wiring_json(agents: &[AgentState]) -> Result<Value> {
    let mut list = json_of(&agents)?;
    for (object, agent) in list.as_array_mut().into_iter().flatten().zip(agents) {
        if let Some(object) = object.as_object_mut() {
            let advice = agent.advice.as_ref().map(hint::of_wiring);
            object.insert("advice".into(), advice.into());
        }
    }
    Ok(list)
}

/// The last calls of hooks as JSON. `note` includes the advice as text.
pub(super) fn hooks_json(runs: &[HookRun]) -> Result<Value> {
    let mut list = json_of(&runs)?;
    for (object, run) in list.as_array_mut().into_iter().flatten().zip(runs) {
        if let Some(object) = object.as_object_mut() {
            object.insert("note".into(), noted(run).into());
        }
    }
    Ok(list)
}

/// The note of a call, with the advice as text.
fn noted(run: &HookRun) -> String {
    match run.advice.as_ref().and_then(hint::words) {
        Some(hint) => format!("{}; {hint}", run.note),
        None => run.note.clone(),
    }
}

/// The last calls of hooks. A call that failed, without a later success, is a finding.
pub(super) fn hooks(runs: &[HookRun], findings: &mut Findings) -> Section {
    let mut section = Section::new("hooks");
    for run in runs {
        let outcome = if run.ok { "" } else { "failed: " };
        section.line(
            &run.harness,
            format!(
                "{} at {}, {} ms: {outcome}{}",
                run.event,
                run.at,
                run.milliseconds,
                noted(run)
            ),
        );
        if run.ok {
            continue;
        }
        let works_again = runs.iter().any(|other| {
            other.ok
                && (&other.harness, &other.event) == (&run.harness, &run.event)
                && other.at >= run.at
        });
        let what = format!(
            "the hook {} of {} failed at {}: {}",
            run.event,
            run.harness,
            run.at,
            noted(run)
        );
        if works_again {
            findings.note("hook_failed_once", what, "nothing; it has succeeded since");
        } else if run.harness == UNKNOWN {
            findings.note(
                "hook_unknown",
                what,
                "`loci connect --hooks` corrects the calls of hooks",
            );
        } else {
            findings.warn(
                "hook_failed",
                what,
                "fix the cause; this disappears with the next successful call",
            );
        }
    }
    section
}

#[cfg(test)]
mod tests {
    use loci_agents::wiring::WiringAdvice;
    use loci_palace::{Advice, Severity};

    use super::*;

    fn agent(server: Wired, hooks: Wired) -> AgentState {
        AgentState {
            agent: "codex",
            name: "Codex",
            found: true,
            server,
            hooks,
            files: vec![PathBuf::from("config.toml")],
            unreadable: Vec::new(),
            entries: Vec::new(),
            mempalace: false,
            advice: None,
        }
    }

    fn run(event: &str, at: &str, ok: bool) -> HookRun {
        HookRun {
            event: event.into(),
            harness: "codex".into(),
            at: at.into(),
            ok,
            note: "a reason".into(),
            advice: None,
            milliseconds: 3,
        }
    }

    fn found(work: impl FnOnce(&mut Findings)) -> Vec<(String, Severity)> {
        let mut findings = Findings::default();
        work(&mut findings);
        let sorted = findings.sorted().into_iter();
        sorted.map(|one| (one.code, one.severity)).collect()
    }

    #[test]
    fn an_agent_that_is_not_wired_needs_nothing() {
        let codes = found(|findings| {
            wiring(&[agent(Wired::No, Wired::No)], &[], None, findings);
        });
        assert_eq!(codes, [("not_wired".to_owned(), Severity::Note)]);
    }

    #[test]
    fn agents_that_are_not_on_this_machine_are_no_findings() {
        let mut absent = agent(Wired::No, Wired::No);
        absent.found = false;
        let codes = found(|findings| {
            wiring(&[absent], &[], None, findings);
        });
        assert_eq!(codes, []);
    }

    #[test]
    fn outdated_and_unreadable_wiring_needs_action() {
        for (wired, code) in [
            (Wired::Outdated, "agent_outdated"),
            (Wired::Unreadable, "agent_unreadable"),
        ] {
            for agent in [agent(wired, Wired::Unsupported), agent(Wired::Yes, wired)] {
                let codes = found(|findings| {
                    wiring(
                        &[agent],
                        &[run("stop", "2026-01-01T00:00:00Z", true)],
                        None,
                        findings,
                    );
                });
                assert_eq!(codes, [(code.to_owned(), Severity::Warning)]);
            }
        }
    }

    #[test]
    fn what_an_agent_advises_is_the_advice() {
        let mut agent = agent(Wired::Outdated, Wired::Unsupported);
        agent.advice = Some(WiringAdvice::CorrectFile {
            problem: "line 2".into(),
        });
        let mut findings = Findings::default();
        wiring(&[agent], &[], None, &mut findings);
        assert_eq!(
            findings.sorted()[0].advice,
            "correct the file by hand: line 2"
        );
    }

    #[test]
    fn the_note_of_a_hook_names_a_command_in_every_answer_and_keeps_its_typed_advice() {
        let failed = HookRun {
            advice: Some(Advice::MineAgents),
            ..run("stop", "2026-01-02T00:00:00Z", false)
        };
        let mut findings = Findings::default();
        hooks(std::slice::from_ref(&failed), &mut findings);
        let what = findings.sorted()[0].what.clone();
        assert!(what.contains("a reason; `loci mine --agents`"), "{what}");
        let json = hooks_json(&[failed]).unwrap();
        let note = json[0]["note"].as_str().unwrap();
        assert!(note.contains("a reason; `loci mine --agents`"), "{note}");
        assert_eq!(json[0]["advice"]["action"], "mine_agents");
    }

    #[test]
    fn hooks_that_are_wired_and_never_ran_are_a_note() {
        let wired = || agent(Wired::Yes, Wired::Yes);
        let codes = found(|findings| {
            wiring(&[wired()], &[], None, findings);
        });
        assert_eq!(codes, [("hooks_never_ran".to_owned(), Severity::Note)]);
        let codes = found(|findings| {
            wiring(
                &[wired()],
                &[run("stop", "2026-01-01T00:00:00Z", true)],
                None,
                findings,
            );
        });
        assert_eq!(codes, []);
    }

    #[test]
    fn a_hook_that_failed_needs_action_until_it_works_again() {
        let failed = run("stop", "2026-01-02T00:00:00Z", false);
        let of = |other: HookRun| {
            let runs = [other, failed.clone()];
            found(|findings| {
                hooks(&runs, findings);
            })
        };
        let still = [("hook_failed".to_owned(), Severity::Warning)];
        assert_eq!(of(run("stop", "2026-01-01T00:00:00Z", true)), still);
        assert_eq!(
            of(run("session-start", "2026-01-03T00:00:00Z", true)),
            still
        );
        assert_eq!(
            of(run("stop", "2026-01-03T00:00:00Z", true)),
            [("hook_failed_once".to_owned(), Severity::Note)]
        );
    }
}
