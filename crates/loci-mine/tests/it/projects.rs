//! The project of a folder, in real repositories.

use std::path::Path;
use std::process::Command;

use loci_core::Project;
use loci_mine::place::{Chosen, Places, locate_conversation};

use crate::tree::Tree;

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=n",
            "-c",
            "user.email=e@example.org",
            "-c",
            "protocol.file.allow=always",
            "-C",
        ])
        .arg(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// A repository with one commit, and a remote if one is named.
fn repository(tree: &Tree, name: &str, remote: Option<&str>) {
    tree.write(&format!("{name}/a.md"), name);
    let top = tree.at(name);
    git(&top, &["init", "-q", "-b", "main"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "-q", "-m", name]);
    if let Some(url) = remote {
        git(&top, &["remote", "add", "origin", url]);
    }
}

fn project(tree: &Tree, name: &str) -> Project {
    let file = tree.at(&format!("{name}/a.md"));
    let located = Places::new(&tree.at(name), Chosen::default())
        .locate(&file)
        .unwrap();
    let held = locate_conversation(tree.at(name).to_str());
    assert_eq!(
        located.project, held.project,
        "files and conversations agree"
    );
    located.project.unwrap().project.clone()
}

fn first_commit(tree: &Tree, name: &str, recorded: Option<&str>) -> Option<String> {
    let located = locate_conversation(tree.at(name).to_str());
    located
        .project
        .unwrap()
        .with_first_commit(recorded)
        .first_commit
}

fn text(tree: &Tree, name: &str) -> String {
    tree.at(name).to_str().unwrap().to_owned()
}

#[test]
fn a_project_is_known_by_its_remote_and_its_password_is_nowhere() {
    let tree = Tree::new();
    let url = concat!("https://me:not", "-a-secret@Example.org/acme/api.git");
    repository(&tree, "x/api", Some(url));
    let found = project(&tree, "x/api");
    assert_eq!(found.remote.as_deref(), Some("example.org/acme/api"));
    assert_eq!(found.owner.as_deref(), Some("acme"));
    assert_eq!(
        (found.name.as_str(), found.path),
        ("api", text(&tree, "x/api"))
    );
    let located = locate_conversation(tree.at("x/api").to_str());
    assert!(!format!("{located:?}").contains("not-a-secret"));
}

#[test]
fn working_trees_and_clones_are_one_project() {
    let tree = Tree::new();
    repository(&tree, "x/api", Some("git@example.org:acme/api.git"));
    git(
        &tree.at("x/api"),
        &["worktree", "add", "-q", "../../trees/fix"],
    );
    let main = project(&tree, "x/api");
    tree.write("trees/fix/a.md", "a");
    let added = project(&tree, "trees/fix");
    assert_eq!((&added.path, &added.remote), (&main.path, &main.remote));
    assert_eq!(added.folders, [text(&tree, "trees/fix")]);
    // A local clone is the same project as its original, and so is its own clone.
    git(tree.root(), &["clone", "-q", "x/api", "one"]);
    git(tree.root(), &["clone", "-q", "one", "two"]);
    for name in ["one", "two"] {
        assert_eq!(project(&tree, name).remote, main.remote, "{name}");
    }
}

#[test]
fn a_clone_of_a_repository_without_a_remote_names_its_folder() {
    let tree = Tree::new();
    repository(&tree, "x/api", None);
    git(
        tree.root(),
        &["clone", "-q", "--bare", "x/api", "bare/api.git"],
    );
    git(tree.root(), &["clone", "-q", "bare/api", "one"]);
    let found = project(&tree, "one");
    assert_eq!(found.remote, None);
    let expected = [text(&tree, "bare/api.git"), text(&tree, "x/api")];
    assert_eq!(found.folders, expected);
    let commit = first_commit(&tree, "x/api", None);
    assert_eq!(commit.as_ref().map(String::len), Some(40));
    assert_eq!(first_commit(&tree, "one", None), commit);
}

#[test]
fn local_remotes_that_lead_in_a_circle_or_nowhere_end() {
    let tree = Tree::new();
    for (name, url) in [
        ("a", "../b"),
        ("b", "../a"),
        ("c", "../nowhere"),
        ("d", "."),
    ] {
        repository(&tree, name, Some(url));
        let found = project(&tree, name);
        assert_eq!((found.remote, found.name.as_str()), (None, name));
    }
}

#[test]
fn a_config_that_is_no_file_or_is_broken_leaves_the_folder() {
    let tree = Tree::new();
    for (name, harm) in [
        ("a", "rm .git/config && mkdir .git/config"),
        ("b", "rm .git/config && mkfifo .git/config"),
        ("c", "head -c 3000000 /dev/zero > .git/config"),
        ("d", "rm .git/config && ln -s /dev/zero .git/config"),
        (
            "e",
            "printf '[remote \"origin\"\\nurl = https://h/o/r' > .git/config",
        ),
    ] {
        repository(&tree, name, Some("https://example.org/acme/api"));
        let done = Command::new("sh")
            .args(["-c", harm])
            .current_dir(tree.at(name))
            .status();
        assert!(done.unwrap().success());
        let found = project(&tree, name);
        assert_eq!((found.remote, found.path), (None, text(&tree, name)));
    }
}

#[test]
fn the_recorded_first_commit_counts_if_the_repository_has_it() {
    let tree = Tree::new();
    repository(&tree, "api", None);
    let commit = first_commit(&tree, "api", None).unwrap();
    // On a branch with another first commit it is the same repository.
    git(&tree.at("api"), &["checkout", "-q", "--orphan", "pages"]);
    git(&tree.at("api"), &["commit", "-q", "-m", "pages"]);
    assert_ne!(first_commit(&tree, "api", None), Some(commit.clone()));
    assert_eq!(
        first_commit(&tree, "api", Some(&commit)),
        Some(commit.clone())
    );
    repository(&tree, "other", None);
    assert_ne!(
        first_commit(&tree, "other", Some(&commit)),
        Some(commit.clone())
    );
    assert_ne!(first_commit(&tree, "other", Some("--help")), None);
    let url = format!("file://{}", text(&tree, "api"));
    git(
        &tree.at("api"),
        &["commit", "-q", "--allow-empty", "-m", "second"],
    );
    git(
        tree.root(),
        &["clone", "-q", "--depth", "1", &url, "shallow"],
    );
    assert_eq!(first_commit(&tree, "shallow", None), None);
    git(tree.root(), &["init", "-q", "empty"]);
    assert_eq!(first_commit(&tree, "empty", None), None);
}

#[test]
fn a_repository_cannot_make_git_run_a_program() {
    let tree = Tree::new();
    repository(&tree, "api", None);
    let mark = text(&tree, "ran");
    let script = tree.at("script");
    std::fs::write(&script, format!("#!/bin/sh\ntouch '{mark}'\n")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
    ] {
        git(&tree.at("api"), &["config", key, script.to_str().unwrap()]);
    }
    assert!(first_commit(&tree, "api", None).is_some());
    assert!(!Path::new(&mark).exists());
}

#[test]
fn a_folder_that_is_gone_is_named_with_the_folders_above_it() {
    let gone = |folder: &str| {
        locate_conversation(Some(folder))
            .project
            .unwrap()
            .project
            .clone()
    };
    let found = gone("/nowhere/acme/api/");
    assert_eq!(
        (found.name.as_str(), found.path.as_str()),
        ("api", "/nowhere/acme/api")
    );
    assert_eq!(found.owner.as_deref(), Some("acme"));
    assert_eq!(found.above, ["/nowhere/acme", "/nowhere"]);
    assert_eq!(gone("/nowhere/api/.agent/worktrees/x").path, "/nowhere/api");
    assert_eq!(gone(r"C:\work\api").above, [r"C:\work", "C:"]);
    for odd in ["/", "//", r"\", "x", "é/", "."] {
        let _ = locate_conversation(Some(odd));
    }
    assert_eq!(locate_conversation(None).project, None);
}
