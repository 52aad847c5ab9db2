//! The state of the kill attack: which drawers, files, facts and links were acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::torture::contents::Contents;
use crate::torture::home::{Home, answer};
use crate::torture::process::{HANGS, Started};
use crate::torture::round::{Drawers, Round};
use crate::torture::server::Server;
use crate::torture::texts;

pub(super) struct KillRound<'w, 'l> {
    pub(super) round: &'w mut Round<'l>,
    pub(super) home: Home,
    kind: &'static str,
    pub(super) state: State,
    /// A backup and the state that it holds.
    pub(super) backup: Option<(PathBuf, State)>,
    next: u32,
    /// In some rounds, a server that has the palace open during the whole round.
    _resident: Option<Server>,
}

/// The expected contents of the palace.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) drawers: Drawers,
    /// Texts whose id Loci generates, such as diary entries.
    pub(super) texts: BTreeSet<String>,
    /// Mined files by path, with the versions that the palace may hold. Version 0 means no drawers.
    pub(super) files: BTreeMap<String, BTreeSet<u32>>,
    pub(super) facts: BTreeSet<String>,
    /// Labels and ends of links.
    pub(super) links: BTreeSet<(String, [String; 2])>,
    pub(super) forgotten: Vec<(String, String)>,
}

/// The changes that the killed command may have made.
#[derive(Default)]
pub(super) struct Possible {
    pub(super) come: Drawers,
    pub(super) change: Drawers,
    pub(super) go: BTreeSet<String>,
    pub(super) text: Option<String>,
    /// Whether it must have made all of them or none.
    pub(super) whole: bool,
}

/// How a command ended that was supposed to be killed.
pub(super) enum KillOutcome {
    Killed,
    Done(Value),
}

impl<'w, 'l> KillRound<'w, 'l> {
    pub(super) fn new(
        round: &'w mut Round<'l>,
        kind: &'static str,
        drawers: usize,
    ) -> anyhow::Result<Self> {
        let home = round.home.clone();
        let state = State {
            drawers: round.context.fill(home.palace(), drawers)?,
            ..State::default()
        };
        std::fs::create_dir_all(home.path("tree"))?;
        std::fs::create_dir_all(home.path("talks"))?;
        let mut resident = None;
        if round.random.bool() {
            let mut server = Server::start(&home, "core")?;
            server.call("loci_list", &json!({"limit": 1}), HANGS);
            resident = Some(server);
        }
        Ok(Self {
            round,
            home,
            kind,
            state,
            backup: None,
            next: 0,
            _resident: resident,
        })
    }

    /// A name that was not used before.
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}-{}", self.next)
    }

    /// A path that was not used before.
    pub(super) fn fresh_path(&mut self, prefix: &str) -> PathBuf {
        let name = self.fresh(prefix);
        self.home.path(&name)
    }

    /// An acknowledged drawer.
    pub(super) fn any_drawer(&mut self) -> anyhow::Result<String> {
        let count = self.state.drawers.len();
        ensure!(count > 0, "no drawers are left");
        let at = self.round.random.usize(..count);
        let id = self.state.drawers.keys().nth(at);
        id.cloned().context("no drawers are left")
    }

    /// Runs a command that must succeed.
    pub(super) fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.home.json(arguments)
    }

    /// Starts a command and kills it at a random moment of its usual duration, or when it writes to
    /// the log. The first run of a command is not killed, to measure its duration.
    pub(super) fn run_and_kill(
        &mut self,
        case: &'static str,
        arguments: &[&str],
    ) -> anyhow::Result<KillOutcome> {
        self.run_and_kill_with(case, arguments, None)
    }

    pub(super) fn run_and_kill_with(
        &mut self,
        case: &'static str,
        arguments: &[&str],
        input: Option<&[u8]>,
    ) -> anyhow::Result<KillOutcome> {
        let mut command = self.home.command(&[arguments, &["--json"]].concat());
        let moment = self.moment(case);
        let log = self.home.file("palace.sqlite3-wal");
        let before = stamp(&log);
        let started = Started::new(&mut command, input)?;
        // Half of the kills happen while a commit is written or just after.
        let ran =
            if self.round.random.bool() && self.round.context.duration(&self.key(case)).is_some() {
                let delay = Duration::from_micros(self.round.random.u64(..6_000));
                started.kill_when(|| stamp(&log) != before, delay, moment * 2)?
            } else {
                started.kill_after(moment)?
            };
        if ran.signal == Some(9) {
            self.killed(case);
            return Ok(KillOutcome::Killed);
        }
        self.took(case, ran.took);
        // Hooks print nothing when there is nothing to report.
        if ran.code == Some(0) && ran.stdout.trim().is_empty() {
            return Ok(KillOutcome::Done(Value::Null));
        }
        answer(arguments, &ran).map(KillOutcome::Done)
    }

    /// When to kill the command, counted from its start.
    pub(super) fn moment(&mut self, case: &str) -> Duration {
        match self.round.context.duration(&self.key(case)) {
            None => Duration::from_secs(60),
            Some(usual) => usual.mul_f64(self.round.random.f64() * 1.1),
        }
    }

    pub(super) fn took(&self, case: &str, time: Duration) {
        self.round.context.took(&self.key(case), time);
    }

    fn key(&self, case: &str) -> String {
        format!("{case} {}", self.kind)
    }

    pub(super) fn killed(&mut self, case: &'static str) {
        self.round.tally.tries += 1;
        self.round.note(case);
    }

    /// Compares the palace with the expected state after a command that may have made the
    /// `possible` changes, and updates the state with those that it made.
    pub(super) fn check(&mut self, possible: &Possible) -> anyhow::Result<()> {
        let contents = Contents::of(&self.home)?;
        self.check_drawers(&contents, possible)?;
        self.check_files(&contents)?;
        let deep = self.round.random.u32(..12) == 0;
        self.home.verify(deep)
    }

    fn check_drawers(&mut self, contents: &Contents, possible: &Possible) -> anyhow::Result<()> {
        let mut drawers = contents.drawers.clone();
        let known: BTreeSet<String> = self.state.drawers.keys().cloned().collect();
        // Texts with generated ids: each acknowledged one must be there once, and no others.
        let mut texts = BTreeSet::new();
        drawers.retain(|id, text| {
            let ours = known.contains(id) || possible.come.contains_key(id);
            ours || !texts.insert(text.clone())
        });
        for text in &self.state.texts {
            ensure!(texts.remove(text), "an acknowledged text is lost: {text}");
        }
        if let Some(text) = &possible.text
            && texts.remove(text)
        {
            self.state.texts.insert(text.clone());
        }
        if let Some(text) = texts.first() {
            bail!("a text is there that was not written, or that was forgotten: {text}");
        }
        let mut expected = self.state.drawers.clone();
        for id in &possible.go {
            expected.remove(id);
        }
        for id in possible.change.keys() {
            expected.remove(id);
        }
        let mut allowed = possible.come.clone();
        allowed.extend(possible.change.clone());
        let mut before = self.state.drawers.clone();
        before.retain(|id, _| possible.go.contains(id) || possible.change.contains_key(id));
        for (id, text) in &drawers {
            let is_right = expected.get(id) == Some(text)
                || allowed.get(id) == Some(text)
                || before.get(id) == Some(text);
            ensure!(
                is_right,
                "drawer `{id}` has a text that was not written: {text}"
            );
        }
        for id in expected.keys().chain(possible.change.keys()) {
            ensure!(
                drawers.contains_key(id),
                "acknowledged drawer `{id}` is lost"
            );
        }
        if possible.whole {
            let come = possible.come.keys().filter(|id| drawers.contains_key(*id));
            let come = come.count();
            let is_whole = come == 0 || come == possible.come.len();
            ensure!(
                is_whole,
                "only {come} of {} drawers are there",
                possible.come.len()
            );
        }
        for (id, text) in &self.state.forgotten {
            ensure!(
                !contents.drawers.contains_key(id),
                "forgotten drawer `{id}` is back"
            );
            let is_back = contents.drawers.values().any(|other| other == text);
            ensure!(!is_back, "the text of forgotten drawer `{id}` is back");
        }
        self.state.drawers = drawers;
        Ok(())
    }

    /// Checks that each mined file is there as a whole, in one of the versions that it may have.
    fn check_files(&mut self, contents: &Contents) -> anyhow::Result<()> {
        for source in contents.mined.keys() {
            let is_known = self.state.files.contains_key(source);
            ensure!(
                is_known,
                "there are drawers of `{source}`, which was not mined or was removed"
            );
        }
        for (source, versions) in &mut self.state.files {
            let found = contents.marks(source);
            let version = versions
                .iter()
                .copied()
                .find(|version| found == marks_of(source, *version));
            match version {
                Some(version) => *versions = BTreeSet::from([version]),
                None => bail!(
                    "`{source}` has {} marks, which match none of its versions {versions:?}: {:?} …",
                    found.len(),
                    found.iter().take(4).collect::<Vec<_>>()
                ),
            }
        }
        Ok(())
    }

    pub(super) fn check_relations(&mut self) -> anyhow::Result<()> {
        let facts = self.json(&["facts", "query", "--ended", "--limit", "10000"])?;
        let found: BTreeSet<String> = strings(&facts["facts"], |fact| fact["object"].as_str());
        let lost = self.state.facts.difference(&found).next();
        ensure!(lost.is_none(), "acknowledged fact about {lost:?} is lost");
        let more = found.difference(&self.state.facts).next();
        ensure!(
            more.is_none(),
            "there is a fact about {more:?} that was not added"
        );
        let links = self.json(&["links", "list"])?;
        let found: BTreeSet<String> = strings(&links["links"], |link| link["label"].as_str());
        for (label, _) in &self.state.links {
            ensure!(found.contains(label), "acknowledged link `{label}` is lost");
        }
        Ok(())
    }

    /// Checks that the text is in no file of the palace.
    pub(super) fn is_nowhere(&self, text: &str) -> anyhow::Result<()> {
        let mut files = Vec::new();
        files_below(self.home.palace(), &mut files)?;
        for file in files {
            let bytes = std::fs::read(&file)?;
            let letters = text.as_bytes();
            let found = bytes.windows(letters.len()).any(|bytes| bytes == letters);
            ensure!(!found, "forgotten text is still in `{}`", file.display());
        }
        Ok(())
    }

    pub(super) fn final_check(&mut self) -> anyhow::Result<()> {
        self.check(&Possible::default())?;
        self.check_relations()?;
        self.home.verify(true)
    }
}

/// A value that changes when the file is written.
fn stamp(file: &Path) -> Option<(u64, SystemTime)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn strings(list: &Value, field: fn(&Value) -> Option<&str>) -> BTreeSet<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(field).map(str::to_owned).collect()
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files_below(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

pub(super) const SECTIONS: u32 = 3;
pub(super) const BIG_SECTIONS: u32 = 2_000;

/// The marks of a version of a file, sorted. The version of a transcript is its length.
pub(super) fn marks_of(source: &str, version: u32) -> Vec<String> {
    let name = name_of(source);
    let count = match (version, name.split('_').next()) {
        (0, _) => 0,
        (_, Some("talk")) => version,
        (_, Some("big")) => BIG_SECTIONS,
        _ => SECTIONS,
    };
    let is_talk = name.starts_with("talk");
    let mut marks: Vec<String> = (0..count)
        .map(|part| texts::mark(name, if is_talk { 0 } else { version }, part))
        .collect();
    marks.sort();
    marks
}

pub(super) fn name_of(source: &str) -> &str {
    let file = source.rsplit('/').next().unwrap_or(source);
    file.split('.').next().unwrap_or(file)
}
