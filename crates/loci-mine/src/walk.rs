//! Walks folders and finds the files to mine below some roots.
//!
//! It streams in a stable order and holds only the names of the folders on the current path. It
//! examines names and sizes; it never opens a file that it meets, and never writes. Every returned
//! path is real (absolute and without links), so one file is one source.

mod gate;
mod links;
mod lists;
mod reach;
pub mod reason;
mod roots;
mod signs;
mod tour;

use std::fs::{self, Metadata};
use std::io;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::{Path, PathBuf};

use loci_core::Error;

use loci_files::allowed::AllowedRoots;
use loci_files::palace::is_file_of_open_palace;

pub use reach::{Reach, would_meet};

pub(crate) use gate::Gate;
pub(crate) use links::{Links, Target, target};
pub(crate) use roots::{Root, Roots, real_path};
pub(crate) use signs::{LISTS, makes_palace};
pub(crate) use tour::{Tour, Visit};

/// The rules that select files. A root itself is always taken. `.lociignore` always applies, and
/// its `!` patterns take files even if they are hidden or vendored. Folders of version control
/// systems and palaces of Loci are never entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Rules {
    /// Take files and folders whose name begins with a dot.
    pub hidden: bool,
    /// Take files that `.gitignore`, `.ignore`, `.git/info/exclude` and git's global list ignore.
    pub ignored: bool,
    /// Enter folders of third-party code and of tools: `node_modules`, `target`, …
    pub vendored: bool,
    /// Which links to files are followed. Links to folders are never followed.
    pub follow_links: FollowLinks,
    /// Skip larger files.
    pub max_file_bytes: Option<u64>,
}

/// Which links to files a walk follows. A root itself may always be a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FollowLinks {
    /// None.
    Never,
    /// Only links to a file below one of the roots.
    #[default]
    Inside,
    /// All links. A tree can then name any file that the user may read.
    Everywhere,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            hidden: false,
            ignored: false,
            vendored: false,
            follow_links: FollowLinks::Inside,
            max_file_bytes: None,
        }
    }
}

/// A file to mine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The real path: absolute, without links, UTF-8.
    pub path: PathBuf,
    /// The index of the nearest root of the file, or of the link to it.
    pub root: usize,
    /// The size in bytes.
    pub size: u64,
    /// The modification time, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The time of the last change of content or inode. Equals `modified_ns` if the system has no
    /// such time.
    pub changed_ns: i64,
    /// The device and inode, if the system has them. Two paths with one id are hard links.
    pub file_id: Option<(u64, u64)>,
}

/// One result of a walk.
#[derive(Debug)]
pub enum WalkEntry {
    /// A file to mine.
    File(FoundFile),
    /// A path that the rules admit but that cannot be mined.
    Skipped {
        /// The path.
        path: PathBuf,
        /// One of [`reason`].
        reason: &'static str,
    },
    /// The path could not be examined.
    Failed {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// The summary of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walked {
    /// The number of files met.
    pub files: u64,
    /// Whether everything was examined. `false` when `each` stopped the walk or something could not
    /// be examined. In that case a file that was not met may still exist.
    pub complete: bool,
    /// The number of folders that the rules left out: hidden, ignored, vendored.
    pub ignored_directories: u64,
    /// The roots, as given, in which no file was met.
    pub empty_roots: Vec<PathBuf>,
}

/// Walks the roots in the given order, sorted by name within a folder, and calls `each` with every
/// result until it returns `Break`. A root that is a file is met even if hidden or ignored. A file
/// is met once, whatever roots and links lead to it. Fails, before anything is met, when a root is
/// missing.
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use loci_mine::walk::{WalkEntry, Rules, walk};
///
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("notes.md"), "text")?;
/// # std::fs::write(folder.path().join(".hidden"), "text")?;
/// let mut names = Vec::new();
/// let walked = walk(&[folder.path().into()], &Rules::default(), &mut |met| {
///     if let WalkEntry::File(found) = met {
///         names.extend(found.path.file_name().map(|name| name.to_owned()));
///     }
///     Continue(())
/// })?;
/// assert_eq!(names, ["notes.md"]);
/// assert!(walked.complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn walk(
    roots: &[PathBuf],
    rules: &Rules,
    each: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
) -> Result<Walked, Error> {
    Ok(walk_roots(&Roots::open(roots)?, rules, each))
}

/// Like [`walk`], for roots that are real paths. A root that has become a link is an error. Pattern
/// lists in the roots are read if they are allowed. Those above the roots are always read, because
/// they can only leave files out.
pub(crate) fn walk_real(
    roots: &[PathBuf],
    rules: &Rules,
    allowed: &AllowedRoots,
    each: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
) -> Result<Walked, Error> {
    let roots = Roots::open_real(roots)?.within(allowed);
    Ok(walk_roots(&roots, rules, each))
}

fn walk_roots(
    roots: &Roots,
    rules: &Rules,
    each: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
) -> Walked {
    let mut links = Links::new(roots.clone(), rules);
    let mut walked = Walked {
        complete: true,
        ..Walked::default()
    };
    let mut filled = vec![false; roots.all().len()];
    for (number, root) in roots.each() {
        let before = walked.files;
        let mut step = |step: Visit<'_>| match step {
            Visit::Folder(_) | Visit::Back(_) => Continue(()),
            Visit::Left => {
                walked.ignored_directories += 1;
                Continue(())
            }
            Visit::Unread => {
                walked.complete = false;
                Continue(())
            }
            Visit::Entry(met) => {
                walked.files += u64::from(matches!(met, WalkEntry::File(_)));
                each(met)
            }
        };
        let flow = if root.is_folder {
            let mut gate = Gate::new(&root.real, rules, roots.allowed());
            let mut tour = Tour {
                roots,
                root: number,
                gate: &mut gate,
                links: Some(&mut links),
            };
            tour.run(root.real.clone(), &mut step)
        } else {
            step(Visit::Entry(single(root.real.clone(), number, rules)))
        };
        if let Some(filled) = filled.get_mut(number) {
            *filled = walked.files > before;
        }
        if flow == Break(()) {
            walked.complete = false;
            return walked;
        }
    }
    let is_filled = |number: usize| filled.get(number) == Some(&true);
    for (number, root) in roots.all().iter().enumerate() {
        let has_files = is_filled(root.duplicate_of.unwrap_or(number))
            || roots
                .each()
                .any(|(other, within)| is_filled(other) && within.real.starts_with(&root.real));
        if !has_files {
            walked.empty_roots.push(root.given.clone());
        }
    }
    walked
}

/// Returns the result for a single path that is not a folder and that the rules admit.
fn single(path: PathBuf, root: usize, rules: &Rules) -> WalkEntry {
    match fs::symlink_metadata(&path) {
        Ok(_) if in_palace(&path) => tour::skipped(path, reason::PALACE),
        Ok(metadata) if metadata.is_file() => found(path, root, &metadata, rules),
        Ok(_) => tour::skipped(path, reason::NOT_REGULAR),
        Err(error) => tour::failed(path, error),
    }
}

/// Whether a file lies in a palace, open or not.
fn in_palace(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| signs::Signs::probe(folder).is_palace())
}

fn is_too_large(metadata: &Metadata, rules: &Rules) -> bool {
    rules
        .max_file_bytes
        .is_some_and(|most| metadata.len() > most)
}

/// Returns the result for a regular file by its metadata.
fn found(path: PathBuf, root: usize, metadata: &Metadata, rules: &Rules) -> WalkEntry {
    if is_too_large(metadata, rules) {
        return tour::skipped(path, reason::TOO_LARGE);
    }
    // Opening and closing a hard link to the database would drop the file locks of our own
    // connections.
    if has_other_names(metadata) && is_file_of_open_palace(&path, metadata) {
        return tour::skipped(path, reason::PALACE);
    }
    let (modified_ns, changed_ns, file_id) = stamp(metadata);
    WalkEntry::File(FoundFile {
        path,
        root,
        size: metadata.len(),
        modified_ns,
        changed_ns,
        file_id,
    })
}

/// Returns the device and inode of the folder at this path, if there is one.
pub(crate) fn folder_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok().filter(Metadata::is_dir)?;
    Some(stamp(&metadata).2.unwrap_or_default())
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> (i64, i64, Option<(u64, u64)>) {
    use std::os::unix::fs::MetadataExt;
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    (
        nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        Some((metadata.dev(), metadata.ino())),
    )
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> (i64, i64, Option<(u64, u64)>) {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or_default();
    (modified, modified, None)
}
