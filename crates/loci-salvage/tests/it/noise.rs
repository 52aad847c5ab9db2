//! Arbitrary bytes cause no panic, no endless loop and no invented text, and rows on untouched
//! pages stay.

use crate::support::{Store, assert_no_strange_text, assert_survivors, page_range, salvage};
use loci_salvage::{DatabaseFile, MAX_DAMAGES};
use proptest::prelude::*;
use std::collections::HashSet;
use std::time::{Duration, Instant};

fn scan_everything(path: &std::path::Path, hint: Option<u32>) {
    let file = DatabaseFile::open(path, hint).unwrap();
    let rows = file.for_each_record(&mut |_| ());
    let entries = file.for_each_index_record(&mut |_| ());
    assert_eq!(rows.pages, entries.pages);
    assert!(rows.damages.len() <= MAX_DAMAGES);
    file.schema();
}

#[test]
fn flipped_bits_cost_no_row_on_an_untouched_page() {
    for page_size in [512, 4096] {
        let store = Store::filled(page_size, 200);
        let tables = ["memo", "tag"].map(|table| store.places(table));
        let rows = [store.memo(), store.tag()];
        let sound = store.bytes();
        let mut random = fastrand::Rng::with_seed(u64::from(page_size));
        for case in 0..200 {
            let mut bytes = sound.clone();
            let mut touched = HashSet::new();
            for _ in 0..random.usize(1..=if case % 2 == 0 { 3 } else { 60 }) {
                // Page 1 has its own tests: a flip there may change what the whole file means.
                let at = random.usize(page_size as usize..bytes.len());
                bytes[at] ^= 1 << random.u32(..8);
                touched.insert((at / page_size as usize) as u32 + 1);
            }
            let path = store.copy(&bytes);
            let (records, _) = salvage(&path, None);
            for (places, rows) in tables.iter().zip(&rows) {
                assert_survivors(&records, places, rows, &|page| touched.contains(&page));
            }
            let untouched: Vec<_> = records
                .into_iter()
                .filter(|record| !touched.contains(&record.page))
                .collect();
            let inline: Vec<_> = untouched
                .into_iter()
                .filter(|record| {
                    let mut places = tables.iter().flatten();
                    places.all(|place| place.leaf != record.page || place.overflow.is_empty())
                })
                .collect();
            assert_no_strange_text(&inline, &[&rows[0], &rows[1]]);
            scan_everything(&path, None);
        }
    }
}

#[test]
fn any_flip_in_the_first_page_is_survived() {
    let store = Store::filled(512, 60);
    let sound = store.bytes();
    let places = store.places("memo");
    let memo = store.memo();
    for at in 0..512 {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        let (records, _) = salvage(&store.copy(&bytes), Some(512));
        assert_survivors(&records, &places, &memo, &|page| page == 1);
    }
}

#[test]
fn random_bytes_are_no_database_and_no_trouble() {
    let store = Store::empty(4096);
    let mut random = fastrand::Rng::with_seed(9);
    for case in 0..60 {
        let mut bytes = vec![0; random.usize(1..200_000)];
        random.fill(&mut bytes);
        if case % 2 == 0 && bytes.len() > 100 {
            bytes[..16].copy_from_slice(b"SQLite format 3\0");
            bytes[16..24].copy_from_slice(&[0x02, 0, 1, 1, 0, 64, 32, 32]);
        }
        scan_everything(&store.copy(&bytes), None);
    }
}

#[test]
fn pages_that_are_all_leaves_of_random_bytes_are_survived() {
    let store = Store::empty(4096);
    let mut random = fastrand::Rng::with_seed(10);
    for size in [512_usize, 4096, 65_536] {
        let mut bytes = vec![0; size * 30];
        random.fill(&mut bytes);
        for (index, page) in bytes.chunks_mut(size).enumerate() {
            let at = if index == 0 { 100 } else { 0 };
            page[at] = [0x0d, 0x05, 0x0a, 0x02][index % 4];
            page[at + 3] = 0;
        }
        scan_everything(&store.copy(&bytes), Some(size as u32));
    }
}

/// A leaf of 15,000 identical cells, with `payload` bytes that begin with `start`.
fn forge_leaf(page: &mut [u8], payload: u32, start: &[u8]) {
    page[0] = 0x0d;
    page[3..5].copy_from_slice(&15_000_u16.to_be_bytes());
    for pointer in page[8..30_008].as_chunks_mut::<2>().0 {
        *pointer = 31_000_u16.to_be_bytes();
    }
    let seven = |shift: u32| 0x80 | ((payload >> shift) & 0x7f) as u8;
    page[31_000..31_005].copy_from_slice(&[seven(21), seven(14), seven(7), seven(0) & 0x7f, 9]);
    page[31_005..31_005 + start.len()].copy_from_slice(start);
}

#[test]
fn a_file_forged_to_be_slow_takes_time_in_proportion_to_its_size() {
    const SIZE: usize = 65_536;
    // The part on the page of a payload that fills 32 overflow pages exactly.
    const LOCAL: usize = 8_199;
    let store = Store::empty(4096);
    let mut bytes = vec![0; SIZE * 97];
    for (index, page) in bytes.chunks_mut(SIZE).enumerate() {
        match index {
            // One record of 30,000 NULL columns, repeated.
            1..33 => forge_leaf(page, 30_003, &[0x81, 0xea, 0x33]),
            // One record of one long blob whose chain all cells share.
            33..65 => {
                forge_leaf(
                    page,
                    (LOCAL + 32 * (SIZE - 4)) as u32,
                    &[5, 0x82, 0x80, 0xfe, 0x10],
                );
                page[31_005 + LOCAL..][..4].copy_from_slice(&66_u32.to_be_bytes());
            }
            65..96 => page[..4].copy_from_slice(&(index as u32 + 2).to_be_bytes()),
            _ => {}
        }
    }
    let path = store.copy(&bytes);
    let start = Instant::now();
    let file = DatabaseFile::open(&path, Some(65_536)).unwrap();
    let mut chained = 0;
    let report = file.for_each_record(&mut |record| chained += u32::from(record.page > 33));
    assert_eq!(chained, 16);
    assert_eq!(report.records, 32 * 8 + 16);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_page_overwritten_by_another_page_is_survived() {
    let store = Store::filled(512, 150);
    let sound = store.bytes();
    let pages = (sound.len() / 512) as u32;
    let (memo, places) = (store.memo(), store.places("memo"));
    let mut random = fastrand::Rng::with_seed(12);
    for _ in 0..200 {
        let (from, to) = (random.u32(2..=pages), random.u32(2..=pages));
        let mut bytes = sound.clone();
        bytes.copy_within(page_range(from, 512), page_range(to, 512).start);
        let path = store.copy(&bytes);
        let (records, _) = salvage(&path, None);
        assert_survivors(&records, &places, &memo, &|page| page == to);
        scan_everything(&path, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_small_file_and_no_wal_panics(
        database in proptest::collection::vec(any::<u8>(), 0..3000),
        wal in proptest::collection::vec(any::<u8>(), 0..1200),
    ) {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, &database).unwrap();
        std::fs::write(dir.path().join("f-wal"), &wal).unwrap();
        scan_everything(&path, Some(512));
    }
}
