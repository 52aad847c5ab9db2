//! The parent's side: workers as child processes, the model, and the comparison of a palace with it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use loci_palace::{OpenOptions, Palace};
use serde_json::Value;

pub(crate) use crate::protocol::{Op, Request, Rng, Row, random_row, rows_of};

/// Multiplies the minimum counts: `LOCI_TORTURE=10` runs ten times as much.
pub(crate) fn effort() -> usize {
    std::env::var("LOCI_TORTURE")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// A seed from `LOCI_SEED`, or from the clock; every test prints it when it fails.
pub(crate) fn seed() -> u64 {
    std::env::var("LOCI_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64
        })
}

/// Prints the seed when the test that holds it panics.
pub(crate) struct Seeded(pub(crate) u64);

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("LOCI_SEED={}", self.0);
        }
    }
}

/// Whether palaces are files. The same tests run on palaces in memory, see `in_memory.rs`.
pub(crate) const ON_DISK: bool = true;

/// How tests open a palace.
pub(crate) fn options() -> OpenOptions {
    OpenOptions::create()
}

pub(crate) fn open(path: &Path) -> Palace {
    Palace::open(path, &options()).unwrap()
}

/// The number of the last change of a collection.
pub(crate) fn last_change(palace: &Palace, collection: &str) -> u64 {
    let collection = palace.collection(collection, false).unwrap();
    collection.maintenance_state().unwrap().seq
}

/// Waits until `done`, or panics after a generous while.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn command(palace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loci-worker"));
    command.arg(palace).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A worker that answers requests.
pub(crate) struct Worker {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn serve(palace: &Path) -> Self {
        Self::start(command(palace, &["serve"]))
    }

    /// One whose directory for temporary files is another one.
    pub(crate) fn with_temporary(palace: &Path, temporary: &Path) -> Self {
        let mut command = command(palace, &["serve"]);
        command.env("TMPDIR", temporary).env_remove("SQLITE_TMPDIR");
        Self::start(command)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// One whose files may not grow beyond `bytes`. The shell ignores SIGXFSZ and the worker
    /// inherits that, so a write past the limit fails instead of killing it.
    pub(crate) fn limited(palace: &Path, bytes: u64) -> Self {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"")
            .arg("sh")
            .arg((bytes / 512).to_string())
            .arg(env!("CARGO_BIN_EXE_loci-worker"))
            .arg(palace)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Self::start(command)
    }

    /// Or what it said instead of being ready.
    pub(crate) fn try_serve(palace: &Path) -> Result<Self, String> {
        Self::try_start(command(palace, &["serve"]))
    }

    fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|said| panic!("the worker did not start: {said}"))
    }

    fn try_start(mut command: Command) -> Result<Self, String> {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut worker = Self {
            child,
            input,
            output,
        };
        let ready = worker.line();
        if ready == "\"ready\"" {
            Ok(worker)
        } else {
            Err(ready)
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn send(&mut self, request: &Request) {
        let line = serde_json::to_string(request).unwrap();
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn receive(&mut self) -> Result<Value, Value> {
        let line = self.line();
        let mut answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("the worker died: {:?} {line:?}", self.child.try_wait()));
        match answer.get_mut("ok") {
            Some(value) => Ok(value.take()),
            None => Err(answer["error"].take()),
        }
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Value, Value> {
        self.send(request);
        self.receive()
    }

    pub(crate) fn must(&mut self, request: &Request) -> Value {
        self.ask(request)
            .unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Ends it in order: indexes are brought up, pending purges completed.
    pub(crate) fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run(collection: &str, op: Op) -> Request {
    Request::Run {
        collection: collection.into(),
        op,
    }
}

pub(crate) fn query(collection: &str, vector: &[f32], k: usize) -> Request {
    Request::Query {
        collection: collection.into(),
        vector: vector.to_vec(),
        k,
        filter: None,
    }
}

/// What a collection must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) rows: BTreeMap<String, Row>,
    /// Last vector and text of every drawer that is gone.
    pub(crate) dead: BTreeMap<String, Row>,
}

impl Model {
    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Add { rows } => {
                for row in rows {
                    if !self.rows.contains_key(&row.id) {
                        self.put(row.clone());
                    }
                }
            }
            Op::Upsert { rows } => rows.iter().for_each(|row| self.change(row, true)),
            Op::Update { rows } => rows.iter().for_each(|row| self.change(row, false)),
            Op::Delete { ids } | Op::Forget { ids } => ids.iter().for_each(|id| self.remove(id)),
            Op::DeleteWhere { key, value } => {
                let ids: Vec<String> = self
                    .rows
                    .values()
                    .filter(|row| row.meta.get(key) == Some(value))
                    .map(|row| row.id.clone())
                    .collect();
                for id in &ids {
                    self.remove(id);
                }
            }
            Op::Reindex | Op::Compact | Op::Analyze => {}
        }
    }

    fn put(&mut self, mut row: Row) {
        row.text.get_or_insert_default();
        self.dead.remove(&row.id);
        self.rows.insert(row.id.clone(), row);
    }

    fn change(&mut self, change: &Row, insert: bool) {
        let Some(old) = self.rows.get_mut(&change.id) else {
            if insert {
                self.put(change.clone());
            }
            return;
        };
        if let Some(text) = &change.text {
            if old.text.as_ref() != Some(text) && change.vector.is_none() {
                old.vector = None;
            }
            old.text = Some(text.clone());
        }
        if change.vector.is_some() {
            old.vector.clone_from(&change.vector);
        }
        old.meta
            .extend(change.meta.iter().map(|(k, v)| (k.clone(), v.clone())));
    }

    fn remove(&mut self, id: &str) {
        if let Some(row) = self.rows.remove(id) {
            self.dead.insert(id.to_owned(), row);
        }
    }

    /// The nearest by brute force: `(distance, id)`.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        group: Option<&Value>,
    ) -> Vec<(f32, String)> {
        let mut all: Vec<(f32, String)> = self
            .rows
            .values()
            .filter(|row| group.is_none() || row.meta.get("group") == group)
            .filter_map(|row| Some((cosine(vector, row.vector.as_ref()?), row.id.clone())))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        all.truncate(k);
        all
    }

    /// Panics unless `ids` with `distances` is a right answer: full, every distance that of its
    /// drawer, and as near as brute force.
    pub(crate) fn check_hits(
        &self,
        vector: &[f32],
        k: usize,
        group: Option<&Value>,
        ids: &[String],
        distances: &[f32],
    ) {
        let expected = self.nearest(vector, k, group);
        let found: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(found.len(), ids.len(), "an id twice: {ids:?}");
        assert_eq!(
            ids.len(),
            expected.len(),
            "not full: {ids:?}, expected {expected:?}"
        );
        for ((id, distance), (best, _)) in ids.iter().zip(distances).zip(&expected) {
            let row = self
                .rows
                .get(id)
                .unwrap_or_else(|| panic!("a ghost: {id}; dead {}", self.dead.contains_key(id)));
            assert!(
                group.is_none() || row.meta.get("group") == group,
                "{id} is not in the filter"
            );
            let own = cosine(vector, row.vector.as_ref().unwrap());
            assert!(
                (own - distance).abs() < 1e-4,
                "{id}: {distance} instead of {own}"
            );
            assert!(
                (best - distance).abs() < 1e-4,
                "{id} at {distance}, the best is {best}"
            );
        }
    }

    /// Panics unless the worker answers as brute force does.
    pub(crate) fn ask(
        &self,
        worker: &mut Worker,
        collection: &str,
        vector: &[f32],
        k: usize,
    ) -> Vec<String> {
        let answer = worker.must(&query(collection, vector, k));
        let (ids, distances) = hits(&answer);
        self.check_hits(vector, k, None, &ids, &distances);
        answer["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| warning.as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn hits(answer: &Value) -> (Vec<String>, Vec<f32>) {
    (
        serde_json::from_value(answer["ids"].clone()).unwrap(),
        serde_json::from_value(answer["distances"].clone()).unwrap(),
    )
}

pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    };
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms > 0.0 {
        (1.0 - dot(a, b) / norms) as f32
    } else {
        1.0
    }
}

/// The drawers of a collection as a map; empty when there is no such collection.
pub(crate) fn contents(palace: &Palace, collection: &str) -> BTreeMap<String, Row> {
    match palace.collection(collection, false) {
        Ok(collection) => rows_of(collection.as_ref(), None)
            .unwrap()
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect(),
        Err(loci_palace::Error::CollectionNotInitialized { .. }) => BTreeMap::new(),
        Err(error) => panic!("{error}"),
    }
}

/// Compares everything a palace answers with the model, in this process.
pub(crate) fn check(palace: &Palace, name: &str, model: &Model, rng: &mut Rng, deep: bool) {
    assert_eq!(contents(palace, name), model.rows, "the drawers differ");
    let report = palace
        .verify(&loci_palace::verify::Request { deep })
        .unwrap();
    assert!(report.ok(), "verify: {:?}", report.findings);
    let Ok(collection) = palace.collection(name, false) else {
        return;
    };
    assert_eq!(collection.count().unwrap(), model.rows.len() as u64);
    let Some(dimension) = collection.dimension().unwrap() else {
        return;
    };
    let ask = |vector: &[f32], k: usize, group: Option<&Value>| {
        let mut query = loci_palace::Query::vector(vector.to_vec()).k(k);
        if let Some(group) = group {
            let filter =
                loci_palace::Filter::parse(&serde_json::json!({ "group": group })).unwrap();
            query.selection = loci_palace::Selection::matching(filter);
        }
        let answer = collection.query(&query).unwrap();
        model.check_hits(vector, k, group, &answer.ids[0], &answer.distances[0]);
    };
    let words = |text: &str| -> Vec<String> {
        let found =
            loci_palace::search_words(&*collection, text, 10, &loci_palace::Selection::all())
                .unwrap();
        found.hits.into_iter().map(|hit| hit.id).collect()
    };
    let unique = |row: &Row| {
        row.text
            .as_ref()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    for _ in 0..3 {
        if let Some(row) = pick(rng, &model.dead) {
            if let Some(vector) = &row.vector {
                ask(vector, 10, None);
            }
            assert!(
                words(&unique(row)).is_empty(),
                "words find the deleted {}",
                row.id
            );
        }
        if let Some(row) = pick(rng, &model.rows) {
            if let Some(vector) = &row.vector {
                ask(vector, 10, None);
                ask(vector, 5, row.meta.get("group"));
            }
            assert_eq!(
                words(&unique(row)),
                std::slice::from_ref(&row.id),
                "words do not find it"
            );
        }
        ask(&rng.vector(dimension), 10, None);
    }
    ask(&rng.vector(dimension), 400, None);
}

fn pick<'a>(rng: &mut Rng, rows: &'a BTreeMap<String, Row>) -> Option<&'a Row> {
    rows.values().nth(rng.below(rows.len()))
}

/// The snapshot files in a palace, and what was set aside.
pub(crate) fn snapshots(palace: &Path) -> Vec<PathBuf> {
    listed(&palace.join("index"), |name| name.ends_with(".snapshot"))
}

pub(crate) fn listed(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| wanted(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// Every file below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

pub(crate) fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Drawers with 8-dimensional vectors, added in batches.
pub(crate) fn fill(
    palace: &Palace,
    collection: &str,
    prefix: &str,
    count: u64,
    dimension: usize,
    seed: u64,
) -> Model {
    let mut model = Model::default();
    let mut rng = Rng(seed);
    let rows: Vec<Row> = (1..=count)
        .map(|number| random_row(&mut rng, prefix, number, dimension))
        .collect();
    let collection = palace.collection(collection, true).unwrap();
    for rows in rows.chunks(500) {
        let op = Op::Add {
            rows: rows.to_vec(),
        };
        op.run(palace, collection.as_ref()).unwrap();
        model.apply(&op);
    }
    model
}
