//! What tests with worker processes need: the workers themselves, seeds, and the files of a palace.
//!
//! The tests of `loci-palace` compile this file too. `crate::support` says which worker is started.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use crate::operations::{Access, Op, Request, Rng, Row, random_row, rows_of};
use crate::support::WORKER;

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

/// Waits until `done`, or panics after a generous while.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn command(palace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(WORKER);
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
            .arg(WORKER)
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

    pub(crate) fn send(&mut self, request: &impl Serialize) {
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

    pub(crate) fn ask(&mut self, request: &impl Serialize) -> Result<Value, Value> {
        self.send(request);
        self.receive()
    }

    pub(crate) fn must(&mut self, request: &(impl Serialize + Debug)) -> Value {
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
pub(crate) fn contents(palace: &dyn Access, collection: &str) -> BTreeMap<String, Row> {
    match palace.collection(collection, false) {
        Ok(collection) => rows_of(collection.as_ref(), None)
            .unwrap()
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect(),
        Err(loci_core::Error::CollectionNotInitialized { .. }) => BTreeMap::new(),
        Err(error) => panic!("{error}"),
    }
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

/// Drawers with random vectors, added in batches.
pub(crate) fn fill(
    palace: &dyn Access,
    collection: &str,
    prefix: &str,
    count: u64,
    dimension: usize,
    seed: u64,
) -> Vec<Row> {
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
    }
    rows
}

/// Scans every byte of every file for every word. The words are those of `random_row`: letters and
/// digits between `uq` and `q`.
pub(crate) fn assert_nowhere<'a>(palace: &Path, words: impl IntoIterator<Item = &'a str>) {
    let words: HashSet<&[u8]> = words.into_iter().map(str::as_bytes).collect();
    for file in files_below(palace) {
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len().saturating_sub(1) {
            if &bytes[at..at + 2] != b"uq" {
                continue;
            }
            let end = (at + 2..bytes.len())
                .find(|end| !bytes[*end].is_ascii_alphanumeric())
                .unwrap_or(bytes.len());
            for stop in (at + 3..=end).filter(|stop| bytes[stop - 1] == b'q') {
                let word = &bytes[at..stop];
                assert!(
                    !words.contains(word),
                    "{} still holds {} at {at}",
                    file.display(),
                    String::from_utf8_lossy(word)
                );
            }
        }
    }
}
