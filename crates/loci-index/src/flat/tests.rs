//! Tests of codes that stay in the file.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use loci_core::Metric;
use tempfile::TempDir;

use super::*;
use crate::build::{BuildSpec, Builder};
use crate::layout::Version;
use crate::open::open_flat;
use crate::registration::Identity;

const DIMENSION: usize = 70;
const COUNT: usize = 5_000;

struct Snapshot {
    directory: TempDir,
    registration: Registration,
    vectors: Vec<Vec<f32>>,
}

impl Snapshot {
    fn new() -> Self {
        Self::of_version(Version::NEWEST)
    }

    fn of_version(version: Version) -> Self {
        let mut random = fastrand::Rng::with_seed(3);
        let mut draw = || (0..DIMENSION).map(|_| random.f32() - 0.5).collect();
        let vectors: Vec<Vec<f32>> = (0..COUNT).map(|_| draw()).collect();
        let directory = tempfile::tempdir().unwrap();
        let spec = BuildSpec {
            identity: Identity {
                palace: *b"the first palace",
                generation: 5,
                collection: 2,
            },
            covered: 7,
            dimension: DIMENSION,
            metric: Metric::Cosine,
        };
        let sample = vectors.concat();
        let builder = Builder::of_version(version, directory.path(), spec, &sample);
        let mut builder = builder.unwrap();
        for (row, vector) in (1..).zip(&vectors) {
            let bytes: Vec<u8> = vector.iter().flat_map(|n| n.to_le_bytes()).collect();
            builder.push(row, &bytes).unwrap();
        }
        Self {
            registration: builder.finish().unwrap(),
            directory,
            vectors,
        }
    }

    fn open(&self, most_in_memory: u64) -> Flat {
        let index = open_flat(self.directory.path(), &self.registration).unwrap();
        assert!(index.load(most_in_memory).unwrap());
        assert!(index.is_warm());
        index
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(&self.registration.name)
    }

    fn nearest(&self, index: &Flat, at: usize, allowed: Option<&SlotSet>) -> Vec<u64> {
        let query = QueryVector::new(Metric::Cosine, &self.vectors[at]);
        index.candidates(&query, 20, allowed, &SlotSet::new(0)).rows
    }
}

#[test]
fn codes_in_the_file_give_the_candidates_of_codes_in_memory() {
    let snapshot = Snapshot::new();
    let (memory, file) = (snapshot.open(u64::MAX), snapshot.open(0));
    assert!(!memory.loaded().unwrap().is_in_file());
    assert!(file.loaded().unwrap().is_in_file());
    let some = SlotSet::from_sorted_rows(memory.rows(), (1..=COUNT as u64).filter(|n| n % 3 > 0));
    for at in 0..50 {
        for allowed in [None, Some(&some)] {
            let expected = snapshot.nearest(&memory, at, allowed);
            assert_eq!(snapshot.nearest(&file, at, allowed), expected);
        }
    }
    for (row, vector) in (1..).zip(&snapshot.vectors).take(20) {
        let bytes: Vec<u8> = vector.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(file.agrees(row, &bytes), Some(true));
        assert_eq!(file.agrees(row + 1, &bytes), Some(false));
    }
}

#[test]
fn a_file_of_version_1_is_read_with_its_codes_of_eight_bits() {
    let (old, new) = (Snapshot::of_version(Version::One), Snapshot::new());
    let saved = old.registration.bytes - new.registration.bytes;
    assert_eq!(saved, (COUNT * DIMENSION / 2) as u64);
    for most_in_memory in [u64::MAX, 0] {
        let (index, newer) = (old.open(most_in_memory), new.open(most_in_memory));
        for (row, vector) in (1..).zip(&old.vectors).take(20) {
            let bytes: Vec<u8> = vector.iter().flat_map(|n| n.to_le_bytes()).collect();
            assert_eq!(index.agrees(row, &bytes), Some(true));
            assert_eq!(index.agrees(row + 1, &bytes), Some(false));
            let at = row as usize - 1;
            let nearest = old.nearest(&index, at, None);
            assert_eq!(nearest.first(), Some(&row));
            let same = new.nearest(&newer, at, None);
            let same = same.iter().filter(|row| nearest.contains(row)).count();
            assert!(same >= 10, "{same} of 20");
        }
    }
    let rows = crate::snapshot_rows(&old.path()).unwrap().rows;
    assert_eq!(rows.len(), COUNT);
}

#[test]
fn codes_that_change_in_the_file_are_not_used_and_the_next_warm_reports_them() {
    let harms: [fn(&mut fs::File); 2] = [
        |file| file.set_len(6_000).unwrap(),
        |file| {
            // Every row of the codes, which come first.
            file.seek(SeekFrom::Start(5_000)).unwrap();
            file.write_all(&vec![7; COUNT * DIMENSION / 2 - 5_000])
                .unwrap();
        },
    ];
    for harm in harms {
        let snapshot = Snapshot::new();
        let index = snapshot.open(0);
        let best = snapshot.nearest(&index, 9, None);
        harm(
            &mut fs::File::options()
                .write(true)
                .open(snapshot.path())
                .unwrap(),
        );
        let coarse = snapshot.nearest(&index, 9, None);
        assert!(coarse.len() >= 1_000, "{}", coarse.len());
        assert!(best.iter().take(10).all(|row| coarse.contains(row)));
        assert!(!index.is_warm());
        assert!(index.warm().is_err());
        assert_eq!(snapshot.nearest(&index, 9, None).len(), 20);
    }
}

#[test]
fn a_deleted_file_is_read_on() {
    let snapshot = Snapshot::new();
    let index = snapshot.open(0);
    let before = snapshot.nearest(&index, 4, None);
    fs::remove_file(snapshot.path()).unwrap();
    assert_eq!(snapshot.nearest(&index, 4, None), before);
    assert!(index.is_warm());
}
