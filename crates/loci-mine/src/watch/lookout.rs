//! The watch at work: turns what the system tells into what is told, under the rules, and keeps the
//! watched folders in step with the tree. Judges by what is on disk at the time, never by what an
//! event claims.

use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::debounce::Debounce;
use super::inbox::{Inbox, News};
use super::nest::{Full, Nest};
use super::poll::Poll;
use super::{Pace, Stir};
use crate::place::SETTINGS_FILE;
use crate::walk::{
    Gate, LISTS, Links, Met, Root, Roots, Rules, Target, Tour, Visit, makes_palace, target,
};

/// How changes are seen.
enum Eye {
    Closed,
    Nest(Nest),
    Poll(Poll, Instant),
}

/// What a root hangs on.
#[derive(PartialEq, Eq)]
struct Anchor {
    real: PathBuf,
    /// The root itself, or the folder that holds it.
    folder: PathBuf,
    /// Which folder it is, if it is there.
    id: Option<(u64, u64)>,
}

/// One watch at work.
pub(super) struct Lookout<'a> {
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

impl<'a> Lookout<'a> {
    pub(super) fn new(
        roots: Roots,
        given: &'a [PathBuf],
        rules: &Rules,
        pace: &Pace,
        stop: &'a AtomicBool,
        most: usize,
    ) -> Self {
        Self {
            given,
            rules: *rules,
            stop,
            most,
            inbox: Arc::new(Inbox::default()),
            debounce: Debounce::new(pace),
            roots,
            anchors: Vec::new(),
            gates: Vec::new(),
            stale: false,
            eye: Eye::Closed,
        }
    }

    /// Waits for news, at most so long and not beyond the time when something is due.
    pub(super) fn wait(&mut self, longest: Duration) {
        let now = Instant::now();
        let due = self.debounce.due().unwrap_or(now + longest);
        let news = self
            .inbox
            .take(due.saturating_duration_since(now).min(longest));
        self.read(news);
    }

    /// Looks at all files if that is how changes are seen and it is time again.
    pub(super) fn poll(&mut self, least: Duration) {
        if let Eye::Poll(poll, last) = &mut self.eye
            && last.elapsed() >= poll.pause(least)
        {
            let debounce = &mut self.debounce;
            poll.look(self.given, &self.rules, self.stop, &mut |path| {
                debounce.note(path, Instant::now());
            });
            *last = Instant::now();
        }
    }

    /// What is due to be told. What must be looked at again is watched by then.
    pub(super) fn take(&mut self) -> Option<Stir> {
        let stir = self.debounce.take(Instant::now())?;
        if self.stale {
            self.set();
        }
        Some(stir)
    }

    /// Watches, from nothing, all folders that the rules admit.
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
        if matches!(self.eye, Eye::Poll(..)) {
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
                    Visit::Folder(folder) if folder == root.real => nest.add_root(folder),
                    Visit::Folder(folder) => nest.add(folder),
                    Visit::Back(folder) => {
                        nest.remove(folder);
                        Ok(())
                    }
                    Visit::Met(_) | Visit::Left | Visit::Unread => Ok(()),
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
        self.eye = Eye::Poll(poll, Instant::now());
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
        if shaped && self.anchors.iter().any(|anchor| anchor.folder == path) {
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
        if makes_palace(name) && shaped {
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
                Visit::Folder(folder) => full = nest.add(folder).is_err(),
                Visit::Back(folder) => {
                    nest.remove(folder);
                }
                Visit::Met(Met::File(found)) => debounce.note(found.path, Instant::now()),
                Visit::Met(_) | Visit::Left | Visit::Unread => {}
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

    /// Notices roots that went, came back or are others than before.
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
        self.lose(&why);
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
