//! Finds the current state of every agent.

use std::path::{Path, PathBuf};

use super::agents::{AGENTS, Agent, same_file};
use super::change::{
    has_mempalace_hooks, local_mempalace, mempalace_servers, our_hooks, our_servers, plugins,
};
use super::connect::parse;
use super::document::Document;
use super::entry::Run;
use super::files;
use super::{AgentState, Entry, Wired, WiringAdvice};
use crate::home::Home;

/// Returns the state of the agents for the program at `program`.
pub(super) fn survey(home: &Home, program: &Path) -> Vec<AgentState> {
    AGENTS
        .iter()
        .map(|agent| state(home, agent, program))
        .collect()
}

fn state(home: &Home, agent: &'static Agent, program: &Path) -> AgentState {
    let mut state = AgentState {
        agent: agent.id,
        name: agent.name,
        found: agent.is_found(home),
        server: Wired::No,
        hooks: Wired::No,
        files: Vec::new(),
        unreadable: Vec::new(),
        entries: Vec::new(),
        mempalace: false,
        advice: None,
    };
    if agent.hooks.is_none() {
        state.hooks = Wired::Unsupported;
    }
    for path in agent.files(home) {
        match document(home, agent, &path) {
            Ok(None) => {}
            Ok(Some(document)) => {
                look(home, agent, program, &path, &document, &mut state);
                state.files.push(path);
            }
            Err(error) => {
                if path == (agent.server.file)(home) {
                    state.server = Wired::Unreadable;
                } else {
                    state.hooks = Wired::Unreadable;
                }
                state.advice = Some(WiringAdvice::CorrectFile {
                    problem: error.to_string(),
                });
                state.unreadable.push(path.clone());
                state.files.push(path);
            }
        }
    }
    state.advice = state.advice.take().or_else(|| advice(&state));
    state
}

fn document(home: &Home, agent: &Agent, path: &Path) -> loci_palace::Result<Option<Document>> {
    let bytes = files::read(&files::target(path)?)?;
    bytes
        .map(|bytes| parse(agent, home, path, Some(&bytes)))
        .transpose()
}

fn look(
    home: &Home,
    agent: &Agent,
    program: &Path,
    path: &Path,
    document: &Document,
    state: &mut AgentState,
) {
    let mut judge = |hook: bool, runs: Vec<Run>| {
        let mut wired = Wired::No;
        for run in runs {
            let entry = entry(home, hook, run, program);
            let one = if entry.current {
                Wired::Yes
            } else {
                Wired::Outdated
            };
            wired = worst(wired, one);
            if !state.entries.contains(&entry) {
                state.entries.push(entry);
            }
        }
        wired
    };
    if path == (agent.server.file)(home) {
        let within = document.within(&agent.server);
        let ours = our_servers(document, &within);
        let wired = judge(false, ours.into_iter().map(|(_, run)| run).collect());
        state.server = worst(state.server, wired);
        state.mempalace |= !mempalace_servers(document, &within).is_empty()
            || !local_mempalace(document).is_empty();
    }
    if let Some(hooks) = agent
        .hooks
        .as_ref()
        .filter(|hooks| path == (hooks.file)(home))
    {
        let ours = our_hooks(document, hooks);
        let missing = hooks
            .events
            .iter()
            .any(|event| !ours.iter().any(|(handler, _)| handler.event == event.name));
        let mut hooked = judge(true, ours.into_iter().map(|(_, run)| run).collect());
        if hooked == Wired::Yes && missing {
            hooked = Wired::Outdated;
        }
        state.hooks = worst(state.hooks, hooked);
        state.mempalace |= has_mempalace_hooks(document, hooks);
        let plugin = |plugin: &String| plugin.split('@').next() == Some("loci");
        if plugins(document).iter().any(plugin) {
            state.server = worst(state.server, Wired::Yes);
            state.hooks = worst(state.hooks, Wired::Yes);
        }
    }
}

/// Returns the more significant of two findings.
fn worst(one: Wired, other: Wired) -> Wired {
    match (one, other) {
        (Wired::No, other) => other,
        (one, Wired::No) => one,
        (Wired::Outdated, _) | (_, Wired::Outdated) => Wired::Outdated,
        (one, _) => one,
    }
}

fn entry(home: &Home, hook: bool, run: Run, program: &Path) -> Entry {
    let named = Path::new(&run.program);
    let gone = if named.is_absolute() {
        !named.is_file()
    } else {
        found(home).is_none()
    };
    Entry {
        hook,
        current: runs_this(home, &run, program),
        gone,
        palace: run.palace.map(PathBuf::from),
        program: run.program,
    }
}

fn runs_this(home: &Home, run: &Run, program: &Path) -> bool {
    let named = Path::new(&run.program);
    if named.is_absolute() {
        named.is_file() && same_file(named, program)
    } else {
        finds(home, program)
    }
}

/// Whether a shell finds this program as `loci`.
pub(super) fn finds(home: &Home, program: &Path) -> bool {
    found(home).is_some_and(|found| same_file(&found, program))
}

/// Returns the program that a shell finds as `loci`.
pub(super) fn found(home: &Home) -> Option<PathBuf> {
    let name = format!("loci{}", std::env::consts::EXE_SUFFIX);
    home.programs
        .iter()
        .map(|directory| directory.join(&name))
        .find(|path| path.is_absolute() && path.is_file())
}

fn advice(state: &AgentState) -> Option<WiringAdvice> {
    let agent = state.agent;
    if state.server == Wired::Outdated || state.hooks == Wired::Outdated {
        let hooks = matches!(state.hooks, Wired::Yes | Wired::Outdated);
        return Some(WiringAdvice::ConnectAgain { agent, hooks });
    }
    if state.mempalace {
        return Some(WiringAdvice::ReplaceMempalace { agent });
    }
    match (state.found, state.server, state.hooks) {
        (true, Wired::No, hooks) => Some(WiringAdvice::Connect {
            agent,
            hooks: hooks != Wired::Unsupported,
        }),
        (true, Wired::Yes, Wired::No) => Some(WiringAdvice::AddHooks { agent }),
        _ => None,
    }
}
