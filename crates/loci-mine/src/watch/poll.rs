//! Looking at everything from time to time, for systems that cannot watch as many folders as there
//! are. Keeps one stamp per file; looks less often the longer a look takes.

use std::collections::HashMap;
use std::ops::ControlFlow::{Break, Continue};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::walk::{Met, Rules, walk};

/// At most this part of the time goes into looking.
const SHARE: u32 = 20;

/// What was seen at the last look.
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
    /// How long to wait between two looks.
    pub(super) fn pause(&self, least: Duration) -> Duration {
        least.max(self.took * SHARE)
    }

    /// Looks and tells each path that came, changed or went since the last look. Does nothing when
    /// a root is missing or the look is stopped. What cannot be looked at is not taken to be gone.
    pub(super) fn look(
        &mut self,
        roots: &[PathBuf],
        rules: &Rules,
        stop: &AtomicBool,
        changed: &mut dyn FnMut(PathBuf),
    ) {
        let start = Instant::now();
        // Alternates, so that stamps of this look can be told from older ones.
        let look = !self.seen.values().next().is_some_and(|stamp| stamp.look);
        let walked = walk(roots, rules, &mut |met| {
            if let Met::File(found) = met {
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
