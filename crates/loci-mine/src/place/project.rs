//! Identifies the project of a folder: by its remote, else its first commit, else its path. It
//! reads a few small files of git. Git itself runs only to find the first commit of a project that
//! is being recorded.

use std::path::{Path, PathBuf};

use loci_core::{Project, ProjectRecord};

use super::config::remote_url;
use super::first_commit;
use super::name::{GENERAL, made_valid};
use super::remote::{Remote, owner, parse};
use super::repository::{
    common_directory, folder_name, is_added_working_tree, normal, project_name,
};
use loci_files::allowed::AllowedRoots;

/// How many levels of local clones of local clones are followed.
const MAX_CLONES: usize = 8;
/// The longest owner that becomes part of a wing, in bytes.
const MAX_OWNER_BYTES: usize = 200;

/// A project and the place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProject {
    /// The project, without its first commit.
    pub project: Project,
    /// The top of the working tree, if git may be asked for the first commit.
    top: Option<PathBuf>,
}

impl FoundProject {
    /// Returns the project of the repository whose working tree begins at `top`.
    pub(super) fn repository(top: &Path, allowed: &AllowedRoots) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| normal(path));
        let main = common_directory(top, allowed).map(|common| main_folder(top, &common, allowed));
        let main = real(main.as_deref().unwrap_or(top));
        let mut project = Project {
            name: made_valid(&project_name(top, allowed).unwrap_or_default(), GENERAL),
            path: text(&main),
            // With limited access, the first commit is not looked up, and a remote may be out of
            // reach. A remote that appeared or disappeared therefore does not contradict the record
            // of the folder.
            is_repository: allowed.is_everything(),
            ..Project::default()
        };
        let here = real(top);
        if here != main {
            project.folders.push(text(&here));
        }
        project.remote = follow(&main, top, &mut project.folders, allowed);
        project.owner = match &project.remote {
            Some(remote) => owner(remote).map(str::to_owned),
            None => main.parent().and_then(folder_name),
        };
        // Git follows every path that files of the repository name, so it does not run with limited
        // access.
        Self::new(project, allowed.is_everything().then(|| top.to_path_buf()))
    }

    /// Returns the project of a folder outside any repository, or of a deleted one. Paths of other
    /// operating systems are supported.
    pub(super) fn folder(path: &str) -> Self {
        let trimmed = path.trim_end_matches(['/', '\\']);
        let path = if trimmed.is_empty() { path } else { trimmed };
        let mut parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
        let project = Project {
            name: made_valid(parts.next().unwrap_or_default(), GENERAL),
            owner: parts.next().map(str::to_owned),
            path: path.to_owned(),
            ..Project::default()
        };
        Self::new(project, None)
    }

    /// Returns the project of a deleted folder. A repository that is recorded above it takes
    /// precedence.
    pub(super) fn gone(path: &str) -> Self {
        let mut found = Self::folder(path);
        let mut rest = path.trim_end_matches(['/', '\\']);
        while let Some(at) = rest.rfind(['/', '\\']) {
            rest = rest.get(..at).unwrap_or_default();
            if !rest.is_empty() {
                found.project.above.push(rest.to_owned());
            }
        }
        found
    }

    fn new(mut project: Project, top: Option<PathBuf>) -> Self {
        project.owner = project.owner.and_then(|owner| valid_owner(&owner));
        Self { project, top }
    }

    /// Returns the project with its first commit, if git finds it. Runs git for two seconds at
    /// most.
    pub fn with_first_commit(&self, recorded: Option<&str>) -> Project {
        let find = |top: &PathBuf| first_commit::first_commit(top, recorded);
        Project {
            first_commit: self.top.as_ref().and_then(find),
            ..self.project.clone()
        }
    }
}

/// Returns the owner of a recorded project: that of its remote, or else the folder above its own.
pub fn owner_of(record: &ProjectRecord) -> Option<String> {
    let named = match &record.remote {
        Some(remote) => owner(remote),
        None => {
            let parts = record.path.rsplit(['/', '\\']);
            parts.filter(|part| !part.is_empty()).nth(1)
        }
    };
    named.and_then(valid_owner)
}

fn valid_owner(owner: &str) -> Option<String> {
    Some(shortened(&made_valid(owner, ""))).filter(|owner| !owner.is_empty())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn shortened(name: &str) -> String {
    let mut end = name.len().min(MAX_OWNER_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default().trim_end().to_owned()
}

/// Returns the main folder of a repository: the one with `.git` in it, or the bare repository
/// itself. For a submodule, or a repository whose `.git` lies elsewhere, it is the folder of the
/// checkout.
fn main_folder(top: &Path, common: &Path, allowed: &AllowedRoots) -> PathBuf {
    let is_git = common.file_name().is_some_and(|name| name == ".git");
    match common.parent() {
        Some(folder) if is_git => folder.to_path_buf(),
        _ if (!allowed.contains(common) || common.join("worktrees").is_dir())
            && is_added_working_tree(top, allowed) =>
        {
            common.to_path_buf()
        }
        _ => top.to_path_buf(),
    }
}

/// Returns the remote of a repository. A remote that is a local path is the same project: that
/// repository is added to `folders`, and its remote is used.
fn follow(
    main: &Path,
    top: &Path,
    folders: &mut Vec<String>,
    allowed: &AllowedRoots,
) -> Option<String> {
    let mut config = common_directory(top, allowed)?.join("config");
    let mut base = main.to_path_buf();
    let mut seen = vec![main.to_path_buf()];
    for _ in 0..MAX_CLONES {
        let path = match parse(&remote_url(&config, allowed)?)? {
            Remote::Elsewhere(remote) => return Some(remote),
            Remote::Local(path) => path,
        };
        let path = base.join(path);
        if !allowed.contains(&path) {
            // A project that is recorded there is the same project.
            folders.push(text(&normal(&path)));
            return None;
        }
        let (folder, common) = local_repository(&path, allowed)?;
        if seen.contains(&folder) {
            return None;
        }
        folders.push(text(&folder));
        config = common.join("config");
        base.clone_from(&folder);
        seen.push(folder);
    }
    None
}

/// Returns the repository that git would find at a path, with or without `.git` appended.
fn local_repository(path: &Path, allowed: &AllowedRoots) -> Option<(PathBuf, PathBuf)> {
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(".git");
    for candidate in [path.to_path_buf(), PathBuf::from(with_suffix)] {
        let Ok(found) = candidate.canonicalize() else {
            continue;
        };
        if super::repository::is_top(&found, allowed) {
            let common = common_directory(&found, allowed)?;
            let main = main_folder(&found, &common, allowed);
            return Some((main.canonicalize().unwrap_or(main), common));
        }
        if found.join("HEAD").is_file() && found.join("objects").is_dir() {
            let is_git = found.file_name().is_some_and(|name| name == ".git");
            let folder = found.parent().filter(|_| is_git).unwrap_or(&found);
            return Some((folder.to_path_buf(), found.clone()));
        }
    }
    None
}
