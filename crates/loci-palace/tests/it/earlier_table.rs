//! Palaces whose vectors were made by the built-in table of an earlier build. The fixtures in
//! `tests/compat` are such palaces. They work as they are, and `reembed` upgrades them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_palace::search::Request;
use loci_palace::{Embedder, EmbedderIdentity, Error, OpenOptions, Palace, Warning};

use crate::embedders::{
    add, apart, assert_clean, codes, hit, row, sql, static_query, static_vector, table,
};
use crate::support::{Op, contents, cosine};

const FIXTURES: [&str; 3] = ["format-7", "format-7-roles", "format-8"];

fn fixture(name: &str) -> (tempfile::TempDir, PathBuf, Palace) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/compat")
        .join(format!("{name}.sqlite3"));
    std::fs::copy(file, path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    (directory, path, palace)
}

fn pinned(palace: &Palace, collection: &str) -> EmbedderIdentity {
    let collection = palace.collection(collection, false).unwrap();
    collection.embedder().unwrap().unwrap()
}

fn notes_in_status(palace: &Palace) -> Vec<String> {
    let status = palace.status(&loci_palace::status::Request::default());
    let warnings = status.unwrap().warnings;
    let named = warnings.into_iter().filter_map(|warning| match warning {
        Warning::EarlierTable { collection } => Some(collection),
        _ => None,
    });
    named.collect()
}

fn reembed(palace: &Palace, embedder: &dyn Embedder) -> loci_palace::Result<(u64, u64)> {
    let request = loci_palace::reembed::Request {
        collection: "drawers",
        embedder,
    };
    let done = palace.reembed(&request, &mut |_| ())?;
    Ok((done.drawers, done.resumed))
}

fn last_change(path: &Path) -> i64 {
    sql(path)
        .query_row("SELECT seq FROM palace", [], |row| row.get(0))
        .unwrap()
}

/// Panics unless a search by meaning compares every drawer that has a vector, and says only that
/// the table is an earlier one.
fn assert_searched(palace: &Palace, id: &str, question: &str) {
    let answer = palace.search(&Request::new(question)).unwrap();
    let found = hit(&answer, id);
    let stored = contents(palace, "drawers")[id].vector.clone().unwrap();
    let expected = cosine(&static_query(palace, question), &stored);
    let distance = found.details.as_ref().unwrap().distance.unwrap();
    assert!((distance - expected).abs() < 1e-4, "{id}");
    let said = codes(&answer.warnings);
    assert!(said.contains("earlier_table"), "{said:?}");
    for wrong in [
        "model_missing",
        "compatible_embedder",
        "not_compared",
        "stand_in",
        "no_embedder",
    ] {
        assert!(!said.contains(wrong), "{said:?}");
    }
}

#[test]
fn the_vectors_of_both_tables_for_one_text_are_almost_the_same() {
    let mut compared = 0;
    for name in FIXTURES {
        let (_directory, _path, palace) = fixture(name);
        for row in contents(&palace, "drawers").values() {
            let (Some(text), Some(earlier)) = (&row.text, &row.vector) else {
                continue;
            };
            let present = static_vector(&palace, text);
            assert_ne!(*earlier, present);
            assert!(1.0 - cosine(earlier, &present) > 0.98, "{text}");
            compared += 1;
        }
    }
    assert!(compared > 15);
}

#[test]
fn a_palace_of_an_earlier_table_is_searched_and_written_to_without_reembedding() {
    for name in FIXTURES {
        let (_directory, path, palace) = fixture(name);
        let earlier = pinned(&palace, "drawers");
        assert_ne!(earlier, table(&palace).identity());
        let before = contents(&palace, "drawers");
        let known = before
            .values()
            .find(|row| row.text.is_some() && row.vector.is_some());
        let known = known.unwrap().clone();
        let question = known.text.clone().unwrap();
        assert_searched(&palace, &known.id, &question);

        let (memory, warnings) = palace.memory("drawers", false).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let collection = memory.collection.as_ref();
        let texts = [("n1", "rye bread with salt"), ("n2", "the winter sky")];
        add(&palace, collection, &texts);
        let rows = vec![row("n2", "a telescope")];
        Op::Upsert { rows }.run(&palace, collection).unwrap();
        let now = contents(&palace, "drawers");
        for (id, text) in [("n1", "rye bread with salt"), ("n2", "a telescope")] {
            // They are vectors of the collection, not stand-ins.
            assert_eq!(now[id].vector, Some(static_vector(&palace, text)));
            assert_searched(&palace, id, text);
        }
        assert_eq!(now[&known.id].vector, known.vector);
        assert_eq!(pinned(&palace, "drawers"), earlier);
        let new = |id: &String| ["n1", "n2"].contains(&id.as_str());
        assert!(!apart(&path).keys().any(new));

        Op::Reindex.run(&palace, collection).unwrap();
        assert_searched(&palace, &known.id, &question);
        assert_searched(&palace, "n1", "rye bread with salt");
        assert_clean(&palace);
        assert!(notes_in_status(&palace).contains(&"drawers".to_owned()));
    }
}

#[test]
fn an_export_of_an_earlier_table_is_imported_with_its_vectors() {
    let (directory, _path, palace) = fixture("format-7-roles");
    let mut exported = Vec::new();
    palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    let copy = crate::support::open(&directory.path().join("copy"));
    let options = loci_palace::ImportOptions::default();
    copy.import(&mut exported.as_slice(), &options, &mut |_| {})
        .unwrap();
    assert_eq!(pinned(&copy, "drawers"), pinned(&palace, "drawers"));
    assert_eq!(contents(&copy, "drawers"), contents(&palace, "drawers"));
    let (id, first) = contents(&copy, "drawers").pop_first().unwrap();
    assert_searched(&copy, &id, &first.text.unwrap());
    assert_clean(&copy);
}

#[test]
fn reembed_upgrades_every_vector_once_and_ends_the_note() {
    for name in FIXTURES {
        let (_directory, path, palace) = fixture(name);
        let (memory, _) = palace.memory("drawers", false).unwrap();
        add(&palace, memory.collection.as_ref(), &[("n1", "rye bread")]);
        let embedder = table(&palace);
        reembed(&palace, embedder.as_ref()).unwrap();
        assert_eq!(pinned(&palace, "drawers"), embedder.identity());
        let upgraded = contents(&palace, "drawers");
        for row in upgraded.values() {
            let text = row.text.as_ref().filter(|text| !text.is_empty());
            let expected = text.map(|text| static_vector(&palace, text));
            assert_eq!(row.vector, expected, "{}", row.id);
        }
        assert!(!notes_in_status(&palace).contains(&"drawers".to_owned()));
        let answer = palace.search(&Request::new("rye bread")).unwrap();
        assert_eq!(answer.hits[0].id, "n1");
        assert!(!codes(&answer.warnings).contains("earlier_table"));
        assert_clean(&palace);

        let change = last_change(&path);
        let (drawers, _) = reembed(&palace, embedder.as_ref()).unwrap();
        let vectors = upgraded.values().filter(|row| row.vector.is_some());
        assert_eq!(drawers, vectors.count() as u64);
        assert_eq!(last_change(&path), change, "a second run changes nothing");
        assert_eq!(contents(&palace, "drawers"), upgraded);
        assert_clean(&palace);
    }
}

/// The built-in table; fails at its second batch.
struct FailsInTheMiddle(std::sync::Arc<dyn Embedder>, AtomicUsize);

impl Embedder for FailsInTheMiddle {
    fn identity(&self) -> EmbedderIdentity {
        self.0.identity()
    }

    fn embed(&self, texts: &[&str]) -> loci_palace::Result<Vec<Vec<f32>>> {
        match self.1.fetch_add(1, Ordering::Relaxed) {
            0 => self.0.embed(texts),
            _ => Err(Error::invalid("embedder", "fails in the middle")),
        }
    }
}

#[test]
fn a_palace_whose_upgrade_was_interrupted_goes_on_with_its_vectors() {
    let (_directory, path, palace) = fixture("format-8");
    let earlier = pinned(&palace, "drawers");
    let (memory, _) = palace.memory("drawers", false).unwrap();
    let texts: Vec<(String, String)> = (0..200)
        .map(|n| (format!("n{n}"), format!("drawer {n} was written by hand")))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (&**id, &**text)).collect();
    add(&palace, memory.collection.as_ref(), &texts);
    let broken = FailsInTheMiddle(table(&palace), AtomicUsize::new(0));
    reembed(&palace, &broken).unwrap_err();
    let waiting: i64 = sql(&path)
        .query_row(
            "SELECT count(*) FROM fresh_vectors WHERE collection = 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(waiting, 128);

    assert_eq!(pinned(&palace, "drawers"), earlier);
    assert_searched(&palace, "m1", "The harbour of Marseille opens at dawn.");
    add(
        &palace,
        memory.collection.as_ref(),
        &[("late", "rye bread with salt")],
    );
    assert_searched(&palace, "late", "rye bread with salt");
    assert_clean(&palace);

    let (drawers, resumed) = reembed(&palace, table(&palace).as_ref()).unwrap();
    assert_eq!((drawers, resumed), (209, 128));
    assert_eq!(pinned(&palace, "drawers"), table(&palace).identity());
    assert!(!notes_in_status(&palace).contains(&"drawers".to_owned()));
    assert_clean(&palace);
}

#[test]
fn stand_ins_of_an_earlier_table_are_compared_in_a_palace_of_a_model() {
    let (_directory, path, palace) = fixture("format-8");
    let question = "baking rye bread";
    let request = Request {
        collection: "models".into(),
        min_probability: Some(0.0),
        ..Request::new(question)
    };
    let stood_in = |answer: &loci_palace::search::Answer| {
        answer.warnings.iter().find_map(|warning| match warning {
            Warning::StandIn { drawers, .. } => Some(*drawers),
            _ => None,
        })
    };
    let compared = |answer: &loci_palace::search::Answer| {
        for (id, vector) in apart(&path) {
            let distance = hit(answer, &id).details.as_ref().unwrap().distance.unwrap();
            let expected = cosine(&static_query(&palace, question), &vector);
            assert!((distance - expected).abs() < 1e-4, "{id}");
        }
        assert!(!codes(&answer.warnings).contains("not_compared"));
    };
    let answer = palace.search(&request).unwrap();
    assert_eq!((stood_in(&answer), apart(&path).len()), (Some(2), 2));
    compared(&answer);
    // Beside them, stand-ins of the present table.
    let (memory, _) = palace.memory("models", false).unwrap();
    add(
        &palace,
        memory.collection.as_ref(),
        &[("o3", "a loaf and a knife")],
    );
    let answer = palace.search(&request).unwrap();
    assert_eq!((stood_in(&answer), apart(&path).len()), (Some(3), 3));
    compared(&answer);
    assert_clean(&palace);
}

#[test]
fn an_unknown_built_in_table_is_refused_by_name_and_searched_by_words() {
    let (_directory, path, palace) = fixture("format-8");
    let unknown = EmbedderIdentity {
        digest: "5".repeat(64),
        ..pinned(&palace, "drawers")
    };
    palace.close().unwrap();
    sql(&path)
        .execute(
            "UPDATE collections SET embedder = ?1 WHERE name = 'drawers'",
            [serde_json::to_string(&unknown).unwrap()],
        )
        .unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let answer = palace.search(&Request::new("Marseille")).unwrap();
    assert_eq!(hit(&answer, "m1").details.as_ref().unwrap().distance, None);
    assert!(codes(&answer.warnings).contains("model_missing"));
    assert!(!notes_in_status(&palace).contains(&"drawers".to_owned()));
    let named = OpenOptions {
        embedder: Some("static".into()),
        ..OpenOptions::existing()
    };
    let named = Palace::open(&path, &named).unwrap();
    for error in [
        named.search(&Request::new("Marseille")).err().unwrap(),
        named.memory("drawers", false).err().unwrap(),
    ] {
        assert!(matches!(error, Error::EmbedderMismatch { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("5555555555555555"), "{said}");
        assert!(
            said.contains(&table(&palace).identity().to_string()),
            "{said}"
        );
    }
}
