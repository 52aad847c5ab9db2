//! Links, pipes, permissions and names that only some systems have.

use super::*;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

#[test]
fn a_link_to_a_file_is_that_file_once_under_its_real_path() {
    let outside = Tree::of(&["shared.md", "folder/x.md"]);
    let tree = Tree::of(&["a.md", ".hid/b.md"]);
    tree.link("one.md", outside.at("shared.md"));
    tree.link("two.md", outside.at("shared.md"));
    tree.link("again.md", "a.md");
    tree.link("b.md", ".hid/b.md");
    let everywhere = Rules {
        follow_links: FollowLinks::Everywhere,
        ..Rules::default()
    };
    let seen = see(&[tree.root().to_path_buf()], &everywhere);
    let paths: Vec<_> = seen.files.iter().map(|found| found.path.clone()).collect();
    assert_eq!(
        paths,
        [
            tree.at("a.md"),
            tree.at(".hid/b.md"),
            outside.at("shared.md")
        ]
    );
    assert_eq!(
        seen.skipped,
        [
            (tree.at("again.md"), reason::MET_ELSEWHERE),
            (tree.at("two.md"), reason::MET_ELSEWHERE)
        ]
    );
    let none = Rules {
        follow_links: FollowLinks::Never,
        ..Rules::default()
    };
    assert_eq!(names(&tree, &none), ["a.md"]);
    let mut reach = Reach::of(&[tree.root().to_path_buf()], &everywhere).unwrap();
    match reach.meet(&tree.at("one.md")) {
        Some(WalkEntry::File(found)) => assert_eq!(found.path, outside.at("shared.md")),
        other => panic!("{other:?}"),
    }
}

/// A link to `/etc/shadow` in a mined tree must not be read.
#[test]
fn a_link_to_a_file_outside_the_roots_is_skipped_and_counted() {
    let outside = Tree::of(&["secret.md", "way.md"]);
    let tree = Tree::of(&["a.md", "folder/b.md"]);
    tree.link("direct.md", outside.at("secret.md"));
    // A link to a link, a link through `..`, and a link whose own name is a root's name.
    outside.link("hop.md", "secret.md");
    tree.link("hop.md", outside.at("hop.md"));
    let up = tree.root().components().count();
    let around =
        PathBuf::from("../".repeat(up)).join(outside.at("way.md").strip_prefix("/").unwrap());
    tree.link("folder/around.md", around);
    let rules = Rules::default();
    let seen = see(&[tree.root().to_path_buf()], &rules);
    assert_eq!(relative(&tree, &seen.files), ["a.md", "folder/b.md"]);
    let links = ["direct.md", "folder/around.md", "hop.md"];
    assert_eq!(
        seen.skipped,
        links.map(|name| (tree.at(name), reason::FILE_OUTSIDE))
    );
    assert!(seen.walked.complete);
    let mut reach = Reach::of(&[tree.root().to_path_buf()], &rules).unwrap();
    for link in links {
        assert!(!would_meet(tree.root(), &tree.at(link), &rules), "{link}");
        match reach.meet(&tree.at(link)) {
            Some(WalkEntry::Skipped { reason, .. }) => assert_eq!(reason, reason::FILE_OUTSIDE),
            other => panic!("{link}: {other:?}"),
        }
    }
    // A second root puts the target inside the roots; a root itself may be a link.
    let both = [tree.root().to_path_buf(), outside.root().to_path_buf()];
    assert!(
        see(&both, &rules)
            .skipped
            .iter()
            .all(|(_, why)| *why == reason::MET_ELSEWHERE)
    );
    let root = see(&[tree.at("direct.md")], &rules);
    assert_eq!(root.files[0].path, outside.at("secret.md"));
}

#[test]
fn links_to_folders_are_not_entered_and_loops_end() {
    let outside = Tree::of(&["x.md"]);
    let tree = Tree::of(&["a/b/c.md"]);
    tree.link("a/b/up", "../..");
    tree.link("a/self", "self");
    tree.link("a/side", "b");
    tree.link("out", outside.root());
    tree.link("gone", "nothing");
    let seen = see(&[tree.root().to_path_buf()], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), ["a/b/c.md"]);
    assert_eq!(
        seen.skipped,
        [
            (tree.at("a/b/up"), reason::LOOP),
            (tree.at("a/self"), reason::LOOP),
            (tree.at("a/side"), reason::MET_ELSEWHERE),
            (tree.at("gone"), reason::BROKEN),
            (tree.at("out"), reason::FOLDER_OUTSIDE),
        ]
    );
    assert!(seen.walked.complete);
    let rules = Rules::default();
    for never in ["a/side/c.md", "out/x.md", "gone", "a/self"] {
        assert!(!would_meet(tree.root(), &tree.at(never), &rules), "{never}");
    }
}

#[test]
fn a_root_may_be_a_link_and_paths_below_it_are_understood() {
    let tree = Tree::of(&["real/a.md", "real/.b.md"]);
    tree.link("link", "real");
    let rules = Rules::default();
    let seen = see(&[tree.at("link"), tree.at("real")], &rules);
    assert_eq!(relative(&tree, &seen.files), ["real/a.md"]);
    assert!(would_meet(&tree.at("link"), &tree.at("link/a.md"), &rules));
    assert!(would_meet(
        &tree.at("link"),
        &tree.at("real/gone.md"),
        &rules
    ));
    assert!(!would_meet(
        &tree.at("link"),
        &tree.at("link/.b.md"),
        &rules
    ));
}

#[test]
fn pipes_and_sockets_are_never_opened() {
    let tree = Tree::of(&["a.md"]);
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    // Opening a pipe as an ignore list, settings or a mark would block forever.
    for name in ["pipe", ".gitignore", ".lociignore", "CACHEDIR.TAG", ".git"] {
        let made = std::process::Command::new("mkfifo")
            .arg(tree.at(name))
            .status();
        assert!(made.unwrap().success());
    }
    tree.link("to-pipe", "pipe");
    let seen = see(&[tree.root().to_path_buf()], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), ["a.md"]);
    let odd = ["CACHEDIR.TAG", "pipe", "socket", "to-pipe"];
    let expected = odd.map(|name| (tree.at(name), reason::NOT_REGULAR));
    assert_eq!(seen.skipped, expected);
    let seen = see(&[tree.at("pipe")], &Rules::default());
    assert_eq!(seen.skipped, [(tree.at("pipe"), reason::NOT_REGULAR)]);
}

#[test]
fn names_that_are_not_utf8_are_skipped_with_a_reason() {
    let tree = Tree::of(&["a.md"]);
    let odd = tree.root().join(std::ffi::OsStr::from_bytes(b"b\xff.md"));
    if fs::write(&odd, "x").is_err() {
        return; // This file system refuses such names itself.
    }
    let folder = tree.root().join(std::ffi::OsStr::from_bytes(b"c\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("d.md"), "x").unwrap();
    let mut seen = see(&[tree.root().to_path_buf()], &Rules::default());
    seen.skipped.sort();
    assert_eq!(relative(&tree, &seen.files), ["a.md"]);
    assert_eq!(
        seen.skipped,
        [(odd.clone(), reason::NOT_UTF8), (folder, reason::NOT_UTF8)]
    );
    assert!(!would_meet(tree.root(), &odd, &Rules::default()));
    assert!(walk(&[odd], &Rules::default(), &mut |_| Continue(())).is_err());
}

#[test]
fn a_folder_that_may_not_be_read_makes_the_walk_incomplete() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::of(&["a.md", "closed/b.md"]);
    let set = |mode| {
        fs::set_permissions(tree.at("closed"), fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o000);
    let seen = see(&[tree.root().to_path_buf()], &Rules::default());
    let powerful = fs::read_dir(tree.at("closed")).is_ok();
    set(0o755);
    if powerful {
        return; // Permissions do not bind this user.
    }
    assert_eq!(relative(&tree, &seen.files), ["a.md"]);
    assert_eq!(seen.skipped, [(tree.at("closed"), reason::NO_PERMISSION)]);
    assert!(seen.failed.is_empty());
    assert!(!seen.walked.complete);
}

#[test]
fn two_hard_links_are_two_files_with_one_identity() {
    let tree = Tree::of(&["a.md"]);
    fs::hard_link(tree.at("a.md"), tree.at("b.md")).unwrap();
    let seen = see(&[tree.root().to_path_buf()], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), ["a.md", "b.md"]);
    assert_eq!(seen.files[0].file_id, seen.files[1].file_id);
}
