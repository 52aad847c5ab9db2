//! The two forms of a stored vector: a byte per number where that gives the same numbers, as for
//! those of the built-in table, and four bytes per number elsewhere. A palace of format 8 has four
//! bytes everywhere; both forms are read, side by side.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_palace::search::Request;
use loci_palace::{Embedder, OpenOptions, Palace, Query, RepairOptions};

use crate::compat::{as_exported_before, expected};
use crate::embedders::{add, apart, assert_clean, row, sql, static_vector, table};
use crate::protocol::{Fake, embedding};
use crate::support::{Op, Rng, Row, contents, open};

const CODES: i64 = 384 + 5;
const NUMBERS: i64 = 384 * 4;

/// A palace with vectors of the built-in table in `drawers` and vectors of a caller in `given`, as
/// the last version of format 8 wrote it.
fn fixture() -> (tempfile::TempDir, PathBuf, Palace) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    fs::create_dir(&path).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/format-8-vectors.sqlite3");
    fs::copy(file, path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    (directory, path, palace)
}

/// The number of bytes of each vector, by id.
fn lengths(path: &Path) -> BTreeMap<String, i64> {
    sql(path)
        .prepare("SELECT d.id, length(v.vector) FROM vectors v JOIN drawers d ON d.row = v.row")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap()
}

fn given(id: &str, vector: Vec<f32>) -> Row {
    Row {
        vector: Some(vector),
        ..row(id, id)
    }
}

fn exported(palace: &Palace) -> Vec<u8> {
    let mut lines = Vec::new();
    palace
        .export(&loci_palace::export::Request::default(), &mut lines)
        .unwrap();
    lines
}

fn imported(path: &Path, lines: &[u8]) -> Palace {
    let copy = open(path);
    let options = loci_palace::ImportOptions::default();
    let report = copy.import(&mut &*lines, &options, &mut |_| {}).unwrap();
    assert_eq!(report.failed, 0);
    copy
}

fn reembed(palace: &Palace, embedder: &dyn Embedder) -> u64 {
    let request = loci_palace::reembed::Request {
        collection: "drawers",
        embedder,
    };
    palace.reembed(&request, &mut |_| ()).unwrap().drawers
}

#[test]
fn a_vector_of_the_built_in_table_takes_a_byte_per_number_and_is_the_same_for_every_reader() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let texts = [("a", "rye bread with salt"), ("b", "the winter sky")];
    add(&palace, memory.collection.as_ref(), &texts);
    assert!(lengths(&path).values().all(|length| *length == CODES));

    let stored = contents(&palace, "drawers");
    for (id, text) in texts {
        let vector = static_vector(&palace, text);
        assert_eq!(stored[id].vector.as_ref(), Some(&vector));
        // By its own vector, without an index and with one.
        for indexed in [false, true] {
            if indexed {
                let collection = memory.collection.as_ref();
                Op::Reindex.run(&palace, collection).unwrap();
            }
            let found = memory.collection.query(&Query::vector(vector.clone()).k(1));
            let found = found.unwrap();
            assert_eq!((&*found.ids[0][0], found.distances[0][0]), (id, 0.0));
        }
    }
    let copy = imported(&directory.path().join("copy"), &exported(&palace));
    assert_eq!(contents(&copy, "drawers"), stored);
    assert_eq!(lengths(&directory.path().join("copy")), lengths(&path));
    assert_clean(&palace);
    assert_clean(&copy);
}

#[test]
fn a_vector_of_a_caller_or_of_another_model_comes_back_bit_for_bit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let collection = palace.collection("given", true).unwrap();
    let mut rng = Rng(9);
    let mut vectors: BTreeMap<String, Vec<f32>> = (0..20)
        .map(|n| (format!("r{n}"), rng.vector(384)))
        .collect();
    // Close to codes, but not quite: one number has one more bit.
    let mut near = static_vector(&palace, "rye bread");
    near[7] = f32::from_bits(near[7].to_bits() ^ 1);
    vectors.insert("near".into(), near);
    vectors.insert("whole".into(), (0..384).map(|n| (n % 128) as f32).collect());
    let mut signed = vec![0.0; 384];
    signed[3] = -0.0;
    vectors.insert("signed".into(), signed);
    let rows = vectors.iter().map(|(id, vector)| given(id, vector.clone()));
    let rows = rows.collect();
    Op::Add { rows }.run(&palace, collection.as_ref()).unwrap();

    let bits = |vector: &[f32]| vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let copy = imported(&directory.path().join("copy"), &exported(&palace));
    for palace in [&palace, &copy] {
        let stored = contents(palace, "given");
        for (id, vector) in &vectors {
            let found = stored[id].vector.as_ref().unwrap();
            assert_eq!(bits(found), bits(vector), "{id}");
        }
    }
    for (id, length) in lengths(&path) {
        let expected = if id == "whole" { CODES } else { NUMBERS };
        assert_eq!(length, expected, "{id}");
    }

    let model = embedding(&palace, "model", Fake::new("model", 384)).unwrap();
    add(&palace, model.as_ref(), &[("m", "rye bread")]);
    let vector = Fake::new("model", 384).vector("rye bread");
    assert_eq!(contents(&palace, "model")["m"].vector, Some(vector));
    assert_clean(&palace);
}

#[test]
fn a_palace_of_format_8_is_searched_and_written_to_with_both_forms_and_reembed_replaces_the_old() {
    let (directory, path, palace) = fixture();
    assert!(lengths(&path).values().all(|length| length % 4 == 0));
    let lines = exported(&palace);
    let known = expected("format-8-vectors.jsonl");
    assert_eq!(as_exported_before(&lines), known, "opening changes nothing");
    let before = (contents(&palace, "drawers"), contents(&palace, "given"));
    assert_clean(&palace);

    let (memory, _) = palace.memory("drawers", false).unwrap();
    let collection = memory.collection.as_ref();
    add(&palace, collection, &[("n1", "the ferry leaves at noon")]);
    let rows = vec![row("s2", "Ana sells rye bread at the market.")];
    Op::Upsert { rows }.run(&palace, collection).unwrap();
    for indexed in [false, true] {
        if indexed {
            Op::Reindex.run(&palace, collection).unwrap();
        }
        for (id, question) in [("s1", "the harbour of Marseille"), ("n1", "ferry at noon")] {
            let answer = palace.search(&Request::new(question)).unwrap();
            assert_eq!(answer.hits[0].id, id, "{question}");
        }
    }
    let now = lengths(&path);
    assert_eq!((now["s1"], now["s2"], now["n1"]), (NUMBERS, CODES, CODES));
    let mixed = contents(&palace, "drawers");
    assert_eq!(mixed["s1"], before.0["s1"]);
    assert_clean(&palace);

    // A caller's vector that is written again as it is changes nothing.
    let rows = before.1.values().cloned().collect();
    let vectors = palace.collection("given", false).unwrap();
    let seq = vectors.maintenance_state().unwrap().seq;
    Op::Upsert { rows }.run(&palace, vectors.as_ref()).unwrap();
    assert_eq!(vectors.maintenance_state().unwrap().seq, seq);

    // Copies hold the same numbers in both forms.
    let copy = imported(&directory.path().join("copy"), &exported(&palace));
    assert_eq!(contents(&copy, "drawers"), mixed);
    let backup = directory.path().join("backup");
    let target = backup.clone();
    palace
        .backup(&loci_palace::backup::Request { target })
        .unwrap();
    let restored = directory.path().join("restored");
    let restored = Palace::connect(&restored, &OpenOptions::create()).unwrap();
    let request = loci_palace::restore::Request {
        backup,
        replace: false,
    };
    restored.restore(&request).unwrap();
    assert_eq!(contents(&restored, "drawers"), mixed);
    assert_clean(&restored);

    assert_eq!(reembed(&palace, table(&palace).as_ref()), 7);
    for (id, row) in contents(&palace, "drawers") {
        let text = row.text.as_ref().unwrap();
        assert_eq!(row.vector, Some(static_vector(&palace, text)), "{id}");
        assert_eq!(lengths(&path)[&id], CODES, "{id}");
    }
    assert_eq!(contents(&palace, "given"), before.1);
    assert_clean(&palace);
    let ids = vec!["s1".to_owned()];
    let op = Op::Forget { ids };
    op.run(&palace, collection).unwrap();
    assert_clean(&palace);
}

#[test]
fn a_salvage_saves_vectors_of_both_forms() {
    let (_directory, path, palace) = fixture();
    let (memory, _) = palace.memory("drawers", false).unwrap();
    let texts = [("n1", "the ferry leaves at noon")];
    add(&palace, memory.collection.as_ref(), &texts);
    let before = (contents(&palace, "drawers"), contents(&palace, "given"));
    drop(memory);
    palace.close().unwrap();
    let database = path.join("palace.sqlite3");
    let mut bytes = fs::read(&database).unwrap();
    // The first page, with the schema.
    bytes[100..4_000].fill(0xee);
    fs::write(&database, bytes).unwrap();
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let report = palace.repair(&RepairOptions { replace: true }).unwrap();
    let salvage = report.salvage.unwrap();
    assert_eq!((salvage.saved, salvage.without_vector.len()), (14, 0));
    let after = (contents(&palace, "drawers"), contents(&palace, "given"));
    assert_eq!(after, before);
    assert_eq!(lengths(&path)["n1"], CODES);
    assert_clean(&palace);
}

#[test]
fn a_damaged_vector_of_codes_is_reported_and_moved_out_by_repair() {
    for harm in [
        "x'09' || substr(vector, 2)",
        "substr(vector, 1, 300)",
        "substr(vector, 1, 388)",
        "substr(vector, 1, 200) || x'ee' || substr(vector, 202)",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let palace = open(&path);
        let (memory, _) = palace.memory("drawers", true).unwrap();
        let texts = [("a", "rye bread with salt"), ("b", "the winter sky")];
        add(&palace, memory.collection.as_ref(), &texts);
        drop(memory);
        palace.close().unwrap();
        let update = format!("UPDATE vectors SET vector = CAST({harm} AS BLOB) WHERE row = 2");
        sql(&path).execute(&update, []).unwrap();
        let palace = open(&path);
        let answer = palace.search(&Request::new("salt on rye bread")).unwrap();
        assert!(answer.hits.iter().all(|hit| hit.id != "a"), "{harm}");
        let request = loci_palace::verify::Request { deep: true };
        assert!(!palace.verify(&request).unwrap().ok(), "{harm}");
        palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap();
        assert_clean(&palace);
        assert_eq!(contents(&palace, "drawers").len(), 1);
    }
}

#[test]
fn a_stand_in_of_the_built_in_table_takes_a_byte_per_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let model = embedding(&palace, "drawers", Fake::minilm()).unwrap();
    add(&palace, model.as_ref(), &[("v", "rye bread")]);
    let (memory, _) = palace.memory("drawers", false).unwrap();
    let text = "the winter sky";
    add(&palace, memory.collection.as_ref(), &[("o", text)]);
    assert_eq!(apart(&path)["o"], static_vector(&palace, text));
    let length: i64 = sql(&path)
        .query_row("SELECT length(vector) FROM other_vectors", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(length, CODES);
    assert_clean(&palace);
}
