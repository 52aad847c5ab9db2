//! Reads the result back and compares every record, and every written vector bit for bit.

use loci_core::{Error, Result};
use loci_foreign::chroma::Directory;

use super::plan::{Plan, Work};
use super::spool::Digest;

/// Fails if the directory holds less than was recovered.
pub(super) fn verify(work: &Work) -> Result<()> {
    let directory = Directory::open(&work.path)?;
    for plan in &work.plans {
        let index = directory
            .collections()
            .iter()
            .position(|row| row.id == plan.row.id)
            .ok_or_else(|| refused(work, plan, "the collection is gone"))?;
        let survey = directory.survey(index)?;
        let kept = plan.live.len() - plan.moved.len();
        if survey.live.len() < kept {
            let detail = format!("{kept} records before, {} after", survey.live.len());
            return Err(refused(work, plan, &detail));
        }
        let Some(spool) = &plan.spool else { continue };
        let written = spool
            .records
            .iter()
            .filter_map(|position| Some(plan.live.get(*position)?.id.as_str()))
            .collect();
        let found = Digest::of(&directory, &survey, plan.row.metric, &written)?;
        if found != spool.digest {
            let detail = format!(
                "{} vectors were recovered, {} are read back",
                spool.digest.count, found.count
            );
            return Err(refused(work, plan, &detail));
        }
    }
    Ok(())
}

fn refused(work: &Work, plan: &Plan, detail: &str) -> Error {
    Error::Corrupt {
        what: format!("the repaired collection `{}`", plan.row.name),
        path: work.path.clone(),
        detail: format!("the counts do not add up: {detail}; all changes were undone"),
    }
}
