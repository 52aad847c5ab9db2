//! Projects of wings in an import. The drawers, sources and rooms of a project get the wing that
//! the project has in this palace, whatever it is in the file, so that two projects of the same
//! name from two palaces are not mixed. The lines of projects are therefore read before all others,
//! and recorded when their collection is opened, before its first drawer is written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::BufRead;

use loci_core::{
    Collection, IncomingProject, LeftOut, PlacedProject, ProjectRecord, Result, is_below, quoted,
};
use loci_mine::place::owner_of;
use schemars::JsonSchema;
use serde::Serialize;

use super::Import;
use super::lines::Lines;
use crate::DEFAULT_COLLECTION;
use crate::import::is_of_record;
use crate::record::source::JsonSource;
use crate::record::{JsonLine, JsonProjectLine, JsonRecord};

/// A wing of an import that has another name in this palace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct RenamedWing {
    /// The wing of its project in this palace.
    pub wing: String,
    /// The wing in the file.
    pub instead_of: String,
    /// Remote or folder of the project that has that wing in this palace; `None` if none has.
    pub holder: Option<String>,
    /// Remote or folder of the project.
    pub project: String,
}

impl std::fmt::Display for RenamedWing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (wing, instead_of) = (quoted(&self.wing), quoted(&self.instead_of));
        match &self.holder {
            Some(holder) => write!(
                out,
                "wing {wing}: the wing {instead_of} belongs to another project ({})",
                quoted(holder)
            ),
            None => write!(
                out,
                "wing {wing}: {} has it here instead of {instead_of}",
                quoted(&self.project)
            ),
        }
    }
}

/// The wings of the file's projects in this palace.
#[derive(Default)]
pub(super) struct WingPlan {
    /// Lines of projects that were read.
    seen: HashSet<u64>,
    /// Projects that are not recorded yet, by the collection in the file.
    waiting: BTreeMap<String, Vec<(u64, ProjectRecord)>>,
    /// By collection and wing in the file.
    wings: HashMap<String, HashMap<String, Vec<Here>>>,
    /// The new wings of sources whose wing several projects share in the file, by collection and
    /// name.
    sources: HashMap<String, HashMap<String, String>>,
    /// Projects that the backend cannot store.
    left_out: u64,
}

/// A folder of a project, and its wing in this palace.
struct Here {
    path: String,
    since: i64,
    wing: String,
}

impl WingPlan {
    /// Reads the lines of projects. Invalid lines are reported in the second pass.
    pub(super) fn survey(input: &mut dyn BufRead) -> Result<Self> {
        let mut plan = Self::default();
        let mut lines = Lines::new(input);
        while let Some((line, text)) = lines.next()? {
            // Most lines are drawers, and a substring search is faster than parsing them.
            if let Ok(text) = text
                && text.contains("\"project\"")
                && let Ok(JsonLine::Project(read)) = JsonLine::parse(&text)
            {
                plan.note(line, read);
            }
        }
        Ok(plan)
    }

    pub(super) fn note(&mut self, line: u64, read: JsonProjectLine) {
        if self.seen.insert(line) {
            let collection = read.collection.unwrap_or_else(default_name);
            let waiting = self.waiting.entry(collection).or_default();
            waiting.push((line, read.project));
        }
    }

    fn set(&mut self, collection: &str, record: ProjectRecord, placed: PlacedProject) {
        let wings = self.wings.entry(collection.to_owned()).or_default();
        wings.entry(record.wing).or_default().push(Here {
            path: record.path,
            since: record.since,
            wing: placed.wing,
        });
    }

    /// The wing in this palace for a drawer; `None` if no project has its wing in the file.
    fn wing_here(
        &self,
        collection: &str,
        wing: &str,
        source: Option<&str>,
        folder: Option<&str>,
    ) -> Option<Target<'_>> {
        let here = self.wings.get(collection)?.get(wing)?;
        let first = here.iter().min_by_key(|here| here.since)?;
        if here.iter().all(|other| other.wing == first.wing) {
            // One project has the wing in the file, so drawers that were added by hand belong to it
            // too.
            return Some(Target::Whole(&first.wing));
        }
        let is_of = |here: &&Here| match (folder, source) {
            (Some(folder), _) => folder == here.path || is_below(folder, &here.path),
            (None, Some(source)) => is_below(source, &here.path),
            (None, None) => false,
        };
        if let Some(own) = here.iter().filter(is_of).max_by_key(|here| here.path.len()) {
            return Some(Target::Part(&own.wing));
        }
        // The project is unknown. The drawer stays in its wing if one of these projects has it,
        // else it goes with the project that had the wing first: never to a project of which it
        // cannot be.
        let stays = here.iter().find(|here| here.wing == wing);
        Some(Target::Part(&stays.unwrap_or(first).wing))
    }

    pub(super) fn place_drawer(&mut self, record: &mut JsonRecord) {
        if self.wings.is_empty() {
            return;
        }
        let collection = record.collection.as_deref().unwrap_or(DEFAULT_COLLECTION);
        let text = |key: &str| record.metadata.get(key).and_then(|value| value.as_str());
        let of = |key: &str| text(key).filter(|text| !text.is_empty());
        let Some(wing) = text("wing") else {
            return;
        };
        let found = self.wing_here(collection, wing, of("source_file"), of("folder"));
        let (to, is_part) = match found {
            None => return,
            Some(Target::Whole(to)) => (to.to_owned(), false),
            Some(Target::Part(to)) => (to.to_owned(), true),
        };
        if is_part && let Some(origin) = &record.origin {
            let sources = self.sources.entry(collection.to_owned()).or_default();
            sources.insert(origin.name.clone(), to.clone());
        }
        if let Some(wing) = record.metadata.get_mut("wing") {
            *wing = to.into();
        }
    }

    pub(super) fn place_source(&self, collection: Option<&str>, source: &mut JsonSource) {
        let collection = collection.unwrap_or(DEFAULT_COLLECTION);
        let to = match self.wing_here(collection, &source.wing, Some(&source.name), None) {
            None => return,
            Some(Target::Whole(to)) => to,
            // A conversation is of the project in whose folder it was held, which its drawers say.
            Some(Target::Part(to)) => self
                .sources
                .get(collection)
                .and_then(|sources| sources.get(&source.name))
                .map_or(to, String::as_str),
        };
        source.wing = to.to_owned();
    }

    /// Replaces the wing of a room that a link names. Links name no collection, so it is replaced
    /// only if all collections with the wing agree.
    pub(super) fn place_room(&self, wing: &mut String) {
        let targets: BTreeSet<&str> = self
            .wings
            .keys()
            .filter_map(|collection| self.wing_here(collection, wing, None, None))
            .map(|target| match target {
                Target::Whole(to) | Target::Part(to) => to,
            })
            .collect();
        if targets.len() == 1
            && let Some(to) = targets.first()
        {
            *wing = (*to).to_owned();
        }
    }
}

/// A wing in this palace.
enum Target<'a> {
    /// For all drawers of the wing in the file.
    Whole(&'a str),
    /// For some of its drawers.
    Part(&'a str),
}

fn default_name() -> String {
    DEFAULT_COLLECTION.to_owned()
}

impl Import<'_> {
    /// Records the projects whose drawers are imported into this collection.
    pub(super) fn place_projects(&mut self, collection: &dyn Collection) -> Result<()> {
        let mine: Vec<String> = self
            .plan
            .waiting
            .keys()
            .filter(|name| self.target_of(name) == collection.name())
            .cloned()
            .collect();
        for name in mine {
            let waiting = self.plan.waiting.remove(&name).unwrap_or_default();
            self.place_waiting(collection, &name, waiting)?;
        }
        Ok(())
    }

    /// Also records the projects of collections without drawers.
    pub(super) fn place_all_projects(&mut self) -> Result<()> {
        while let Some((name, waiting)) = self.plan.waiting.pop_first() {
            let target = self.target_of(&name);
            match self.open(&target, &JsonRecord::default()) {
                Ok(collection) => self.place_waiting(collection.as_ref(), &name, waiting)?,
                Err(error) if is_of_record(&error) => {
                    for (line, record) in waiting {
                        self.lose(line, Some(record.wing), &error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn target_of(&self, name: &str) -> String {
        let chosen = self.options.collection.as_deref();
        chosen.unwrap_or(name).to_owned()
    }

    /// Records all projects at once, so that projects that share a wing in the file share it in
    /// this palace. If that is refused, they are recorded one at a time, so that only the bad ones
    /// are lost.
    fn place_waiting(
        &mut self,
        collection: &dyn Collection,
        name: &str,
        waiting: Vec<(u64, ProjectRecord)>,
    ) -> Result<()> {
        let Some(projects) = collection.projects() else {
            self.report.skipped += waiting.len() as u64;
            self.plan.left_out += waiting.len() as u64;
            return Ok(());
        };
        let (lines, incoming): (Vec<u64>, Vec<IncomingProject>) = waiting
            .into_iter()
            .map(|(line, record)| {
                let owner = owner_of(&record);
                (line, IncomingProject { record, owner })
            })
            .unzip();
        match projects.place_projects(&incoming) {
            Ok(placed) => {
                for (incoming, placed) in incoming.into_iter().zip(placed) {
                    self.note_placed(name, incoming.record, placed);
                }
            }
            Err(error) if is_of_record(&error) => {
                for (line, one) in lines.into_iter().zip(incoming) {
                    match projects.place_projects(std::slice::from_ref(&one)) {
                        Ok(placed) => {
                            for placed in placed {
                                self.note_placed(name, one.record.clone(), placed);
                            }
                        }
                        Err(error) if is_of_record(&error) => {
                            self.lose(line, Some(one.record.wing), &error);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn note_placed(&mut self, name: &str, record: ProjectRecord, placed: PlacedProject) {
        if placed.is_new {
            self.report.projects += 1;
        } else {
            self.report.skipped += 1;
        }
        if placed.wing != record.wing {
            let renamed = RenamedWing {
                wing: placed.wing.clone(),
                instead_of: record.wing.clone(),
                holder: placed.holder.clone(),
                project: record.identity().to_owned(),
            };
            // A project has a line for each of its folders.
            if !self.report.wings.contains(&renamed) {
                self.report.wings.push(renamed);
            }
        }
        self.plan.set(name, record, placed);
    }

    /// Reports the projects that the backend cannot store.
    pub(super) fn note_projects_left_out(&mut self) {
        if self.plan.left_out > 0 {
            self.report.left_out.push(LeftOut {
                what: "projects".into(),
                count: self.plan.left_out,
                reason: format!(
                    "backend `{}` does not store the projects of wings",
                    self.palace.backend_name()
                ),
            });
        }
    }
}
