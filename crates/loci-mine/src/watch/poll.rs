//! Examines all files from time to time, for systems that cannot watch as many folders as there
//! are. It keeps one stamp per file, and pauses longer the longer a pass takes.

use std::collections::HashMap;
use std::ops::ControlFlow::{Break, Continue};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::walk::{Rules, WalkEntry, walk};

/// At most one part in this many of the time is spent on passes.
const SHARE: u32 = 20;

/// The files seen in the last pass.
#[derive(Debug, Default)]
pub(super) struct Poll {
    seen: HashMap<PathBuf, Stamp>,
    took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    file_id: Option<(u64, u64)>,
    look: bool,
}

impl Poll {
    /// Returns the pause between two passes.
    pub(super) fn pause(&self, least: Duration) -> Duration {
        least.max(self.took * SHARE)
    }

    /// Makes a pass and reports each path that appeared, changed or disappeared since the last one.
    /// Does nothing when a root is missing or the pass is stopped. A file that cannot be examined
    /// does not count as gone.
    pub(super) fn look(
        &mut self,
        roots: &[PathBuf],
        rules: &Rules,
        stop: &AtomicBool,
        changed: &mut dyn FnMut(PathBuf),
    ) {
        let start = Instant::now();
        // The flag alternates, so that stamps of this pass differ from older ones.
        let look = !self.seen.values().next().is_some_and(|stamp| stamp.look);
        let walked = walk(roots, rules, &mut |met| {
            if let WalkEntry::File(found) = met {
                let stamp = Stamp {
                    size: found.size,
                    modified_ns: found.modified_ns,
                    changed_ns: found.changed_ns,
                    file_id: found.file_id,
                    look,
                };
                match self.seen.get_mut(&found.path) {
                    Some(seen) => {
                        let same = Stamp { look, ..*seen } == stamp;
                        *seen = stamp;
                        if !same {
                            changed(found.path);
                        }
                    }
                    None => {
                        self.seen.insert(found.path.clone(), stamp);
                        changed(found.path);
                    }
                }
            }
            if stop.load(Ordering::Relaxed) {
                Break(())
            } else {
                Continue(())
            }
        });
        let complete = walked.is_ok_and(|walked| walked.complete);
        self.seen.retain(|path, stamp| {
            if stamp.look == look {
                return true;
            }
            stamp.look = look;
            if complete {
                changed(path.clone());
            }
            !complete
        });
        self.took = start.elapsed();
    }
}
