//! The real chromadb, as the writer of directories and as the judge of results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::Value;

use super::expected::Expected;
use super::scene::copy_tree;

/// The release of the judge.
pub const CHROMADB: &str = "LOCI_PEER_CHROMADB_1_5_9";
pub const CHROMADB_0_6_3: &str = "LOCI_PEER_CHROMADB_0_6_3";
pub const CHROMADB_0_5: &str = "LOCI_PEER_CHROMADB_0_5";

/// The Python of a peer. Prints a message if there is none.
pub fn python(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("SKIPPED: {variable} is not set; `cargo xtask test` sets it");
    }
    found
}

/// A script of this repository that runs under a peer's Python.
pub fn script(name: &str) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.join("../../xtask/peers").join(name)
}

/// Runs a script to completion.
pub fn run(python: &Path, name: &str, arguments: &[&std::ffi::OsStr]) -> Output {
    Command::new(python)
        .arg(script(name))
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ANONYMIZED_TELEMETRY", "False")
        .output()
        .unwrap()
}

/// The result of the real chromadb.
#[derive(Debug, Deserialize)]
pub struct Judgement {
    /// The signal or status that ended it, or that it hung, and in which step.
    pub died: Option<String>,
    /// Collection → step → result. The steps of opening are under the empty name.
    pub collections: BTreeMap<String, BTreeMap<String, Value>>,
}

/// Every step of the judge, in order.
pub const STEPS: [&str; 9] = [
    "open",
    "count",
    "get",
    "embeddings",
    "query",
    "nearest",
    "filtered",
    "contains",
    "write",
];

impl Judgement {
    /// The result of one step for the first collection.
    pub fn seen(&self, collection: &str, step: &str) -> Option<&Value> {
        self.collections.get(collection)?.get(step)
    }

    /// One line per problem; empty if the directory is intact.
    pub fn problems(&self, expected: &Expected) -> Vec<String> {
        let mut problems: Vec<String> = self.died.iter().cloned().collect();
        if let Some(error) = self.seen("", "open").and_then(|seen| seen.get("error")) {
            problems.push(format!("open: {error}"));
        }
        for wanted in &expected.collections {
            for step in STEPS {
                let problem = match self.seen(&wanted.name, step) {
                    None => Some("did not run".to_owned()),
                    Some(seen) => problem(seen, !expected.uncertain.is_empty()),
                };
                problems.extend(problem.map(|what| format!("{} {step}: {what}", wanted.name)));
            }
        }
        problems
    }
}

fn problem(seen: &Value, uncertain: bool) -> Option<String> {
    if let Some(error) = seen.get("error") {
        return Some(error.to_string());
    }
    if let (Some(records), Some(wanted)) = (seen.get("records"), seen.get("wanted")) {
        let enough = records == wanted || uncertain && records.as_u64() > wanted.as_u64();
        return (!enough).then(|| format!("{records} of {wanted}"));
    }
    let wrong = seen.as_object()?.iter().filter(|(_, value)| {
        let none = value.get("count").is_some_and(|count| count == 0);
        let empty = value.as_array().is_some_and(Vec::is_empty);
        !none && !empty
    });
    let wrong: Vec<String> = wrong.map(|(key, value)| format!("{key} {value}")).collect();
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// Runs the real chromadb 1.5.9 on a copy of the directory; `None` if it is not installed.
pub fn judge(directory: &Path, expected: &Expected) -> Option<Judgement> {
    judge_by(CHROMADB, directory, expected)
}

/// The same with another release.
pub fn judge_by(variable: &str, directory: &Path, expected: &Expected) -> Option<Judgement> {
    let python = python(variable)?;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    copy_tree(directory, &copy);
    let wanted = folder.path().join("expected.json");
    std::fs::write(&wanted, serde_json::to_vec(expected).unwrap()).unwrap();
    let output = run(
        &python,
        "chroma_judge.py",
        &[copy.as_ref(), wanted.as_ref()],
    );
    assert!(output.status.success(), "the judge failed: {output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Adds a record to the directory itself in one process. Returns what a second process finds: the
/// count, the text by id and the id by vector.
pub fn add_and_look(variable: &str, directory: &Path, collection: &str) -> Option<Value> {
    const ADD: &str = "import chromadb, sys\n\
        c = chromadb.PersistentClient(sys.argv[1]).get_collection(sys.argv[2], embedding_function=None)\n\
        c.add(ids=['added later'], embeddings=[[9.0] * 15 + [-9.0]], documents=['a later text'])";
    const LOOK: &str = "import chromadb, json, sys\n\
        c = chromadb.PersistentClient(sys.argv[1]).get_collection(sys.argv[2], embedding_function=None)\n\
        print(json.dumps([c.count(), c.get(ids=['added later'])['documents'],\n\
        c.query(query_embeddings=[[9.0] * 15 + [-9.0]], n_results=1)['ids'][0]]))";
    let python = python(variable)?;
    let mut found = Value::Null;
    for code in [ADD, LOOK] {
        let output = Command::new(&python)
            .args(["-c", code])
            .arg(directory)
            .arg(collection)
            .env("ANONYMIZED_TELEMETRY", "False")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        found = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    }
    Some(found)
}

/// Opens the directory itself with the real chromadb 1.5.9 and counts, which migrates it and writes
/// to it.
pub fn open_for_real(directory: &Path) -> Option<()> {
    let python = python(CHROMADB)?;
    let code = "import chromadb, sys\n\
        for c in chromadb.PersistentClient(sys.argv[1]).list_collections(): c.count()";
    let output = Command::new(python)
        .args(["-c", code])
        .arg(directory)
        .env("ANONYMIZED_TELEMETRY", "False")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(())
}
