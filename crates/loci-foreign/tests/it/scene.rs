//! Fixtures, and helpers that read a palace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Fact, Link};
use loci_foreign::{ForeignPalace, ForeignRecord, ReadSummary};
use serde_json::Value;
use tempfile::TempDir;

/// A private copy of a palace with its expected contents.
pub(crate) struct Scene {
    pub(crate) path: PathBuf,
    pub(crate) expected: Value,
    _home: TempDir,
}

impl Scene {
    /// A copy of a committed fixture, which contains `expected.json`.
    pub(crate) fn fixture(name: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        Self::copy(&fixtures.join(name))
    }

    pub(crate) fn copy(source: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        copy_directory(source, home.path());
        let expected = fs::read_to_string(home.path().join("expected.json")).unwrap();
        Self {
            path: home.path().to_owned(),
            expected: serde_json::from_str(&expected).unwrap(),
            _home: home,
        }
    }
}

fn copy_directory(source: &Path, target: &Path) {
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        let target = target.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Every file below a directory with its bytes and time.
pub(crate) fn state_of(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut state = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            state.extend(state_of(&path));
            state.insert(path, (Vec::new(), modified));
        } else {
            state.insert(path.clone(), (fs::read(&path).unwrap(), modified));
        }
    }
    state
}

pub(crate) fn records(
    palace: &dyn ForeignPalace,
    collection: usize,
) -> (Vec<ForeignRecord>, ReadSummary) {
    let mut records = Vec::new();
    let summary = palace
        .for_each_record(collection, 3, &mut |batch| {
            assert!(batch.len() <= 3);
            records.extend(batch);
            Ok(())
        })
        .unwrap();
    assert_eq!(summary.read, records.len() as u64);
    (records, summary)
}

pub(crate) fn links(palace: &dyn ForeignPalace) -> Vec<Link> {
    let mut links = Vec::new();
    palace
        .for_each_link(2, &mut |batch| {
            links.extend(batch);
            Ok(())
        })
        .unwrap();
    links
}

pub(crate) fn facts(palace: &dyn ForeignPalace) -> Vec<Fact> {
    let mut facts = Vec::new();
    palace
        .for_each_fact(2, &mut |batch| {
            facts.extend(batch);
            Ok(())
        })
        .unwrap();
    facts
}

pub(crate) fn codes(palace: &dyn ForeignPalace) -> Vec<&'static str> {
    palace
        .findings()
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

/// A vector from JSON.
pub(crate) fn vector(value: &Value) -> Option<Vec<f32>> {
    let numbers = value.as_array()?;
    Some(
        numbers
            .iter()
            .map(|number| number.as_f64().unwrap() as f32)
            .collect(),
    )
}
