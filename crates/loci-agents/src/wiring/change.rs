//! Computes the changes of connecting and disconnecting in one file. It neither reads nor writes
//! files.

use std::path::Path;

use loci_palace::{Advice, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::{Agent, Hooks, Servers};
use super::connect::at;
use super::document::Document;
use super::entry::{self, Run, shell_words, words_of_server};
use super::json_text::{PathSegment, keys};
use super::mempalace;
use super::written::Written;

/// The requested entries.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) run: Run,
    /// Whether the shell finds this program as `loci`.
    pub(super) on_path: bool,
    /// The requested name of the server.
    pub(super) name: Option<String>,
    pub(super) hooks: bool,
    pub(super) replace_mempalace: bool,
}

/// What connecting changed in a file and the file itself does not show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traces {
    /// Objects and lists that were created, by their keys.
    pub(super) made: Vec<Vec<String>>,
    /// Servers that were replaced or removed: their keys and text.
    pub(super) servers: Vec<(Vec<String>, String)>,
    /// Hooks that were removed: their event and text.
    pub(super) hooks: Vec<(String, String)>,
    /// Plugins that were disabled.
    pub(super) plugins: Vec<String>,
}

impl Traces {
    /// Whether hooks or a plugin of MemPalace were removed.
    pub(super) fn had_hooks(&self) -> bool {
        !self.hooks.is_empty() || !self.plugins.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        fn union<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !known.contains(&one) {
                    known.push(one);
                }
            }
        }
        union(&mut self.made, other.made);
        union(&mut self.servers, other.servers);
        union(&mut self.hooks, other.hooks);
        union(&mut self.plugins, other.plugins);
    }
}

impl Request {
    /// Returns what runs in the place of MemPalace's server.
    fn with_mempalace_tools(&self) -> Run {
        let tools = self.run.tools.clone();
        Run {
            tools: tools.or_else(|| Some("mempalace".to_owned())),
            ..self.run.clone()
        }
    }

    /// Returns what replaces the entry that runs `known`: the request, with the other options of
    /// the entry.
    fn instead_of(&self, known: &Run) -> Run {
        let current = self.on_path && known.program == "loci";
        Run {
            program: if current {
                &known.program
            } else {
                &self.run.program
            }
            .clone(),
            palace: self.run.palace.clone().or_else(|| known.palace.clone()),
            tools: self.run.tools.clone().or_else(|| known.tools.clone()),
        }
    }
}

/// Returns the servers of Loci in a file.
pub(super) fn our_servers(document: &Document, within: &[&str]) -> Vec<(String, Run)> {
    document
        .servers(within)
        .into_iter()
        .filter_map(|(name, entry)| Some((name, Run::of(&words_of_server(&entry), "mcp")?)))
        .collect()
}

/// Returns the servers of MemPalace in a file.
pub(super) fn mempalace_servers(document: &Document, within: &[&str]) -> Vec<String> {
    document
        .servers(within)
        .into_iter()
        .filter(|(_, entry)| mempalace::is_server(entry))
        .map(|(name, _)| name)
        .collect()
}

/// Returns the servers of MemPalace that Claude Code has for single directories, under `projects`.
/// No other agent has such a key.
pub(super) fn local_mempalace(document: &Document) -> Vec<mempalace::Local> {
    let Document::Json(json) = document else {
        return Vec::new();
    };
    let Some(Value::Object(projects)) = json.get(&keys(&["projects"])) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (directory, project) in projects {
        let servers = project.get("mcpServers").and_then(Value::as_object);
        for (name, entry) in servers.into_iter().flatten() {
            if mempalace::is_server(entry) {
                found.push(mempalace::Local {
                    directory: directory.clone(),
                    name: name.clone(),
                    entry: entry.clone(),
                });
            }
        }
    }
    found
}

/// Removes the servers of [`local_mempalace`] and returns the name of the first.
fn remove_local(document: &mut Document, traces: &mut Traces) -> Result<Option<String>, String> {
    let local = local_mempalace(document);
    for one in &local {
        let within = ["projects", one.directory.as_str(), "mcpServers"];
        let raw = document.remove_server(&within, &one.name)?;
        let path = within.iter().copied().chain([one.name.as_str()]);
        let path = path.map(str::to_owned).collect();
        traces.servers.push((path, raw));
    }
    Ok(local.into_iter().next().map(|one| one.name))
}

/// The reason that a file does not get an entry.
#[derive(Debug)]
pub(super) enum NotWired {
    /// A server of another program has the name.
    NameTaken {
        /// The name.
        name: String,
    },
    /// The file cannot be changed.
    Document(String),
}

impl From<String> for NotWired {
    fn from(problem: String) -> Self {
        Self::Document(problem)
    }
}

impl NotWired {
    /// Returns the error for the file at `path`.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Self::NameTaken { name } => at(
                path,
                format!("`{name}` is already the name of another server"),
            )
            .advise(Advice::NameServer),
            Self::Document(problem) => at(path, problem),
        }
    }
}

/// Adds or updates Loci's server. `journaled` says that the existing entry was made by Loci.
pub(super) fn wire_server(
    document: &mut Document,
    servers: &Servers,
    request: &Request,
    journaled: bool,
) -> Result<Traces, NotWired> {
    let within = document.within(servers);
    let mut traces = Traces::default();
    let keys_of = |name: &str| -> Vec<String> {
        within
            .iter()
            .copied()
            .chain([name])
            .map(str::to_owned)
            .collect()
    };
    let ours = our_servers(document, &within);
    let theirs = mempalace_servers(document, &within);
    let mut inherited = None;
    if request.replace_mempalace {
        inherited = remove_local(document, &mut traces)?;
    }
    if let (true, [first, others @ ..]) = (request.replace_mempalace, theirs.as_slice()) {
        let entry = entry::server(servers.shape, &request.with_mempalace_tools());
        let raw = document.replace_server(&within, first, entry)?;
        traces.servers.push((keys_of(first), raw));
        for name in others {
            let raw = document.remove_server(&within, name)?;
            traces.servers.push((keys_of(name), raw));
        }
        for (name, _) in &ours {
            let raw = document.remove_server(&within, name)?;
            if !journaled {
                traces.servers.push((keys_of(name), raw));
            }
        }
        return Ok(traces);
    }
    let named = |name: &String| {
        request
            .name
            .as_ref()
            .is_none_or(|requested| requested == name)
    };
    let mut found = false;
    for (name, run) in &ours {
        let requested = request.instead_of(run);
        found |= named(name);
        if named(name) && requested != *run {
            let raw = raw_server(document, &within, name);
            document.rerun_server(&within, name, servers.shape, &requested)?;
            if !journaled {
                traces.servers.extend(raw.map(|raw| (keys_of(name), raw)));
            }
        }
    }
    if found {
        return Ok(traces);
    }
    let known = document.servers(&within);
    let taken = |name: &str| known.iter().any(|(other, _)| other == name);
    let run = match &inherited {
        Some(_) => request.with_mempalace_tools(),
        None => request.run.clone(),
    };
    let inherited = inherited.as_deref().filter(|name| !taken(name));
    let name = request.name.as_deref().or(inherited).unwrap_or("loci");
    if taken(name) {
        return Err(NotWired::NameTaken {
            name: name.to_owned(),
        });
    }
    traces.made = document.add_server(&within, name, entry::server(servers.shape, &run))?;
    Ok(traces)
}

fn raw_server(document: &Document, within: &[&str], name: &str) -> Option<String> {
    document.clone().remove_server(within, name).ok()
}

/// Adds or updates Loci's hooks, if they are requested, already there, or replace MemPalace's.
pub(super) fn wire_hooks(
    document: &mut Document,
    agent: &Agent,
    hooks: &Hooks,
    request: &Request,
) -> Result<Traces, String> {
    let mut traces = Traces::default();
    if request.replace_mempalace {
        while let Some(theirs) = document
            .handlers(hooks.style)
            .into_iter()
            .find(|handler| mempalace::is_hook(&handler.command))
        {
            let raw = document.remove_handler(&theirs);
            traces.hooks.push((theirs.event, raw));
        }
        traces.plugins = switch_plugins_off(document);
    }
    if !request.hooks && !traces.had_hooks() && our_hooks(document, hooks).is_empty() {
        return Ok(traces);
    }
    if let (super::agents::HookStyle::Flat, Document::Json(json)) = (hooks.style, &mut *document)
        && json.get(&keys(&["version"])).is_none()
    {
        json.set(&["version"], &Written::Number(1))?;
        traces.made.push(vec!["version".to_owned()]);
    }
    for event in hooks.events {
        let ours: Vec<_> = our_hooks(document, hooks)
            .into_iter()
            .filter(|(handler, _)| handler.event == event.name)
            .collect();
        let Document::Json(json) = document else {
            return Err("hooks are kept in JSON".to_owned());
        };
        let Some((first, run)) = ours.first() else {
            let item = entry::hook(hooks.style, event, &request.run.hook(event.name, agent.id));
            traces
                .made
                .extend(json.push(&["hooks", event.name], &item)?);
            continue;
        };
        let command = request.instead_of(run).hook(event.name, agent.id);
        if first.command != command {
            let mut steps = vec![
                PathSegment::Key("hooks"),
                PathSegment::Key(event.name),
                PathSegment::Element(first.number),
            ];
            if let Some(within) = first.within {
                steps.extend([PathSegment::Key("hooks"), PathSegment::Element(within)]);
            }
            steps.push(PathSegment::Key("command"));
            json.put(&steps, &Written::Text(command));
        }
        for (more, _) in ours.iter().skip(1).rev() {
            document.remove_handler(more);
        }
    }
    Ok(traces)
}

/// Returns the hooks of Loci in a file.
pub(super) fn our_hooks(
    document: &Document,
    hooks: &Hooks,
) -> Vec<(super::document::Handler, Run)> {
    document
        .handlers(hooks.style)
        .into_iter()
        .filter_map(|handler| {
            let run = Run::of(&shell_words(&handler.command), "hook")?;
            Some((handler, run))
        })
        .collect()
}

/// Whether MemPalace's hooks or its plugin are in a file.
pub(super) fn has_mempalace_hooks(document: &Document, hooks: &Hooks) -> bool {
    let is_theirs = |handler: &super::document::Handler| mempalace::is_hook(&handler.command);
    document.handlers(hooks.style).iter().any(is_theirs)
        || plugins(document)
            .iter()
            .any(|plugin| mempalace::is_plugin(plugin))
}

/// Returns the enabled plugins of Claude Code.
pub(super) fn plugins(document: &Document) -> Vec<String> {
    let Document::Json(json) = document else {
        return Vec::new();
    };
    match json.get(&keys(&["enabledPlugins"])) {
        Some(Value::Object(plugins)) => plugins
            .into_iter()
            .filter(|(_, on)| *on == Value::Bool(true))
            .map(|(plugin, _)| plugin)
            .collect(),
        _ => Vec::new(),
    }
}

fn switch_plugins_off(document: &mut Document) -> Vec<String> {
    let mut theirs = plugins(document);
    theirs.retain(|plugin| mempalace::is_plugin(plugin));
    if let Document::Json(json) = document {
        for plugin in &theirs {
            json.put(&keys(&["enabledPlugins", plugin]), &Written::Flag(false));
        }
    }
    theirs
}

/// Whether these keys lead to a server of a single directory.
fn is_local(keys: &[String]) -> bool {
    keys.first().is_some_and(|key| key == "projects")
}

/// Removes Loci's entries from a file that was changed since, and restores what they replaced.
/// Without traces, only entries that certainly are Loci's are removed.
pub(super) fn unwire(
    document: &mut Document,
    agent: &Agent,
    traces: Option<&Traces>,
) -> Result<(), String> {
    let within = document.within(&agent.server);
    for (name, _) in our_servers(document, &within) {
        let replaced = traces.and_then(|traces| {
            let here =
                |(keys, _): &&(Vec<String>, String)| keys.last() == Some(&name) && !is_local(keys);
            traces.servers.iter().find(here)
        });
        match replaced {
            Some((_, raw)) => document.restore_server(&within, &name, raw)?,
            None => drop(document.remove_server(&within, &name)?),
        }
    }
    let mut unhooked = Vec::new();
    if let Some(hooks) = &agent.hooks {
        while let Some((ours, _)) = our_hooks(document, hooks).into_iter().next() {
            document.remove_handler(&ours);
            unhooked.push(ours.event);
        }
    }
    let nothing = Traces::default();
    let Traces {
        made,
        servers,
        hooks,
        plugins,
    } = traces.unwrap_or(&nothing);
    for (keys, raw) in servers {
        let Some((name, above)) = keys.split_last() else {
            continue;
        };
        let above: Vec<&str> = if is_local(keys) {
            above.iter().map(String::as_str).collect()
        } else {
            within.clone()
        };
        let known = document.servers(&above);
        if !known.iter().any(|(other, _)| other == name) {
            document.restore_server(&above, name, raw)?;
        }
    }
    let Document::Json(json) = document else {
        return Ok(());
    };
    for (event, raw) in hooks {
        json.push(&["hooks", event], &Written::Raw(raw.clone()))?;
    }
    for plugin in plugins {
        let path = keys(&["enabledPlugins", plugin]);
        if json.get(&path) == Some(Value::Bool(false)) {
            json.put(&path, &Written::Flag(true));
        }
    }
    let mut made = made.clone();
    if traces.is_none() && !unhooked.is_empty() {
        made.push(vec!["hooks".to_owned()]);
        made.extend(
            unhooked
                .into_iter()
                .map(|event| vec!["hooks".to_owned(), event]),
        );
    }
    // Inner objects are removed before outer ones, and the version when nothing else is left.
    made.sort_by_key(|path| (path == &["version"], std::cmp::Reverse(path.len())));
    for path in &made {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let path = keys(&path);
        let empty = match json.get(&path) {
            Some(Value::Object(object)) => object.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            // The version, which only hooks need.
            Some(Value::Number(_)) => json
                .get(&keys(&["hooks"]))
                .is_none_or(|hooks| hooks == Value::Object(serde_json::Map::new())),
            _ => false,
        };
        if empty {
            json.remove(&path);
        }
    }
    Ok(())
}
