//! Derived files are worthless: whatever is done to them, answers stay right, no process dies, and
//! what fails its check is set aside with its bytes untouched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::RepairOptions;

use crate::support::{
    Access as _, Model, Op, Request, Rng, Seeded, Worker, copy_directory, effort, files_below,
    fill, listed, open, random_row, run, seed, snapshots,
};

const DIMENSION: usize = 64;
const COUNT: u64 = 1_100;
const HEADER: u64 = 4096;

/// A palace with an index and changes after it, and files to put in its index's place.
struct Scene {
    directory: tempfile::TempDir,
    model: Model,
    rng: Rng,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("template");
        let palace = open(&path);
        let mut model = fill(&palace, "drawers", "a", COUNT, DIMENSION, seed);
        fill(&palace, "other", "o", 300, DIMENSION, seed + 1);
        let mut rng = Rng(seed);
        let drawers = palace.collection("drawers", false).unwrap();
        let keep = |from: &Path, name: &str| {
            fs::copy(from, directory.path().join(name)).unwrap();
        };
        Op::Reindex.run(&palace, drawers.as_ref()).unwrap();
        keep(&snapshots(&path)[0], "older");
        let change = |model: &mut Model, rng: &mut Rng| {
            let rows = (0..30)
                .map(|_| {
                    let number = rng.below(COUNT as usize + 40) as u64;
                    random_row(rng, "a", number, DIMENSION)
                })
                .fold(Vec::new(), |mut rows: Vec<crate::support::Row>, row| {
                    if rows.iter().all(|other| other.id != row.id) {
                        rows.push(row);
                    }
                    rows
                });
            let ids = (0..30)
                .map(|_| format!("a{}", rng.below(COUNT as usize)))
                .collect();
            for op in [Op::Upsert { rows }, Op::Delete { ids }] {
                op.run(&palace, drawers.as_ref()).unwrap();
                model.apply(&op);
            }
        };
        change(&mut model, &mut rng);
        Op::Reindex.run(&palace, drawers.as_ref()).unwrap();
        change(&mut model, &mut rng);
        drop(palace);
        // A snapshot that covers more than the registered one, made on a copy.
        let copy = directory.path().join("copy");
        copy_directory(&path, &copy);
        let palace = open(&copy);
        Op::Reindex
            .run(
                &palace,
                palace.collection("drawers", false).unwrap().as_ref(),
            )
            .unwrap();
        keep(&snapshots(&copy)[0], "newer");
        let backup = directory.path().join("backup");
        palace.backup(&backup).unwrap();
        palace.restore(&backup, true).unwrap();
        drop(palace);
        let palace = open(&copy);
        Op::Reindex
            .run(
                &palace,
                palace.collection("drawers", false).unwrap().as_ref(),
            )
            .unwrap();
        keep(&snapshots(&copy)[0], "generation");
        Op::Reindex
            .run(&palace, palace.collection("other", false).unwrap().as_ref())
            .unwrap();
        drop(palace);
        let palace = open(&path);
        Op::Reindex
            .run(&palace, palace.collection("other", false).unwrap().as_ref())
            .unwrap();
        drop(palace);
        keep(&other_index(&path), "collection");
        let foreign = directory.path().join("foreign");
        let palace = open(&foreign);
        fill(&palace, "drawers", "a", COUNT, DIMENSION, seed);
        Op::Reindex
            .run(
                &palace,
                palace.collection("drawers", false).unwrap().as_ref(),
            )
            .unwrap();
        keep(&snapshots(&foreign)[0], "palace");
        Self {
            directory,
            model,
            rng,
        }
    }

    fn copy(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        copy_directory(&self.directory.path().join("template"), &path);
        path
    }

    fn ask(&mut self, worker: &mut Worker) {
        let vector = match self.rng.below(3) {
            0 => self.rng.vector(DIMENSION),
            1 => {
                let at = self.rng.below(self.model.dead.len());
                self.model
                    .dead
                    .values()
                    .nth(at)
                    .unwrap()
                    .vector
                    .clone()
                    .unwrap()
            }
            _ => {
                let at = self.rng.below(self.model.rows.len());
                self.model
                    .rows
                    .values()
                    .nth(at)
                    .unwrap()
                    .vector
                    .clone()
                    .unwrap()
            }
        };
        self.model.ask(worker, "drawers", &vector, 10);
    }
}

/// The snapshot of `drawers` is the larger one.
fn index_of(palace: &Path) -> PathBuf {
    snapshots(palace)
        .into_iter()
        .max_by_key(|path| fs::symlink_metadata(path).unwrap().len())
        .unwrap()
}

fn other_index(palace: &Path) -> PathBuf {
    snapshots(palace)
        .into_iter()
        .min_by_key(|path| fs::symlink_metadata(path).unwrap().len())
        .unwrap()
}

type Harm = Box<dyn Fn(&Path)>;

fn truncated(length: u64) -> Harm {
    Box::new(move |file| open_for_write(file).set_len(length).unwrap())
}

fn open_for_write(file: &Path) -> fs::File {
    fs::OpenOptions::new().write(true).open(file).unwrap()
}

/// Flips one bit in place, as a bad disk does: same inode, same length.
fn flipped(at: u64) -> Harm {
    use std::os::unix::fs::FileExt;
    Box::new(move |file| {
        let handle = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(file)
            .unwrap();
        let mut byte = [0];
        handle.read_exact_at(&mut byte, at).unwrap();
        handle.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    })
}

fn replaced(with: PathBuf) -> Harm {
    Box::new(move |file| {
        let temporary = file.with_extension("incoming");
        fs::copy(&with, &temporary).unwrap();
        fs::rename(temporary, file).unwrap();
    })
}

fn overwritten(with: PathBuf) -> Harm {
    Box::new(move |file| fs::write(file, fs::read(&with).unwrap()).unwrap())
}

fn instead(make: impl Fn(&Path) + 'static) -> Harm {
    Box::new(move |file| {
        fs::remove_file(file).unwrap();
        make(file);
    })
}

fn kinds(scene: &Scene) -> Vec<(String, Harm)> {
    let template = scene.directory.path().join("template");
    let length = fs::metadata(index_of(&template)).unwrap().len();
    let (count, dimension) = (indexed_rows(&index_of(&template)), DIMENSION as u64);
    let starts = [
        HEADER,
        HEADER + count * dimension / 2,
        HEADER + count * (dimension / 2 + 12),
        HEADER + count * (dimension / 2 + 20),
        HEADER + count * (dimension / 2 + 20) + dimension * 4,
        length,
    ];
    let mut kinds: Vec<(String, Harm)> = Vec::new();
    let mut cuts = vec![
        0,
        1,
        7,
        8,
        100,
        HEADER - 1,
        HEADER,
        HEADER + 1,
        length / 4,
        length / 2,
        length - 1,
    ];
    cuts.extend(&starts[1..5]);
    for cut in cuts {
        kinds.push((format!("cut to {cut} bytes"), truncated(cut)));
    }
    let fields = [0, 8, 12, 16, 20, 24, 40, 48, 56, 64, 72, 76, 80, 96];
    let table = (0..15).map(|number| 104 + 8 * number);
    for at in fields.into_iter().chain(table).chain([300, HEADER - 8]) {
        kinds.push((format!("bit flipped in the header at {at}"), flipped(at)));
    }
    for (section, range) in starts.windows(2).enumerate() {
        for at in [range[0], range[0].midpoint(range[1]), range[1] - 1] {
            kinds.push((
                format!("bit flipped in section {section} at {at}"),
                flipped(at),
            ));
        }
    }
    for name in ["older", "newer", "collection", "palace", "generation"] {
        let file = scene.directory.path().join(name);
        kinds.push((
            format!("replaced by the {name} one"),
            replaced(file.clone()),
        ));
        kinds.push((
            format!("overwritten with the {name} one"),
            overwritten(file),
        ));
    }
    let good = scene.directory.path().join("good");
    fs::copy(index_of(&template), &good).unwrap();
    kinds.push((
        "a directory".into(),
        instead(|file| fs::create_dir(file).unwrap()),
    ));
    kinds.push((
        "a full directory".into(),
        instead(|file| fs::create_dir_all(file.join("x/y")).unwrap()),
    ));
    kinds.push((
        "a fifo".into(),
        instead(|file| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                file,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
        }),
    ));
    kinds.push((
        "a socket".into(),
        instead(|file| {
            // The path of a socket is short: bind elsewhere, then move it.
            let near = std::env::temp_dir().join(format!("loci-{}", std::process::id()));
            drop(std::os::unix::net::UnixListener::bind(&near).unwrap());
            fs::rename(near, file).unwrap();
        }),
    ));
    kinds.push((
        "a symlink to a good copy".into(),
        instead(move |file| symlink(&good, file).unwrap()),
    ));
    kinds.push((
        "a symlink to itself".into(),
        instead(|file| symlink(file.file_name().unwrap(), file).unwrap()),
    ));
    kinds.push((
        "a symlink to nowhere".into(),
        instead(|file| symlink("/no/such/file", file).unwrap()),
    ));
    kinds.push((
        "zero bytes of the same length".into(),
        Box::new(move |file| fs::write(file, vec![0; length as usize]).unwrap()),
    ));
    kinds.push((
        "text".into(),
        Box::new(|file| fs::write(file, b"not an index").unwrap()),
    ));
    kinds.push(("one byte more".into(), truncated(length + 1)));
    kinds.push(("a terabyte of holes".into(), truncated(1 << 40)));
    kinds.push(("deleted".into(), instead(|_| {})));
    kinds.push((
        "index directory deleted".into(),
        Box::new(|file| fs::remove_dir_all(file.parent().unwrap()).unwrap()),
    ));
    kinds.push((
        "index directory is a file".into(),
        Box::new(|file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file.parent().unwrap(), b"in the way").unwrap();
        }),
    ));
    kinds.push((
        "index directory is a symlink to nowhere".into(),
        Box::new(|file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap();
            symlink("/no/such/directory", file.parent().unwrap()).unwrap();
        }),
    ));
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: unreadable file and read-only directory, root reads and writes all");
    } else {
        kinds.push((
            "unreadable".into(),
            Box::new(|file| {
                fs::set_permissions(file, fs::Permissions::from_mode(0o000)).unwrap();
            }),
        ));
        kinds.push((
            "read-only directory and a cut file".into(),
            Box::new(|file| {
                truncated(10)(file);
                let parent = file.parent().unwrap();
                fs::set_permissions(parent, fs::Permissions::from_mode(0o500)).unwrap();
            }),
        ));
    }
    kinds
}

/// Number of rows that the header of a sound snapshot names.
fn indexed_rows(file: &Path) -> u64 {
    let bytes = fs::read(file).unwrap();
    u64::from_le_bytes(bytes[64..72].try_into().unwrap())
}

/// What stands at a path, without following it: bytes, link target, or kind.
fn nature(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some(if metadata.is_symlink() {
        fs::read_link(path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else if metadata.is_file() && metadata.len() < 1 << 30 {
        fs::read(path).unwrap_or_else(|_| b"unreadable".to_vec())
    } else {
        format!(
            "{:?} {}",
            metadata.file_type(),
            u64::from(metadata.is_file()) * metadata.len()
        )
        .into_bytes()
    })
}

fn is_drift_of(name: &str, of: &str) -> bool {
    name.strip_prefix(of)
        .and_then(|rest| rest.strip_prefix(".drift-"))
        .is_some_and(|time| {
            time.len() >= 15
                && time.char_indices().all(|(at, c)| {
                    if at == 8 || at == 15 {
                        c == '-'
                    } else {
                        c.is_ascii_digit()
                    }
                })
        })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    Fresh,
    AfterOneQuery,
    AfterTwoQueries,
}

fn one_kind(scene: &mut Scene, number: usize, kind: &str, harm: &Harm, moment: Moment) {
    let path = scene.copy(&format!("{number}-{moment:?}"));
    let file = index_of(&path);
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let mut worker = (moment != Moment::Fresh).then(|| Worker::serve(&path));
    if let Some(worker) = &mut worker {
        let queries = if moment == Moment::AfterOneQuery {
            1
        } else {
            2
        };
        (0..queries).for_each(|_| scene.ask(worker));
    }
    harm(&file);
    let harmed = nature(&file);
    let mut worker = worker.unwrap_or_else(|| Worker::serve(&path));
    for _ in 0..3 {
        scene.ask(&mut worker);
    }
    // Whatever stood there stands there still, or beside it under a name that says when.
    let aside = listed(&path.join("index"), |other| is_drift_of(other, &name));
    let sealed =
        fs::metadata(path.join("index")).is_ok_and(|index| index.permissions().mode() & 0o200 == 0);
    if let Some(harmed) = &harmed {
        // In a directory that cannot be written, nothing can be set aside.
        if moment == Moment::Fresh && !sealed {
            assert_eq!(
                aside.len(),
                1,
                "{kind}: not set aside: {:?}",
                listed(&path.join("index"), |_| true)
            );
        }
        let now = aside.first().map_or(&file, |aside| aside);
        assert_eq!(
            nature(now).as_ref(),
            Some(harmed),
            "{kind}: its bytes changed"
        );
    }
    worker.finish();
    if sealed {
        fs::set_permissions(path.join("index"), fs::Permissions::from_mode(0o700)).unwrap();
    }
    // An explicit rebuild brings an index back that is used and verifies.
    let mut worker = Worker::serve(&path);
    let deep = moment == Moment::Fresh;
    let repaired = deep.then(|| worker.must(&Request::Repair));
    // Some kinds hit the index of the other collection too.
    worker.must(&run("other", Op::Reindex));
    worker.must(&run("drawers", Op::Reindex));
    assert_eq!(
        nature(&index_of(&path)).map(|bytes| bytes[..8].to_vec()),
        Some(b"LOCI-IDX".to_vec())
    );
    for _ in 0..2 {
        scene.ask(&mut worker);
    }
    let report = worker.must(&Request::Verify { deep });
    assert_eq!(report["ok"], true, "{kind}: {report} after {repaired:?}");
    if let Some(aside) = aside.first() {
        assert_eq!(
            nature(aside),
            harmed,
            "{kind}: what was set aside changed or is gone"
        );
    }
    worker.finish();
    fs::remove_dir_all(&path).unwrap();
}

fn every_kind(moment: Moment) {
    let seed = Seeded(seed());
    let mut scene = Scene::new(seed.0);
    let kinds = kinds(&scene);
    assert!(kinds.len() >= 40);
    let mut failed = Vec::new();
    for (number, (kind, harm)) in kinds.iter().enumerate() {
        let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            one_kind(&mut scene, number, kind, harm, moment);
        }));
        if let Err(panic) = attempt {
            let said = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            failed.push(format!("{kind}: {}", said.unwrap_or_default()));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} kinds:\n{}",
        failed.len(),
        kinds.len(),
        failed.join("\n")
    );
}

#[test]
fn a_fresh_process_answers_rightly_beside_any_damaged_index() {
    every_kind(Moment::Fresh);
}

#[test]
fn a_process_that_asked_once_answers_rightly_after_any_damage() {
    every_kind(Moment::AfterOneQuery);
}

#[test]
fn a_process_that_asked_twice_answers_rightly_after_any_damage() {
    every_kind(Moment::AfterTwoQueries);
}

#[test]
fn damage_while_processes_query_never_kills_one_and_never_gives_a_wrong_answer() {
    let seed = Seeded(seed());
    let scene = Scene::new(seed.0);
    let path = scene.copy("busy");
    let stop = AtomicBool::new(false);
    let asked = std::thread::scope(|threads| {
        let askers: Vec<_> = (0..2_u64)
            .map(|number| {
                let (path, stop, model) = (&path, &stop, &scene.model);
                let mut rng = Rng(seed.0 ^ number);
                threads.spawn(move || {
                    let mut asked = 0;
                    while !stop.load(Ordering::Relaxed) {
                        // A new process now and then: it opens whatever lies there.
                        let mut worker = Worker::serve(path);
                        for _ in 0..rng.below(12) {
                            model.ask(&mut worker, "drawers", &rng.vector(DIMENSION), 10);
                            asked += 1;
                        }
                    }
                    asked
                })
            })
            .collect();
        let stopping = crate::upkeep::Stop(&stop);
        let mut rng = Rng(seed.0);
        let mut builder = Worker::serve(&path);
        let until = Instant::now() + Duration::from_secs(5 * effort() as u64);
        let others: Vec<Vec<u8>> = ["older", "newer", "palace", "generation"]
            .iter()
            .map(|name| fs::read(scene.directory.path().join(name)).unwrap())
            .collect();
        while Instant::now() < until
            && !askers
                .iter()
                .any(std::thread::ScopedJoinHandle::is_finished)
        {
            builder.must(&run("drawers", Op::Reindex));
            for _ in 0..rng.below(4) {
                for file in snapshots(&path) {
                    // The file may be set aside at any moment: failures here mean nothing.
                    let length = fs::metadata(&file).map_or(1, |metadata| metadata.len());
                    let handle = fs::OpenOptions::new().write(true).open(&file);
                    let _ = match rng.below(5) {
                        0 => handle.and_then(|file| file.set_len(rng.next() % length.max(1))),
                        1 => handle.and_then(|file| {
                            use std::os::unix::fs::FileExt;
                            let noise: Vec<u8> = (0..64).map(|_| rng.next() as u8).collect();
                            file.write_all_at(&noise, rng.next() % length.max(1))
                        }),
                        2 => fs::write(&file, &others[rng.below(others.len())]),
                        3 => {
                            let incoming = path.join("incoming");
                            fs::write(&incoming, &others[rng.below(others.len())]).unwrap();
                            fs::rename(incoming, &file)
                        }
                        _ => fs::remove_file(&file),
                    };
                }
                std::thread::sleep(Duration::from_micros(rng.next() % 4_000));
            }
        }
        drop(stopping);
        askers
            .into_iter()
            .map(|asker| asker.join().unwrap())
            .sum::<usize>()
    });
    eprintln!(
        "{asked} answers, {} files set aside",
        files_below(&path.join("index")).len()
    );
    let palace = open(&path);
    palace.repair(RepairOptions::default()).unwrap();
    let report = palace.verify(true).unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

#[test]
fn after_two_failures_within_an_hour_automatic_rebuilds_are_held_back_and_that_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    // More than the limit from which on an index is built without being asked for.
    let palace = open(&path);
    let model = fill(&palace, "drawers", "a", 2_300, 8, 1);
    palace.close().unwrap();
    let vector = Rng(1).vector(8);
    for failure in 1..=2 {
        let [file] = snapshots(&path)
            .try_into()
            .unwrap_or_else(|found| panic!("failure {failure}: {found:?}"));
        truncated(100)(&file);
        let mut worker = Worker::serve(&path);
        let warnings = model.ask(&mut worker, "drawers", &vector, 10);
        assert!(
            warnings
                .iter()
                .any(|warning| warning.starts_with("index_set_aside")),
            "{warnings:?}"
        );
        worker.finish();
    }
    let mut worker = Worker::serve(&path);
    let warnings = model.ask(&mut worker, "drawers", &vector, 10);
    assert!(
        warnings
            .iter()
            .any(|warning| warning.starts_with("index_held_back")),
        "{warnings:?}"
    );
    assert_eq!(
        worker.must(&Request::Status)["held_back"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    worker.finish();
    assert!(snapshots(&path).is_empty(), "it was rebuilt all the same");
    // What the warning advises helps.
    let mut worker = Worker::serve(&path);
    worker.must(&Request::Repair);
    assert_eq!(
        snapshots(&path).len(),
        1,
        "repair did not bring the index back"
    );
    let warnings = model.ask(&mut worker, "drawers", &vector, 10);
    assert!(warnings.is_empty(), "{warnings:?}");
}
