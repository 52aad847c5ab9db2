//! The verb `mine`: reads files and conversations into a palace, and returns a report.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use loci_core::{Capability, Error, Ledger, Result, RunKind, RunState, Warning};
pub use loci_mine::Report as Answer;
use loci_mine::{Meter, MiningJob, Options, Run, Source};

use crate::palace::{Memory, Palace};

/// The source, the collection and the options of a run.
pub struct Request<'a> {
    /// The collection; created if it is missing.
    pub collection: &'a str,
    /// Where the texts come from, such as a [`loci_mine::Tree`].
    pub source: &'a dyn Source,
    /// How it is mined.
    pub options: &'a Options,
    /// Counters that a front end reads from another thread to show progress.
    pub meter: &'a Meter,
    /// Set it to stop early. Files that were mined stay mined, and the next run continues.
    pub stop: &'a AtomicBool,
}

impl Palace {
    pub(crate) fn ledger_of<'a>(&self, memory: &'a Memory) -> Result<&'a dyn Ledger> {
        memory
            .collection
            .ledger()
            .ok_or_else(|| self.backend.lacks(Capability::Mining))
    }

    /// Reads new and changed texts of a source, such as a [`crate::Tree`], into a collection, which
    /// is created if missing. An error means that the palace could not be written to; the report
    /// lists files that could not be read.
    pub fn mine(&self, request: &Request<'_>) -> Result<Answer> {
        let (memory, warnings) = self.memory(request.collection, true)?;
        let ledger = self.ledger_of(&memory)?;
        let run = Run::new(ledger, RunKind::Mine, request.source.describe().roots);
        let machine = self.machine();
        let job = MiningJob {
            ledger,
            machine: &machine,
            projects: memory.collection.projects(),
            source: request.source,
            run: &run,
            options: request.options,
            meter: request.meter,
            stop: request.stop,
        };
        finish(job.mine(), &run, warnings)
    }
}

/// Records how a run ended.
pub(crate) fn finish(
    mined: Result<Answer>,
    run: &Run<'_>,
    warnings: Vec<Warning>,
) -> Result<Answer> {
    match mined {
        Ok(mut report) => {
            report.warnings.extend(warnings);
            let state = if report.stopped {
                RunState::Stopped
            } else {
                RunState::Done
            };
            run.end(&state, &report)?;
            Ok(report)
        }
        Err(error) => {
            // This write may fail for the same reason as the run. The error of the run is returned.
            let summary = serde_json::json!({ "error": error.to_string() });
            if let Err(error) = run.end(&RunState::Failed, &summary) {
                tracing::debug!(%error, "the end of the run was not recorded");
            }
            Err(error)
        }
    }
}

/// Absolute names of paths, which need not exist.
pub(crate) fn names_of(paths: &[PathBuf]) -> Result<Vec<String>> {
    paths
        .iter()
        .map(|path| {
            let absolute = path
                .canonicalize()
                .or_else(|_| std::path::absolute(path))
                .map_err(|error| Error::io("cannot resolve", path, error))?;
            name_of(&absolute)
        })
        .collect()
}

fn name_of(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::invalid(
            format!("path `{}`", path.display()),
            "not valid UTF-8, so its files have no names",
        )
    })
}

/// The existing folders and files in which agents keep their transcripts on this machine.
pub fn agent_folders() -> Vec<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let Some(home) = variable("HOME").or_else(|| variable("USERPROFILE")) else {
        return Vec::new();
    };
    let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let data = variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let claude = variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
    let codex = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
    let kimi = variable("KIMI_SHARE_DIR").unwrap_or_else(|| home.join(".kimi"));
    let vibe = variable("VIBE_HOME").unwrap_or_else(|| home.join(".vibe"));
    let mut places = vec![
        claude.join("projects"),
        codex.join("sessions"),
        codex.join("archived_sessions"),
        home.join(".gemini/tmp"),
        data.join("opencode/storage"),
        data.join("opencode/opencode.db"),
        data.join("kilo/kilo.db"),
        data.join("goose/sessions/sessions.db"),
        data.join("amp/threads"),
        home.join(".copilot/session-state"),
        home.join(".factory/sessions"),
        home.join(".openhands/conversations"),
        home.join(".pi/agent/sessions"),
        home.join(".cline/data/tasks"),
        home.join(".cline/data/sessions"),
        kimi.join("sessions"),
        vibe.join("logs/session"),
    ];
    places.extend(below_each(&home.join(".qwen/projects"), "chats"));
    places.extend(below_each(&home.join(".qwen/projects"), "subagents"));
    places.extend(below_each(&home.join(".openclaw/agents"), "sessions"));
    for editors in [config, home.join("Library/Application Support")] {
        for editor in EDITORS {
            places.extend(editor_places(&editors.join(editor).join("User")));
        }
    }
    places.retain(|path| path.exists());
    places
}

/// The editors built on VS Code, by the folder of their settings.
const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/// The places in which an editor built on VS Code and its extensions keep transcripts. The folders
/// around them hold much that is no transcript.
fn editor_places(user: &Path) -> Vec<PathBuf> {
    let storage = user.join("globalStorage");
    let mut places = vec![
        storage.join("emptyWindowChatSessions"),
        storage.join("saoudrizwan.claude-dev/tasks"),
        storage.join("rooveterinaryinc.roo-cline/tasks"),
        storage.join("kilocode.kilo-code/tasks"),
    ];
    if user
        .parent()
        .is_some_and(|editor| editor.ends_with("Cursor"))
    {
        places.push(storage.join("state.vscdb"));
    }
    places.extend(below_each(&user.join("workspaceStorage"), "chatSessions"));
    places
}

/// Returns `folder/*/name`, sorted.
fn below_each(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut places: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path().join(name)))
        .filter(|path| path.exists())
        .collect();
    places.sort();
    places
}
