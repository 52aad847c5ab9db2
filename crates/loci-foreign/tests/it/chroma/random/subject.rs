//! A directory in memory with its contents, both according to its writer and as read from its files
//! by a small independent reader.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Metric, Result};
use loci_foreign::chroma::{Diagnosis, Origin, Record};

use crate::chroma_scenes::best::Layout;
use crate::chroma_scenes::damage::case;
use crate::chroma_scenes::expected::{Expected, close, same_direction};
use crate::chroma_scenes::scene::{DATA, DATABASE, Options, Scene, contents};

/// Collection → id → record.
pub type Records = BTreeMap<String, BTreeMap<String, Record>>;

pub struct Subject {
    pub name: String,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub expected: Expected,
    /// The records of the undamaged directory.
    pub records: Records,
    /// By name of the collection.
    pub indexes: BTreeMap<String, Index>,
    pub healthy: bool,
}

/// The index of a collection in the undamaged files.
pub struct Index {
    pub folder: String,
    pub cosine: bool,
    pub layout: Layout,
    /// Id → label, for ids whose vector is only in the files.
    pub labels: BTreeMap<String, u64>,
}

/// One element of `data_level0.bin`.
pub struct Element {
    pub label: u64,
    pub deleted: bool,
    pub vector: Vec<f32>,
    pub length: Option<f32>,
}

/// Four directories of old releases, and two of 1.5.9 if it is installed.
pub fn all() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = ["0.5-flushed", "0.5-queued", "0.6-flushed", "0.6-queued"]
        .iter()
        .map(|name| Subject::new(name, &Scene::fixture(&format!("chroma-{name}"))))
        .collect();
    let options = Options {
        sync_threshold: 40,
        ..Options::default()
    };
    let scene = || Scene::healthy(150, 8, "cosine", options);
    subjects.extend(scene().map(|scene| Subject::new("1.5.9", &scene)));
    subjects.extend(scene().map(|scene| {
        (case("hot_journal").damage)(&scene);
        Subject::new("1.5.9 with a journal", &scene)
    }));
    subjects
}

/// The contents of a directory.
pub fn read(path: &Path) -> Result<(Diagnosis, Records)> {
    let diagnosis = Diagnosis::of(path)?;
    let mut collections = Records::new();
    for (number, row) in diagnosis.directory.collections().iter().enumerate() {
        let records = collections.entry(row.name.clone()).or_default();
        let survey = &diagnosis.surveys[number];
        diagnosis
            .directory
            .for_each_record(number, survey, 100, &mut |batch| {
                for record in batch {
                    records.insert(record.id.clone(), record);
                }
                Ok(())
            })?;
    }
    Ok((diagnosis, collections))
}

impl Subject {
    fn new(name: &str, scene: &Scene) -> Self {
        let (diagnosis, records) = read(&scene.directory).unwrap();
        let mut subject = Self {
            name: name.to_owned(),
            files: contents(&scene.directory),
            expected: scene.expected.clone(),
            healthy: diagnosis.is_healthy(),
            records,
            indexes: BTreeMap::new(),
        };
        for row in diagnosis.directory.collections() {
            let Some(folder) = row.vector_segment.clone() else {
                continue;
            };
            let index = subject.index(&row.name, folder, row.metric == Metric::Cosine);
            subject
                .indexes
                .extend(index.map(|index| (row.name.clone(), index)));
        }
        subject.check();
        subject
    }

    fn index(&self, name: &str, folder: String, cosine: bool) -> Option<Index> {
        let data = self.files.get(&Path::new(&folder).join(DATA))?;
        let label = 132 + 4 * self.expected.collection(name).dimension;
        let layout = Layout {
            vector: 132,
            label,
            size: label + 8,
        };
        let label = |element: u32| {
            let element = data
                .chunks_exact(layout.size)
                .nth(element as usize)
                .unwrap();
            layout.label_of(element)
        };
        let labels = self.records[name]
            .values()
            .filter_map(|record| match record.origin {
                Origin::Segment { element, .. } => Some((record.id.clone(), label(element))),
                _ => None,
            });
        Some(Index {
            labels: labels.collect(),
            folder,
            cosine,
            layout,
        })
    }

    /// Checks that the independent reader finds what was written, so that it can serve as a
    /// reference.
    fn check(&self) {
        for collection in &self.expected.collections {
            let records = &self.records[&collection.name];
            assert_eq!(records.len(), collection.records.len(), "{}", self.name);
            for wanted in &collection.records {
                let vector = wanted.embedding.as_deref().unwrap();
                let found = records[&wanted.id].vector.as_deref().unwrap();
                assert!(close(found, vector), "{} {}", self.name, wanted.id);
                let Some(index) = self.indexes.get(&collection.name) else {
                    continue;
                };
                let elements = index.elements(&self.files);
                if let Some(label) = index.labels.get(&wanted.id) {
                    let own: Vec<_> = elements
                        .iter()
                        .filter(|found| found.label == *label)
                        .collect();
                    assert!(own.len() == 1 && same_direction(&own[0].vector, vector));
                }
            }
        }
    }

    /// Writes the directory out.
    pub fn write(&self, directory: &Path) {
        for (name, bytes) in &self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
}

/// Whether a file is the database or one of its companion files.
pub fn is_database(file: &Path) -> bool {
    file.to_string_lossy().starts_with(DATABASE)
}

impl Index {
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.folder).join(name)
    }

    /// The elements in the files, read with the layout that they were written with.
    pub fn elements(&self, files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<Element> {
        let lengths = files[&self.file("length.bin")].chunks_exact(4);
        let mut lengths = lengths.map(|four| f32::from_le_bytes(four.try_into().unwrap()));
        let data = &files[&self.file(DATA)];
        let elements = self.layout.elements(data).map(|bytes| Element {
            label: self.layout.label_of(bytes),
            deleted: bytes[2] & 1 == 1,
            vector: self.layout.vector_of(bytes),
            length: lengths.next(),
        });
        elements.collect()
    }
}

impl Element {
    /// How far its length is from 1.
    pub fn off(&self) -> f64 {
        let squares = self.vector.iter().map(|value| f64::from(*value).powi(2));
        (squares.sum::<f64>().sqrt() - 1.0).abs()
    }

    /// Whether a vector is this one, with its own length or, if that is unknown, with any length.
    pub fn is(&self, vector: &[f32], cosine: bool) -> bool {
        let scaled =
            |scale: f32| -> Vec<f32> { self.vector.iter().map(|value| value * scale).collect() };
        let same = |scale: f32| {
            let scaled = scaled(scale);
            scaled.len() == vector.len()
                && scaled
                    .iter()
                    .zip(vector)
                    .all(|(one, other)| one.to_bits() == other.to_bits())
        };
        same(1.0) || cosine && self.length.is_some_and(same)
    }
}
