//! Finds git repositories on disk: where one begins, where its shared files are, and the name of
//! its project. It reads a few small files of git; it never runs git and never writes.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use loci_files::allowed::AllowedRoots;

/// The files of git that are read here hold one path each.
const MAX_POINTER_BYTES: u64 = 16 << 10;

/// Whether this folder is the top of a working tree. An empty folder named `.git` does not count.
pub(crate) fn is_top(folder: &Path, allowed: &AllowedRoots) -> bool {
    let git = folder.join(".git");
    match allowed.metadata(&git) {
        Ok(found) if found.is_dir() => git.join("HEAD").exists(),
        Ok(found) if found.is_file() => pointer(&git, "gitdir:", allowed).is_some(),
        _ => false,
    }
}

/// Returns the directory that all working trees of the repository share. It holds `config` and
/// `info/exclude`. `None` when `top` is not the top of a working tree.
pub(crate) fn common_directory(top: &Path, allowed: &AllowedRoots) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let own = normal(&top.join(pointer(&git, "gitdir:", allowed)?));
    Some(main_of_worktree(&own, allowed).unwrap_or(own))
}

/// Returns the project's name: the folder of the main working tree, which is the same in all
/// working trees of the repository. A submodule is a project of its own. `None` when no folder has
/// a name.
pub(crate) fn project_name(top: &Path, allowed: &AllowedRoots) -> Option<String> {
    let git = top.join(".git");
    let common = (!git.is_dir())
        .then(|| pointer(&git, "gitdir:", allowed))
        .flatten()
        .and_then(|target| main_of_worktree(&normal(&top.join(target)), allowed));
    match common {
        Some(common) => name_of_common(&common),
        None => folder_name(top),
    }
}

/// Whether this is an added working tree of a repository that lies elsewhere.
pub(crate) fn is_added_working_tree(top: &Path, allowed: &AllowedRoots) -> bool {
    let git = top.join(".git");
    !git.is_dir()
        && pointer(&git, "gitdir:", allowed)
            .is_some_and(|target| main_of_worktree(&normal(&top.join(target)), allowed).is_some())
}

/// Returns the common directory when `own` is the private directory of an added working tree. A
/// broken or pruned one has no `commondir` file, and one outside the allowed roots is not read; its
/// path still identifies the repository.
fn main_of_worktree(own: &Path, allowed: &AllowedRoots) -> Option<PathBuf> {
    if let Some(target) = pointer(&own.join("commondir"), "", allowed) {
        return Some(normal(&own.join(target)));
    }
    let worktrees = own.parent()?;
    let has_head = || allowed.contains(own) && own.join("HEAD").exists();
    (worktrees.file_name()? == "worktrees" && !has_head())
        .then(|| worktrees.parent().map(Path::to_path_buf))
        .flatten()
}

/// Returns the project name: `proj` for `proj/.git`, `proj/.bare` and `proj.git`.
fn name_of_common(common: &Path) -> Option<String> {
    let name = folder_name(common)?;
    if name.starts_with('.') {
        return folder_name(common.parent()?);
    }
    match name.strip_suffix(".git") {
        Some(stem) if !stem.is_empty() => Some(stem.to_owned()),
        _ => Some(name),
    }
}

pub(crate) fn folder_name(folder: &Path) -> Option<String> {
    folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
}

/// Returns the path in the first line of a small file, after the required label.
fn pointer(file: &Path, label: &str, allowed: &AllowedRoots) -> Option<PathBuf> {
    // A named pipe must not be opened, because opening would block until a writer comes.
    if !allowed.metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    allowed
        .open(file)
        .ok()?
        .take(MAX_POINTER_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    let target = text.lines().next()?.strip_prefix(label)?.trim();
    (!target.is_empty()).then(|| PathBuf::from(target))
}

/// Returns the path without `.` and `..`, without accessing the file system.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_files::allowed::EVERYTHING;
    use std::fs;

    fn is_top(folder: &Path) -> bool {
        super::is_top(folder, &EVERYTHING)
    }

    fn common_directory(top: &Path) -> Option<PathBuf> {
        super::common_directory(top, &EVERYTHING)
    }

    fn project_name(top: &Path) -> Option<String> {
        super::project_name(top, &EVERYTHING)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn repository(top: &Path) {
        write(&top.join(".git/HEAD"), "ref: refs/heads/main\n");
    }

    fn worktree(top: &Path, common: &Path, name: &str) {
        let own = common.join("worktrees").join(name);
        write(&own.join("HEAD"), "ref: refs/heads/x\n");
        write(&own.join("commondir"), "../..\n");
        write(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
    }

    #[test]
    fn a_worktree_has_the_name_of_its_main_repository() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("proj");
        repository(&main);
        let tree = dir.path().join("elsewhere/feature-x");
        worktree(&tree, &main.join(".git"), "feature-x");
        assert_eq!(project_name(&main).unwrap(), "proj");
        assert_eq!(project_name(&tree).unwrap(), "proj");
        assert_eq!(common_directory(&tree).unwrap(), main.join(".git"));
    }

    #[test]
    fn a_worktree_of_a_bare_repository_has_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        for (common, name) in [("proj.git", "proj"), ("other/.bare", "other")] {
            worktree(&tree, &dir.path().join(common), "tree");
            assert_eq!(project_name(&tree).unwrap(), name, "{common}");
        }
    }

    #[test]
    fn a_pruned_worktree_still_has_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        write(
            &tree.join(".git"),
            "gitdir: /gone/proj/.git/worktrees/tree\n",
        );
        assert_eq!(project_name(&tree).unwrap(), "proj");
    }

    #[test]
    fn a_submodule_is_a_project_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("proj");
        repository(&main);
        write(&main.join(".git/modules/lib/HEAD"), "x\n");
        write(&main.join("lib/.git"), "gitdir: ../.git/modules/lib\n");
        assert_eq!(project_name(&main.join("lib")).unwrap(), "lib");
        worktree(
            &dir.path().join("tree"),
            &main.join(".git/modules/lib"),
            "tree",
        );
        assert_eq!(project_name(&dir.path().join("tree")).unwrap(), "lib");
    }

    #[test]
    fn what_only_looks_like_a_repository_is_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_top(dir.path()));
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert!(!is_top(dir.path()));
        let other = dir.path().join("other");
        write(&other.join(".git"), "\u{0}\u{1}nonsense");
        assert!(!is_top(&other));
        fs::write(other.join(".git"), [0xff, 0xfe]).unwrap();
        assert!(!is_top(&other));
    }
}
