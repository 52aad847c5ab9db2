//! Turns system events into reports under the rules, and keeps the watched folders in step with the
//! tree. It trusts what is on disk at the time, never what an event claims.

use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::debounce::Debounce;
use super::folder_watches::{FolderWatches, Full};
use super::inbox::{Inbox, ReportedChanges};
use super::poll::Poll;
use super::{WatchEvent, WatchTiming};
use crate::place::SETTINGS_FILE;
use crate::walk::{
    Gate, LISTS, Links, Root, Roots, Rules, Target, Tour, Visit, WalkEntry, makes_palace, target,
};

/// How changes are detected.
enum WatchMode {
    Closed,
    Folders(FolderWatches),
    Poll(Poll, Instant),
}

/// The folder that is checked for a root.
#[derive(PartialEq, Eq)]
struct Anchor {
    real: PathBuf,
    /// The root itself, or the folder that contains it.
    folder: PathBuf,
    /// The device and inode of the folder, if it exists.
    id: Option<(u64, u64)>,
}

/// A running watch.
pub(super) struct ActiveWatch<'a> {
    given: &'a [PathBuf],
    rules: Rules,
    stop: &'a AtomicBool,
    most: usize,
    inbox: Arc<Inbox>,
    debounce: Debounce,
    roots: Roots,
    anchors: Vec<Anchor>,
    /// One gate per root; `None` for a root that is a file.
    gates: Vec<Option<Gate>>,
    /// Whether the watched folders may differ from those that the rules admit.
    stale: bool,
    mode: WatchMode,
}

impl<'a> ActiveWatch<'a> {
    pub(super) fn new(
        roots: Roots,
        given: &'a [PathBuf],
        rules: &Rules,
        timing: &WatchTiming,
        stop: &'a AtomicBool,
        most: usize,
    ) -> Self {
        Self {
            given,
            rules: *rules,
            stop,
            most,
            inbox: Arc::new(Inbox::default()),
            debounce: Debounce::new(timing),
            roots,
            anchors: Vec::new(),
            gates: Vec::new(),
            stale: false,
            mode: WatchMode::Closed,
        }
    }

    /// Waits for changes, at most this long and not beyond the time of the next report.
    pub(super) fn wait(&mut self, longest: Duration) {
        let now = Instant::now();
        let due = self.debounce.due().unwrap_or(now + longest);
        let changes = self
            .inbox
            .take(due.saturating_duration_since(now).min(longest));
        self.read(changes);
    }

    /// Examines all files, if the watch polls and the pause is over.
    pub(super) fn poll(&mut self, least: Duration) {
        if let WatchMode::Poll(poll, last) = &mut self.mode
            && last.elapsed() >= poll.pause(least)
        {
            let debounce = &mut self.debounce;
            poll.look(self.given, &self.rules, self.stop, &mut |path| {
                debounce.note(path, Instant::now());
            });
            *last = Instant::now();
        }
    }

    /// Returns the report that is due. Everything it names is watched by then.
    pub(super) fn take(&mut self) -> Option<WatchEvent> {
        let event = self.debounce.take(Instant::now())?;
        if self.stale {
            self.set();
        }
        Some(event)
    }

    /// Watches all folders that the rules admit, from scratch.
    pub(super) fn set(&mut self) {
        self.stale = false;
        self.roots = self.roots.reopened();
        self.anchors = self.roots.each().map(|(_, root)| anchor(root)).collect();
        self.gates = self
            .roots
            .all()
            .iter()
            .map(|root| {
                let new = || Gate::new(&root.real, &self.rules, self.roots.allowed());
                root.is_folder.then(new)
            })
            .collect();
        if matches!(self.mode, WatchMode::Poll(..)) {
            return;
        }
        // The old watches are removed first, because both together could exceed the system's limit.
        self.mode = WatchMode::Closed;
        if self.watch_folders().is_err() {
            self.fall_back();
        }
    }

    fn watch_folders(&mut self) -> Result<(), Full> {
        let mut watches = FolderWatches::new(&self.inbox, self.most)?;
        for (number, root) in self.roots.each() {
            let Some(Some(gate)) = self.gates.get_mut(number) else {
                if let Some(folder) = root.real.parent() {
                    watches.add_holder(folder)?;
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
                    Visit::Folder(folder) if folder == root.real => watches.add_root(folder),
                    Visit::Folder(folder) => watches.add(folder),
                    Visit::Back(folder) => {
                        watches.remove(folder);
                        Ok(())
                    }
                    Visit::Entry(_) | Visit::Left | Visit::Unread => Ok(()),
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
        self.mode = WatchMode::Folders(watches);
        Ok(())
    }

    fn fall_back(&mut self) {
        let mut poll = Poll::default();
        poll.look(self.given, &self.rules, self.stop, &mut |_| {});
        self.mode = WatchMode::Poll(poll, Instant::now());
        self.rescan(
            "the system's limit of watched folders is reached; \
             all files are checked every few seconds instead",
        );
    }

    fn rescan(&mut self, why: &str) {
        self.debounce.rescan(why, Instant::now());
        self.stale = true;
    }

    fn note(&mut self, path: PathBuf) {
        self.debounce.note(path, Instant::now());
    }

    fn read(&mut self, changes: ReportedChanges) {
        for gate in self.gates.iter_mut().flatten() {
            gate.forget();
        }
        if changes.full {
            self.fall_back();
        }
        if let Some(why) = changes.lost {
            self.rescan(&why);
        }
        for path in &changes.shaped {
            self.look_at(path, true);
        }
        for path in &changes.edited {
            self.look_at(path, false);
        }
    }

    /// Notes the change of a path. If `shaped` is true, the path may be a different file or folder
    /// than before.
    fn look_at(&mut self, path: &Path, shaped: bool) {
        // The inode may already be in use again, so the check of the roots alone is not enough.
        if shaped && self.anchors.iter().any(|anchor| anchor.folder == path) {
            return self.rescan(&format!("`{}` appeared or disappeared", path.display()));
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
            return self.rescan(&format!("`{}` changed", path.display()));
        }
        if makes_palace(name) && shaped {
            // A palace is being created, and its content must not be watched.
            if let (WatchMode::Folders(watches), Some(folder)) = (&mut self.mode, path.parent()) {
                watches.remove(folder);
            }
            return;
        }
        let kind = fs::symlink_metadata(path).map(|found| found.file_type());
        let mut was_folder = false;
        let is_folder = kind.as_ref().is_ok_and(fs::FileType::is_dir);
        if let WatchMode::Folders(watches) = &mut self.mode {
            if is_folder && !shaped && watches.has(path) {
                return;
            }
            was_folder = watches.remove(path);
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
                    && let Ok(Ok(Target::File(real))) = target(path)
                    && self.roots.may_follow(&real, self.rules.follow_links)
                {
                    self.note(real);
                }
            }
            Ok(_) | Err(_) if admitted || was_folder => self.note(path.to_path_buf()),
            Ok(_) | Err(_) => {}
        }
    }

    /// Watches a folder that appeared. Its content may be older than its watch, so all of it counts
    /// as changed.
    fn add_tree(&mut self, number: usize, folder: &Path) {
        let (Some(Some(gate)), WatchMode::Folders(watches)) =
            (self.gates.get_mut(number), &mut self.mode)
        else {
            return;
        };
        if !gate.enter_above(folder) {
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
                Visit::Folder(folder) => full = watches.add(folder).is_err(),
                Visit::Back(folder) => {
                    watches.remove(folder);
                }
                Visit::Entry(WalkEntry::File(found)) => {
                    debounce.note(found.path, Instant::now());
                }
                Visit::Entry(_) | Visit::Left | Visit::Unread => {}
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

    /// Detects roots that disappeared, came back or were replaced.
    pub(super) fn check_roots(&mut self) {
        let now: Vec<Anchor> = self
            .roots
            .reopened()
            .each()
            .map(|(_, root)| anchor(root))
            .collect();
        let mut pairs = self.anchors.iter().zip(&now);
        let Some((_, anchor)) = pairs.find(|(old, new)| old != new) else {
            return;
        };
        let what = if anchor.id.is_some() {
            "came back"
        } else {
            "is gone"
        };
        let why = format!("`{}` {what}", anchor.real.display());
        self.rescan(&why);
        self.anchors = now;
    }
}

fn anchor(root: &Root) -> Anchor {
    let folder = match root.real.parent() {
        Some(parent) if !root.is_folder => parent,
        _ => &root.real,
    };
    Anchor {
        real: root.real.clone(),
        folder: folder.to_path_buf(),
        id: crate::walk::folder_id(folder),
    }
}
