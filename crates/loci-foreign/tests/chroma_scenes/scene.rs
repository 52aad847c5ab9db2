//! Directories to damage. The real chromadb writes them once, they are kept under Cargo's directory
//! for tests, and each test gets a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::expected::Expected;
use super::peer::{self, CHROMADB, run};

/// The database in a directory.
pub const DATABASE: &str = "chroma.sqlite3";
/// The file with the vectors of a segment.
pub const DATA: &str = "data_level0.bin";
/// The file with the labels of a segment.
pub const PICKLE: &str = "index_metadata.pickle";

/// A directory that a test may destroy.
pub struct Scene {
    _folder: TempDir,
    /// The directory itself.
    pub directory: PathBuf,
    /// The same directory as chromadb left it. Read-only.
    pub pristine: PathBuf,
    /// Another state of the same directory. Read-only.
    pub other: Option<PathBuf>,
    /// The contents of `directory`.
    pub expected: Expected,
    /// The contents of `other`.
    pub other_expected: Option<Expected>,
}

/// How a directory is written.
#[derive(Clone, Copy)]
pub struct Options {
    pub sync_threshold: usize,
    /// Updates, upserts, deletes, and ids that are added again.
    pub changes: bool,
    /// A second collection `notes` (l2, never flushed), whose rows are between those of the first.
    pub second: bool,
    pub seed: u64,
    /// How the process ends: `close`, `kill`, `kill_writing`.
    pub end: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync_threshold: 400,
            changes: true,
            second: true,
            seed: 1,
            end: "close",
        }
    }
}

impl Scene {
    /// A directory of the real chromadb 1.5.9 with the collection `drawers`; `None` if it is not
    /// installed.
    pub fn healthy(
        records: usize,
        dimension: usize,
        metric: &str,
        options: Options,
    ) -> Option<Self> {
        let folder = written(&plan(records, dimension, metric, options))?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// Cosine vectors whose lengths differ by this factor.
    pub fn of_lengths(least: f64, most: f64) -> Option<Self> {
        let options = Options {
            sync_threshold: 200,
            second: false,
            ..Options::default()
        };
        let mut plan = plan(440, 16, "cosine", options);
        plan["collections"][0]["lengths"] = json!([least, most]);
        let folder = written(&plan)?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// Over 1,300 records of 16 dimensions, three flushes, and about 170 operations after the last.
    pub fn standard() -> Option<Self> {
        let folder = written(&standard_plan())?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// The standard scene, with its state after the first flush as `other`.
    pub fn with_earlier() -> Option<Self> {
        let folder = written(&standard_plan())?;
        Some(Self::staged(
            &folder,
            "now",
            "expected",
            Some(("earlier", "earlier")),
        ))
    }

    /// A flush is due and has not started. `other` is the same directory after the flush.
    pub fn flushing() -> Option<Self> {
        let folder = written(&standard_plan())?;
        Some(Self::staged(
            &folder,
            "queued",
            "flushed",
            Some(("flushed", "flushed")),
        ))
    }

    /// The standard scene right after a flush: the index of the first collection has everything.
    pub fn flushed() -> Option<Self> {
        let folder = written(&standard_plan())?;
        Some(Self::staged(&folder, "flushed", "flushed", None))
    }

    /// Collections `one` and `two` whose records have the same ids, each with its own vector length
    /// and number of operations between flushes.
    pub fn twins(records: usize, dimensions: [usize; 2], thresholds: [usize; 2]) -> Option<Self> {
        let collections: Vec<Value> = ["one", "two"]
            .iter()
            .zip(dimensions.iter().zip(thresholds))
            .map(|(name, (dimension, threshold))| {
                json!({
                    "name": name, "metric": "cosine", "records": records, "dimension": dimension,
                    "sync_threshold": threshold,
                })
            })
            .collect();
        let plan = Value::from(collections).to_string();
        let folder = made(CHROMADB, "chroma_twins.py", &plan)?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// Two processes wrote in five turns.
    pub fn two_writers() -> Option<Self> {
        let folder = made(CHROMADB, "chroma_two_writers.py", "5")?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// 500 records of 16 dimensions, flushed every 100 operations by an old release; `None` if it
    /// is not installed.
    pub fn old(variable: &str) -> Option<Self> {
        let options = Options {
            sync_threshold: 100,
            second: false,
            ..Options::default()
        };
        let mut plan = plan(500, 16, "cosine", options);
        plan["lists"] = json!(false);
        plan["dense"] = json!(true);
        let folder = made(variable, "chroma_write.py", &plan.to_string())?;
        Some(Self::staged(&folder, "now", "expected", None))
    }

    /// A small directory that an old release wrote: `chroma-0.5` or `chroma-0.6`, `-flushed` or `-queued`.
    pub fn fixture(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loci-foreign/tests/fixtures");
        Self::staged(&folder.join(name), "now", "expected", None)
    }

    fn staged(folder: &Path, directory: &str, expected: &str, other: Option<(&str, &str)>) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let copy = scratch.path().join("palace");
        copy_tree(&folder.join(directory), &copy);
        let read = |name: &str| Expected::read(&folder.join(format!("{name}.json")));
        Self {
            _folder: scratch,
            directory: copy,
            pristine: folder.join(directory),
            expected: read(expected),
            other: other.map(|(directory, _)| folder.join(directory)),
            other_expected: other.map(|(_, expected)| read(expected)),
        }
    }

    pub fn database(&self) -> PathBuf {
        self.directory.join(DATABASE)
    }

    /// Opens the database to damage it.
    pub fn sql(&self) -> Connection {
        let connection = Connection::open(self.database()).unwrap();
        connection
            .pragma_update(None, "foreign_keys", false)
            .unwrap();
        connection
    }

    /// The database as chromadb left it.
    pub fn pristine_sql(&self) -> Connection {
        let path = self.pristine.join(DATABASE);
        let uri = format!("file:{}?immutable=1", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(uri, flags).unwrap()
    }

    /// Ids of the first collection whose row is lost. A damaged page returns no row.
    pub fn gone(&self) -> BTreeSet<String> {
        let file = loci_salvage::DatabaseFile::open(&self.database(), None).unwrap();
        let schema = file.schema();
        let table = schema
            .iter()
            .find(|entry| entry.kind == "table" && entry.name == "embeddings");
        let root = table.unwrap().root_page;
        let mut ids = self.expected.first().ids();
        file.for_each_record(&mut |record| {
            if let (true, Some(loci_salvage::Value::Text(id))) =
                (record.root == root, record.values.get(2))
            {
                ids.remove(id);
            }
        });
        ids
    }

    /// One text of the database as chromadb left it.
    fn identity(&self, query: &str) -> String {
        let name = &self.expected.first().name;
        self.pristine_sql()
            .query_row(query, [name], |row| row.get(0))
            .unwrap()
    }

    /// The id of the first collection.
    pub fn collection(&self) -> String {
        self.identity("SELECT id FROM collections WHERE name = ?1")
    }

    /// The topic of the first collection in the queue.
    pub fn topic(&self) -> String {
        format!("persistent://default/default/{}", self.collection())
    }

    /// The id of the first collection's VECTOR segment.
    pub fn vector_segment(&self) -> String {
        self.identity(
            "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection \
             WHERE c.name = ?1 AND s.scope = 'VECTOR'",
        )
    }

    /// The id of the first collection's METADATA segment.
    pub fn metadata_segment(&self) -> String {
        self.identity(
            "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection \
             WHERE c.name = ?1 AND s.scope = 'METADATA'",
        )
    }

    /// The folder of HNSW files of the collection with this name.
    pub fn segment_of(&self, name: &str) -> PathBuf {
        let query = "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection \
                     WHERE c.name = ?1 AND s.scope = 'VECTOR'";
        let segment: String = self
            .pristine_sql()
            .query_row(query, [name], |row| row.get(0))
            .unwrap();
        self.directory.join(segment)
    }

    /// The first collection's folder of HNSW files.
    pub fn segment(&self) -> PathBuf {
        self.directory.join(self.vector_segment())
    }

    /// The path of one of these files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.segment().join(name)
    }

    /// The same file as chromadb left it.
    pub fn pristine_file(&self, name: &str) -> PathBuf {
        self.pristine.join(self.vector_segment()).join(name)
    }
}

fn plan(records: usize, dimension: usize, metric: &str, options: Options) -> Value {
    let mut collections = vec![json!({
        "name": "drawers", "metric": metric, "records": records, "sync_threshold": options.sync_threshold,
    })];
    if metric != "cosine" {
        // Long vectors among short ones get no links to them, so HNSW itself would lose some.
        collections[0]["lengths"] = json!([1.0, 1.0]);
    }
    if options.second {
        collections.push(json!({
            "name": "notes", "metric": "l2", "records": 60, "sync_threshold": 100_000, "configuration": true,
        }));
    }
    json!({
        "seed": options.seed, "dimension": dimension, "changes": options.changes, "end": options.end,
        "collections": collections,
    })
}

fn standard_plan() -> Value {
    let mut plan = plan(1360, 16, "cosine", Options::default());
    plan["earlier"] = json!(true);
    plan["crash"] = json!(true);
    plan
}

fn written(plan: &Value) -> Option<PathBuf> {
    made(CHROMADB, "chroma_write.py", &plan.to_string())
}

/// The folder that a script wrote, in this or an earlier run of the tests. Its name is a hash of
/// everything that it depends on.
fn made(variable: &str, script: &str, argument: &str) -> Option<PathBuf> {
    let python = peer::python(variable)?;
    let mut text = std::fs::read_to_string(peer::script("chroma_write.py")).unwrap();
    text += &std::fs::read_to_string(peer::script(script)).unwrap();
    text += argument;
    text += variable;
    let hash = xxhash_rust::xxh3::xxh3_128(text.as_bytes());
    let scenes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chroma-scenes");
    std::fs::create_dir_all(&scenes).unwrap();
    let folder = scenes.join(format!("{hash:032x}"));
    let lock = File::create(scenes.join(format!("{hash:032x}.lock"))).unwrap();
    lock.lock().unwrap();
    if !folder.exists() {
        let unfinished = tempfile::tempdir_in(&scenes).unwrap();
        let output = run(
            &python,
            script,
            &[unfinished.path().as_ref(), argument.as_ref()],
        );
        let killed_itself = output.status.signal() == Some(9);
        assert!(
            output.status.success() || killed_itself && argument.contains("kill"),
            "{script} {argument}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        std::fs::rename(unfinished.keep(), &folder).unwrap();
    }
    Some(folder)
}

/// Every file below a directory, with its bytes.
pub fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.metadata().unwrap().len() < 1 << 28 {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, std::fs::read(path).unwrap());
            } else {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, b"a sparse file".to_vec());
            }
        }
    }
    found
}

/// Copies a folder with the times of its files.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            copy_file(&entry.path(), &target);
        }
    }
}

/// A file that is mostly a hole keeps its hole.
fn copy_file(from: &Path, to: &Path) {
    let figures = from.metadata().unwrap();
    let on_disk = figures.blocks() * 512;
    if on_disk < figures.len() / 2 {
        let mut source = File::open(from).unwrap().take(on_disk);
        let mut target = File::create(to).unwrap();
        std::io::copy(&mut source, &mut target).unwrap();
        target.set_len(figures.len()).unwrap();
    } else {
        std::fs::copy(from, to).unwrap();
    }
    let file = File::options().write(true).open(to).unwrap();
    file.set_modified(figures.modified().unwrap()).unwrap();
}
