//! The rules of an undo. A backend reads and writes the data; these rules decide whether a run can
//! be undone, what happens to each drawer, and what the ledger records about a source afterwards.

use crate::{Advice, Error, Outcome, Result, RunState, SourceRecord, Undone};

/// Number of runs with changes whose undo data is kept.
pub const KEPT_RUNS: usize = 50;

/// The origin of a drawer that belongs to no source, because it was not mined or was changed since.
pub const NO_SOURCE: u64 = 0;

/// The error for a run that is not recorded.
pub fn unknown_run(run: u64) -> Error {
    Error::invalid(format!("run {run}"), "this collection has no such run").advise(Advice::ListRuns)
}

/// Refuses a run that is already undone. A run whose undo was interrupted is accepted.
pub fn refuse_undone(run: u64, state: &RunState) -> Result<()> {
    if *state == RunState::Undone {
        return Err(Error::invalid(format!("run {run}"), "is already undone"));
    }
    Ok(())
}

/// What may prevent the undo of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoConflicts {
    /// The latest run after this one that changed one of its sources, and the name of that source.
    pub later: Option<(u64, String)>,
    /// The name of a source that this run removed or renamed, if another source has that name now.
    pub taken: Option<String>,
    /// Whether any step of the run is recorded.
    pub has_steps: bool,
    /// Number of later runs with recorded steps.
    pub newer_runs: usize,
}

impl UndoConflicts {
    /// Refuses a run that cannot be undone.
    ///
    /// A source that a later run changed cannot be reverted to a state before that run. A source
    /// that was removed or renamed cannot be restored while another one has its name. The steps of
    /// old runs are not kept.
    pub fn refuse(&self, run: u64) -> Result<()> {
        if let Some((later, name)) = &self.later {
            return Err(Error::Conflict {
                what: format!(
                    "run {later} changed `{name}` after run {run}; undo run {later} first"
                ),
            });
        }
        if let Some(name) = &self.taken {
            return Err(Error::Conflict {
                what: format!("`{name}` was mined again after run {run}; undo that run first"),
            }
            .advise(Advice::ListRuns));
        }
        if !self.has_steps && self.newer_runs >= KEPT_RUNS {
            let why = format!(
                "is too old; undo data is kept for the last {KEPT_RUNS} runs that changed something"
            );
            return Err(Error::invalid(format!("run {run}"), why));
        }
        Ok(())
    }
}

/// Whether a drawer that the run added is removed. A drawer that was changed since stays.
pub fn removes_added(origin: u64) -> bool {
    origin != NO_SOURCE
}

/// What was saved of a drawer that a run removed or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptDrawer {
    /// It was removed, and all of it was saved.
    Removed,
    /// It was changed, and the reverse patch was saved.
    Changed,
    /// The saved data cannot be read.
    Unreadable,
}

/// How a drawer is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawerUndo {
    /// It is added again, if its id is free.
    Insert,
    /// The changes of the run are reverted. Keys that were added since stay.
    Change,
    /// It stays as it is.
    None,
}

/// How a drawer is restored. `is_forgotten` returns whether its text was forgotten. `origin_now`
/// returns the origin of the current drawer with its number and id, if there is one. Each is called
/// only if the decision depends on it.
pub fn drawer_undo<E>(
    kept: KeptDrawer,
    is_forgotten: impl FnOnce() -> std::result::Result<bool, E>,
    origin_now: impl FnOnce() -> std::result::Result<Option<u64>, E>,
) -> std::result::Result<DrawerUndo, E> {
    if kept == KeptDrawer::Unreadable || is_forgotten()? {
        return Ok(DrawerUndo::None);
    }
    if kept == KeptDrawer::Removed {
        return Ok(DrawerUndo::Insert);
    }
    let is_mined = origin_now()?.is_some_and(|origin| origin != NO_SOURCE);
    Ok(if is_mined {
        DrawerUndo::Change
    } else {
        DrawerUndo::None
    })
}

/// What the ledger records about a source after a step of it is undone.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceAfter<'a> {
    /// The row from before the step. A row of leftovers is removed if it has no drawers.
    PutBack(&'a SourceRecord),
    /// That the source must be read again, because drawers are left that belong to no run.
    Distrust,
    /// Nothing. The row is removed.
    Remove,
}

/// What the ledger records about a source after a step is undone. `before` is its row from before
/// the step.
pub fn source_after<E>(
    before: Option<&SourceRecord>,
    has_drawers: impl FnOnce() -> std::result::Result<bool, E>,
) -> std::result::Result<SourceAfter<'_>, E> {
    Ok(match before {
        Some(before) => SourceAfter::PutBack(before),
        None if has_drawers()? => SourceAfter::Distrust,
        None => SourceAfter::Remove,
    })
}

impl Undone {
    /// Counts a drawer that was to be restored.
    pub fn count_returned(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Added | Outcome::Updated | Outcome::Unchanged => self.restored += 1,
            Outcome::Exists | Outcome::Unknown | Outcome::DuplicateOf(_) => self.left += 1,
        }
    }

    /// Adds the counts of another part of the same undo.
    pub fn add(&mut self, part: &Self) {
        self.removed += part.removed;
        self.restored += part.restored;
        self.left += part.left;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::ErrorKind;

    fn way(kept: KeptDrawer, forgotten: bool, origin: Option<u64>) -> DrawerUndo {
        drawer_undo::<Infallible>(kept, || Ok(forgotten), || Ok(origin)).unwrap()
    }

    #[test]
    fn a_forgotten_text_does_not_come_back() {
        for kept in [KeptDrawer::Removed, KeptDrawer::Changed] {
            assert_eq!(way(kept, true, Some(7)), DrawerUndo::None);
        }
    }

    #[test]
    fn a_changed_drawer_goes_back_unless_it_is_somebody_elses_now() {
        assert_eq!(way(KeptDrawer::Changed, false, Some(7)), DrawerUndo::Change);
        let theirs = Some(NO_SOURCE);
        assert_eq!(way(KeptDrawer::Changed, false, theirs), DrawerUndo::None);
        assert_eq!(way(KeptDrawer::Changed, false, None), DrawerUndo::None);
        assert!(removes_added(7) && !removes_added(NO_SOURCE));
    }

    #[test]
    fn a_removed_drawer_comes_back_whatever_has_its_number() {
        assert_eq!(way(KeptDrawer::Removed, false, None), DrawerUndo::Insert);
        assert_eq!(
            way(KeptDrawer::Unreadable, false, Some(7)),
            DrawerUndo::None
        );
    }

    #[test]
    fn a_source_that_was_new_goes_unless_drawers_are_left_in_it() {
        let after = |left: bool| source_after::<Infallible>(None, || Ok(left)).unwrap();
        assert_eq!(after(true), SourceAfter::Distrust);
        assert_eq!(after(false), SourceAfter::Remove);
        let before = SourceRecord::default();
        let after = source_after::<Infallible>(Some(&before), || Ok(false)).unwrap();
        assert_eq!(after, SourceAfter::PutBack(&before));
    }

    #[test]
    fn the_error_names_the_obstacle() {
        let possible = UndoConflicts {
            has_steps: true,
            newer_runs: KEPT_RUNS,
            ..UndoConflicts::default()
        };
        assert!(possible.refuse(3).is_ok());
        let later = UndoConflicts {
            later: Some((5, "a.md".into())),
            ..possible.clone()
        };
        let error = later.refuse(3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("undo run 5 first"), "{error}");
        let taken = UndoConflicts {
            taken: Some("b.md".into()),
            ..possible.clone()
        };
        assert!(taken.refuse(3).unwrap_err().to_string().contains("`b.md`"));
        let old = UndoConflicts {
            has_steps: false,
            ..possible
        };
        let error = old.refuse(3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("too old"), "{error}");
        let empty = UndoConflicts {
            newer_runs: KEPT_RUNS - 1,
            ..UndoConflicts::default()
        };
        assert!(empty.refuse(3).is_ok(), "a run that changed nothing");
        assert!(refuse_undone(3, &RunState::Undoing).is_ok());
        assert!(refuse_undone(3, &RunState::Undone).is_err());
    }

    #[test]
    fn only_drawers_that_were_written_count_as_restored() {
        let mut undone = Undone::default();
        for outcome in [Outcome::Added, Outcome::Updated, Outcome::Unchanged] {
            undone.count_returned(&outcome);
        }
        undone.count_returned(&Outcome::Exists);
        assert_eq!((undone.restored, undone.left), (3, 1));
    }
}
