//! Projects as a list. [`loci_core::choose_wing`] makes the decisions, as in every backend.

use std::convert::Infallible;

use loci_core::{
    Choice, DrawerRef, IncomingProject, LinkEnd, MetaValue, Mined, MinedGroup, Moved,
    PlacedProject, Project, ProjectRecord, ProjectView, Projects, Result, WingClaim, WingRequest,
    adopted_project, choose_wing, is_below, keeps_wing, place_project,
};

use super::collection::MemoryCollection;
use super::state::{Drawer, Palace, State};

impl ProjectView for State {
    type Error = Infallible;

    fn related(&self, project: &Project) -> std::result::Result<Vec<ProjectRecord>, Infallible> {
        let is_related = |record: &&ProjectRecord| {
            let paths = [&project.path].into_iter();
            (record.remote.is_some() && record.remote == project.remote)
                || (record.first_commit.is_some() && record.first_commit == project.first_commit)
                || paths
                    .chain(&project.folders)
                    .chain(&project.above)
                    .any(|path| *path == record.path)
        };
        Ok(self.projects.iter().filter(is_related).cloned().collect())
    }

    fn holders(&self, wing: &str) -> std::result::Result<Vec<ProjectRecord>, Infallible> {
        let held = self.projects.iter().filter(|record| record.wing == wing);
        Ok(held.cloned().collect())
    }

    fn mined(
        &self,
        wing: &str,
        folders: &[&str],
        except: &[&str],
    ) -> std::result::Result<Mined, Infallible> {
        let lies_in = |path: &str, folders: &[&str]| {
            folders
                .iter()
                .any(|folder| path == *folder || is_below(path, folder))
        };
        let mut mined = Mined::Nothing;
        for drawer in self.drawers.values().filter(|drawer| drawer.is_mined(wing)) {
            let paths = [drawer.text_of("source_file"), drawer.text_of("folder")];
            let is_own = |path: &&str| lies_in(path, folders) && !lies_in(path, except);
            if paths.iter().flatten().any(is_own) {
                return Ok(Mined::Own);
            }
            mined = Mined::Others;
        }
        Ok(mined)
    }
}

impl Drawer {
    fn text_of(&self, key: &str) -> Option<&str> {
        self.metadata.get_str(key).filter(|text| !text.is_empty())
    }

    fn is_mined(&self, wing: &str) -> bool {
        self.text_of("wing") == Some(wing) && self.text_of("source_file").is_some()
    }
}

fn sure<T>(result: std::result::Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

fn put(projects: &mut Vec<ProjectRecord>, record: ProjectRecord) {
    let there = projects
        .iter_mut()
        .find(|there| there.path == record.path && there.wing == record.wing);
    match there {
        Some(there) => *there = record,
        None => projects.push(record),
    }
}

impl Projects for MemoryCollection {
    fn wing_of(&self, project: &Project) -> Result<WingClaim> {
        self.read(|state| Ok(sure(choose_wing(state, project, 0, None)).claim))
    }

    fn claim_wing(&self, project: &Project) -> Result<WingClaim> {
        let claims = [WingRequest {
            project,
            from: None,
        }];
        let claimed = self.claim_wings(&claims, true)?;
        Ok(claimed.into_iter().next().unwrap_or_default())
    }

    fn claim_wings(&self, claims: &[WingRequest<'_>], apply: bool) -> Result<Vec<WingClaim>> {
        self.change(|palace| {
            let state = palace.collection_mut(&self.name)?;
            let before = state.projects.clone();
            let mut claimed = Vec::new();
            for WingRequest { project, from } in claims {
                let Choice {
                    claim,
                    record,
                    ends,
                } = sure(choose_wing(&*state, project, 0, *from));
                state.projects.retain(|record| !ends.contains(record));
                if let Some(record) = record {
                    record.validate()?;
                    put(&mut state.projects, record);
                }
                claimed.push(claim);
            }
            if !apply {
                state.projects = before;
            }
            Ok(claimed)
        })
    }

    fn projects(&self) -> Result<Vec<ProjectRecord>> {
        self.read(|state| Ok(state.projects.clone()))
    }

    fn adopt_projects(&self, records: &[ProjectRecord]) -> Result<u64> {
        self.change(|palace| {
            let state = palace.collection_mut(&self.name)?;
            let mut added = 0;
            for record in records {
                record.validate()?;
                if let Some(record) = sure(adopted_project(&*state, record)) {
                    put(&mut state.projects, record);
                    added += 1;
                }
            }
            Ok(added)
        })
    }

    fn place_projects(&self, incoming: &[IncomingProject]) -> Result<Vec<PlacedProject>> {
        self.change(|palace| {
            let state = palace.collection_mut(&self.name)?;
            let keeps: Vec<bool> = incoming
                .iter()
                .map(|incoming| sure(keeps_wing(&*state, incoming)))
                .collect();
            let mut all = vec![PlacedProject::default(); incoming.len()];
            for turn in [true, false] {
                for ((incoming, keeps), answer) in incoming.iter().zip(&keeps).zip(&mut all) {
                    if *keeps != turn {
                        continue;
                    }
                    incoming.record.validate()?;
                    let (placed, record) = sure(place_project(&*state, incoming, *keeps));
                    if let Some(record) = record {
                        record.validate()?;
                        put(&mut state.projects, record);
                    }
                    *answer = placed;
                }
            }
            Ok(all)
        })
    }

    fn mined_groups(&self, wing: &str) -> Result<Vec<MinedGroup>> {
        self.read(|state| {
            let mut groups: Vec<MinedGroup> = Vec::new();
            for drawer in state
                .drawers
                .values()
                .filter(|drawer| drawer.is_mined(wing))
            {
                let source = drawer.text_of("source_file").unwrap_or_default();
                let folder = drawer.metadata.get_str("folder");
                let same = |group: &&mut MinedGroup| {
                    group.source == source && group.folder.as_deref() == folder
                };
                match groups.iter_mut().find(same) {
                    Some(group) => group.drawers += 1,
                    None => groups.push(MinedGroup {
                        source: source.to_owned(),
                        folder: folder.map(str::to_owned),
                        drawers: 1,
                    }),
                }
            }
            groups.sort();
            Ok(groups)
        })
    }

    fn move_group(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved> {
        self.change(|palace| move_group(palace, &self.name, group, from, to))
    }

    fn plan_move(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved> {
        self.change(|palace| move_group(&mut palace.clone(), &self.name, group, from, to))
    }
}

fn move_group(
    palace: &mut Palace,
    collection: &str,
    group: &MinedGroup,
    from: &str,
    to: &str,
) -> Result<Moved> {
    let mut seq = palace.seq;
    let mut moved = Moved::default();
    let state = palace.collection(collection)?;
    let rows: Vec<u64> = state
        .drawers
        .iter()
        .filter(|(_, drawer)| {
            drawer.is_mined(from)
                && drawer.text_of("source_file") == Some(&group.source)
                && drawer.metadata.get_str("folder") == group.folder.as_deref()
        })
        .map(|(row, _)| *row)
        .collect();
    for row in rows {
        let state = palace.collection(collection)?;
        let Some(mut drawer) = state.drawers.get(&row).cloned() else {
            continue;
        };
        let wing = MetaValue::Str(to.to_owned());
        drawer.metadata.0.insert("wing".into(), wing);
        let duplicate = state
            .duplicate_of(&drawer)
            .and_then(|holder| state.drawers.values().find(|other| other.id == holder));
        seq += 1;
        match duplicate {
            Some(duplicate) => {
                let mut keys = drawer.metadata.0.keys();
                let says_more = keys.any(|key| duplicate.metadata.get(key).is_none());
                if says_more || is_named(palace, collection, &drawer.id) {
                    moved.left += 1;
                    continue;
                }
                let state = palace.collection_mut(collection)?;
                state.drawers.remove(&row);
                state.tombstones.insert(seq, row);
                state.seq = seq;
                moved.removed += 1;
            }
            None => {
                let state = palace.collection_mut(collection)?;
                drawer.seq = seq;
                state.seq = seq;
                state.drawers.insert(row, drawer);
                moved.moved += 1;
            }
        }
    }
    palace.seq = seq;
    Ok(moved)
}

/// Whether a fact or a link refers to the drawer.
fn is_named(palace: &Palace, collection: &str, id: &str) -> bool {
    let is_it = |drawer: &DrawerRef| drawer.collection == collection && drawer.id == id;
    let ends_there = |end: &LinkEnd| matches!(end, LinkEnd::Drawer(drawer) if is_it(drawer));
    let facts = palace.facts.iter();
    facts.flat_map(|fact| &fact.source).any(is_it)
        || palace
            .links
            .iter()
            .any(|link| ends_there(&link.from) || ends_there(&link.to))
}
