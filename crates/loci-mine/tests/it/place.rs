//! Which wing and room a file or conversation gets.

use std::path::Path;

use loci_mine::place::{Chosen, Placement, Places, of_conversation};

use crate::tree::Tree;

fn place(wing: &str, room: &str) -> Placement {
    Placement {
        wing: wing.to_owned(),
        room: room.to_owned(),
    }
}

fn of(tree: &Tree, root: &str, file: &str) -> Placement {
    Places::new(&tree.at(root), Chosen::default())
        .of(&tree.at(file))
        .unwrap()
}

#[test]
fn a_file_belongs_to_its_project_and_first_folder() {
    let tree = Tree::of(&["code/proj/src/deep/a.rs", "code/proj/README.md"]);
    tree.repository("code/proj");
    for root in [
        "code",
        "code/proj",
        "code/proj/src",
        "code/proj/src/deep/a.rs",
    ] {
        assert_eq!(
            of(&tree, root, "code/proj/src/deep/a.rs"),
            place("proj", "src"),
            "{root}"
        );
    }
    assert_eq!(
        of(&tree, "code", "code/proj/README.md"),
        place("proj", "general")
    );
}

#[test]
fn without_a_repository_the_mined_root_is_the_project() {
    let tree = Tree::of(&["notes/work/2026/a.md", "notes/b.md"]);
    assert_eq!(
        of(&tree, "notes", "notes/work/2026/a.md"),
        place("notes", "work")
    );
    assert_eq!(of(&tree, "notes", "notes/b.md"), place("notes", "general"));
    assert_eq!(
        of(&tree, "notes/b.md", "notes/b.md"),
        place("notes", "general")
    );
}

#[test]
fn every_working_tree_of_a_project_has_one_wing() {
    let tree = Tree::of(&["proj/docs/a.md", "trees/fix/docs/a.md"]);
    tree.repository("proj");
    tree.write("proj/.git/worktrees/fix/commondir", "../..\n");
    tree.write("proj/.git/worktrees/fix/HEAD", "ref: x\n");
    tree.write("trees/fix/.git", "gitdir: ../../proj/.git/worktrees/fix\n");
    assert_eq!(of(&tree, "proj", "proj/docs/a.md"), place("proj", "docs"));
    assert_eq!(
        of(&tree, "trees", "trees/fix/docs/a.md"),
        place("proj", "docs")
    );
    let folder = tree.at("trees/fix/docs");
    assert_eq!(
        of_conversation(folder.to_str()),
        place("proj", "conversations")
    );
}

#[test]
fn real_git_agrees_about_worktrees_and_submodules() {
    let git = |tree: &Tree, at: &str, args: &[&str]| {
        std::process::Command::new("git")
            .args(["-c", "protocol.file.allow=always", "-c", "user.name=x"])
            .args(["-c", "user.email=x@x", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(tree.at(at))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let tree = Tree::of(&["proj/", "lib/"]);
    if !git(&tree, "proj", &["init", "-q"]) {
        return; // There is no git here.
    }
    assert!(git(&tree, "lib", &["init", "-q"]));
    for at in ["lib", "proj"] {
        assert!(git(
            &tree,
            at,
            &["commit", "-q", "--allow-empty", "-m", "x"]
        ));
    }
    assert!(git(
        &tree,
        "proj",
        &["submodule", "add", "-q", "../lib", "ext/inner"]
    ));
    assert!(git(&tree, "proj", &["worktree", "add", "-q", "../tree"]));
    assert!(git(
        &tree,
        ".",
        &["clone", "-q", "--bare", "proj", "bare/.bare"]
    ));
    assert!(git(
        &tree,
        "bare/.bare",
        &["worktree", "add", "-q", "../work"]
    ));
    assert!(git(
        &tree,
        "proj/ext/inner",
        &["worktree", "add", "-q", "../../../inner-two"]
    ));
    for (file, wing) in [
        ("proj/a.md", "proj"),
        ("tree/a.md", "proj"),
        ("proj/ext/inner/a.md", "inner"),
        ("inner-two/a.md", "inner"),
        ("bare/work/a.md", "bare"),
    ] {
        assert_eq!(of(&tree, ".", file).wing, wing, "{file}");
    }
}

#[test]
fn what_the_user_says_wins_over_settings_and_folders() {
    let tree = Tree::of(&["proj/src/a.rs"]);
    tree.write("proj/.loci.toml", "wing = \"w\"\nroom = \"r\"\n");
    let chosen = |wing: Option<&str>, room: Option<&str>| {
        let chosen = Chosen {
            wing: wing.map(str::to_owned),
            room: room.map(str::to_owned),
        };
        Places::new(&tree.at("proj"), chosen).of(&tree.at("proj/src/a.rs"))
    };
    assert_eq!(chosen(None, None).unwrap(), place("w", "r"));
    assert_eq!(chosen(Some("x"), None).unwrap(), place("x", "r"));
    assert_eq!(chosen(None, Some("y")).unwrap(), place("w", "y"));
    assert_eq!(chosen(Some("x"), Some("y")).unwrap(), place("x", "y"));
    assert!(
        chosen(Some(" x"), None)
            .unwrap_err()
            .to_string()
            .contains("wing")
    );
    assert!(
        chosen(None, Some(""))
            .unwrap_err()
            .to_string()
            .contains("room")
    );
}

#[test]
fn the_nearest_settings_that_say_something_win() {
    let tree = Tree::of(&["proj/docs/api/a.md", "proj/src/b.rs", "proj/docs/c.md"]);
    tree.repository("proj");
    tree.write(
        "proj/.loci.toml",
        "wing = \"acme\"\n[[rooms]]\npath = \"docs/**\"\nroom = \"handbook\"\n",
    );
    tree.write("proj/docs/api/.loci.toml", "room = \"reference\"\n");
    // Also above the mined root, as long as it is the same project.
    for root in ["proj", "proj/docs"] {
        assert_eq!(
            of(&tree, root, "proj/docs/api/a.md"),
            place("acme", "reference")
        );
        assert_eq!(of(&tree, root, "proj/docs/c.md"), place("acme", "handbook"));
        assert_eq!(of(&tree, root, "proj/src/b.rs"), place("acme", "src"));
    }
}

#[test]
fn settings_beyond_the_project_do_not_count() {
    let tree = Tree::of(&["proj/in/a.md", "notes/a.md"]);
    tree.write(".loci.toml", "wing = \"outer\"\n");
    tree.repository("proj");
    tree.write("proj/.loci.toml", "wing = \"project\"\n");
    tree.repository("proj/in");
    assert_eq!(of(&tree, "proj", "proj/in/a.md").wing, "in");
    assert_eq!(of(&tree, "notes", "notes/a.md").wing, "notes");
    assert_eq!(of(&tree, ".", "notes/a.md").wing, "outer");
}

#[test]
fn broken_settings_are_an_error_that_names_them() {
    let tree = Tree::of(&["proj/src/a.rs", "other/b.rs"]);
    tree.write("proj/.loci.toml", "wing = \"w\"\nroms = 3\n");
    let mut places = Places::new(tree.root(), Chosen::default());
    for _ in 0..2 {
        let said = places
            .of(&tree.at("proj/src/a.rs"))
            .unwrap_err()
            .to_string();
        for part in [".loci.toml", "line 2", "roms", "`rooms`"] {
            assert!(said.contains(part), "{part} missing in {said}");
        }
    }
    assert!(places.of(&tree.at("other/b.rs")).is_ok());
}

#[test]
fn names_made_from_folders_are_valid() {
    let tree = Tree::of(&[" odd\n/ sub\t/a.md"]);
    assert_eq!(
        of(&tree, " odd\n", " odd\n/ sub\t/a.md"),
        place("odd", "sub")
    );
    let top = Places::new(Path::new("/"), Chosen::default()).of(Path::new("/a.md"));
    assert_eq!(top.unwrap(), place("general", "general"));
}

#[test]
fn conversations_of_a_folder_that_is_gone_have_its_last_name() {
    for (folder, wing) in [
        (Some("/no/such/folder/proj"), "proj"),
        (Some("/no/such/folder/proj/"), "proj"),
        (Some("C:\\Users\\x\\proj"), "proj"),
        (Some("/"), "general"),
        (Some("  "), "general"),
        (Some("\u{7}"), "general"),
        (None, "general"),
    ] {
        assert_eq!(
            of_conversation(folder),
            place(wing, "conversations"),
            "{folder:?}"
        );
    }
}

#[test]
fn conversations_of_a_deleted_working_tree_belong_to_its_project() {
    let tree = Tree::of(&["main/proj/"]);
    tree.repository("main/proj");
    tree.write("main/proj/.loci.toml", "wing = \"acme\"\n");
    for gone in [
        "main/proj/.claude/worktrees/fix",
        "main/proj/.worktrees/fix/src",
    ] {
        let folder = tree.at(gone);
        assert_eq!(of_conversation(folder.to_str()).wing, "acme", "{gone}");
    }
    for (gone, wing) in [
        ("C:\\x\\proj\\.claude\\worktrees\\fix", "proj"),
        ("/no/such/proj/.worktrees/fix", "proj"),
        ("/no/such/proj/worktrees/fix", "fix"),
        ("/.worktrees", "general"),
    ] {
        assert_eq!(of_conversation(Some(gone)).wing, wing, "{gone}");
    }
}

#[test]
fn conversations_share_the_wing_that_settings_give_the_files() {
    let tree = Tree::of(&["proj/src/a.rs"]);
    tree.repository("proj");
    tree.write("proj/.loci.toml", "wing = \"acme\"\n");
    let folder = tree.at("proj/src");
    assert_eq!(
        of_conversation(folder.to_str()),
        place("acme", "conversations")
    );
    tree.write("proj/.loci.toml", "wing = ");
    assert_eq!(
        of_conversation(folder.to_str()),
        place("proj", "conversations")
    );
}

#[test]
fn many_folders_do_not_make_the_answers_wrong() {
    let tree = Tree::of(&["proj/"]);
    tree.repository("proj");
    let mut places = Places::new(tree.root(), Chosen::default());
    for number in 0..20_000 {
        let file = tree.at(&format!("proj/part{}/{number}/a.md", number % 7));
        let expected = place("proj", &format!("part{}", number % 7));
        assert_eq!(places.of(&file).unwrap(), expected);
    }
}
