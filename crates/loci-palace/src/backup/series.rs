//! The backups of one palace in one folder: their names, and which of them are removed.
//!
//! A name is `loci-TAG-YYYYMMDD-HHMMSS-mmm.backup`, in UTC, so names sort by time. `TAG` is a hash
//! of the identity of the palace and of its directory: a copy of the palace at another place makes a
//! series of its own. No lock is needed. A file is removed only if newer usable ones fill the
//! number to keep, and no process removes those.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use loci_core::clock::{moment, now_ms};
use loci_core::{Error, Result, Warning};
use loci_files::output;

use crate::palace::Palace;

const PREFIX: &str = "loci-";
const SUFFIX: &str = ".backup";
/// Hexadecimal digits of a tag.
const TAG: usize = 12;
/// Digits of date, time and milliseconds in a name.
const TIME: [usize; 3] = [8, 6, 3];

/// The series of a palace in a folder.
pub(super) struct Series {
    folder: PathBuf,
    identity: String,
    tag: String,
}

/// What [`Series::thin_out`] did.
#[derive(Default)]
pub(super) struct Thinned {
    pub(super) kept: usize,
    pub(super) removed: Vec<PathBuf>,
    pub(super) warnings: Vec<Warning>,
}

impl Series {
    pub(super) fn of(palace: &Palace, identity: &str, folder: &Path) -> Self {
        let place = match palace.directory() {
            Some(directory) => directory
                .canonicalize()
                .unwrap_or_else(|_| directory.to_owned()),
            None => palace.place().to_string().into(),
        };
        let mut hash = blake3::Hasher::new();
        hash.update(identity.as_bytes());
        hash.update(b"\n");
        hash.update(place.as_os_str().as_encoded_bytes());
        let mut tag = hash.finalize().to_hex().to_string();
        tag.truncate(TAG);
        Self {
            folder: folder.to_owned(),
            identity: identity.to_owned(),
            tag,
        }
    }

    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Gives a copy the next free name of the series.
    pub(super) fn publish(&self, copy: &Path) -> Result<PathBuf> {
        let mut at = now_ms();
        loop {
            let target = self.folder.join(self.name(at));
            match output::without_replacing(copy, &target) {
                Ok(()) => return Ok(target),
                // Another backup was finished in the same millisecond.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => at += 1,
                Err(error) => return Err(Error::io("cannot create", target, error)),
            }
        }
    }

    /// Removes the oldest usable backups beyond `keep`. `made` always stays, even if the clock went
    /// back and its name is not the newest. What cannot be used stays and does not count.
    pub(super) fn thin_out(
        &self,
        palace: &Palace,
        made: &Path,
        keep: Option<NonZeroU32>,
    ) -> Thinned {
        let mut thinned = Thinned::default();
        let mut usable = Vec::new();
        for path in self.named() {
            // The new one was checked before it got its name.
            match if path == made {
                Ok(())
            } else {
                self.check(palace, &path)
            } {
                Ok(()) => usable.push(path),
                // Another process has removed it.
                Err(_) if fs::symlink_metadata(&path).is_err() => {}
                Err(error) => thinned.warnings.push(Warning::BackupLeft {
                    path,
                    problem: error.to_string(),
                }),
            }
        }
        let keep = keep.map_or(usize::MAX, |keep| keep.get() as usize);
        let beyond = usable.len().saturating_sub(keep);
        thinned.kept = usable.len();
        for path in usable.into_iter().take(beyond) {
            if path == made {
                continue;
            }
            // `keep` newer backups have their names, durably. A crash between two removals leaves
            // more than `keep`, and the next backup removes the rest.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    thinned.warnings.push(Warning::BackupLeft {
                        problem: format!("cannot remove it: {error}"),
                        path,
                    });
                    continue;
                }
                Ok(()) => thinned.removed.push(path),
                Err(_) => {}
            }
            thinned.kept -= 1;
        }
        thinned
    }

    /// Regular files with a name of this series, oldest first.
    fn named(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter(|entry| {
                let name = entry.file_name();
                name.to_str().is_some_and(|name| self.has(name))
            })
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        paths
    }

    /// Whether a file is a backup of this palace that was not cut.
    fn check(&self, palace: &Palace, path: &Path) -> Result<()> {
        let contents = palace
            .backend
            .check_backup(&palace.reference, path, false)?;
        if contents.identity == self.identity {
            return Ok(());
        }
        Err(Error::invalid(
            format!("`{}`", path.display()),
            "a backup of another palace",
        ))
    }

    fn name(&self, milliseconds: i64) -> String {
        let time = moment(milliseconds);
        format!(
            "{PREFIX}{}-{}-{:03}{SUFFIX}",
            self.tag,
            time.strftime("%Y%m%d-%H%M%S"),
            time.subsec_millisecond()
        )
    }

    fn has(&self, name: &str) -> bool {
        let time = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix(self.tag.as_str()))
            .and_then(|rest| rest.strip_prefix('-'))
            .and_then(|rest| rest.strip_suffix(SUFFIX));
        time.is_some_and(|time| {
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            time.split('-').map(str::len).eq(TIME) && time.split('-').all(digits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_are_recognised_strictly() {
        let series = Series {
            folder: PathBuf::new(),
            identity: String::new(),
            tag: "0123456789ab".into(),
        };
        let times = [0, 1, 999, 1_000, 1_779_000_000_123, 253_402_207_199_000];
        let names: Vec<String> = times.map(|time| series.name(time)).into();
        assert_eq!(names[4], "loci-0123456789ab-20260517-064000-123.backup");
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.iter().all(|name| series.has(name)), "{names:?}");
        for other in [
            "loci-0123456789ab-20260517-064000-123.backup.gz",
            "loci-0123456789ac-20260517-064000-123.backup",
            "loci-0123456789ab-20260517-064000.backup",
            "loci-0123456789ab-20260517-064000-12x.backup",
            "my-loci-0123456789ab-20260517-064000-123.backup",
            "loci-0123456789ab-.backup",
        ] {
            assert!(!series.has(other), "{other}");
        }
    }
}
