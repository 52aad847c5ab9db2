//! What changes below some roots, told as it happens and not too often.
//!
//! The system's events only say where to look; what is told follows from what is on disk and from the rules
//! of the walk. Whenever events may be missing, that is told too. Never reads or writes a file's content.

mod debounce;
mod inbox;
mod nest;
mod poll;

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::Error;

use crate::place::SETTINGS_FILE;
use crate::walk::{
    Gate, LISTS, Links, Met, Root, Roots, Rules, Step, Target, Tour, is_palace_file, target,
};
use debounce::Debounce;
use inbox::{Inbox, News};
use nest::{Full, Nest};
use poll::Poll;

/// More changed paths than this are told as a rescan.
pub const MAX_PATHS: usize = 4_096;

/// The stop flag is looked at this often.
const TICK: Duration = Duration::from_millis(100);

/// Roots are looked after this often.
const ROOT_CHECK: Duration = Duration::from_millis(500);

/// How changes are gathered before they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// They are told when nothing has changed for so long,
    pub quiet: Duration,
    /// and in any case so long after the first of them.
    pub at_most: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(300),
            at_most: Duration::from_secs(2),
        }
    }
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stir {
    /// These paths came, changed or went, at most [`MAX_PATHS`] of them. Real paths, as the walk gives them. Where there
    /// is nothing, or no longer a folder, all that was below the path is gone too.
    Changed(BTreeSet<PathBuf>),
    /// Look at everything again.
    Rescan {
        /// The reason in plain words.
        why: String,
    },
}

/// Calls `each`, from this thread, with what changes in the roots, until `stop` is set or `each` says
/// `Break`. The flag is looked at ten times a second.
///
/// The first call is a rescan with the reason `start`, when all folders are watched already: nothing that
/// happens between it and the walk is lost. What happens while `each` runs is told afterwards. A change of the rules'
/// own files or of `.loci.toml`, a root that goes or comes back, and lost events are told as a rescan. When the system
/// can watch no more folders, that is told once as a rescan, and from then on all files are looked at every few seconds.
/// Fails when a root is missing at the start.
pub fn watch(
    roots: &[PathBuf],
    rules: &Rules,
    pace: &Pace,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Stir) -> ControlFlow<()>,
) -> Result<(), Error> {
    watch_at_most(usize::MAX, roots, rules, pace, stop, each)
}

fn watch_at_most(
    folders: usize,
    given: &[PathBuf],
    rules: &Rules,
    pace: &Pace,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Stir) -> ControlFlow<()>,
) -> Result<(), Error> {
    let roots = Roots::open(given)?;
    let mut watch = Watch {
        given,
        rules: *rules,
        stop,
        most: folders,
        inbox: Arc::new(Inbox::default()),
        debounce: Debounce::new(pace),
        anchors: Vec::new(),
        gates: Vec::new(),
        stale: false,
        eye: Eye::Closed,
        roots,
    };
    watch.set();
    // A limit met while setting is told after the start, which comes first in any case.
    let mut told = each(Stir::Rescan {
        why: "start".to_owned(),
    });
    let mut check = Instant::now() + ROOT_CHECK;
    let mut look = Instant::now() + pace.at_most;
    while told == Continue(()) && !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        let due = watch.debounce.due().unwrap_or(now + TICK);
        let news = watch
            .inbox
            .take(due.saturating_duration_since(now).min(TICK));
        watch.read(news);
        let now = Instant::now();
        if now >= check {
            watch.check_roots();
            check = now + ROOT_CHECK;
        }
        if now >= look
            && let Eye::Poll(poll) = &mut watch.eye
        {
            let debounce = &mut watch.debounce;
            poll.look(given, rules, stop, &mut |path| debounce.note(path, now));
            look = Instant::now() + poll.pause(pace.at_most);
        }
        if let Some(stir) = watch.debounce.take(Instant::now()) {
            if watch.stale {
                watch.set();
            }
            told = each(stir);
        }
    }
    Ok(())
}

/// How changes are seen.
enum Eye {
    Closed,
    Nest(Nest),
    Poll(Poll),
}

/// A root's folder and which one it is, if it is there.
type Anchor = (PathBuf, Option<(u64, u64)>);

struct Watch<'a> {
    given: &'a [PathBuf],
    rules: Rules,
    stop: &'a AtomicBool,
    most: usize,
    inbox: Arc<Inbox>,
    debounce: Debounce,
    roots: Roots,
    anchors: Vec<Anchor>,
    /// One per root; none for a root that is a file.
    gates: Vec<Option<Gate>>,
    /// The watched folders may not be those that the rules admit.
    stale: bool,
    eye: Eye,
}

impl Watch<'_> {
    /// Watches, from nothing, all folders that the rules admit.
    fn set(&mut self) {
        self.stale = false;
        self.roots = self.roots.reopened();
        self.anchors = self.roots.each().map(|(_, root)| anchor(root)).collect();
        self.gates = self
            .roots
            .all()
            .iter()
            .map(|root| root.is_folder.then(|| Gate::new(&root.real, &self.rules)))
            .collect();
        if matches!(self.eye, Eye::Poll(_)) {
            return;
        }
        // The old watches go first: both together could pass the system's limit.
        self.eye = Eye::Closed;
        if self.set_nest().is_err() {
            self.fall_back();
        }
    }

    fn set_nest(&mut self) -> Result<(), Full> {
        let mut nest = Nest::new(&self.inbox, self.most)?;
        for (number, root) in self.roots.each() {
            let Some(Some(gate)) = self.gates.get_mut(number) else {
                if let Some(folder) = root.real.parent() {
                    nest.add_holder(folder)?;
                }
                continue;
            };
            let mut tour = Tour {
                roots: &self.roots,
                root: number,
                gate,
                links: None,
            };
            let mut full = None;
            let _ = tour.run(root.real.clone(), &mut |step| {
                let added = match step {
                    Step::Folder(folder) if folder == root.real => nest.add_root(folder),
                    Step::Folder(folder) => nest.add(folder),
                    Step::Back(folder) => {
                        nest.remove(folder);
                        Ok(())
                    }
                    Step::Met(_) | Step::Left | Step::Unread => Ok(()),
                };
                full = added.err();
                if full.is_some() || self.stop.load(Ordering::Relaxed) {
                    return Break(());
                }
                Continue(())
            });
            gate.forget();
            full.map_or(Ok(()), Err)?;
        }
        self.eye = Eye::Nest(nest);
        Ok(())
    }

    fn fall_back(&mut self) {
        let mut poll = Poll::default();
        poll.look(self.given, &self.rules, self.stop, &mut |_| {});
        self.eye = Eye::Poll(poll);
        self.lose(
            "the system's limit of watched folders is reached; \
             all files are looked at every few seconds instead",
        );
    }

    fn lose(&mut self, why: &str) {
        self.debounce.lose(why, Instant::now());
        self.stale = true;
    }

    fn note(&mut self, path: PathBuf) {
        self.debounce.note(path, Instant::now());
    }

    fn read(&mut self, news: News) {
        for gate in self.gates.iter_mut().flatten() {
            gate.forget();
        }
        if news.full {
            self.fall_back();
        }
        if let Some(why) = news.lost {
            self.lose(&why);
        }
        for path in &news.shaped {
            self.look_at(path, true);
        }
        for path in &news.edited {
            self.look_at(path, false);
        }
    }

    /// Tells what there is at a path. `shaped`: it may be another than before.
    fn look_at(&mut self, path: &Path, shaped: bool) {
        // Its number may be in use again already, so the check of the roots alone is not enough.
        if shaped && self.anchors.iter().any(|(folder, _)| folder == path) {
            return self.lose(&format!("`{}` came or went", path.display()));
        }
        let Some((number, is_folder, real)) = self
            .roots
            .around(path)
            .map(|(number, root)| (number, root.is_folder, root.real.clone()))
        else {
            return;
        };
        if !is_folder {
            return self.note(real);
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|_| path != real) else {
            return;
        };
        if LISTS.contains(&name) || name == SETTINGS_FILE {
            return self.lose(&format!("`{}` changed", path.display()));
        }
        if is_palace_file(name) && shaped {
            // A palace that is being made: what is in it is not for us.
            if let (Eye::Nest(nest), Some(folder)) = (&mut self.eye, path.parent()) {
                nest.remove(folder);
            }
            return;
        }
        let kind = fs::symlink_metadata(path).map(|found| found.file_type());
        let mut was_folder = false;
        let is_folder = kind.as_ref().is_ok_and(fs::FileType::is_dir);
        if let Eye::Nest(nest) = &mut self.eye {
            if is_folder && !shaped && nest.has(path) {
                return;
            }
            was_folder = nest.remove(path);
        }
        let admitted = self
            .gates
            .get_mut(number)
            .and_then(Option::as_mut)
            .is_some_and(|gate| gate.admits(path, is_folder));
        match kind {
            Ok(_) if is_folder => {
                if admitted {
                    self.add_tree(number, path);
                }
            }
            Ok(kind) if kind.is_symlink() => {
                if admitted
                    && self.rules.follow_links
                    && let Ok(Ok(Target::File(real))) = target(path)
                {
                    self.note(real);
                }
            }
            Ok(_) | Err(_) if admitted || was_folder => self.note(path.to_path_buf()),
            Ok(_) | Err(_) => {}
        }
    }

    /// Watches a folder that appeared. What is in it may be older than its watch, so all of it
    /// counts as changed.
    fn add_tree(&mut self, number: usize, folder: &Path) {
        let (Some(Some(gate)), Eye::Nest(nest)) = (self.gates.get_mut(number), &mut self.eye)
        else {
            return;
        };
        if !gate.stand_above(folder) {
            return;
        }
        let mut links = Links::new(self.roots.clone(), &self.rules);
        let mut tour = Tour {
            roots: &self.roots,
            root: number,
            gate,
            links: Some(&mut links),
        };
        let debounce = &mut self.debounce;
        let mut full = false;
        let _ = tour.run(folder.to_path_buf(), &mut |step| {
            match step {
                Step::Folder(folder) => full = nest.add(folder).is_err(),
                Step::Back(folder) => {
                    nest.remove(folder);
                }
                Step::Met(Met::File(found)) => debounce.note(found.path, Instant::now()),
                Step::Met(_) | Step::Left | Step::Unread => {}
            }
            if full || self.stop.load(Ordering::Relaxed) {
                return Break(());
            }
            Continue(())
        });
        gate.forget();
        if full {
            self.fall_back();
        }
    }

    fn check_roots(&mut self) {
        let now: Vec<Anchor> = self
            .roots
            .reopened()
            .each()
            .map(|(_, root)| anchor(root))
            .collect();
        let Some((_, (folder, id))) = self.anchors.iter().zip(&now).find(|(old, new)| old != new)
        else {
            return;
        };
        let what = if id.is_some() { "came back" } else { "is gone" };
        let why = format!("`{}` {what}", folder.display());
        self.lose(&why);
        self.anchors = now;
    }
}

/// The folder that is watched for a root: itself, or the one that holds it.
fn anchor(root: &Root) -> Anchor {
    let folder = match root.real.parent() {
        Some(parent) if !root.is_folder => parent.to_path_buf(),
        _ => root.real.clone(),
    };
    let id = crate::walk::folder_id(&folder);
    (folder, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_limit_of_watched_folders_all_files_are_looked_at_instead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["one", "two", "three"] {
            fs::create_dir(root.join(name)).unwrap();
            fs::write(root.join(name).join("a.md"), "x").unwrap();
        }
        let pace = Pace {
            quiet: Duration::from_millis(10),
            at_most: Duration::from_millis(50),
        };
        let until = Instant::now() + Duration::from_secs(20);
        let stop = AtomicBool::new(false);
        let mut told = Vec::new();
        let mut step = 0;
        let given = [root.clone()];
        watch_at_most(2, &given, &Rules::default(), &pace, &stop, &mut |stir| {
            assert!(Instant::now() < until);
            told.push(stir);
            step += 1;
            match step {
                1 => {}
                2 => {
                    fs::write(root.join("three/b.md"), "new").unwrap();
                    fs::write(root.join("two/a.md"), "longer").unwrap();
                    fs::remove_file(root.join("one/a.md")).unwrap();
                }
                _ => return Break(()),
            }
            Continue(())
        })
        .unwrap();
        let why = |at: usize| match &told[at] {
            Stir::Rescan { why } => why.clone(),
            other @ Stir::Changed(_) => panic!("{other:?}"),
        };
        assert_eq!(why(0), "start");
        assert!(why(1).contains("limit"));
        let changed = ["one/a.md", "three/b.md", "two/a.md"].map(|name| root.join(name));
        assert_eq!(told[2], Stir::Changed(changed.into()));
    }
}
