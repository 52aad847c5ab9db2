//! Reports changes below some roots as they happen, in batches.
//!
//! The system's events only say where to look. Reports follow from what is on disk and from the
//! rules of the walk. Possibly lost events are reported as well. The content of files is never read
//! or written.

mod active_watch;
mod debounce;
mod folder_watches;
mod inbox;
mod poll;

use std::collections::BTreeSet;
use std::ops::ControlFlow::{self, Continue};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::Error;

use crate::walk::{Roots, Rules};
use active_watch::ActiveWatch;

/// More changed paths than this are reported as a rescan.
pub const MAX_PATHS: usize = 4_096;

/// How often the stop flag is checked.
const TICK: Duration = Duration::from_millis(100);

/// How often the roots are checked.
const ROOT_CHECK: Duration = Duration::from_millis(500);

/// How long changes are collected before they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchTiming {
    /// Changes are reported when nothing has changed for this long.
    pub quiet: Duration,
    /// Changes are reported at the latest this long after the first of them.
    pub at_most: Duration,
}

impl Default for WatchTiming {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(300),
            at_most: Duration::from_secs(2),
        }
    }
}

/// A report of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// These paths appeared, changed or disappeared; there are at most [`MAX_PATHS`]. They are real
    /// paths, as in the walk. If a path does not exist, or is not a folder any more, everything
    /// below it is gone too.
    Changed(BTreeSet<PathBuf>),
    /// Everything must be examined again.
    Rescan {
        /// The reason in plain words.
        why: String,
    },
}

/// Calls `each`, from this thread, with changes in the roots, until `stop` is set or `each` returns
/// `Break`. The flag is checked ten times a second.
///
/// The first call is a rescan with the reason `start`. All folders are already watched at that
/// time, so nothing that happens between it and the walk is lost. Changes during a call of `each`
/// are reported after it. A rescan is also reported when a pattern file or `.loci.toml` changes,
/// when a root disappears or comes back, and when events are lost. If the system cannot watch more
/// folders, this is reported once as a rescan, and from then on all files are examined every few
/// seconds. Fails when a root is missing at the start.
///
/// ```no_run
/// use std::ops::ControlFlow::Continue;
/// use std::sync::atomic::AtomicBool;
/// use loci_mine::walk::Rules;
/// use loci_mine::watch::{WatchTiming, WatchEvent, watch};
///
/// let stop = AtomicBool::new(false);
/// watch(&["notes".into()], &Rules::default(), &WatchTiming::default(), &stop, &mut |event| {
///     match event {
///         WatchEvent::Changed(paths) => { /* mine these */ }
///         WatchEvent::Rescan { why } => { /* walk everything */ }
///     }
///     Continue(())
/// })?;
/// # Ok::<(), loci_core::Error>(())
/// ```
pub fn watch(
    roots: &[PathBuf],
    rules: &Rules,
    timing: &WatchTiming,
    stop: &AtomicBool,
    each: &mut dyn FnMut(WatchEvent) -> ControlFlow<()>,
) -> Result<(), Error> {
    watch_at_most(usize::MAX, roots, rules, timing, stop, each)
}

fn watch_at_most(
    folders: usize,
    given: &[PathBuf],
    rules: &Rules,
    timing: &WatchTiming,
    stop: &AtomicBool,
    each: &mut dyn FnMut(WatchEvent) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut active = ActiveWatch::new(Roots::open(given)?, given, rules, timing, stop, folders);
    active.set();
    // A limit that was reached during the setup is reported after the start.
    let mut flow = each(WatchEvent::Rescan {
        why: "start".to_owned(),
    });
    let mut check = Instant::now() + ROOT_CHECK;
    while flow == Continue(()) && !stop.load(Ordering::Relaxed) {
        active.wait(TICK);
        let now = Instant::now();
        if now >= check {
            active.check_roots();
            // Checking thousands of roots must take only a small share of the time.
            check = now + ROOT_CHECK.max(now.elapsed() * 50);
        }
        active.poll(timing.at_most);
        if let Some(event) = active.take() {
            flow = each(event);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::ops::ControlFlow::Break;
    use std::path::Path;

    const PACE: WatchTiming = WatchTiming {
        quiet: Duration::from_millis(10),
        at_most: Duration::from_millis(50),
    };

    /// Watches at most this many folders. `act` is called with the number of each report until it
    /// returns `true` for the last one.
    fn reports(root: &Path, folders: usize, act: &mut dyn FnMut(usize) -> bool) -> Vec<WatchEvent> {
        let stop = AtomicBool::new(false);
        let (done, waiting) = std::sync::mpsc::channel::<()>();
        let mut reports = Vec::new();
        let given = [root.to_path_buf()];
        std::thread::scope(|scope| {
            let flag = &stop;
            // Ends a watch that reports nothing.
            scope.spawn(move || {
                let _ = waiting.recv_timeout(Duration::from_secs(20));
                flag.store(true, Ordering::Relaxed);
            });
            watch_at_most(
                folders,
                &given,
                &Rules::default(),
                &PACE,
                flag,
                &mut |event| {
                    reports.push(event);
                    if act(reports.len()) {
                        Break(())
                    } else {
                        Continue(())
                    }
                },
            )
            .unwrap();
            drop(done);
        });
        reports
    }

    fn why(event: &WatchEvent) -> &str {
        match event {
            WatchEvent::Rescan { why } => why,
            WatchEvent::Changed(_) => panic!("{event:?}"),
        }
    }

    #[test]
    fn at_the_limit_of_watched_folders_all_files_are_looked_at_instead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["one", "two", "three"] {
            fs::create_dir(root.join(name)).unwrap();
            fs::write(root.join(name).join("a.md"), "x").unwrap();
        }
        let reports = reports(&root, 2, &mut |step| {
            if step == 2 {
                fs::write(root.join("three/b.md"), "new").unwrap();
                fs::write(root.join("two/a.md"), "longer").unwrap();
                fs::remove_file(root.join("one/a.md")).unwrap();
            }
            step == 3
        });
        assert_eq!(why(&reports[0]), "start");
        assert!(why(&reports[1]).contains("limit"));
        let changed = ["one/a.md", "three/b.md", "two/a.md"].map(|name| root.join(name));
        assert_eq!(reports[2], WatchEvent::Changed(changed.into()));
    }

    #[test]
    fn a_limit_that_is_met_later_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let reports = reports(&root, 2, &mut |step| {
            match step {
                1 => fs::create_dir_all(root.join("one/two/three")).unwrap(),
                2 => fs::write(root.join("one/two/three/a.md"), "x").unwrap(),
                _ => {}
            }
            step == 3
        });
        assert_eq!(why(&reports[0]), "start");
        assert!(why(&reports[1]).contains("limit"));
        let changed = [root.join("one/two/three/a.md")];
        assert_eq!(reports[2], WatchEvent::Changed(changed.into()));
    }
}
