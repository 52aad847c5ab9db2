//! Splits a wing that several projects share: each project keeps the wing or gets its own, and the
//! drawers mined from it move there. Drawers without a source stay, and so do drawers that a
//! `.loci.toml` puts into the wing. Preview and split make the same plan; only the last step
//! writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::{
    Advice, Capability, Collection, Error, Filter, Ledger, Machine, MinedGroup, Moved, Project,
    ProjectRecord, Projects, Result, Selection, WingClaim, WingRequest,
};
use loci_mine::place::{Chosen, FoundProject, Places, locate_conversation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Palace;

/// The wing to split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// The wing.
    pub wing: String,
    /// Whether to apply the plan. Otherwise nothing is written, and the answer is the plan.
    #[serde(default)]
    pub apply: bool,
}

/// The result or the plan of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The wing that is split.
    pub wing: String,
    /// Its drawers before the split.
    pub drawers: u64,
    /// Its drawers after the split.
    pub stay: u64,
    /// Of those, drawers that were not mined or whose project is unknown.
    pub without_project: u64,
    /// The projects that have drawers in the wing; the one that keeps it comes first.
    pub parts: Vec<SplitPart>,
    /// Whether the plan was applied.
    pub applied: bool,
}

/// The part of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SplitPart {
    /// The wing of its drawers after the split.
    pub wing: String,
    /// The remote or folder of the project.
    pub project: String,
    /// Number of files and conversations.
    pub sources: u64,
    /// Its drawers in the wing before the split.
    pub drawers: u64,
    /// Of those, drawers that move to another wing.
    pub moved: u64,
    /// Drawers that are removed, because the other wing has the same text from the same place.
    pub removed: u64,
    /// Drawers that stay although the other wing has the same text, because a fact or a link names
    /// them or because they have their own metadata.
    pub left: u64,
}

impl Palace {
    /// Splits a wing by the projects whose sources are in it. Without `apply` nothing is written,
    /// and the answer is the plan. After an interruption, a second call completes the split.
    pub fn split_wing(&self, request: &Request) -> Result<Answer> {
        let (wing, apply) = (request.wing.as_str(), request.apply);
        let collection = self.collection(&request.collection, false)?;
        let (Some(projects), Some(ledger)) = (collection.projects(), collection.ledger()) else {
            return Err(self.backend.lacks(Capability::Projects));
        };
        let before = drawers_in(collection.as_ref(), wing)?;
        let mut shares = Shares::of(projects, ledger, self.machine(), wing)?;
        shares.choose_keeper(projects, wing)?;
        let claims = shares.claims(projects, wing, apply)?;
        let mut split = Answer {
            wing: wing.to_owned(),
            drawers: before,
            stay: before,
            without_project: before - shares.drawers().min(before),
            parts: Vec::new(),
            applied: apply,
        };
        for (share, claim) in shares.0.iter().zip(claims) {
            let mut part = SplitPart {
                wing: claim.wing.clone(),
                project: identity(&share.project),
                sources: share.groups.len() as u64,
                drawers: share.drawers(),
                ..SplitPart::default()
            };
            if claim.wing != wing {
                let moved = move_share(projects, share, wing, &claim.wing, apply)?;
                part.moved = moved.moved;
                part.removed = moved.removed;
                part.left = moved.left;
                split.stay -= (moved.moved + moved.removed).min(split.stay);
            }
            split.parts.push(part);
        }
        let now = drawers_in(collection.as_ref(), wing)?;
        if apply && now != split.stay {
            return Err(Error::Conflict {
                what: format!(
                    "wing `{wing}` has {now} drawer(s) and should have {}, because another process wrote to it; nothing is lost",
                    split.stay
                ),
            }
            .advise(Advice::ShowSplit));
        }
        Ok(split)
    }
}

fn identity(project: &Project) -> String {
    project.remote.as_ref().unwrap_or(&project.path).clone()
}

fn drawers_in(collection: &dyn Collection, wing: &str) -> Result<u64> {
    let there = Selection::matching(Filter::eq("wing", wing));
    let facets = collection.facet_counts("wing", &there, 1)?;
    Ok(facets.values.iter().map(|(_, drawers)| drawers).sum())
}

/// Moves the drawers of one project; without `apply`, only counts them.
fn move_share(
    projects: &dyn Projects,
    share: &Share,
    from: &str,
    to: &str,
    apply: bool,
) -> Result<Moved> {
    let mut moved = Moved::default();
    for group in &share.groups {
        let part = if apply {
            projects.move_group(group, from, to)?
        } else {
            projects.plan_move(group, from, to)?
        };
        moved.moved += part.moved;
        moved.removed += part.removed;
        moved.left += part.left;
    }
    Ok(moved)
}

/// The sources and drawers of one project in the wing.
struct Share {
    project: Project,
    groups: Vec<MinedGroup>,
    /// Whether the project gets another wing.
    leaves: bool,
}

impl Share {
    /// Whether both are clones of one local repository.
    fn is_same_project(&self, other: &Self) -> bool {
        let (one, two) = (&self.project, &other.project);
        if one.remote.is_some() || two.remote.is_some() {
            return false;
        }
        one.folders.contains(&two.path)
            || two.folders.contains(&one.path)
            || one
                .folders
                .iter()
                .any(|folder| two.folders.contains(folder))
            || (one.first_commit.is_some() && one.first_commit == two.first_commit)
    }

    fn merge(&mut self, other: Self) {
        self.project.folders.push(other.project.path);
        self.project.folders.extend(other.project.folders);
        self.groups.extend(other.groups);
    }

    fn drawers(&self) -> u64 {
        self.groups.iter().map(|group| group.drawers).sum()
    }
}

struct Shares(Vec<Share>);

impl Shares {
    fn of(
        projects: &dyn Projects,
        ledger: &dyn Ledger,
        machine: Machine,
        wing: &str,
    ) -> Result<Self> {
        let records = projects.projects()?;
        let mut finder = Finder {
            ledger,
            machine,
            records: &records,
            trees: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        let mut by_identity: BTreeMap<String, Share> = BTreeMap::new();
        let mut gone = Vec::new();
        for group in projects.mined_groups(wing)? {
            let Some(found) = finder.project_of(&group)? else {
                continue;
            };
            if !found.project.above.is_empty() {
                gone.push((found, group));
                continue;
            }
            let share = by_identity
                .entry(identity(&found.project))
                .or_insert_with(|| Share {
                    project: found.with_first_commit(None),
                    groups: Vec::new(),
                    leaves: false,
                });
            // Clones and working trees add their own folders.
            for folder in [&found.project.path]
                .into_iter()
                .chain(&found.project.folders)
            {
                if share.project.path != *folder && !share.project.folders.contains(folder) {
                    share.project.folders.push(folder.clone());
                }
            }
            share.groups.push(group);
        }
        for (found, group) in gone {
            let project = &found.project;
            let holds = |share: &Share| {
                let paths = [&share.project.path]
                    .into_iter()
                    .chain(&share.project.folders);
                share.project.is_repository
                    && paths
                        .into_iter()
                        .any(|path| *path == project.path || project.above.contains(path))
            };
            let key = by_identity
                .iter()
                .find(|(_, share)| holds(share))
                .map_or_else(|| identity(project), |(key, _)| key.clone());
            let share = by_identity.entry(key).or_insert_with(|| Share {
                project: project.clone(),
                groups: Vec::new(),
                leaves: false,
            });
            share.groups.push(group);
        }
        let mut shares: Vec<Share> = Vec::new();
        for share in by_identity.into_values() {
            match shares
                .iter_mut()
                .find(|other| other.is_same_project(&share))
            {
                Some(other) => other.merge(share),
                None => shares.push(share),
            }
        }
        Ok(Self(shares))
    }

    fn drawers(&self) -> u64 {
        self.0.iter().map(Share::drawers).sum()
    }

    /// Chooses the project that keeps the wing and puts it first: the recorded one, else the one
    /// with the most drawers.
    fn choose_keeper(&mut self, projects: &dyn Projects, wing: &str) -> Result<()> {
        let mut ranked = Vec::with_capacity(self.0.len());
        for (at, share) in self.0.iter_mut().enumerate() {
            let claim = projects.wing_of(&share.project)?;
            share.leaves = claim.wing == wing;
            let since = if claim.is_new {
                i64::MAX
            } else {
                since(&projects.projects()?, share, wing)
            };
            if share.leaves {
                ranked.push((since, std::cmp::Reverse(share.drawers()), at));
            }
        }
        if let Some((_, _, at)) = ranked.into_iter().min()
            && at < self.0.len()
        {
            let mut keeper = self.0.remove(at);
            keeper.leaves = false;
            self.0.insert(0, keeper);
        }
        Ok(())
    }

    fn claims(&self, projects: &dyn Projects, wing: &str, apply: bool) -> Result<Vec<WingClaim>> {
        let claims: Vec<WingRequest<'_>> = self
            .0
            .iter()
            .map(|share| WingRequest {
                project: &share.project,
                from: share.leaves.then_some(wing),
            })
            .collect();
        projects.claim_wings(&claims, apply)
    }
}

/// When a project was recorded for the wing.
fn since(records: &[ProjectRecord], share: &Share, wing: &str) -> i64 {
    let project = &share.project;
    let is_own = |record: &&ProjectRecord| {
        record.wing == wing
            && (record.path == project.path
                || project.folders.contains(&record.path)
                || (record.remote.is_some() && record.remote == project.remote))
    };
    let own = records.iter().filter(is_own).map(|record| record.since);
    own.min().unwrap_or(i64::MAX)
}

/// Finds the projects of sources. Each folder is read once.
struct Finder<'a> {
    ledger: &'a dyn Ledger,
    /// This machine. The folders of other machines cannot be read.
    machine: Machine,
    records: &'a [ProjectRecord],
    /// By the root that was mined.
    trees: BTreeMap<String, Places>,
    folders: BTreeMap<String, Option<Arc<FoundProject>>>,
}

impl Finder<'_> {
    /// The project of a group; `None` if it is unknown, or if a `.loci.toml` names the wing.
    fn project_of(&mut self, group: &MinedGroup) -> Result<Option<Arc<FoundProject>>> {
        if let Some(folder) = &group.folder {
            let found = self
                .folders
                .entry(folder.clone())
                .or_insert_with(|| locate_conversation(Some(folder)).project);
            return Ok(found.clone());
        }
        let Some(root) = self.root_of(&group.source)? else {
            return Ok(None);
        };
        let places = self
            .trees
            .entry(root.clone())
            .or_insert_with(|| Places::new(&PathBuf::from(&root), Chosen::default()));
        match places.locate(Path::new(&group.source)) {
            Ok(located) => Ok(located.project),
            // A `.loci.toml` that cannot be read may name the wing.
            Err(_) => Ok(None),
        }
    }

    /// The folder that was mined: a recorded project above the file, else the root in the ledger.
    fn root_of(&self, source: &str) -> Result<Option<String>> {
        let above = self
            .records
            .iter()
            .filter(|record| loci_core::is_below(source, &record.path))
            .max_by_key(|record| record.path.len());
        if let Some(record) = above {
            return Ok(Some(record.path.clone()));
        }
        let head = self
            .ledger
            .source(&self.machine, source)?
            .into_iter()
            .next();
        Ok(head
            .map(|head| head.root)
            .filter(|root| Path::new(root).is_absolute()))
    }
}
