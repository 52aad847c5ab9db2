//! The wings of the projects in a run. Each is claimed once per run, when its first new source is
//! filed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use loci_core::{Projects, Result, TakenWing, WingClaim, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::place::FoundProject;

/// A project that got another wing than its name, because the name is the wing of another project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DistinctWing {
    /// The wing that the project got.
    pub wing: String,
    /// The wing of its name.
    pub instead_of: String,
    /// The remote or folder of the project that has that wing; `None` if none is recorded.
    pub holder: Option<String>,
    /// The remote or folder of the project.
    pub project: String,
}

impl std::fmt::Display for DistinctWing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            wing, instead_of, ..
        } = self;
        write!(
            out,
            "wing {}: the wing {} belongs to another project",
            quoted(wing),
            quoted(instead_of)
        )?;
        match &self.holder {
            Some(holder) => write!(out, " ({})", quoted(holder)),
            None => Ok(()),
        }
    }
}

impl DistinctWing {
    fn of(claim: &WingClaim, found: &FoundProject) -> Option<Self> {
        let TakenWing { wing, holder } = claim.instead_of.clone().filter(|_| claim.is_new)?;
        let project = &found.project;
        Some(Self {
            wing: claim.wing.clone(),
            instead_of: wing,
            holder,
            project: project.remote.as_ref().unwrap_or(&project.path).clone(),
        })
    }
}

/// The wings that the run has claimed, by folder.
#[derive(Default)]
pub(crate) struct Wings(Mutex<HashMap<String, String>>);

impl Wings {
    /// Returns the wing of a project, and a note for the report if there is one. A dry run only
    /// looks it up.
    pub(crate) fn of(
        &self,
        projects: &dyn Projects,
        found: &FoundProject,
        dry_run: bool,
    ) -> Result<(String, Option<DistinctWing>)> {
        // The lock is held while git runs and the claim is written, because the other threads need
        // the answer too.
        let mut claimed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wing) = claimed.get(&found.project.path) {
            return Ok((wing.clone(), None));
        }
        let claim = if dry_run {
            projects.wing_of(&found.project)?
        } else {
            claim(projects, found)?
        };
        claimed.insert(found.project.path.clone(), claim.wing.clone());
        let distinct = DistinctWing::of(&claim, found);
        Ok((claim.wing, distinct))
    }
}

/// Claims the wing of a project. Git runs only if its answer can matter: for a project that is new
/// in this folder, and for one without a remote, whose folder may contain another repository by
/// now.
pub fn claim(projects: &dyn Projects, found: &FoundProject) -> Result<WingClaim> {
    let seen = projects.wing_of(&found.project)?;
    let is_certain = found.project.remote.is_some() || seen.recorded_commit.is_none();
    if seen.is_complete && is_certain {
        return Ok(seen);
    }
    projects.claim_wing(&found.with_first_commit(seen.recorded_commit.as_deref()))
}
