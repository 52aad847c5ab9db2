//! A wing that several projects share is split: each keeps or gets a wing, and what was mined from
//! it goes there. What has no source stays, and so does what a `.loci.toml` puts there. Preview and
//! split make the same plan; only the last step writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::{
    Advice, Capability, Collection, Error, Filter, Leaving, Ledger, Machine, MinedGroup, Moved,
    Project, ProjectRecord, Projects, Result, Selection, WingClaim,
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
    /// Whether it is done. Otherwise nothing is written, and the answer is what would be done.
    #[serde(default)]
    pub apply: bool,
}

/// What a split does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The wing that is split.
    pub wing: String,
    /// Its drawers before.
    pub drawers: u64,
    /// Its drawers afterwards.
    pub stay: u64,
    /// Drawers among those that were not mined, or whose project is not known.
    pub without_project: u64,
    /// Each project that has drawers in it, the one that keeps the wing first.
    pub parts: Vec<SplitPart>,
    /// Whether it was done.
    pub applied: bool,
}

/// The part of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SplitPart {
    /// The wing in which its drawers are afterwards.
    pub wing: String,
    /// Remote or folder.
    pub project: String,
    /// Files and conversations.
    pub sources: u64,
    /// Drawers that it has in the wing before.
    pub drawers: u64,
    /// Of those, drawers that go to another wing.
    pub moved: u64,
    /// Drawers that go, because the other wing has the same text of the same place.
    pub removed: u64,
    /// Drawers that stay all the same, because a fact or a link names them or they have metadata of
    /// their own.
    pub left: u64,
}

impl Palace {
    /// Splits a wing by the projects whose sources are in it. Without `apply` nothing is written,
    /// and the answer is what would be done. Doing it again after a kill goes on where it ended.
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
                    "wing `{wing}` has {now} drawer(s) and should have {}: another process wrote to it meanwhile; nothing is lost",
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

/// Without `apply`, what it would do.
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

/// What one project has in the wing.
struct Share {
    project: Project,
    groups: Vec<MinedGroup>,
    /// It shares the wing, and is not the one that keeps it.
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
            // Clones and working trees add the folders they lie in.
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

    /// Of the projects that have the wing, the recorded one keeps it, else the one with most
    /// drawers. It comes first.
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
        let claims: Vec<Leaving<'_>> = self
            .0
            .iter()
            .map(|share| Leaving {
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

/// Finds the projects of sources; looks at each folder once.
struct Finder<'a> {
    ledger: &'a dyn Ledger,
    /// Folders of sources of other machines cannot be looked at.
    machine: Machine,
    records: &'a [ProjectRecord],
    /// By the root that was mined.
    trees: BTreeMap<String, Places>,
    folders: BTreeMap<String, Option<Arc<FoundProject>>>,
}

impl Finder<'_> {
    /// The project of a group; nothing if it is not known, or if a `.loci.toml` names the wing.
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

    /// The folder that was mined: a recorded project above the file, else what the ledger has.
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
