//! The rule that assigns a wing to a project. A backend supplies the data and writes the result,
//! both in one transaction. The rule is here so that it is the same in every backend.

use super::{IncomingProject, PlacedProject, Project, ProjectRecord, TakenWing, WingClaim};

/// Maximum number of numbered wings to try.
const NUMBERS: u32 = 10_000;

/// The mined drawers of a wing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mined {
    /// None.
    Nothing,
    /// At least one drawer comes from the project's folders.
    Own,
    /// There are drawers, but none from the project's folders.
    Others,
}

/// The data that a backend supplies.
pub trait ProjectView {
    /// The error of reading.
    type Error;
    /// The records that share the remote, the first commit or a folder with a project, oldest
    /// first.
    fn related(&self, project: &Project) -> Result<Vec<ProjectRecord>, Self::Error>;
    /// The records of a wing, oldest first.
    fn holders(&self, wing: &str) -> Result<Vec<ProjectRecord>, Self::Error>;
    /// The mined drawers of a wing. A drawer belongs to a folder if its `source_file` lies below
    /// it, or if its `folder` is it or lies below it. Drawers below one of `except` do not make a
    /// wing `Own`.
    fn mined(&self, wing: &str, folders: &[&str], except: &[&str]) -> Result<Mined, Self::Error>;
}

/// The wing of a project, and the records to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The result of the claim.
    pub claim: WingClaim,
    /// The new record of the project's folder; `None` if it does not change.
    pub record: Option<ProjectRecord>,
    /// Records of the project to remove.
    pub ends: Vec<ProjectRecord>,
}

/// Chooses the wing of a project. With `apart`, chooses any other wing than that one.
pub fn choose<V: ProjectView>(
    view: &V,
    project: &Project,
    now: i64,
    apart: Option<&str>,
) -> Result<Choice, V::Error> {
    let related = view.related(project)?;
    let own_paths = own_paths(project);
    let recorded_commit = related
        .iter()
        .rev()
        .filter(|record| own_paths.contains(&record.path.as_str()))
        .find_map(|record| record.first_commit.clone());
    let ends: Vec<ProjectRecord> = related
        .iter()
        .filter(|record| Some(record.wing.as_str()) == apart && relation(record, project).is_some())
        .cloned()
        .collect();
    let best = related
        .iter()
        .enumerate()
        .filter(|(_, record)| Some(record.wing.as_str()) != apart)
        .filter_map(|(at, record)| Some((relation(record, project)?, at, record)))
        // Of several records of one folder the newest counts, otherwise the oldest.
        .min_by_key(|(same, at, _)| match same {
            Same::Folder => (*same, usize::MAX - at),
            _ => (*same, *at),
        });
    if let Some((same, _, known)) = best {
        let here = related
            .iter()
            .find(|record| record.path == project.path && record.wing == known.wing);
        let record = match same {
            // The folder is gone, so nothing new is known about the project.
            Same::Above(_) => None,
            _ => updated(here, project, &known.wing, now),
        };
        return Ok(Choice {
            claim: WingClaim {
                wing: known.wing.clone(),
                is_new: false,
                is_complete: record.is_none() && ends.is_empty(),
                recorded_commit,
                instead_of: None,
            },
            record,
            ends,
        });
    }
    let wing = free_wing(view, project, &own_paths, apart)?;
    let instead_of = if wing == project.name {
        None
    } else {
        let holder = view.holders(&project.name)?.into_iter().next();
        Some(TakenWing {
            wing: project.name.clone(),
            holder: holder.map(|record| record.identity().to_owned()),
        })
    };
    let record = updated(None, project, &wing, now);
    Ok(Choice {
        claim: WingClaim {
            wing,
            is_new: true,
            is_complete: false,
            recorded_commit,
            instead_of,
        },
        record,
        ends,
    })
}

/// Why a record belongs to this project, the best reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    RemoteAndFolder,
    Remote,
    Folder,
    FirstCommit,
    /// The folder is gone, and a repository is recorded this many folders above it.
    Above(usize),
}

fn relation(record: &ProjectRecord, project: &Project) -> Option<Same> {
    let same_folder = own_paths(project).contains(&record.path.as_str());
    if record.remote.is_some() && record.remote == project.remote {
        return Some(if same_folder {
            Same::RemoteAndFolder
        } else {
            Same::Remote
        });
    }
    if same_folder && !contradicts(record, project) {
        return Some(Same::Folder);
    }
    let no_remote = record.remote.is_none() && project.remote.is_none();
    if no_remote && record.first_commit.is_some() && record.first_commit == project.first_commit {
        return Some(Same::FirstCommit);
    }
    let is_repository = record.remote.is_some() || record.first_commit.is_some();
    let above = project.above.iter().position(|path| *path == record.path);
    above.filter(|_| is_repository).map(Same::Above)
}

/// Whether the folder of a record contains another project than the recorded one.
fn contradicts(record: &ProjectRecord, project: &Project) -> bool {
    let commits = record
        .first_commit
        .as_ref()
        .zip(project.first_commit.as_ref());
    if let Some((recorded, found)) = commits {
        return recorded != found;
    }
    match (&record.remote, &project.remote) {
        (Some(_), Some(_)) => true,
        (None, None) => false,
        // A remote was added or removed. The first commit would show whether it is the same
        // repository, but it was not looked up.
        _ => project.is_repository && record.first_commit.is_some(),
    }
}

/// The new record of the project's folder; `None` if it does not change.
fn updated(
    here: Option<&ProjectRecord>,
    project: &Project,
    wing: &str,
    now: i64,
) -> Option<ProjectRecord> {
    let record = ProjectRecord {
        wing: wing.to_owned(),
        name: project.name.clone(),
        // A folder that is gone, or is not a repository, does not contradict the record.
        remote: project.remote.clone().or_else(|| here?.remote.clone()),
        first_commit: project
            .first_commit
            .clone()
            .or_else(|| here?.first_commit.clone()),
        path: project.path.clone(),
        since: here.map_or(now, |here| here.since),
    };
    (here != Some(&record)).then_some(record)
}

/// The first wing that no other project has.
fn free_wing<V: ProjectView>(
    view: &V,
    project: &Project,
    own_paths: &[&str],
    apart: Option<&str>,
) -> Result<String, V::Error> {
    let second = match &project.owner {
        Some(owner) => format!("{owner}/{}", project.name),
        None => format!("{}-2", project.name),
    };
    let numbered = (2..NUMBERS).map(|number| format!("{second}-{number}"));
    for wing in [project.name.clone(), second.clone()]
        .into_iter()
        .chain(numbered)
    {
        if Some(wing.as_str()) == apart {
            continue;
        }
        if may_have(view, own_paths, &wing)? {
            return Ok(wing);
        }
    }
    // All numbered wings are taken. The path makes the name unique.
    Ok(format!("{second} {}", project.path))
}

/// Whether a project that is not recorded may have this wing.
fn may_have<V: ProjectView>(view: &V, own_paths: &[&str], wing: &str) -> Result<bool, V::Error> {
    let holders = view.holders(wing)?;
    // A project inside this one has its own drawers below these folders.
    let inside: Vec<&str> = holders
        .iter()
        .map(|holder| holder.path.as_str())
        .filter(|path| own_paths.iter().any(|folder| is_below(path, folder)))
        .collect();
    // Another project was in this folder before, and the drawers that were mined from it are its
    // own.
    let was_anothers = holders
        .iter()
        .any(|holder| own_paths.contains(&holder.path.as_str()));
    Ok(match view.mined(wing, own_paths, &inside)? {
        // Drawers that were mined before projects were recorded stay together.
        Mined::Own => !was_anothers,
        Mined::Nothing => holders.is_empty(),
        Mined::Others => false,
    })
}

fn own_paths(project: &Project) -> Vec<&str> {
    let folders = project.folders.iter().map(String::as_str);
    [project.path.as_str()].into_iter().chain(folders).collect()
}

/// Whether a path lies below a folder. Compares text only.
pub fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches(['/', '\\']);
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.len() > 1 && rest.starts_with(['/', '\\']))
}

/// The record to write for a record of another palace; `None` if the project is recorded here.
/// Another folder of a project that has a wing here gets that wing.
pub fn adopted<V: ProjectView>(
    view: &V,
    record: &ProjectRecord,
) -> Result<Option<ProjectRecord>, V::Error> {
    let claim = choose(view, &project_of(record, None), record.since, None)?.claim;
    let wing = if claim.is_new {
        &record.wing
    } else {
        &claim.wing
    };
    unless_recorded(view, record, wing)
}

/// Whether a project that is not recorded here may keep the wing of its palace. Call this for all
/// projects of that palace before the first one is recorded, so that projects which share a wing
/// there share it here.
pub fn keeps_wing<V: ProjectView>(view: &V, incoming: &IncomingProject) -> Result<bool, V::Error> {
    let record = &incoming.record;
    may_have(view, &[record.path.as_str()], &record.wing)
}

/// The wing of a project from another palace, and the record to write: the recorded wing, else its
/// own if it keeps it, else the one that a claim gives. Place the projects that keep their wing
/// first, so that their wings are taken.
pub fn place<V: ProjectView>(
    view: &V,
    incoming: &IncomingProject,
    keeps: bool,
) -> Result<(PlacedProject, Option<ProjectRecord>), V::Error> {
    let record = &incoming.record;
    let project = project_of(record, incoming.owner.clone());
    let claim = choose(view, &project, record.since, None)?.claim;
    let wing = if claim.is_new && keeps {
        record.wing.clone()
    } else {
        claim.wing
    };
    let holder = if wing == record.wing {
        None
    } else {
        let mut holders = view.holders(&record.wing)?.into_iter();
        holders
            .find(|holder| holder.identity() != record.identity())
            .map(|holder| holder.identity().to_owned())
    };
    let written = unless_recorded(view, record, &wing)?;
    let placed = PlacedProject {
        wing,
        is_new: written.is_some(),
        holder,
    };
    Ok((placed, written))
}

fn project_of(record: &ProjectRecord, owner: Option<String>) -> Project {
    Project {
        name: record.name.clone(),
        owner,
        remote: record.remote.clone(),
        first_commit: record.first_commit.clone(),
        path: record.path.clone(),
        is_repository: record.remote.is_some() || record.first_commit.is_some(),
        ..Project::default()
    }
}

/// The record with this wing; `None` if its folder is already recorded with it.
fn unless_recorded<V: ProjectView>(
    view: &V,
    record: &ProjectRecord,
    wing: &str,
) -> Result<Option<ProjectRecord>, V::Error> {
    let known = view.holders(wing)?;
    let is_known = known.iter().any(|known| known.path == record.path);
    Ok((!is_known).then(|| ProjectRecord {
        wing: wing.to_owned(),
        ..record.clone()
    }))
}
