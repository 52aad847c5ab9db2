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

use loci_mine::walk::{Reach, Rules, WalkEntry, walk};
use loci_mine::watch::{WatchEvent, WatchTiming, watch};

use crate::tree::Tree;

const DEADLINE: Duration = Duration::from_secs(20);

struct Watched {
    events: Receiver<WatchEvent>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    /// Returns when the watches are set.
    fn new(roots: &[PathBuf]) -> Self {
        let (sender, events) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (roots, flag) = (roots.to_vec(), Arc::clone(&stop));
        let timing = WatchTiming {
            quiet: Duration::from_millis(30),
            at_most: Duration::from_millis(300),
        };
        let thread = std::thread::spawn(move || {
            watch(&roots, &Rules::default(), &timing, &flag, &mut |event| {
                let _ = sender.send(event);
                Continue(())
            })
            .unwrap();
        });
        let watched = Self {
            events,
            stop,
            thread: Some(thread),
        };
        match watched.next() {
            WatchEvent::Rescan { why } => assert_eq!(why, "start"),
            other @ WatchEvent::Changed(_) => panic!("{other:?}"),
        }
        watched
    }

    fn of(tree: &Tree) -> Self {
        Self::new(&[tree.root().to_path_buf()])
    }

    fn next(&self) -> WatchEvent {
        self.events
            .recv_timeout(DEADLINE)
            .expect("nothing was sender")
    }

    /// Waits until all these paths were reported, and returns everything that was.
    fn wait_for(&self, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
        let until = Instant::now() + DEADLINE;
        let mut all = BTreeSet::new();
        while !paths.iter().all(|path| all.contains(path)) {
            assert!(Instant::now() < until, "only {all:?} was sender");
            match self.next() {
                WatchEvent::Changed(sender) => all.extend(sender),
                WatchEvent::Rescan { why } => panic!("rescan: {why}"),
            }
        }
        all
    }

    fn wait_for_rescan(&self, part: &str) {
        let until = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < until, "no rescan because of {part}");
            if let WatchEvent::Rescan { why } = self.next()
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
fn files_that_come_change_and_go_are_reported() {
    let tree = Tree::of(&["a.md", "sub/b.md", "c.md"]);
    let watched = Watched::of(&tree);
    tree.write("sub/b.md", "changed");
    tree.write("new.md", "new");
    fs::remove_file(tree.at("a.md")).unwrap();
    fs::rename(tree.at("c.md"), tree.at("sub/d.md")).unwrap();
    let sender =
        watched.wait_for(&["sub/b.md", "new.md", "a.md", "c.md", "sub/d.md"].map(|n| tree.at(n)));
    assert_eq!(sender.len(), 5, "{sender:?}");
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
    let sender = watched.wait_for(&[tree.at("one/moved/deep/a.md")]);
    assert!(!sender.contains(&tree.at("one/moved/deep/.hid/b.md")));
    tree.write("one/moved/deep/d.md", "d");
    watched.wait_for(&[tree.at("one/moved/deep/d.md")]);
}

#[test]
fn a_renamed_folder_is_reported_at_both_ends_and_watched_under_its_new_name() {
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
fn what_the_rules_leave_out_is_not_reported() {
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
    let sender = watched.wait_for(&[tree.at("last.md")]);
    assert_eq!(sender.into_iter().collect::<Vec<_>>(), [tree.at("last.md")]);
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
fn a_root_that_is_a_file_is_reported_and_its_neighbours_are_not() {
    let tree = Tree::of(&["folder/.a.md", "folder/b.md"]);
    let watched = Watched::new(&[tree.at("folder/.a.md")]);
    tree.write("folder/b.md", "changed");
    // Editors save like this: a new file takes the name of the old one.
    tree.write("folder/a.tmp", "new");
    fs::rename(tree.at("folder/a.tmp"), tree.at("folder/.a.md")).unwrap();
    let sender = watched.wait_for(&[tree.at("folder/.a.md")]);
    assert_eq!(sender.len(), 1, "{sender:?}");
    tree.write("folder/.a.md", "again");
    watched.wait_for(&[tree.at("folder/.a.md")]);
}

#[test]
fn more_changes_than_can_be_reported_are_a_rescan() {
    let tree = Tree::of(&["a/x.md"]);
    let watched = Watched::of(&tree);
    for number in 0..6_000 {
        tree.write(&format!("a/{number}.md"), "");
    }
    let mut sender = BTreeSet::new();
    loop {
        match watched.next() {
            WatchEvent::Rescan { .. } => break,
            WatchEvent::Changed(paths) => {
                assert!(paths.len() <= loci_mine::watch::MAX_PATHS);
                sender.extend(paths);
                if sender.len() >= 6_000 {
                    break; // A machine this slow was sender piece by piece.
                }
            }
        }
    }
}

#[test]
fn what_happens_while_the_caller_works_is_reported_afterwards() {
    let tree = Arc::new(Tree::of(&["a.md"]));
    let (sender, events) = channel();
    let inner = Arc::clone(&tree);
    let thread = std::thread::spawn(move || {
        let root = [inner.root().to_path_buf()];
        let stop = AtomicBool::new(false);
        let timing = WatchTiming {
            quiet: Duration::from_millis(10),
            at_most: Duration::from_millis(100),
        };
        let mut calls = 0;
        watch(&root, &Rules::default(), &timing, &stop, &mut |event| {
            calls += 1;
            inner.write(&format!("during-{calls}.md"), "x");
            if sender.send(event).is_err() || calls == 3 {
                return Break(());
            }
            Continue(())
        })
    });
    let next = || events.recv_timeout(DEADLINE).expect("nothing was sender");
    assert!(matches!(next(), WatchEvent::Rescan { .. }));
    assert_eq!(next(), WatchEvent::Changed([tree.at("during-1.md")].into()));
    assert_eq!(next(), WatchEvent::Changed([tree.at("during-2.md")].into()));
    thread.join().unwrap().unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_is_reported_as_the_file_it_leads_to() {
    let outside = Tree::of(&["shared.md"]);
    let tree = Tree::of(&["a.md", ".hidden/b.md"]);
    let watched = Watched::of(&tree);
    // A link that leads outside is not followed.
    tree.link("first.md", outside.at("shared.md"));
    tree.link("link.md", ".hidden/b.md");
    let sender = watched.wait_for(&[tree.at(".hidden/b.md")]);
    assert_eq!(sender.len(), 1, "{sender:?}");
}

#[test]
fn a_missing_root_is_an_error_at_the_start() {
    let stop = AtomicBool::new(false);
    let error = watch(
        &[Path::new("/no/such/root").to_path_buf()],
        &Rules::default(),
        &WatchTiming::default(),
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
struct FileList(std::collections::BTreeMap<PathBuf, u64>);

impl FileList {
    fn of_walk(root: &Path) -> Self {
        let mut list = Self::default();
        walk(&[root.to_path_buf()], &Rules::default(), &mut |met| {
            if let WalkEntry::File(found) = met {
                list.0.insert(found.path, found.size);
            }
            Continue(())
        })
        .unwrap();
        list
    }

    fn take(&mut self, root: &Path, event: WatchEvent) {
        let WatchEvent::Changed(paths) = event else {
            *self = Self::of_walk(root);
            return;
        };
        let mut reach = Reach::of(&[root.to_path_buf()], &Rules::default()).unwrap();
        for path in paths {
            if !path.is_dir() {
                self.0.retain(|known, _| !known.starts_with(&path));
            }
            if let Some(WalkEntry::File(found)) = reach.meet(&path) {
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
        let mut list = FileList::of_walk(tree.root());
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
                && let Ok(event) = watched.events.recv_timeout(Duration::from_millis(50))
            {
                list.take(tree.root(), event);
            }
        }
        let until = Instant::now() + DEADLINE;
        let truth = FileList::of_walk(tree.root());
        while list.0 != truth.0 {
            assert!(
                Instant::now() < until,
                "{seed}: {:?} is not {:?}",
                list.0,
                truth.0
            );
            if let Ok(event) = watched.events.recv_timeout(Duration::from_millis(100)) {
                list.take(tree.root(), event);
            }
        }
    }
}
