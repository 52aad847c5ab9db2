//! Quarantines damaged files under a name with the current time, and never overwrites a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loci_core::{Error, Result, clock};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::build::sync_directory;

const MARK: &str = ".drift-";

/// Renames `directory/name` to `name.drift-YYYYMMDD-HHMMSS` (UTC; `-2`, `-3`, … if taken) and
/// returns the new name; `None` if there is nothing to rename. Moves anything with that name: file,
/// directory, symlink, FIFO. The caller holds the lock of the builders and has repeated its check
/// under it.
pub fn set_aside(directory: &Path, name: &str) -> Result<Option<String>> {
    set_aside_at(directory, name, clock::now(), rename_without_replacing)
}

/// Everything that [`set_aside`] moved in this directory, sorted by name.
pub fn drift_files(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_drift_name))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn is_drift_name(name: &str) -> bool {
    let Some((_, time)) = name.rsplit_once(MARK) else {
        return false;
    };
    let mut parts = time.split('-');
    let mut digits = |length: Option<usize>| {
        parts.next().is_some_and(|part| {
            part.bytes().all(|byte| byte.is_ascii_digit())
                && length.map_or(!part.is_empty(), |length| part.len() == length)
        })
    };
    digits(Some(8))
        && digits(Some(6))
        && (time.len() == 15 || digits(None))
        && parts.next().is_none()
}

type Rename = fn(&Path, &Path) -> rustix::io::Result<()>;

fn set_aside_at(
    directory: &Path,
    name: &str,
    now: Timestamp,
    rename: Rename,
) -> Result<Option<String>> {
    if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
        return Err(Error::invalid(
            "file name",
            format!("`{}` names no file in a directory", name.escape_debug()),
        ));
    }
    let from = directory.join(name);
    let base = format!("{name}{MARK}{}", now.strftime("%Y%m%d-%H%M%S"));
    for counter in 1_u64.. {
        let new_name = match counter {
            1 => base.clone(),
            _ => format!("{base}-{counter}"),
        };
        // The rename keeps every byte. A crash before it leaves the file under its old name, where it
        // fails its check again.
        match rename(&from, &directory.join(&new_name)) {
            Ok(()) => {
                // Without the sync, a power cut could bring the damaged file back under its old
                // name.
                sync_directory(directory)?;
                return Ok(Some(new_name));
            }
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(Error::io("cannot quarantine", from, error.into())),
        }
    }
    Ok(None)
}

fn rename_without_replacing(from: &Path, to: &Path) -> rustix::io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => look_then_rename(from, to),
        outcome => outcome,
    }
}

/// For file systems without an atomic rename that does not replace. The caller's lock prevents a
/// race between the two steps.
fn look_then_rename(from: &Path, to: &Path) -> rustix::io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(Errno::EXIST),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::rename(from, to).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENAMES: [Rename; 2] = [rename_without_replacing, look_then_rename];

    #[test]
    fn files_set_aside_in_one_second_never_collide() {
        for rename in RENAMES {
            let dir = tempfile::tempdir().unwrap();
            let now = Timestamp::from_second(1_767_323_045).unwrap();
            for number in 1..=5 {
                fs::write(dir.path().join("x"), number.to_string()).unwrap();
                let aside = set_aside_at(dir.path(), "x", now, rename).unwrap().unwrap();
                let suffix = if number == 1 {
                    String::new()
                } else {
                    format!("-{number}")
                };
                assert_eq!(aside, format!("x.drift-20260102-030405{suffix}"));
            }
            let kept: Vec<String> = drift_files(dir.path())
                .iter()
                .map(|path| fs::read_to_string(path).unwrap())
                .collect();
            assert_eq!(kept, ["1", "2", "3", "4", "5"]);
        }
    }

    #[test]
    fn a_missing_file_is_not_quarantined() {
        for rename in RENAMES {
            let dir = tempfile::tempdir().unwrap();
            assert_eq!(
                set_aside_at(dir.path(), "x", clock::now(), rename).unwrap(),
                None
            );
        }
        assert_eq!(set_aside(Path::new("/no/such/place"), "x").unwrap(), None);
    }

    #[test]
    fn a_name_that_leaves_the_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd"] {
            assert!(set_aside(dir.path(), name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_names_made_here_count_as_drift() {
        for name in [
            "x.drift-20260102-030405",
            "x.drift-20260102-030405-2",
            "x.drift-1.drift-20260102-030405-12",
        ] {
            assert!(is_drift_name(name), "{name}");
        }
        for name in [
            "x",
            "x.drift-",
            "x.drift-2026-030405",
            "x.drift-20260102-030405-",
            "x.drift-20260102-030405-2-3",
            "x.drift-20260102-0304051",
        ] {
            assert!(!is_drift_name(name), "{name}");
        }
    }
}
