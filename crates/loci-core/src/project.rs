//! Projects and their wings: who a project is, which wing it has, and how two projects of one name
//! are kept apart. A collection that can keep projects gives them through
//! [`crate::Collection::projects`].

mod choice;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ledger::MAX_SOURCE_NAME_BYTES;

pub use choice::{Choice, Mined, ProjectView, adopted, choose, is_below, keeps_wing, place};

/// Length of a remote and of a first commit.
pub const MAX_REMOTE_BYTES: usize = 2 << 10;

/// A project as it lies on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Name of its folder, and the wing it has unless another project has that.
    pub name: String,
    /// Comes before the name in the wing of a second project of this name.
    pub owner: Option<String>,
    /// Host and path of the repository it was cloned from. Never holds a user or a password.
    pub remote: Option<String>,
    /// The first commit, as far as it is known. Reads do not look for it.
    pub first_commit: Option<String>,
    /// The top folder of its main working tree, or the folder itself where there is no repository.
    pub path: String,
    /// Further folders that are this project: another working tree, the local repository that it is
    /// a clone of.
    pub folders: Vec<String>,
    /// The folders above a folder that no longer exists, nearest first. A repository that is
    /// recorded at one of them is this project.
    pub above: Vec<String>,
    /// Whether it is a repository.
    pub is_repository: bool,
}

/// A project that is recorded, at one of its folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectRecord {
    /// The wing that it has.
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
    /// What tells it from another project of its name.
    pub fn identity(&self) -> &str {
        self.remote.as_deref().unwrap_or(&self.path)
    }

    /// Refuses what no claim writes: a record that comes from a file of unknown origin.
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

/// A project that comes from another palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncomingProject {
    /// As it is recorded there.
    pub record: ProjectRecord,
    /// See [`Project::owner`].
    pub owner: Option<String>,
}

/// Which wing a project of another palace has here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacedProject {
    /// The wing.
    pub wing: String,
    /// Its folder was not recorded with this wing before.
    pub is_new: bool,
    /// Remote or folder of another project that has the wing of the other palace here; nothing if
    /// there is none, or if the wing is the same.
    pub holder: Option<String>,
}

/// The wing of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WingClaim {
    /// The wing.
    pub wing: String,
    /// The project was not recorded before.
    pub is_new: bool,
    /// The record of this folder says everything that is known of the project: a claim writes
    /// nothing.
    pub is_complete: bool,
    /// The first commit that is recorded for this folder. A project whose repository has it is the
    /// recorded one.
    pub recorded_commit: Option<String>,
    /// The wing of the project's own name, where another project has that.
    pub instead_of: Option<TakenWing>,
}

/// A wing that another project has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TakenWing {
    /// Its name.
    pub wing: String,
    /// Remote or folder of the project that has it; nothing if no project is recorded for it.
    pub holder: Option<String>,
}

/// Mined drawers of a wing that are of one file, and, if they are a conversation, of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinedGroup {
    /// The `source_file`.
    pub source: String,
    /// The folder in which the conversation was held.
    pub folder: Option<String>,
    /// Drawers.
    pub drawers: u64,
}

/// A project that claims a wing, and the wing that it shall not have.
#[derive(Debug, Clone, Copy)]
pub struct Leaving<'a> {
    /// The project.
    pub project: &'a Project,
    /// The wing that it leaves.
    pub from: Option<&'a str>,
}

/// What became of drawers that should go to another wing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Drawers that are in the other wing now.
    pub moved: u64,
    /// Drawers that are gone, because the other wing has the same text of the same place and
    /// nothing names them.
    pub removed: u64,
    /// Drawers that stay, because the other wing has the same text of the same place, and a fact or
    /// a link names them or they have metadata of their own.
    pub left: u64,
}

/// The projects of one collection. Calls may come from several threads and processes at once.
pub trait Projects: Send + Sync {
    /// The wing of a project: the recorded one, else what a claim would give. Writes nothing.
    fn wing_of(&self, project: &Project) -> Result<WingClaim>;
    /// The wing of a project, which is recorded with it. Of several projects that claim one name at
    /// the same time each gets a wing of its own.
    fn claim_wing(&self, project: &Project) -> Result<WingClaim>;
    /// Claims for several projects in one transaction, in this order. With a wing to leave, a
    /// project gets another wing and is recorded there; one that has another already keeps that.
    /// Without `apply` nothing is written, and the answer is what it would be.
    fn claim_wings(&self, claims: &[Leaving<'_>], apply: bool) -> Result<Vec<WingClaim>>;
    /// All records, oldest first.
    fn projects(&self) -> Result<Vec<ProjectRecord>>;
    /// Takes records over from another palace. A project that is recorded here keeps its wing.
    /// Gives how many were added.
    fn adopt_projects(&self, records: &[ProjectRecord]) -> Result<u64>;
    /// Records projects of another palace whose drawers are going to be imported, and gives the
    /// wing that each has here: the recorded one, else the one of the other palace if no other
    /// project has it here, else what a claim gives. All or nothing. The answers are in the order
    /// of the projects.
    fn place_projects(&self, incoming: &[IncomingProject]) -> Result<Vec<PlacedProject>>;

    /// The mined drawers of a wing by file and folder, in order.
    fn mined_groups(&self, wing: &str) -> Result<Vec<MinedGroup>>;
    /// Moves the drawers of a group to another wing, several hundred in a transaction. Id, text,
    /// dates and everything but the wing stay. A drawer that the other wing has already (same text,
    /// same place) is removed, unless a fact or a link names it or it has metadata that the other
    /// one lacks. Doing it again goes on where it ended.
    fn move_group(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved>;
    /// What [`Self::move_group`] would do. Writes nothing.
    fn plan_move(&self, group: &MinedGroup, from: &str, to: &str) -> Result<Moved>;
}
