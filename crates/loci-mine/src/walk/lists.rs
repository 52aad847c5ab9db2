//! The pattern files of one folder, ready to match. An invalid pattern is ignored, as in git. A
//! file that cannot be read is reported to the caller.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::signs::{LISTS, Signs};
use crate::place::repository;
use loci_files::allowed::AllowedRoots;

const MAX_LIST_BYTES: u64 = 1 << 20;

/// The verdict of a list on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListVerdict {
    Nothing,
    Leave,
    Keep,
}

/// The lists of one folder. Their patterns are relative to it.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) folder: PathBuf,
    /// `.lociignore`, `.ignore`, `.gitignore`.
    own: [Option<Gitignore>; 3],
    exclude: Option<Gitignore>,
    /// Whether git's patterns from above end at this folder.
    pub(super) repository: bool,
}

/// The index of each list in [`Lists`].
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    Loci,
    Plain,
    Git,
    Exclude,
}

impl Lists {
    /// Reads the lists that the signs name, and calls `failed` for those that cannot be read.
    pub(super) fn of(
        folder: &Path,
        signs: Signs,
        git: bool,
        allowed: &AllowedRoots,
        failed: &mut dyn FnMut(PathBuf, io::Error),
    ) -> Self {
        let mut load = |file: PathBuf| {
            read(&file, allowed)
                .map_err(|error| failed(file, error))
                .ok()
                .and_then(|text| compile(folder, &text))
        };
        let [loci, plain, gitignore] = LISTS;
        let repository = signs.git && repository::is_top(folder, allowed);
        let exclude = (git && repository)
            .then(|| repository::common_directory(folder, allowed))
            .flatten()
            .map(|common| common.join("info/exclude"))
            .filter(|file| allowed.contains(file) && file.exists());
        Self {
            folder: folder.to_path_buf(),
            own: [
                signs.lociignore.then(|| load(folder.join(loci))).flatten(),
                (git && signs.ignore)
                    .then(|| load(folder.join(plain)))
                    .flatten(),
                (git && signs.gitignore)
                    .then(|| load(folder.join(gitignore)))
                    .flatten(),
            ],
            exclude: exclude.and_then(load),
            repository,
        }
    }

    pub(super) fn verdict(&self, list: List, path: &Path, is_folder: bool) -> ListVerdict {
        let [loci, plain, git] = &self.own;
        let list = match list {
            List::Loci => loci,
            List::Plain => plain,
            List::Git => git,
            List::Exclude => &self.exclude,
        };
        list.as_ref()
            .map_or(ListVerdict::Nothing, |list| matched(list, path, is_folder))
    }
}

pub(super) fn matched(list: &Gitignore, path: &Path, is_folder: bool) -> ListVerdict {
    match list.matched(path, is_folder) {
        Match::None => ListVerdict::Nothing,
        Match::Ignore(_) => ListVerdict::Leave,
        Match::Whitelist(_) => ListVerdict::Keep,
    }
}

/// Returns git's global list of the user, with patterns relative to `root`.
pub(super) fn global(root: &Path) -> Gitignore {
    // The library opens the file itself.
    let is_foreign =
        gitconfig_excludes_path().is_none_or(|path| loci_files::foreign::check(&path).is_ok());
    if is_foreign {
        GitignoreBuilder::new(root).build_global().0
    } else {
        Gitignore::empty()
    }
}

fn compile(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // In git these match nothing, but the matcher would match everything.
        let is_nothing = matches!(line.trim(), "!" | "/" | "!/" | "\\");
        if !is_nothing {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok().filter(|list| !list.is_empty())
}

fn read(file: &Path, allowed: &AllowedRoots) -> io::Result<String> {
    // A named pipe must not be opened, because opening would block until a writer comes.
    if !allowed.metadata(file)?.is_file() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    allowed
        .open(file)?
        .take(MAX_LIST_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
