//! The reports of a watch on real files. Each test waits for what it expects, with a deadline.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use loci_mine::walk::{Met, Reach, Rules, walk};
use loci_mine::watch::{Pace, Stir, watch};

use crate::tree::Tree;

const DEADLINE: Duration = Duration::from_secs(20);

struct Watched {
    stirs: Receiver<Stir>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    /// Returns when the watches are set.
    fn new(roots: &[PathBuf]) -> Self {
        let (told, stirs) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (roots, flag) = (roots.to_vec(), Arc::clone(&stop));
        let pace = Pace {
            quiet: Duration::from_millis(30),
            at_most: Duration::from_millis(300),
        };
        let thread = std::thread::spawn(move || {
            watch(&roots, &Rules::default(), &pace, &flag, &mut |stir| {
                let _ = told.send(stir);
                Continue(())
            })
            .unwrap();
        });
        let watched = Self {
            stirs,
            stop,
            thread: Some(thread),
        };
        match watched.next() {
            Stir::Rescan { why } => assert_eq!(why, "start"),
            other @ Stir::Changed(_) => panic!("{other:?}"),
        }
        watched
    }

    fn of(tree: &Tree) -> Self {
        Self::new(&[tree.root().to_path_buf()])
    }

    fn next(&self) -> Stir {
        self.stirs.recv_timeout(DEADLINE).expect("nothing was told")
    }

    /// Waits until all these paths were reported, and returns everything that was.
    fn wait_for(&self, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
        let until = Instant::now() + DEADLINE;
        let mut all = BTreeSet::new();
        while !paths.iter().all(|path| all.contains(path)) {
            assert!(Instant::now() < until, "only {all:?} was told");
            match self.next() {
                Stir::Changed(told) => all.extend(told),
                Stir::Rescan { why } => panic!("rescan: {why}"),
            }
        }
        all
    }

    fn wait_for_rescan(&self, part: &str) {
        let until = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < until, "no rescan because of {part}");
            if let Stir::Rescan { why } = self.next()
                && why.contains(part)
            {
                return;
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn files_that_come_change_and_go_are_told() {
    let tree = Tree::of(&["a.md", "sub/b.md", "c.md"]);
    let watched = Watched::of(&tree);
    tree.write("sub/b.md", "changed");
    tree.write("new.md", "new");
    fs::remove_file(tree.at("a.md")).unwrap();
    fs::rename(tree.at("c.md"), tree.at("sub/d.md")).unwrap();
    let told =
        watched.wait_for(&["sub/b.md", "new.md", "a.md", "c.md", "sub/d.md"].map(|n| tree.at(n)));
    assert_eq!(told.len(), 5, "{told:?}");
}

#[test]
fn folders_that_appear_are_watched_with_all_that_is_in_them() {
    let elsewhere = Tree::of(&["moved/deep/a.md", "moved/deep/.hid/b.md"]);
    let tree = Tree::of(&["x.md"]);
    let watched = Watched::of(&tree);
    tree.write("one/two/three/c.md", "c");
    watched.wait_for(&[tree.at("one/two/three/c.md")]);
    tree.write("one/two/three/c.md", "again");
    watched.wait_for(&[tree.at("one/two/three/c.md")]);
    fs::rename(elsewhere.at("moved"), tree.at("one/moved")).unwrap();
    let told = watched.wait_for(&[tree.at("one/moved/deep/a.md")]);
    assert!(!told.contains(&tree.at("one/moved/deep/.hid/b.md")));
    tree.write("one/moved/deep/d.md", "d");
    watched.wait_for(&[tree.at("one/moved/deep/d.md")]);
}

#[test]
fn a_renamed_folder_is_told_at_both_ends_and_watched_under_its_new_name() {
    let tree = Tree::of(&["old/in/a.md"]);
    let watched = Watched::of(&tree);
    fs::rename(tree.at("old"), tree.at("new")).unwrap();
    watched.wait_for(&[tree.at("old"), tree.at("new/in/a.md")]);
    tree.write("new/in/a.md", "changed");
    watched.wait_for(&[tree.at("new/in/a.md")]);
    fs::remove_dir_all(tree.at("new")).unwrap();
    watched.wait_for(&[tree.at("new")]);
    tree.write("new/in/a.md", "back");
    watched.wait_for(&[tree.at("new/in/a.md")]);
    tree.write("new/in/a.md", "and changed");
    watched.wait_for(&[tree.at("new/in/a.md")]);
}

#[test]
fn what_the_rules_leave_out_is_not_told() {
    let tree = Tree::of(&["a.md", "node_modules/x/b.js", "ignored/c.md", ".hid/d.md"]);
    tree.write(".gitignore", "ignored/\n*.log\n");
    let watched = Watched::of(&tree);
    for left in [
        "node_modules/x/b.js",
        "node_modules/y/z.js",
        "ignored/c.md",
        ".hid/d.md",
        "e.log",
        ".f.md",
    ] {
        tree.write(left, "changed");
    }
    tree.write("memory/palace.sqlite3", "x");
    tree.write("memory/index/one", "x");
    tree.write("last.md", "x");
    let told = watched.wait_for(&[tree.at("last.md")]);
    assert_eq!(told.into_iter().collect::<Vec<_>>(), [tree.at("last.md")]);
}

#[test]
fn a_change_of_the_rules_is_a_rescan_and_holds_from_then_on() {
    let tree = Tree::of(&["a.md", "left/b.md"]);
    tree.write(".gitignore", "left/\n");
    let watched = Watched::of(&tree);
    tree.write(".gitignore", "other/\n");
    watched.wait_for_rescan(".gitignore");
    tree.write("left/b.md", "changed");
    watched.wait_for(&[tree.at("left/b.md")]);
    tree.write(".loci.toml", "wing = \"x\"\n");
    watched.wait_for_rescan(".loci.toml");
}

#[test]
fn a_root_that_goes_and_comes_back_is_watched_again() {
    let tree = Tree::of(&["root/a.md", "other/b.md"]);
    let watched = Watched::new(&[tree.at("root"), tree.at("other")]);
    fs::remove_dir_all(tree.at("root")).unwrap();
    watched.wait_for_rescan("root");
    tree.write("other/b.md", "changed");
    watched.wait_for(&[tree.at("other/b.md")]);
    tree.write("root/a.md", "back");
    watched.wait_for_rescan("came back");
    tree.write("root/a.md", "changed");
    watched.wait_for(&[tree.at("root/a.md")]);
}

#[test]
fn a_root_that_is_a_file_is_told_and_its_neighbours_are_not() {
    let tree = Tree::of(&["folder/.a.md", "folder/b.md"]);
    let watched = Watched::new(&[tree.at("folder/.a.md")]);
    tree.write("folder/b.md", "changed");
    // Editors save like this: a new file takes the name of the old one.
    tree.write("folder/a.tmp", "new");
    fs::rename(tree.at("folder/a.tmp"), tree.at("folder/.a.md")).unwrap();
    let told = watched.wait_for(&[tree.at("folder/.a.md")]);
    assert_eq!(told.len(), 1, "{told:?}");
    tree.write("folder/.a.md", "again");
    watched.wait_for(&[tree.at("folder/.a.md")]);
}

#[test]
fn more_changes_than_can_be_told_are_a_rescan() {
    let tree = Tree::of(&["a/x.md"]);
    let watched = Watched::of(&tree);
    for number in 0..6_000 {
        tree.write(&format!("a/{number}.md"), "");
    }
    let mut told = BTreeSet::new();
    loop {
        match watched.next() {
            Stir::Rescan { .. } => break,
            Stir::Changed(paths) => {
                assert!(paths.len() <= loci_mine::watch::MAX_PATHS);
                told.extend(paths);
                if told.len() >= 6_000 {
                    break; // A machine this slow was told piece by piece.
                }
            }
        }
    }
}

#[test]
fn what_happens_while_the_caller_works_is_told_afterwards() {
    let tree = Arc::new(Tree::of(&["a.md"]));
    let (told, stirs) = channel();
    let inner = Arc::clone(&tree);
    let thread = std::thread::spawn(move || {
        let root = [inner.root().to_path_buf()];
        let stop = AtomicBool::new(false);
        let pace = Pace {
            quiet: Duration::from_millis(10),
            at_most: Duration::from_millis(100),
        };
        let mut calls = 0;
        watch(&root, &Rules::default(), &pace, &stop, &mut |stir| {
            calls += 1;
            inner.write(&format!("during-{calls}.md"), "x");
            if told.send(stir).is_err() || calls == 3 {
                return Break(());
            }
            Continue(())
        })
    });
    let next = || stirs.recv_timeout(DEADLINE).expect("nothing was told");
    assert!(matches!(next(), Stir::Rescan { .. }));
    assert_eq!(next(), Stir::Changed([tree.at("during-1.md")].into()));
    assert_eq!(next(), Stir::Changed([tree.at("during-2.md")].into()));
    thread.join().unwrap().unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_is_told_as_the_file_it_leads_to() {
    let outside = Tree::of(&["shared.md"]);
    let tree = Tree::of(&["a.md", ".hidden/b.md"]);
    let watched = Watched::of(&tree);
    // A link that leads outside is not followed.
    tree.link("first.md", outside.at("shared.md"));
    tree.link("link.md", ".hidden/b.md");
    let told = watched.wait_for(&[tree.at(".hidden/b.md")]);
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_missing_root_is_an_error_at_the_start() {
    let stop = AtomicBool::new(false);
    let error = watch(
        &[Path::new("/no/such/root").to_path_buf()],
        &Rules::default(),
        &Pace::default(),
        &stop,
        &mut |_| Continue(()),
    )
    .unwrap_err();
    assert!(error.to_string().contains("/no/such/root"));
}

#[test]
fn a_watch_ends_soon_after_it_is_stopped() {
    let tree = Tree::of(&["a.md"]);
    let watched = Watched::of(&tree);
    let start = Instant::now();
    drop(watched);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// Keeps a list of files from the reports of a watch, as a caller would.
#[derive(Default)]
struct Book(std::collections::BTreeMap<PathBuf, u64>);

impl Book {
    fn of_walk(root: &Path) -> Self {
        let mut book = Self::default();
        walk(&[root.to_path_buf()], &Rules::default(), &mut |met| {
            if let Met::File(found) = met {
                book.0.insert(found.path, found.size);
            }
            Continue(())
        })
        .unwrap();
        book
    }

    fn take(&mut self, root: &Path, stir: Stir) {
        let Stir::Changed(paths) = stir else {
            *self = Self::of_walk(root);
            return;
        };
        let mut reach = Reach::of(&[root.to_path_buf()], &Rules::default()).unwrap();
        for path in paths {
            if !path.is_dir() {
                self.0.retain(|known, _| !known.starts_with(&path));
            }
            if let Some(Met::File(found)) = reach.meet(&path) {
                self.0.insert(found.path, found.size);
            }
        }
    }
}

#[test]
fn whatever_happens_a_caller_that_follows_ends_with_what_is_there() {
    for seed in 1..=4_u64 {
        let tree = Tree::of(&["a/x.md", "b/c/y.md", "b/z.md"]);
        tree.write(".gitignore", "*.junk\n");
        let watched = Watched::of(&tree);
        let mut book = Book::of_walk(tree.root());
        let mut state = seed;
        let mut pick = |count: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % count
        };
        let folders = ["a", "b", "b/c", "b/c/d", "node_modules", "e", "e/.f"];
        for step in 0..150 {
            let one = tree.at(folders[pick(folders.len())]);
            let other = tree.at(folders[pick(folders.len())]);
            let name = ["x.md", "y.md", "z.junk", ".w.md"][pick(4)];
            // Many of these fail, as in real use.
            let _ = match pick(7) {
                0 => fs::create_dir_all(&one),
                1 => fs::remove_dir_all(&one),
                2 => fs::rename(&one, &other),
                3 => fs::rename(one.join(name), other.join("moved.md")),
                4 => fs::remove_file(one.join(name)),
                _ => fs::write(one.join(name), "x".repeat(step)),
            };
            if pick(40) == 0
                && let Ok(stir) = watched.stirs.recv_timeout(Duration::from_millis(50))
            {
                book.take(tree.root(), stir);
            }
        }
        let until = Instant::now() + DEADLINE;
        let truth = Book::of_walk(tree.root());
        while book.0 != truth.0 {
            assert!(
                Instant::now() < until,
                "{seed}: {:?} is not {:?}",
                book.0,
                truth.0
            );
            if let Ok(stir) = watched.stirs.recv_timeout(Duration::from_millis(100)) {
                book.take(tree.root(), stir);
            }
        }
    }
}
