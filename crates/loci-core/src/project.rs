//! Projects and their wings: what identifies a project, which wing it has, and how two projects
//! with the same name are kept apart. A collection that stores projects returns them from
//! [`crate::Collection::projects`].

mod choice;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ledger::MAX_SOURCE_NAME_BYTES;

pub use choice::{Choice, Mined, ProjectView, adopted, choose, is_below, keeps_wing, place};

/// Maximum bytes of a remote and of a first commit.
pub const MAX_REMOTE_BYTES: usize = 2 << 10;

/// A project on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Name of its folder. Also its wing, unless another project has that wing.
    pub name: String,
    /// The prefix of the wing, if another project has the same name.
    pub owner: Option<String>,
    /// Host and path of the repository that it was cloned from. Never contains a user or a
    /// password.
    pub remote: Option<String>,
    /// The first commit, if it is known. Reads do not look it up.
    pub first_commit: Option<String>,
    /// The top folder of its main working tree, or the folder itself if there is no repository.
    pub path: String,
    /// More folders of this project: other working trees, and the local repository that it is a
    /// clone of.
    pub folders: Vec<String>,
    /// The parents of a folder that does not exist any more, nearest first. A repository that is
    /// recorded at one of them is this project.
    pub above: Vec<String>,
    /// Whether it is a repository.
    pub is_repository: bool,
}

/// A recorded project, for one of its folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectRecord {
    /// Its wing.
    pub wing: String,
    /// Name of its folder.
    pub name: String,
    /// See [`Project::remote`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// See [`Project::first_commit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit: Option<String>,
    /// See [`Project::path`].
    pub path: String,
    /// When it was recorded, in milliseconds since 1970.
    pub since: i64,
}

impl ProjectRecord {
    /// The value that distinguishes it from other projects with its name.
    pub fn identity(&self) -> &str {
        self.remote.as_deref().unwrap_or(&self.path)
    }

    /// Refuses a record that no claim writes. Use it for records from untrusted files.
    pub fn validate(&self) -> Result<()> {
        let limited = [
            ("wing", Some(&self.wing), MAX_SOURCE_NAME_BYTES),
            ("name", Some(&self.name), MAX_SOURCE_NAME_BYTES),
            ("path", Some(&self.path), MAX_SOURCE_NAME_BYTES),
            ("remote", self.remote.as_ref(), MAX_REMOTE_BYTES),
            ("first commit", self.first_commit.as_ref(), MAX_REMOTE_BYTES),
        ];
        for (what, text, limit) in limited {
            let Some(text) = text else { continue };
            if text.is_empty() || text.len() > limit {
                let problem = format!("has {} bytes; 1 to {limit} are allowed", text.len());
                return Err(Error::invalid(format!("project {what}"), problem));
            }
        }
        if self
            .remote
            .as_ref()
            .is_some_and(|remote| remote.contains('@'))
        {
            return Err(Error::invalid(
                "project remote",
                "names a user; a remote is kept as host and path",
            ));
        }
        Ok(())
    }
}

/// A project of another palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncomingProject {
    /// Its record in that palace.
    pub record: ProjectRecord,
    /// See [`Project::owner`].
    pub owner: Option<String>,
}

/// The wing in this palace of a project from another palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacedProject {
    /// The wing.
    pub wing: String,
    /// Whether its folder was not recorded with this wing before.
    pub is_new: bool,
    /// Remote or folder of the project that holds the original wing in this palace; `None` if there
    /// is none, or if the wing did not change.
    pub holder: Option<String>,
}

/// The wing of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WingClaim {
    /// The wing.
    pub wing: String,
    /// Whether the project was not recorded before.
    pub is_new: bool,
    /// Whether the record of this folder is complete, so that a claim writes nothing.
    pub is_complete: bool,
    /// The recorded first commit of this folder. A project whose repository contains it is the
    /// recorded one.
    pub recorded_commit: Option<String>,
    /// The wing with the project's own name, if another project has it.
    pub instead_of: Option<TakenWing>,
}

/// A wing that belongs to another project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TakenWing {
    /// Its name.
    pub wing: String,
    /// Remote or folder of its project; `None` if no project is recorded for it.
    pub holder: Option<String>,
}

/// Mined drawers of a wing that come from one file and, in a conversation, from one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinedGroup {
    /// The `source_file`.
    pub source: String,
    /// The working folder of the conversation.
    pub folder: Option<String>,
    /// Number of drawers.
    pub drawers: u64,
}

/// A project that claims a wing, and the wing that it must leave.
#[derive(Debug, Clone, Copy)]
pub struct WingRequest<'a> {
    /// The project.
    pub project: &'a Project,
    /// The wing to leave.
    pub from: Option<&'a str>,
}

/// The result of moving drawers to another wing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Drawers that were moved.
    pub moved: u64,
    /// Drawers that were removed, because the other wing has the same text at the same location and
    /// nothing refers to them.
    pub removed: u64,
    /// Drawers that were not moved, because the other wing has the same text at the same location,
    /// but a fact or a link refers to them or they have metadata of their own.
    pub left: u64,
}

/// The projects of one collection. Several threads and processes may use it at once.
pub trait Projects: Send + Sync {
    /// The wing of a project: the recorded one, or the one that a claim would give. Writes nothing.
    fn wing_of(&self, project: &Project) -> Result<WingClaim>;
    /// The wing of a project, which is recorded. If several projects with one name claim at the
    /// same time, each gets its own wing.
    fn claim_wing(&self, project: &Project) -> Result<WingClaim>;
    /// Claims wings for several projects in one transaction, in this order. A project that leaves a
    /// wing gets another one, unless it already has one. Without `apply`, nothing is written and
    /// the result is the same.
    fn claim_wings(&self, claims: &[WingRequest<'_>], apply: bool) -> Result<Vec<WingClaim>>;
    /// All records, oldest first.
    fn projects(&self) -> Result<Vec<ProjectRecord>>;
    /// Adopts records of another palace. A project that is recorded here keeps its wing. Returns
    /// the number of added records.
    fn adopt_projects(&self, records: &[ProjectRecord]) -> Result<u64>;
    /// Records projects of another palace before their drawers are imported, and returns the wing
    /// of each in this palace: the recorded one, else the original one if no other project has it
    /// here, else the one that a claim gives. All projects are recorded or none. The results are in
    /// the order of the projects.
    fn place_projects(&self, incoming: &[IncomingProject]) -> Result<Vec<PlacedProject>>;

    /// The mined drawers of a wing, grouped by file and folder, in order.
    fn mined_groups(&self, wing: &str) -> Result<Vec<MinedGroup>>;
    /// Moves the drawers of a group to another wing, several hundred per transaction. Only the wing
    /// changes. If the other wing already has a drawer with the same text at the same location, the
    /// drawer is removed, unless a fact or a link refers to it or it has metadata that the other
    /// one lacks. A repeated call continues an interrupted one.
    fn move_group(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved>;
    /// The result that [`Self::move_group`] would have. Writes nothing.
    fn plan_move(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved>;
}
