//! Random damage: seeded flips and truncations of every file of every kind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use loci_foreign::{CortexaPalace, ExactPalace, ForeignPalace, MemtomemPalace};

use crate::scene::{codes, facts, links, records};
use crate::{cortexa, mempalace, memtomem};

const ROUNDS: u64 = 300;

/// Flips some bytes of a file, truncates it, or overwrites a range.
fn damage(path: &Path, random: &mut fastrand::Rng) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = random.usize(..bytes.len().max(1));
    let what = match random.u8(..10) {
        0 | 1 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        2 => {
            let end = (at + random.usize(1..600)).min(bytes.len());
            bytes[at..end].fill(random.u8(..));
            format!("filled {at}..{end}")
        }
        _ => {
            let count = random.usize(1..5);
            let places: Vec<usize> = (0..count).map(|_| random.usize(..bytes.len())).collect();
            for place in &places {
                bytes[*place] ^= random.u8(1..);
            }
            format!("flipped {places:?}")
        }
    };
    fs::write(path, bytes).unwrap();
    what
}

#[test]
fn damaged_cortexadb_gives_no_altered_memory_and_none_that_a_readable_delete_names() {
    let files = ["cortexadb.wal", "cortexadb.ckpt", "segments/000000.seg"];
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let scene = cortexa::scene(random.choice(cortexa::SCENES).unwrap());
        let database = scene.path.join("db");
        let file = loop {
            let file = database.join(random.choice(files).unwrap());
            if file.is_file() {
                break file;
            }
        };
        let whole = fs::read(&file).unwrap();
        let what = damage(&file, &mut random);
        let readable = readable_deletes(&database.join("cortexadb.wal"));
        let palace = CortexaPalace::open(&database).unwrap();
        let (found, _) = records(&palace, 0);
        links(&palace);
        let alive = cortexa::alive(&scene);
        for record in &found {
            let id: u64 = record.id.parse().unwrap();
            let mark = record.metadata.get_str("recovered_from");
            assert!(
                !readable.contains(&id) || alive.contains_key(&id),
                "seed {seed}, {what}: {id} is back"
            );
            if let Some(memory) = alive.get(&id) {
                let proven = mark != Some("damaged checkpoint");
                assert!(
                    !proven || cortexa::is_same(record, memory),
                    "seed {seed}, {}, {what}: {record:?}",
                    file.display()
                );
            }
        }
        let missing = alive
            .keys()
            .any(|id| found.iter().all(|record| record.id != id.to_string()));
        let cut_clean = file.ends_with("cortexadb.wal") && is_cut_between_records(&file, &whole);
        if missing && !cut_clean {
            let worse = palace
                .findings()
                .iter()
                .any(|finding| finding.fix.is_some());
            assert!(worse, "seed {seed}, {what}: {:?}", codes(&palace));
        }
    }
}

/// Ids that deletes in a damaged log name, as far as the log is readable from its start.
fn readable_deletes(log: &Path) -> BTreeSet<u64> {
    let bytes = fs::read(log).unwrap_or_default();
    let mut ids = BTreeSet::new();
    for at in 0..bytes.len().saturating_sub(24) {
        let payload = &bytes[at + 8..at + 25];
        let delete = bytes[at..at + 4] == 17_u32.to_le_bytes()
            && payload[..9] == [0xFF, 0, 0, 0, 0, 1, 0, 0, 0]
            && bytes[at + 4..at + 8] == cortexa::checksum(payload).to_le_bytes();
        if delete {
            ids.insert(u64::from_le_bytes(payload[9..].try_into().unwrap()));
        }
    }
    ids
}

fn is_cut_between_records(file: &Path, whole: &[u8]) -> bool {
    let length = fs::read(file).unwrap().len();
    cortexa::frames(whole).iter().any(|(at, _)| *at == length)
}

#[test]
fn damaged_memtomem_gives_no_altered_text_unmarked_and_no_deleted_chunk() {
    let mut total = 0;
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let scene = memtomem::scene();
        let path = scene.path.join("memtomem.db");
        let what = damage(&path, &mut random);
        let Ok(palace) = MemtomemPalace::open(&path) else {
            continue;
        };
        let mut found = Vec::new();
        let read = palace.for_each_record(0, 100, &mut |batch| {
            found.extend(batch);
            Ok(())
        });
        links(&palace);
        if read.is_err() {
            continue;
        }
        let chunks = memtomem::chunks(&scene);
        for record in &found {
            let deleted = [
                "00000000-0000-0000-0000-000000000004",
                "00000000-0000-0000-0000-000000000008",
            ];
            assert!(
                !deleted.contains(&record.id.as_str()),
                "seed {seed}, {what}: {record:?}"
            );
            let Some(chunk) = chunks.get(&record.id) else {
                continue;
            };
            let same = record.document.as_deref() == chunk["content"].as_str();
            let marked = record.metadata.get("damaged").is_some();
            assert!(
                same || marked || record.document.is_none(),
                "seed {seed}, {what}: {record:?}"
            );
            total += usize::from(same);
        }
    }
    let all = ROUNDS as usize * 10;
    assert!(total * 10 >= all * 8, "{total} of {all}");
}

#[test]
fn damaged_mempalace_stores_give_what_is_left_and_no_deleted_drawer() {
    let mut total = 0;
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let scene = mempalace::scene();
        let palace_path = mempalace::palace_of(&scene);
        let files: [PathBuf; 4] = [
            palace_path.join("sqlite_exact.sqlite3"),
            palace_path.join("sqlite_exact.sqlite3"),
            palace_path.join("knowledge_graph.sqlite3"),
            scene.path.join("tunnels.json"),
        ];
        let what = damage(&random.choice(files).unwrap(), &mut random);
        let Ok(palace) = ExactPalace::open(&palace_path) else {
            continue;
        };
        facts(&palace);
        links(&palace);
        for index in 0..palace.collections().len() {
            let read = palace.for_each_record(index, 100, &mut |batch| {
                for record in &batch {
                    assert!(
                        record.id != "drawer_3" && record.id != "closet_3",
                        "seed {seed}, {what}"
                    );
                }
                total += batch.len();
                Ok(())
            });
            drop(read);
        }
    }
    let all = ROUNDS as usize * 11;
    assert!(total * 10 >= all * 8, "{total} of {all}");
}

#[test]
fn arbitrary_bytes_are_no_reason_to_fail() {
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let home = tempfile::tempdir().unwrap();
        let mut bytes: Vec<u8> = (0..random.usize(..4000)).map(|_| random.u8(..)).collect();
        // Small numbers look like lengths.
        for byte in &mut bytes {
            if random.u8(..4) > 0 {
                *byte = random.u8(..3);
            }
        }
        fs::create_dir(home.path().join("segments")).unwrap();
        for name in ["cortexadb.wal", "cortexadb.ckpt", "segments/000000.seg"] {
            fs::write(home.path().join(name), &bytes).unwrap();
        }
        let palace = CortexaPalace::open(home.path()).unwrap();
        records(&palace, 0);
    }
}
