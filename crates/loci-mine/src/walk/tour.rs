//! One pass over one folder tree under the rules, in order of names. It holds only the names of the
//! folders on the current path. It does not recurse, so depth cannot overflow the stack.

use std::fs::{self, FileType};
use std::io;
use std::ops::ControlFlow::{self, Continue};
use std::path::{Path, PathBuf};
use std::vec;

use super::gate::{Gate, Inside, Verdict};
use super::links::Links;
use super::reason;
use super::roots::Roots;
use super::signs::Signs;
use super::{WalkEntry, found};
use loci_files::allowed::is_outside;

/// One step of a tour.
pub(crate) enum Visit<'a> {
    /// A folder, before its names are read.
    Folder(&'a Path),
    /// The last announced folder is not entered, because of its content.
    Back(&'a Path),
    /// A path that the rules admit.
    Entry(WalkEntry),
    /// A folder that the rules leave out.
    Left,
    /// A folder or file could not be examined. The `WalkEntry` before it gives the reason.
    Unread,
}

/// The tour of one root.
pub(crate) struct Tour<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) root: usize,
    pub(crate) gate: &'a mut Gate,
    /// Without links, only folders are reported and no file is examined.
    pub(crate) links: Option<&'a mut Links>,
}

struct Entry {
    name: Box<str>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

struct Open {
    folder: PathBuf,
    entries: vec::IntoIter<Entry>,
}

impl Tour<'_> {
    /// Walks `folder`, which is the root or below it. The gate must have entered everything above
    /// it.
    pub(crate) fn run(
        &mut self,
        folder: PathBuf,
        each: &mut dyn FnMut(Visit<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut way: Vec<Open> = Vec::new();
        way.extend(self.open(folder, Verdict::Admit, each)?);
        while let Some(open) = way.last_mut() {
            let Some(entry) = open.entries.next() else {
                way.pop();
                self.gate.leave();
                continue;
            };
            let path = open.folder.join(&*entry.name);
            let is_folder = matches!(entry.kind, Kind::Folder);
            let verdict = self.gate.judge(&path, &entry.name, is_folder);
            if verdict == Verdict::Leave {
                if is_folder && !super::signs::is_version_control(&entry.name) {
                    each(Visit::Left)?;
                }
            } else if self.roots.is_another(&path) {
                // Another root has its own tour.
            } else if is_folder {
                way.extend(self.open(path, verdict, each)?);
            } else if let Some(links) = self.links.as_deref_mut() {
                let met = match entry.kind {
                    Kind::File => self.file(path),
                    Kind::Link => Some(links.follow(&path, self.root)),
                    Kind::Folder | Kind::Other => Some(skipped(path, reason::NOT_REGULAR)),
                };
                report(met, each)?;
            }
        }
        Continue(())
    }

    /// Reads the names of a folder and enters it, unless its content forbids that.
    fn open(
        &mut self,
        folder: PathBuf,
        verdict: Verdict,
        each: &mut dyn FnMut(Visit<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<Open>> {
        each(Visit::Folder(&folder))?;
        let mut entries = Vec::new();
        let mut signs = Signs::default();
        let mut odd = Vec::new();
        if let Err(error) = list(&folder, &mut entries, &mut signs, &mut odd) {
            // The folder was deleted after it was listed, so it is ignored.
            if error.kind() == io::ErrorKind::NotFound && folder != self.gate.root() {
                return Continue(None);
            }
            report(Some(failed(folder.clone(), error)), each)?;
        }
        match self.gate.judge_inside(&folder, signs, verdict) {
            Inside::Enter => {}
            Inside::Palace => {
                each(Visit::Back(&folder))?;
                each(Visit::Entry(skipped(folder, reason::PALACE)))?;
                return Continue(None);
            }
            Inside::Leave => {
                each(Visit::Back(&folder))?;
                each(Visit::Left)?;
                return Continue(None);
            }
        }
        if self.links.is_some() {
            for path in odd {
                each(Visit::Entry(skipped(path, reason::NOT_UTF8)))?;
            }
        }
        entries.sort_unstable_by(|a: &Entry, b| a.name.cmp(&b.name));
        let mut unreadable = Vec::new();
        self.gate.enter(&folder, signs, &mut |path, error| {
            unreadable.push(failed(path, error));
        });
        for met in unreadable {
            each(Visit::Entry(met))?;
        }
        Continue(Some(Open {
            folder,
            entries: entries.into_iter(),
        }))
    }

    fn file(&self, path: PathBuf) -> Option<WalkEntry> {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                Some(found(path, self.root, &metadata, self.gate.rules()))
            }
            Ok(_) => Some(skipped(path, reason::NOT_REGULAR)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(failed(path, error)),
        }
    }
}

fn report(
    met: Option<WalkEntry>,
    each: &mut dyn FnMut(Visit<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(met) = met else {
        return Continue(());
    };
    let unread = match &met {
        WalkEntry::File(_) => false,
        WalkEntry::Skipped { reason, .. } => *reason == reason::NO_PERMISSION,
        WalkEntry::Failed { .. } => true,
    };
    each(Visit::Entry(met))?;
    if unread {
        each(Visit::Unread)
    } else {
        Continue(())
    }
}

pub(super) fn skipped(path: PathBuf, reason: &'static str) -> WalkEntry {
    WalkEntry::Skipped { path, reason }
}

pub(super) fn failed(path: PathBuf, error: io::Error) -> WalkEntry {
    if is_outside(&error) {
        skipped(path, reason::NOT_ALLOWED)
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        skipped(path, reason::NO_PERMISSION)
    } else {
        WalkEntry::Failed { path, error }
    }
}

/// Reads the names of a folder. Names that were read before an error are kept.
fn list(
    folder: &Path,
    entries: &mut Vec<Entry>,
    signs: &mut Signs,
    odd: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = match entry.file_name().into_string() {
            Ok(name) => name.into_boxed_str(),
            Err(_) => {
                odd.push(entry.path());
                continue;
            }
        };
        signs.note(&name);
        match entry.file_type() {
            Ok(kind) => entries.push(Entry {
                name,
                kind: Kind::of(kind),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Kind {
    fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}
