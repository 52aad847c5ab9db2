//! A small segment in ChromaDB's format: a ring at the lowest level, every tenth element at level
//! 1, element 0 at level 2.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use loci_core::Metric;
use tempfile::TempDir;

use crate::chroma::hnsw::Segment;

pub(super) struct Fixture {
    home: TempDir,
    metric: Metric,
    dimension: usize,
    m: usize,
    pub(super) vectors: Vec<Vec<f32>>,
}

/// Different vectors of different lengths.
pub(super) fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut random = fastrand::Rng::with_seed(11);
    (0..count)
        .map(|_| (0..dimension).map(|_| random.f32() * 8.0 - 3.0).collect())
        .collect()
}

pub(super) fn codes(segment: &Segment) -> Vec<&'static str> {
    segment
        .findings()
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

impl Fixture {
    pub(super) fn new(metric: Metric, dimension: usize, m: usize, vectors: &[Vec<f32>]) -> Self {
        let fixture = Self {
            home: TempDir::new().unwrap(),
            metric,
            dimension,
            m,
            vectors: vectors.to_vec(),
        };
        fs::create_dir(fixture.directory()).unwrap();
        let (data, lengths) = fixture.data();
        fixture.write("header.bin", &fixture.header());
        fixture.write("data_level0.bin", &data);
        fixture.write("length.bin", &lengths);
        fixture.write("link_lists.bin", &fixture.links());
        fixture
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.home.path().join("segment-1")
    }

    pub(super) fn open(&self, dimension: Option<usize>) -> Segment {
        Segment::open(&self.directory(), self.metric, dimension)
            .unwrap()
            .unwrap()
    }

    pub(super) fn size(&self) -> usize {
        12 + 8 * self.m + 4 * self.dimension
    }

    /// The offset of a record.
    pub(super) fn record(&self, index: usize) -> usize {
        index * self.size()
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory().join(name)).unwrap()
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.directory().join(name), bytes).unwrap();
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.directory().join(name)).unwrap();
    }

    pub(super) fn put(&self, name: &str, place: usize, bytes: &[u8]) {
        let mut file = self.writable(name);
        file.seek(SeekFrom::Start(place as u64)).unwrap();
        file.write_all(bytes).unwrap();
    }

    pub(super) fn stretch(&self, name: &str, length: u64) {
        self.writable(name).set_len(length).unwrap();
    }

    fn writable(&self, name: &str) -> File {
        OpenOptions::new()
            .write(true)
            .open(self.directory().join(name))
            .unwrap()
    }

    fn header(&self) -> Vec<u8> {
        let count = self.vectors.len() as u64;
        let (level, entry) = if count > 0 {
            (2_i32, 0)
        } else {
            (-1, u32::MAX)
        };
        let m = self.m as u64;
        let size = self.size() as u64;
        let mut bytes = 1_i32.to_le_bytes().to_vec();
        let words = [0, (count * 2).max(100), count, size, size - 8, 4 + 8 * m];
        bytes.extend(words.iter().flat_map(|word: &u64| word.to_le_bytes()));
        bytes.extend(level.to_le_bytes());
        bytes.extend(entry.to_le_bytes());
        bytes.extend([m, 2 * m, m].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((1.0 / (m as f64).ln()).to_le_bytes());
        bytes.extend(100_u64.to_le_bytes());
        bytes
    }

    fn data(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut data, mut lengths) = (Vec::new(), Vec::new());
        let count = self.vectors.len();
        for (index, vector) in self.vectors.iter().enumerate() {
            let ring = [(index + 1) % count, (index + count - 1) % count];
            data.extend([2, 0, 0, 0]);
            data.extend(ring.iter().flat_map(|id| (*id as u32).to_le_bytes()));
            data.resize(data.len() + 4 * (2 * self.m - 2), 0);
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            let scale = match self.metric {
                Metric::Cosine => 1.0 / (length + 1e-30),
                _ => 1.0,
            };
            data.extend(
                vector
                    .iter()
                    .flat_map(|value| (value * scale).to_le_bytes()),
            );
            data.extend((index as u64 + 1).to_le_bytes());
            let recorded = if self.metric == Metric::Cosine {
                length
            } else {
                0.0
            };
            lengths.extend(recorded.to_le_bytes());
        }
        (data, lengths)
    }

    fn links(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for index in 0..self.vectors.len() {
            let levels = match index {
                0 => 2,
                index if index % 10 == 0 => 1,
                _ => 0,
            };
            bytes.extend((levels * (4 + 4 * self.m) as u32).to_le_bytes());
            for level in 1..=levels {
                let neighbour = u32::from(level == 1 && index == 0 && self.vectors.len() > 10);
                bytes.extend(neighbour.to_le_bytes());
                bytes.extend((neighbour * 10).to_le_bytes());
                bytes.resize(bytes.len() + 4 * (self.m - 1), 0);
            }
        }
        bytes
    }
}
