//! Which files a walk meets, in what order, and that single questions agree with the walk.

#[cfg(unix)]
mod unix;

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};

use loci_mine::walk::{
    FollowLinks, FoundFile, Reach, Rules, WalkEntry, Walked, reason, walk, would_meet,
};
use proptest::prelude::*;

use crate::tree::Tree;

struct Seen {
    files: Vec<FoundFile>,
    skipped: Vec<(PathBuf, &'static str)>,
    failed: Vec<PathBuf>,
    walked: Walked,
}

fn see(roots: &[PathBuf], rules: &Rules) -> Seen {
    let (mut files, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let walked = walk(roots, rules, &mut |met| {
        match met {
            WalkEntry::File(found) => files.push(found),
            WalkEntry::Skipped { path, reason } => skipped.push((path, reason)),
            WalkEntry::Failed { path, .. } => failed.push(path),
        }
        Continue(())
    })
    .unwrap();
    assert_eq!(walked.files, files.len() as u64);
    Seen {
        files,
        skipped,
        failed,
        walked,
    }
}

fn names(tree: &Tree, rules: &Rules) -> Vec<String> {
    let seen = see(&[tree.root().to_path_buf()], rules);
    for found in &seen.files {
        assert!(
            would_meet(tree.root(), &found.path, rules) || !found.path.starts_with(tree.root()),
            "{} was met and would not be",
            found.path.display()
        );
    }
    relative(tree, &seen.files)
}

fn relative(tree: &Tree, files: &[FoundFile]) -> Vec<String> {
    files
        .iter()
        .map(|found| {
            let path = found.path.strip_prefix(tree.root()).unwrap_or(&found.path);
            path.to_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn files_come_sorted_within_each_folder() {
    let tree = Tree::of(&["b/2.md", "b/1.md", "a.md", "c.md", "b/a/x.md", "b0.md"]);
    assert_eq!(
        names(&tree, &Rules::default()),
        ["a.md", "b/1.md", "b/2.md", "b/a/x.md", "b0.md", "c.md"]
    );
}

#[test]
fn a_found_file_has_its_size_times_and_identity() {
    let tree = Tree::new();
    tree.write("a.md", "12345");
    let seen = see(&[tree.root().to_path_buf()], &Rules::default());
    let found = &seen.files[0];
    assert_eq!(found.size, 5);
    assert!(found.path.is_absolute());
    let modified = fs::metadata(&found.path).unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(i128::from(found.modified_ns), since.as_nanos() as i128);
    assert!(found.changed_ns >= found.modified_ns);
    assert_eq!(found.file_id.is_some(), cfg!(unix));
    assert!(seen.walked.complete);
}

#[test]
fn hidden_files_are_left_out_unless_asked_for() {
    let tree = Tree::of(&["a.md", ".b.md", ".c/d.md", ".git/HEAD", ".hg/x"]);
    assert_eq!(names(&tree, &Rules::default()), ["a.md"]);
    let all = Rules {
        hidden: true,
        ..Rules::default()
    };
    assert_eq!(names(&tree, &all), [".b.md", ".c/d.md", "a.md"]);
}

#[test]
fn a_root_that_is_hidden_is_walked() {
    let tree = Tree::of(&[".notes/a.md", ".notes/.b.md"]);
    let seen = see(&[tree.at(".notes")], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), [".notes/a.md"]);
}

#[test]
fn a_root_that_is_a_file_is_that_file_even_if_hidden_or_ignored() {
    let tree = Tree::of(&["a.md", ".b.md", "c.junk"]);
    tree.write(".gitignore", "*.junk\n");
    let roots = [tree.at(".b.md"), tree.at("c.junk")];
    let seen = see(&roots, &Rules::default());
    assert_eq!(relative(&tree, &seen.files), [".b.md", "c.junk"]);
    assert!(would_meet(&roots[0], &roots[0], &Rules::default()));
    assert!(!would_meet(&roots[0], &tree.at("a.md"), &Rules::default()));
}

#[test]
fn a_missing_root_is_an_error_that_names_it_and_nothing_is_met() {
    let tree = Tree::of(&["a.md"]);
    let mut met = 0;
    let error = walk(
        &[tree.root().to_path_buf(), tree.at("nowhere")],
        &Rules::default(),
        &mut |_| {
            met += 1;
            Continue(())
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(met, 0);
}

#[test]
fn gitignore_is_respected_outside_of_repositories() {
    let tree = Tree::of(&[
        "a.md",
        "b.junk",
        "build/x.md",
        "docs/build.md",
        "docs/keep.junk",
    ]);
    tree.write(".gitignore", "*.junk\nbuild/\n");
    tree.write("docs/.gitignore", "!keep.junk\n");
    let rules = Rules::default();
    assert_eq!(
        names(&tree, &rules),
        ["a.md", "docs/build.md", "docs/keep.junk"]
    );
    assert!(!would_meet(tree.root(), &tree.at("b.junk"), &rules));
    assert!(!would_meet(tree.root(), &tree.at("build/x.md"), &rules));
    assert!(!would_meet(tree.root(), &tree.at("gone.junk"), &rules));
    assert!(would_meet(tree.root(), &tree.at("gone.md"), &rules));
    let all = Rules {
        ignored: true,
        ..rules
    };
    assert_eq!(names(&tree, &all).len(), 5);
}

#[test]
fn build_and_dist_are_walked_unless_ignored() {
    let tree = Tree::of(&["build/a.md", "dist/a.md"]);
    assert_eq!(names(&tree, &Rules::default()).len(), 2);
}

#[test]
fn lociignore_beats_gitignore_both_ways_wherever_it_stands() {
    let tree = Tree::of(&["a.junk", "b.md", "sub/c.junk", "sub/d.md", ".github/e.md"]);
    tree.write("sub/.gitignore", "*.junk\n");
    tree.write(".gitignore", "a.junk\n");
    tree.write(".lociignore", "!*.junk\nd.md\n!.github/\n");
    assert_eq!(
        names(&tree, &Rules::default()),
        [".github/e.md", "a.junk", "b.md", "sub/c.junk"]
    );
    // The list also applies if git's lists do not.
    let all = Rules {
        ignored: true,
        ..Rules::default()
    };
    assert!(!names(&tree, &all).contains(&"sub/d.md".to_owned()));
}

#[test]
fn ignore_files_beat_gitignore_and_yield_to_lociignore() {
    let tree = Tree::of(&["a.md", "b.md", "c.md"]);
    tree.write(".gitignore", "a.md\n");
    tree.write(".ignore", "!a.md\nb.md\nc.md\n");
    tree.write(".lociignore", "!c.md\n");
    assert_eq!(names(&tree, &Rules::default()), ["a.md", "c.md"]);
}

#[test]
fn lists_above_the_root_hold_within_the_repository_and_not_beyond() {
    let tree = Tree::of(&["proj/docs/a.md", "proj/docs/b.md", "proj/docs/c.md"]);
    tree.repository("proj");
    tree.write(".gitignore", "a.md\n");
    tree.write("proj/.gitignore", "/docs/b.md\n");
    tree.write("proj/.git/info/exclude", "c.md\n");
    let seen = see(&[tree.at("proj/docs")], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), ["proj/docs/a.md"]);
}

#[test]
fn lists_above_the_root_do_not_count_where_there_is_no_repository() {
    let tree = Tree::of(&["notes/a.md", "proj/b.md"]);
    tree.repository("proj");
    for list in [".gitignore", ".ignore", ".lociignore"] {
        tree.write(list, "*\n");
    }
    for root in ["notes", "proj"] {
        assert_eq!(
            see(&[tree.at(root)], &Rules::default()).files.len(),
            1,
            "{root}"
        );
    }
}

#[test]
fn a_repository_within_is_not_ruled_by_the_lists_of_the_outer_one() {
    let tree = Tree::of(&["in/a.junk", "in/b.tmp", "c.junk", "other/d.junk"]);
    tree.repository("in");
    tree.write(".gitignore", "*.junk\n");
    tree.write("in/.gitignore", "*.tmp\n");
    assert_eq!(names(&tree, &Rules::default()), ["in/a.junk"]);
    tree.write(".gitignore", "*.junk\nin/\n");
    assert!(names(&tree, &Rules::default()).is_empty());
}

#[test]
fn the_exclude_list_of_a_worktree_is_that_of_its_repository() {
    let tree = Tree::of(&["work/a.md", "work/b.md"]);
    tree.repository("main");
    tree.write("main/.git/info/exclude", "b.md\n");
    tree.write("main/.git/worktrees/w/commondir", "../..\n");
    tree.write("main/.git/worktrees/w/HEAD", "ref: x\n");
    let own = tree.at("main/.git/worktrees/w");
    tree.write("work/.git", &format!("gitdir: {}\n", own.display()));
    let seen = see(&[tree.at("work")], &Rules::default());
    assert_eq!(relative(&tree, &seen.files), ["work/a.md"]);
}

/// The global list of the user who runs the tests cannot be changed, so the test runs itself with
/// another home.
#[test]
fn the_users_own_list_is_respected() {
    const ROOT: &str = "LOCI_TEST_ROOT";
    if let Ok(root) = std::env::var(ROOT) {
        let all = Rules {
            ignored: true,
            ..Rules::default()
        };
        let root = [PathBuf::from(root)];
        let count = |rules| see(&root, rules).files.len();
        assert_eq!((count(&Rules::default()), count(&all)), (1, 2));
        return;
    }
    let tree = Tree::of(&["root/a.md", "root/sub/b.draft"]);
    tree.write("config/git/ignore", "/sub/*.draft\n");
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "walk::the_users_own_list_is_respected"])
        .env("XDG_CONFIG_HOME", tree.at("config"))
        .env("HOME", tree.root())
        .env(ROOT, tree.at("root"))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stdout)
    );
}

#[test]
fn a_broken_list_rules_by_the_lines_that_are_whole() {
    let tree = Tree::of(&["a.md", "b.md"]);
    fs::write(
        tree.at(".gitignore"),
        b"\xef\xbb\xbfa.md\n\xff\xfe[z-a]\n{{{\n!\n/\n\\\n",
    )
    .unwrap();
    assert_eq!(names(&tree, &Rules::default()), ["b.md"]);
}

#[test]
fn vendored_folders_are_left_out_by_name_and_by_what_is_beside_or_in_them() {
    let tree = Tree::of(&[
        "node_modules/x/a.js",
        "py/__pycache__/a.pyc",
        "ios/Pods/a.m",
        "rust/Cargo.toml",
        "rust/target/debug/a.d",
        "notes/target/goal.md",
        "go/go.mod",
        "go/vendor/a.go",
        "php/vendor/autoload.php",
        "sales/vendor/acme.md",
        "env/pyvenv.cfg",
        "env/lib/a.py",
        "venv/plan.md",
    ]);
    tree.write(
        "cache/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    tree.put("cache/a.txt");
    tree.write("fake/CACHEDIR.TAG", "no signature\n");
    let expected = [
        "fake/CACHEDIR.TAG",
        "go/go.mod",
        "notes/target/goal.md",
        "rust/Cargo.toml",
        "sales/vendor/acme.md",
        "venv/plan.md",
    ];
    let rules = Rules::default();
    assert_eq!(names(&tree, &rules), expected);
    let seen = see(&[tree.root().to_path_buf()], &rules);
    assert_eq!(seen.walked.ignored_directories, 8);
    for left in [
        "node_modules/x/a.js",
        "env/lib/a.py",
        "cache/a.txt",
        "go/vendor/a.go",
    ] {
        assert!(!would_meet(tree.root(), &tree.at(left), &rules), "{left}");
    }
    let all = Rules {
        vendored: true,
        ..rules
    };
    assert_eq!(names(&tree, &all).len(), 16);
    // A root that the user names is always walked.
    assert_eq!(see(&[tree.at("node_modules")], &rules).files.len(), 1);
    assert_eq!(see(&[tree.at("env")], &rules).files.len(), 2);
}

#[test]
fn lociignore_can_ask_for_a_vendored_folder() {
    let tree = Tree::of(&[
        "vendor/autoload.php",
        "vendor/ours/a.php",
        "node_modules/a.js",
    ]);
    tree.write(".lociignore", "!vendor/\n");
    assert_eq!(
        names(&tree, &Rules::default()),
        ["vendor/autoload.php", "vendor/ours/a.php"]
    );
}

#[test]
fn a_palace_is_never_mined_even_when_it_is_the_root() {
    let tree = Tree::of(&[
        "a.md",
        "memory/palace.sqlite3",
        "memory/notes.md",
        "memory/index/x",
    ]);
    let all = Rules {
        hidden: true,
        ignored: true,
        vendored: true,
        ..Rules::default()
    };
    let seen = see(&[tree.root().to_path_buf()], &all);
    assert_eq!(relative(&tree, &seen.files), ["a.md"]);
    assert_eq!(seen.skipped, [(tree.at("memory"), reason::PALACE)]);
    assert!(!would_meet(tree.root(), &tree.at("memory/notes.md"), &all));
    for root in ["memory", "memory/palace.sqlite3"] {
        let seen = see(&[tree.at(root)], &all);
        assert!(seen.files.is_empty());
        assert_eq!(seen.skipped, [(tree.at(root), reason::PALACE)]);
        assert_eq!(seen.walked.empty_roots, [tree.at(root)]);
    }
}

#[test]
fn large_files_are_skipped_with_a_reason() {
    let tree = Tree::new();
    tree.write("small.md", "1234");
    tree.write("large.md", "12345");
    let rules = Rules {
        max_file_bytes: Some(4),
        ..Rules::default()
    };
    let seen = see(&[tree.root().to_path_buf()], &rules);
    assert_eq!(relative(&tree, &seen.files), ["small.md"]);
    assert_eq!(seen.skipped, [(tree.at("large.md"), reason::TOO_LARGE)]);
    assert!(!would_meet(tree.root(), &tree.at("large.md"), &rules));
}

#[test]
fn nested_and_repeated_roots_give_each_file_once_under_the_nearest() {
    let tree = Tree::of(&["a.md", "in/b.md", "in/deep/c.md", ".hid/d.md", "in/e.md"]);
    let roots = [
        tree.root().to_path_buf(),
        tree.at("in"),
        tree.at("in/../in"),
        tree.at(".hid"),
        tree.at("in/e.md"),
    ];
    let seen = see(&roots, &Rules::default());
    let met: Vec<_> = relative(&tree, &seen.files)
        .into_iter()
        .zip(seen.files.iter().map(|found| found.root))
        .collect();
    let expected = [
        ("a.md", 0),
        ("in/b.md", 1),
        ("in/deep/c.md", 1),
        (".hid/d.md", 3),
        ("in/e.md", 4),
    ];
    assert_eq!(met, expected.map(|(name, root)| (name.to_owned(), root)));
    assert!(seen.walked.empty_roots.is_empty());
}

#[test]
fn an_empty_root_is_reported_and_one_whose_files_are_in_a_nested_root_is_not() {
    let tree = Tree::of(&["empty/", "full/in/a.md", "hid/.b.md"]);
    let roots = ["empty", "full", "full/in", "hid"].map(|name| tree.at(name));
    let seen = see(&roots, &Rules::default());
    assert_eq!(seen.walked.empty_roots, [tree.at("empty"), tree.at("hid")]);
    assert!(seen.walked.complete);
}

#[test]
fn a_walk_that_is_stopped_says_that_it_is_not_complete() {
    let tree = Tree::of(&["a.md", "b.md", "c/d.md"]);
    let mut met = 0;
    let walked = walk(&[tree.root().to_path_buf()], &Rules::default(), &mut |_| {
        met += 1;
        if met == 2 { Break(()) } else { Continue(()) }
    })
    .unwrap();
    assert_eq!((met, walked.files, walked.complete), (2, 2, false));
    assert!(walked.empty_roots.is_empty());
}

#[test]
fn deep_trees_do_not_overflow_the_stack() {
    let tree = Tree::new();
    let mut path = tree.root().to_path_buf();
    while path.as_os_str().len() < 3_900 {
        path.push("d");
    }
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("a.md"), "x").unwrap();
    assert_eq!(names(&tree, &Rules::default()).len(), 1);
}

#[test]
fn meeting_one_path_says_what_the_walk_says() {
    let tree = Tree::of(&["a.md", ".b.md", "sub/c.md", "in/d.md"]);
    let roots = [tree.root().to_path_buf(), tree.at("in")];
    let rules = Rules::default();
    let mut reach = Reach::of(&roots, &rules).unwrap();
    for found in see(&roots, &rules).files {
        match reach.meet(&found.path) {
            Some(WalkEntry::File(same)) => assert_eq!(same, found),
            other => panic!("{other:?}"),
        }
    }
    for none in [".b.md", "sub", "gone.md", "a.md/x"] {
        assert!(reach.meet(&tree.at(none)).is_none(), "{none}");
    }
    assert!(reach.meet(Path::new("/etc/passwd")).is_none());
}

/// Every file below a folder, by the simplest possible code.
fn everything(folder: &Path, out: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, out);
        } else {
            out.insert(path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_single_question_agrees_with_the_walk(
        files in prop::collection::vec("(a|b|\\.c|target|vendor|in)(/(a|b|\\.c|target|in)){0,3}/(x|y|\\.z|k\\.junk)", 1..25),
        lists in prop::collection::vec((
            "(|a/|in/|b/a/)\\.(gitignore|ignore|lociignore)",
            prop::collection::vec("!?(/?(a|b|in)/?|\\*\\.junk|x|\\.c|\\.z|\\*\\*/a/\\*|target/|\\.\\*)", 1..4),
        ), 0..5),
        repository in prop::option::of("(in|a/in)"),
        hidden: bool,
        ignored: bool,
        vendored: bool,
    ) {
        let tree = Tree::new();
        for name in files.iter().chain(&["Cargo.toml".to_owned()]) {
            tree.put(name);
        }
        for (name, lines) in &lists {
            tree.write(name, &lines.join("\n"));
        }
        if let Some(name) = &repository {
            tree.repository(name);
        }
        let rules = Rules { hidden, ignored, vendored, ..Rules::default() };
        let met: BTreeSet<PathBuf> = see(&[tree.root().to_path_buf()], &rules)
            .files
            .into_iter()
            .map(|found| found.path)
            .collect();
        let mut all = BTreeSet::new();
        everything(tree.root(), &mut all);
        let mut reach = Reach::of(&[tree.root().to_path_buf()], &rules).unwrap();
        // From the end and from the start, so that folders are left and entered again.
        for path in all.iter().rev().chain(&all) {
            prop_assert_eq!(reach.would_meet(path), met.contains(path), "{}", path.display());
        }
        for path in &all {
            prop_assert_eq!(
                would_meet(tree.root(), path, &rules),
                met.contains(path),
                "{}", path.display()
            );
        }
    }
}
