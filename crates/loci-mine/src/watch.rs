//! What changes below some roots, told as it happens and not too often.
//!
//! The system's events only say where to look; what is told follows from what is on disk and from
//! the rules of the walk. Whenever events may be missing, that is told too. Never reads or writes a
//! file's content.

mod debounce;
mod inbox;
mod lookout;
mod nest;
mod poll;

use std::collections::BTreeSet;
use std::ops::ControlFlow::{self, Continue};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::Error;

use crate::walk::{Roots, Rules};
use lookout::Lookout;

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
    /// These paths came, changed or went, at most [`MAX_PATHS`] of them. Real paths, as the walk
    /// gives them. Where there is nothing, or no longer a folder, all that was below the path is
    /// gone too.
    Changed(BTreeSet<PathBuf>),
    /// Look at everything again.
    Rescan {
        /// The reason in plain words.
        why: String,
    },
}

/// Calls `each`, from this thread, with what changes in the roots, until `stop` is set or `each`
/// says `Break`. The flag is looked at ten times a second.
///
/// The first call is a rescan with the reason `start`, when all folders are watched already:
/// nothing that happens between it and the walk is lost. What happens while `each` runs is told
/// afterwards. A change of the rules' own files or of `.loci.toml`, a root that goes or comes back,
/// and lost events are told as a rescan. When the system can watch no more folders, that is told
/// once as a rescan, and from then on all files are looked at every few seconds. Fails when a root
/// is missing at the start.
///
/// ```no_run
/// use std::ops::ControlFlow::Continue;
/// use std::sync::atomic::AtomicBool;
/// use loci_mine::walk::Rules;
/// use loci_mine::watch::{Pace, Stir, watch};
///
/// let stop = AtomicBool::new(false);
/// watch(&["notes".into()], &Rules::default(), &Pace::default(), &stop, &mut |stir| {
///     match stir {
///         Stir::Changed(paths) => { /* mine these */ }
///         Stir::Rescan { why } => { /* walk everything */ }
///     }
///     Continue(())
/// })?;
/// # Ok::<(), loci_core::Error>(())
/// ```
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
    let mut lookout = Lookout::new(Roots::open(given)?, given, rules, pace, stop, folders);
    lookout.set();
    // A limit met while setting is told after the start, which comes first in any case.
    let mut told = each(Stir::Rescan {
        why: "start".to_owned(),
    });
    let mut check = Instant::now() + ROOT_CHECK;
    while told == Continue(()) && !stop.load(Ordering::Relaxed) {
        lookout.wait(TICK);
        let now = Instant::now();
        if now >= check {
            lookout.check_roots();
            // Thousands of roots must not keep us busy.
            check = now + ROOT_CHECK.max(now.elapsed() * 50);
        }
        lookout.poll(pace.at_most);
        if let Some(stir) = lookout.take() {
            told = each(stir);
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

    const PACE: Pace = Pace {
        quiet: Duration::from_millis(10),
        at_most: Duration::from_millis(50),
    };

    /// Watches at most so many folders; `act` is called with the number of each stir until it
    /// says that it was the last.
    fn told(root: &Path, folders: usize, act: &mut dyn FnMut(usize) -> bool) -> Vec<Stir> {
        let stop = AtomicBool::new(false);
        let (done, waiting) = std::sync::mpsc::channel::<()>();
        let mut told = Vec::new();
        let given = [root.to_path_buf()];
        std::thread::scope(|scope| {
            let flag = &stop;
            // Ends a watch that tells nothing.
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
                &mut |stir| {
                    told.push(stir);
                    if act(told.len()) {
                        Break(())
                    } else {
                        Continue(())
                    }
                },
            )
            .unwrap();
            drop(done);
        });
        told
    }

    fn why(stir: &Stir) -> &str {
        match stir {
            Stir::Rescan { why } => why,
            Stir::Changed(_) => panic!("{stir:?}"),
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
        let told = told(&root, 2, &mut |step| {
            if step == 2 {
                fs::write(root.join("three/b.md"), "new").unwrap();
                fs::write(root.join("two/a.md"), "longer").unwrap();
                fs::remove_file(root.join("one/a.md")).unwrap();
            }
            step == 3
        });
        assert_eq!(why(&told[0]), "start");
        assert!(why(&told[1]).contains("limit"));
        let changed = ["one/a.md", "three/b.md", "two/a.md"].map(|name| root.join(name));
        assert_eq!(told[2], Stir::Changed(changed.into()));
    }

    #[test]
    fn a_limit_that_is_met_later_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let told = told(&root, 2, &mut |step| {
            match step {
                1 => fs::create_dir_all(root.join("one/two/three")).unwrap(),
                2 => fs::write(root.join("one/two/three/a.md"), "x").unwrap(),
                _ => {}
            }
            step == 3
        });
        assert_eq!(why(&told[0]), "start");
        assert!(why(&told[1]).contains("limit"));
        let changed = [root.join("one/two/three/a.md")];
        assert_eq!(told[2], Stir::Changed(changed.into()));
    }
}
