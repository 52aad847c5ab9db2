//! Applies the rules of one root to one path at a time. The walk, the watch and
//! [`would_meet`](super::would_meet) all use it, so they cannot disagree.
//!
//! A gate holds the pattern lists from the top of the repository down to one folder, and moves from
//! folder to folder by leaving and entering. A folder must be judged before its content.

use std::io;
use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;

use super::Rules;
use super::lists::{List, ListVerdict, Lists, global, matched};
use super::signs::{Signs, is_vendored_by_name, is_version_control};
use crate::place::repository;
use loci_files::allowed::{AllowedRoots, EVERYTHING};

/// The gate of one root.
#[derive(Debug)]
pub(crate) struct Gate {
    root: PathBuf,
    rules: Rules,
    allowed: AllowedRoots,
    global: Gitignore,
    /// The number of folders from the top of the repository to the one above the root.
    above: usize,
    lists: Vec<Lists>,
}

/// The verdict of the rules on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The path is admitted.
    Admit,
    /// The path is admitted because a list names it explicitly.
    Included,
    /// The path is left out.
    Leave,
}

/// The verdict of the rules on a folder once its content is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Enter,
    Palace,
    Leave,
}

impl Gate {
    /// Creates the gate of a folder, given by its real path. No folder is entered yet, not even the
    /// root.
    pub(crate) fn new(root: &Path, rules: &Rules, allowed: &AllowedRoots) -> Self {
        let mut gate = Self {
            root: root.to_path_buf(),
            rules: *rules,
            allowed: allowed.clone(),
            global: Gitignore::empty(),
            above: 0,
            lists: Vec::new(),
        };
        if !rules.ignored {
            gate.global = global(root);
        }
        let top = root
            .ancestors()
            .find(|folder| repository::is_top(folder, gate.limit(folder)));
        let mut above: Vec<&Path> = root
            .ancestors()
            .skip(1)
            .take_while(|folder| top.is_some_and(|top| folder.starts_with(top)))
            .collect();
        above.reverse();
        for folder in above {
            gate.enter(folder, Signs::probe(folder), &mut |_, _| {});
        }
        gate.above = gate.lists.len();
        gate
    }

    /// Returns the roots that the lists of a folder may lead to. Above the allowed roots the
    /// owner's lists apply, because they can only leave files out.
    fn limit(&self, folder: &Path) -> &AllowedRoots {
        if self.allowed.contains(folder) {
            &self.allowed
        } else {
            &EVERYTHING
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Reads the lists of a folder directly below the one entered last.
    pub(super) fn enter(
        &mut self,
        folder: &Path,
        signs: Signs,
        failed: &mut dyn FnMut(PathBuf, io::Error),
    ) {
        let allowed = self.limit(folder);
        let lists = Lists::of(folder, signs, !self.rules.ignored, allowed, failed);
        self.lists.push(lists);
    }

    /// Returns to the folder above.
    pub(super) fn leave(&mut self) {
        if self.lists.len() > self.above {
            self.lists.pop();
        }
    }

    /// Drops the lists below the root, so that they are read again.
    pub(crate) fn forget(&mut self) {
        self.lists.truncate(self.above);
    }

    /// Judges an entry of the last entered folder by its name.
    pub(super) fn judge(&self, path: &Path, name: &str, is_folder: bool) -> Verdict {
        if is_version_control(name) {
            return Verdict::Leave;
        }
        match self.listed(path, is_folder) {
            (ListVerdict::Leave, _) => return Verdict::Leave,
            (ListVerdict::Keep, List::Loci | List::Plain) => return Verdict::Included,
            // Git tracks many files that should not be mined, so its `!` patterns do not override
            // hidden or vendored.
            (ListVerdict::Keep | ListVerdict::Nothing, _) => {}
        }
        let left = (!self.rules.hidden && name.starts_with('.'))
            || (is_folder && !self.rules.vendored && is_vendored_by_name(path, name));
        if left { Verdict::Leave } else { Verdict::Admit }
    }

    /// Judges a folder by its content.
    pub(super) fn judge_inside(&self, folder: &Path, signs: Signs, verdict: Verdict) -> Inside {
        if signs.is_palace() {
            Inside::Palace
        } else if verdict == Verdict::Admit
            && folder != self.root
            && !self.rules.vendored
            && signs.is_vendored(folder, &self.allowed)
        {
            Inside::Leave
        } else {
            Inside::Enter
        }
    }

    /// Returns the verdict of the strongest list that matches. Of two lists of one kind the nearer
    /// one is stronger. Git's lists end at the top of their repository.
    fn listed(&self, path: &Path, is_folder: bool) -> (ListVerdict, List) {
        for list in [List::Loci, List::Plain] {
            for lists in self.lists.iter().rev() {
                let verdict = lists.verdict(list, path, is_folder);
                if verdict != ListVerdict::Nothing {
                    return (verdict, list);
                }
            }
        }
        for lists in self.lists.iter().rev() {
            let mut verdict = lists.verdict(List::Git, path, is_folder);
            if verdict == ListVerdict::Nothing && lists.repository {
                verdict = lists.verdict(List::Exclude, path, is_folder);
            }
            if verdict != ListVerdict::Nothing {
                return (verdict, List::Git);
            }
            if lists.repository {
                break;
            }
        }
        (matched(&self.global, path, is_folder), List::Exclude)
    }

    /// Whether a walk of the root would reach this path, by names and lists alone. The caller must
    /// check that it exists and of what kind it is. No folder on the path may be a link.
    /// Consecutive calls for neighbours are cheap.
    pub(crate) fn admits(&mut self, path: &Path, is_folder: bool) -> bool {
        let Ok(inside) = path.strip_prefix(&self.root) else {
            return false;
        };
        let mut at = self.root.clone();
        let mut depth = self.above;
        if !self.pass(&at, depth, Verdict::Admit) {
            return false;
        }
        let mut parts = inside.components().peekable();
        while let Some(part) = parts.next() {
            let Some(name) = part.as_os_str().to_str() else {
                return false;
            };
            at.push(name);
            depth += 1;
            let last = parts.peek().is_none();
            if !last && self.is_entered(&at, depth) {
                continue;
            }
            self.lists.truncate(depth);
            let verdict = self.judge(&at, name, !last || is_folder);
            if verdict == Verdict::Leave {
                return false;
            }
            if last && !is_folder {
                return true;
            }
            if at.is_symlink() || (last && !self.may_enter(&at, verdict)) {
                return false;
            }
            if !last && !self.pass(&at, depth, verdict) {
                return false;
            }
        }
        true
    }

    /// The lists of a folder are stored at its depth.
    fn is_entered(&self, folder: &Path, depth: usize) -> bool {
        self.lists
            .get(depth)
            .is_some_and(|lists| lists.folder == folder)
    }

    fn may_enter(&self, folder: &Path, verdict: Verdict) -> bool {
        self.judge_inside(folder, Signs::probe(folder), verdict) == Inside::Enter
    }

    /// Enters a folder by its path alone, unless it is already entered or left out.
    fn pass(&mut self, folder: &Path, depth: usize, verdict: Verdict) -> bool {
        if self.is_entered(folder, depth) {
            return true;
        }
        self.lists.truncate(depth);
        let signs = Signs::probe(folder);
        if self.judge_inside(folder, signs, verdict) != Inside::Enter {
            return false;
        }
        self.enter(folder, signs, &mut |_, _| {});
        true
    }

    /// Enters everything above `folder`, ready for a walk of it. Returns `false` when the rules
    /// leave out a folder on the path.
    pub(crate) fn enter_above(&mut self, folder: &Path) -> bool {
        if folder == self.root {
            self.forget();
            return true;
        }
        self.admits(folder, true)
    }
}
