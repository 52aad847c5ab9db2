//! The stat of files, taken without reading them.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use loci_core::Stat;
use loci_core::clock::{nanoseconds, now_ns};
use loci_files::foreign::ForeignFile;

use crate::walk::{FoundFile, Reach, Rules, WalkEntry};
use loci_files::allowed::AllowedRoots;
use loci_transcripts::{self as transcripts, Format};

/// An open file, with its stat from before the first read.
pub(super) struct Opened {
    pub(super) file: ForeignFile,
    pub(super) stat: Stat,
}

impl Opened {
    /// Opens a file by its real path. A link that replaced it since the walk is not followed.
    pub(super) fn open(path: &Path, allowed: &AllowedRoots) -> io::Result<Self> {
        let read_ns = now_ns();
        let file = allowed.open_real(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Self {
            stat: of_metadata(&metadata, read_ns),
            file,
        })
    }

    /// Whether the file is unchanged since it was opened.
    pub(super) fn is_same(&self) -> io::Result<bool> {
        let now = of_metadata(&self.file.metadata()?, self.stat.read_ns);
        Ok(now.size == self.stat.size && now.modified_ns == self.stat.modified_ns)
    }
}

/// Whether the file certainly does not exist. A file that cannot be examined is not gone.
pub fn is_gone(name: &str) -> bool {
    matches!(fs::symlink_metadata(name), Err(error)
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}

/// Whether the file is a message of OpenCode, which is read with its session.
pub(super) fn is_part_of_conversation(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
        && path.ancestors().skip(1).any(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name == "message" || name == "part")
                && folder.parent().is_some_and(is_storage)
        })
}

pub(super) fn of_found(found: &FoundFile, allowed: &AllowedRoots) -> Stat {
    let stat = Stat {
        size: found.size,
        modified_ns: found.modified_ns,
        changed_ns: found.changed_ns,
        read_ns: now_ns(),
    };
    with_companions(&found.path, stat, allowed)
}

/// Extends the stat by that of the companion files, because the main file alone does not show all
/// changes.
pub(super) fn with_companions(path: &Path, mut stat: Stat, allowed: &AllowedRoots) -> Stat {
    for companion in companions(path, allowed) {
        if let Ok(metadata) = allowed.metadata(&companion) {
            let other = of_metadata(&metadata, stat.read_ns);
            stat.size += other.size;
            stat.modified_ns = stat.modified_ns.max(other.modified_ns);
            stat.changed_ns = stat.changed_ns.max(other.changed_ns);
        }
    }
    stat
}

/// Returns the log beside a database, or the messages of an OpenCode session or an OpenHands
/// conversation.
fn companions(path: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("vscdb" | "db") => {
            let mut log = path.as_os_str().to_owned();
            log.push("-wal");
            vec![PathBuf::from(log)]
        }
        Some("json") if is_session(path) => {
            transcripts::companions_within(Format::OpenCode, path, allowed)
        }
        Some("json") if path.ends_with("base_state.json") => {
            transcripts::companions_within(Format::OpenHands, path, allowed)
        }
        _ => Vec::new(),
    }
}

/// Whether a file lies in a session folder of OpenCode.
fn is_session(path: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| {
        folder.file_name().is_some_and(|name| name == "session")
            && folder.parent().is_some_and(is_storage)
    })
}

fn is_storage(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "storage") && folder.join("message").is_dir()
}

fn of_metadata(metadata: &fs::Metadata, read_ns: i64) -> Stat {
    let modified_ns = metadata.modified().map_or(0, nanoseconds);
    Stat {
        size: metadata.len(),
        modified_ns,
        changed_ns: changed_ns(metadata).unwrap_or(modified_ns),
        read_ns,
    }
}

#[cfg(unix)]
fn changed_ns(metadata: &fs::Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    metadata
        .ctime()
        .checked_mul(1_000_000_000)?
        .checked_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed_ns(_: &fs::Metadata) -> Option<i64> {
    None
}

/// Visits single files as a walk of the roots would.
pub(super) fn visit(
    roots: &[PathBuf],
    files: &[PathBuf],
    rules: &Rules,
    allowed: &AllowedRoots,
    each: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
) -> loci_core::Result<()> {
    let mut reach = Reach::within(roots, rules, allowed)?;
    for path in files {
        if let Some(met) = reach.meet(path)
            && each(met).is_break()
        {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::walk;
    use loci_files::allowed::EVERYTHING;
    use std::os::unix::fs::symlink;

    /// After the walk saw a file, and before it is opened, the file or its folder becomes a link.
    #[test]
    fn a_link_that_took_the_place_of_a_file_since_the_walk_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["outside/a.md", "tree/a.md", "tree/sub/a.md"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            loci_files::own::write(&at(name), name).unwrap();
        }
        let mut found = Vec::new();
        walk(&[at("tree")], &Rules::default(), &mut |met| {
            if let WalkEntry::File(file) = met {
                found.push(file.path);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(found.len(), 2);
        assert!(
            found
                .iter()
                .all(|path| Opened::open(path, &EVERYTHING).is_ok())
        );
        fs::remove_file(at("tree/a.md")).unwrap();
        symlink(at("outside/a.md"), at("tree/a.md")).unwrap();
        fs::remove_dir_all(at("tree/sub")).unwrap();
        symlink(at("outside"), at("tree/sub")).unwrap();
        for path in found {
            let error = Opened::open(&path, &EVERYTHING)
                .err()
                .expect("a link was followed");
            assert!(error.to_string().contains("link"), "{error}");
        }
    }
}
