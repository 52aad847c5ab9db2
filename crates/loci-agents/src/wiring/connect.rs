//! Connects agents: computes the changes from the current files, so that they can be shown, and
//! then applies them.

use std::path::{Path, PathBuf};

use loci_palace::{Error, Result, path_text, serialize_paths};
use serde::Serialize;

use super::agents::{AGENTS, Agent, Format, named};
use super::change::{
    Request, Traces, has_mempalace_hooks, local_mempalace, mempalace_servers, unwire, wire_hooks,
    wire_server,
};
use super::document::Document;
use super::entry::Run;
use super::files;
use super::journal::{Journal, Record};
use super::mempalace;
use super::outcome::{Act, Change, Failed, Outcome};
use super::splice::Edit;
use crate::home::Home;

/// A request to connect agents.
#[derive(Debug, Clone)]
pub struct Connect {
    /// The short names of the agents; empty for all that are found.
    pub agents: Vec<String>,
    /// The absolute path of the program that entries run.
    pub program: PathBuf,
    /// The absolute path of the palace that entries name; `None` for the default one.
    pub palace: Option<PathBuf>,
    /// The set of tools, if not the default one.
    pub tools: Option<String>,
    /// The name of the server, if not `loci`.
    pub name: Option<String>,
    /// Whether to install hooks.
    pub hooks: bool,
    /// Whether to replace MemPalace's server and hooks.
    pub replace_mempalace: bool,
}

/// The changes that connecting makes for each agent.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// The short names of the agents.
    pub agents: Vec<&'static str>,
    /// The changes; empty when all agents are wired already.
    pub changes: Vec<Change>,
    /// The agents that are left out, because a file of theirs cannot be changed.
    pub failed: Vec<Failed>,
    /// The agents that MemPalace is wired to.
    pub mempalace: Vec<&'static str>,
    /// The palaces that entries of MemPalace name.
    #[serde(serialize_with = "serialize_paths")]
    pub palaces: Vec<PathBuf>,
    /// Directories for which Claude Code also has a server of MemPalace, each with its name.
    pub local: Vec<(PathBuf, String)>,
    /// What the user must do afterwards.
    pub hints: Vec<&'static str>,
}

/// A file with its new text.
struct Work {
    agent: &'static Agent,
    path: PathBuf,
    before: Option<Vec<u8>>,
    after: String,
    traces: Traces,
    edits: Vec<Edit>,
}

/// Computes what connecting would do. It only reads. An agent that was not named and cannot be
/// wired does not stop the others.
pub fn plan(home: &Home, connect: &Connect) -> Result<Plan> {
    let request = request(home, connect)?;
    let mut plan = Plan::default();
    let named = !connect.agents.is_empty();
    for agent in chosen(home, &connect.agents)? {
        plan.agents.push(agent.id);
        let planned = plan_agent(home, agent, &request, &mut plan);
        collect_failure(agent, planned, named, &mut plan.failed)?;
    }
    Ok(plan)
}

fn plan_agent(
    home: &Home,
    agent: &'static Agent,
    request: &Request,
    plan: &mut Plan,
) -> Result<()> {
    let works = works(home, agent, request, &|_| false)?;
    let hooked = |work: &Work| {
        let hooks = agent.hooks.as_ref();
        let asked = request.hooks || work.traces.had_hooks();
        asked && hooks.is_some_and(|hooks| (hooks.file)(home) == work.path)
    };
    look_for_mempalace(home, agent, plan)?;
    if works.iter().any(hooked) {
        plan.hints.extend(agent.hint);
    }
    plan.changes.extend(works.iter().map(change));
    Ok(())
}

/// Keeps the failure of one agent of many. The failure of a named agent ends the command before any
/// change.
fn collect_failure<T>(
    agent: &'static Agent,
    result: Result<T>,
    named: bool,
    failed: &mut Vec<Failed>,
) -> Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if named => Err(error),
        Err(error) => {
            let agent = agent.id;
            failed.push(Failed { agent, error });
            Ok(None)
        }
    }
}

/// Applies the changes. `before` is called with the name of each step before it happens; tests stop
/// there.
pub fn connect(
    home: &Home,
    connect: &Connect,
    before: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Outcome> {
    let request = request(home, connect)?;
    let agents = chosen(home, &connect.agents)?;
    let named = !connect.agents.is_empty();
    before("lock")?;
    let mut journal = Journal::open(home)?;
    let (mut all, mut outcome) = (Vec::new(), Outcome::default());
    for agent in agents {
        let known = |path: &Path| journal.record(path).is_some();
        let prepared = works(home, agent, &request, &known).and_then(|works| {
            let records: Result<Vec<Record>> =
                works.iter().map(|work| record(&journal, work)).collect();
            Ok((works, records?))
        });
        all.extend(collect_failure(
            agent,
            prepared,
            named,
            &mut outcome.failed,
        )?);
    }
    if all.iter().all(|(works, _)| works.is_empty()) {
        return Ok(outcome);
    }
    before("backups")?;
    let mut works = Vec::new();
    for (of_agent, records) in all {
        works.extend(of_agent);
        for record in records {
            journal.note(record);
            before("backup")?;
        }
    }
    before("journal")?;
    // The journal and its backups are durable before the first file changes. After a crash,
    // disconnecting can restore every file.
    journal.save()?;
    for work in &works {
        before("file")?;
        match write(work) {
            Ok(()) => outcome.changes.push(change(work)),
            Err(error) => outcome.failed.push(Failed {
                agent: work.agent.id,
                error,
            }),
        }
    }
    before("end")?;
    journal.tidy();
    Ok(outcome)
}

fn request(home: &Home, connect: &Connect) -> Result<Request> {
    let text = |path: &Path, what: &str| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Error::invalid(
                format!("{what} `{}`", path_text(path)),
                "not UTF-8, which configuration files are; nothing was written",
            )
        })
    };
    Ok(Request {
        run: Run {
            program: text(&connect.program, "the path of this program,")?,
            palace: connect
                .palace
                .as_deref()
                .map(|palace| text(palace, "palace"))
                .transpose()?,
            tools: connect.tools.clone(),
        },
        on_path: super::survey::finds(home, &connect.program),
        name: connect.name.clone(),
        hooks: connect.hooks,
        replace_mempalace: connect.replace_mempalace,
    })
}

/// Returns the agents with these names, or all that are found.
pub(super) fn chosen(home: &Home, names: &[String]) -> Result<Vec<&'static Agent>> {
    if names.is_empty() {
        return Ok(AGENTS.iter().filter(|agent| agent.is_found(home)).collect());
    }
    let mut chosen: Vec<&'static Agent> = Vec::new();
    for name in names {
        let agent = named(name).ok_or_else(|| {
            let known: Vec<&str> = AGENTS.iter().map(|agent| agent.id).collect();
            Error::invalid(
                format!("agent `{name}`"),
                format!("unknown; known: {}", known.join(", ")),
            )
        })?;
        if !chosen.iter().any(|known| known.id == agent.id) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

/// Returns the changes in the files of an agent, without unchanged files.
fn works(
    home: &Home,
    agent: &'static Agent,
    request: &Request,
    journaled: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Work>> {
    let mut works = Vec::new();
    for path in agent.files(home) {
        // The journal, which is JSON, holds the path. Undoing must find the file again.
        if path.to_str().is_none() {
            return Err(Error::invalid(
                format!("configuration file `{}`", path_text(&path)),
                "its path is not valid UTF-8; Loci does not change such a file",
            ));
        }
        let before = files::read(&files::target(&path)?)?;
        let mut document = parse(agent, home, &path, before.as_deref())?;
        let mut traces = Traces::default();
        if (agent.server.file)(home) == path {
            let wired = wire_server(&mut document, &agent.server, request, journaled(&path));
            traces.merge(wired.map_err(|problem| problem.at(&path))?);
        }
        if let Some(hooks) = agent
            .hooks
            .as_ref()
            .filter(|hooks| (hooks.file)(home) == path)
        {
            let wired = wire_hooks(&mut document, agent, hooks, request);
            traces.merge(wired.map_err(|problem| at(&path, problem))?);
        }
        let (after, edits) = document.into_parts();
        if !edits.is_empty() && before.as_deref() != Some(after.as_bytes()) {
            works.push(Work {
                agent,
                path,
                before,
                after,
                traces,
                edits,
            });
        }
    }
    Ok(works)
}

/// Parses a file in the format of the agent.
pub(super) fn parse(
    agent: &Agent,
    home: &Home,
    path: &Path,
    bytes: Option<&[u8]>,
) -> Result<Document> {
    let text = String::from_utf8(bytes.unwrap_or_default().to_vec()).map_err(|error| {
        at(
            path,
            format!(
                "not UTF-8 from byte {} on",
                error.utf8_error().valid_up_to()
            ),
        )
    })?;
    let format = if (agent.server.file)(home) == path {
        agent.server.format
    } else {
        Format::Json
    };
    Document::parse(format, text).map_err(|problem| at(path, problem))
}

pub(super) fn at(path: &Path, problem: String) -> Error {
    Error::invalid(format!("`{}`", path.display()), problem)
}

/// Records the entries of MemPalace in the files of an agent.
fn look_for_mempalace(home: &Home, agent: &Agent, plan: &mut Plan) -> Result<()> {
    for path in agent.files(home) {
        let bytes = files::read(&files::target(&path)?)?;
        let document = parse(agent, home, &path, bytes.as_deref())?;
        let within = document.within(&agent.server);
        let servers = mempalace_servers(&document, &within);
        let local = local_mempalace(&document);
        let hooked = agent
            .hooks
            .as_ref()
            .is_some_and(|hooks| has_mempalace_hooks(&document, hooks));
        let found = hooked || !servers.is_empty() || !local.is_empty();
        if found && !plan.mempalace.contains(&agent.id) {
            plan.mempalace.push(agent.id);
        }
        let entries = document.servers(&within).into_iter();
        let theirs = entries.filter(|(name, _)| servers.contains(name));
        let palaces: Vec<PathBuf> = theirs
            .map(|(_, entry)| entry)
            .chain(local.iter().map(|local| local.entry.clone()))
            .filter_map(|entry| mempalace::palace_of(&entry))
            .collect();
        for palace in palaces {
            if !plan.palaces.contains(&palace) {
                plan.palaces.push(palace);
            }
        }
        let named = |local: mempalace::Local| (PathBuf::from(local.directory), local.name);
        plan.local.extend(local.into_iter().map(named));
    }
    Ok(())
}

/// Returns the journal's record for a file once it is written. Keeps the bytes that disconnecting
/// restores.
fn record(journal: &Journal, work: &Work) -> Result<Record> {
    let known = journal.record(&work.path);
    let now = work.before.as_deref().map(files::hash);
    let ours = known.filter(|known| now.as_ref().is_some_and(|now| known.after.contains(now)));
    let mut record = Record {
        agent: work.agent.id.to_owned(),
        path: work.path.clone(),
        before: None,
        after: vec![files::hash(work.after.as_bytes())],
        directories: files::missing_directories(&files::target(&work.path)?),
        traces: work.traces.clone(),
        edits: work.edits.clone(),
    };
    if let Some(known) = known.filter(|_| now.is_some()) {
        record.directories.clone_from(&known.directories);
    }
    match (ours, known, &work.before) {
        // The file is as connecting left it, so disconnecting still restores the earlier bytes.
        (Some(known), _, _) => {
            let mut traces = known.traces.clone();
            traces.merge(record.traces);
            record.traces = traces;
            record.before.clone_from(&known.before);
            record.after.splice(..0, known.after.iter().cloned());
        }
        // Another program changed the file after it was connected. Disconnecting restores this file
        // without Loci's entries.
        (None, Some(known), Some(before)) if now != known.before => {
            let base = without_entries(work, before, known)?;
            record.before = Some(journal.back_up(base.as_bytes())?);
            let mut traces = known.traces.clone();
            traces.merge(record.traces);
            record.traces = traces;
        }
        (None, _, Some(before)) => record.before = Some(journal.back_up(before)?),
        (None, _, None) => {}
    }
    Ok(record)
}

fn without_entries(work: &Work, bytes: &[u8], known: &Record) -> Result<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let toml = work.path.extension().is_some_and(|ending| ending == "toml");
    let format = if toml { Format::Toml } else { Format::Json };
    let mut document = Document::parse(format, text).map_err(|problem| at(&work.path, problem))?;
    unwire(&mut document, work.agent, Some(&known.traces))
        .map_err(|problem| at(&work.path, problem))?;
    Ok(document.into_parts().0)
}

fn write(work: &Work) -> Result<()> {
    let target = files::target(&work.path)?;
    if let Some(directory) = target.parent() {
        loci_files::create_directory_with(directory, 0o777).map_err(|source| Error::Io {
            action: "cannot create",
            path: directory.to_owned(),
            source,
        })?;
    }
    files::replace(&target, work.after.as_bytes(), work.before.as_deref())
}

fn change(work: &Work) -> Change {
    let mut edits = work.edits.clone();
    edits.retain(|edit| edit.removed != edit.inserted);
    if work.before.is_none() {
        edits = vec![Edit {
            line: 1,
            removed: String::new(),
            inserted: work.after.clone(),
        }];
    }
    Change {
        agent: work.agent.id,
        path: work.path.clone(),
        act: if work.before.is_some() {
            Act::Changed
        } else {
            Act::Created
        },
        edits,
    }
}
