//! Compares the backend with the real ChromaDB. Each reads what the other, or the writer of the
//! tests, wrote.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use loci_chroma::ChromaBackend;
use loci_contract::memory::{Written, WrittenCollection, WrittenDrawer};
use loci_core::{
    Backend, CollectionOptions, Filter, Get, Include, Metadata, Metric, PalaceRef, Query, Selection,
};
use serde_json::{Value, json};

use crate::written::{known, write_out};

/// Runs a script under the real ChromaDB 1.5.9 with the directory as its argument. `None` if it is
/// not installed.
fn chromadb(script: &str, directory: &Path) -> Option<Value> {
    let Some(python) = std::env::var_os("LOCI_PEER_CHROMADB_1_5_9") else {
        println!("SKIPPED: `LOCI_PEER_CHROMADB_1_5_9` names no python");
        return None;
    };
    let output = Command::new(python)
        .args(["-c", script])
        .arg(directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn written() -> Written {
    let drawers = (1..=40_u64).map(|at| WrittenDrawer {
        id: format!("id-{at}"),
        record: at,
        seq: at,
        document: Some(format!("text number {at}")),
        metadata: Metadata::from_json(
            &json!({"n": at, "even": at % 2 == 0, "tags": ["a", format!("t{at}")]}),
        )
        .unwrap(),
        embedding: Some(vec![1.0, at as f32, -0.5]),
        created_at: 1_700_000_000_000,
        updated_at: 1_700_000_000_000,
    });
    Written {
        collections: vec![WrittenCollection {
            name: "written".into(),
            number: 7,
            metric: Metric::L2,
            dimension: Some(3),
            embedder: None,
            drawers: drawers.collect(),
        }],
    }
}

/// ChromaDB compares the text of its migrations with its own, so the text comes from an empty
/// directory that ChromaDB creates. So do the required columns and indexes.
const ASK: &str = r#"
import chromadb, json, sqlite3, sys
empty = sys.argv[1] + "/empty"
chromadb.PersistentClient(path=empty)
sql = sqlite3.connect(sys.argv[1] + "/chroma.sqlite3")
sql.execute("ATTACH ? AS empty", (empty + "/chroma.sqlite3",))
def shape(schema):
    names = sql.execute(f"SELECT type, name, tbl_name FROM {schema}.sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2").fetchall()
    return [(kind, name, table, sql.execute(f"SELECT name, upper(type), pk FROM pragma_table_info(?, '{schema}') ORDER BY cid", (name,)).fetchall())
        for kind, name, table in names]
shapes = [shape("main"), shape("empty")]
sql.execute("UPDATE main.migrations AS m SET sql = (SELECT sql FROM empty.migrations AS e WHERE e.dir = m.dir AND e.version = m.version AND e.hash = m.hash)")
sql.commit()
sql.close()
c = chromadb.PersistentClient(path=sys.argv[1]).get_collection("written", embedding_function=None)
got = c.get(include=["documents", "metadatas", "embeddings"])
near = c.query(query_embeddings=[[1.0, 7.1, -0.5]], n_results=40)
some = c.query(query_embeddings=[[1.0, 7.1, -0.5]], n_results=3, where={"even": True}, where_document={"$contains": "number"})
c.add(ids=["new"], documents=["new text"], embeddings=[[0.0, 0.0, 1.0]])
print(json.dumps({"count": c.count(), "ids": got["ids"], "documents": got["documents"], "metadatas": got["metadatas"],
    "embeddings": [[float(x) for x in v] for v in got["embeddings"]], "near": near["ids"][0], "some": some["ids"][0],
    "shapes": shapes}))
"#;

#[test]
fn chromadb_itself_reads_what_the_writer_of_the_tests_writes() {
    let directory = tempfile::tempdir().unwrap();
    let written = written();
    write_out(&written, directory.path());
    let Some(answer) = chromadb(ASK, directory.path()) else {
        return;
    };
    let drawers = &written.collections[0].drawers;
    assert_eq!(answer["shapes"][0], answer["shapes"][1]);
    assert_eq!(answer["count"], 41);
    for (at, drawer) in drawers.iter().enumerate() {
        assert_eq!(answer["ids"][at], drawer.id.as_str());
        assert_eq!(answer["documents"][at], drawer.document.as_deref().unwrap());
        assert_eq!(
            Metadata::from_json(&answer["metadatas"][at]).unwrap(),
            drawer.metadata
        );
        assert_eq!(answer["embeddings"][at], json!(drawer.embedding));
    }
    assert_eq!(answer["near"].as_array().unwrap().len(), 40);
    assert_eq!(answer["near"][0], "id-7");
    assert_eq!(answer["some"], json!(["id-8", "id-6", "id-10"]));
}

const MAKE: &str = r#"
import chromadb, json, sys
client = chromadb.PersistentClient(path=sys.argv[1])
# With room for more neighbours than there are records, the graph reaches all of them.
hnsw = {"sync_threshold": SYNC, "max_neighbors": 64, "ef_construction": 500, "ef_search": 500}
for space in ["cosine", "l2", "ip"]:
    c = client.create_collection("made-" + space, embedding_function=None, configuration={"hnsw": {"space": space, **hnsw}})
    ids = [f"id-{n}" for n in range(60)]
    for start in range(0, 60, 20):
        part = range(start, start + 20)
        c.add(ids=[ids[n] for n in part], documents=[f"text of {n}" for n in part], embeddings=[[1.0, n * 0.25, -n * 0.5, 2.0] for n in part],
              metadatas=[{"n": n, "half": n / 2, "even": n % 2 == 0, "tags": ["x", f"t{n}"]} for n in part])
    c.delete(ids=ids[10:15])
    c.update(ids=[ids[3]], documents=["another text"], embeddings=[[9.0, 9.0, 9.0, -9.0]], metadatas=[{"n": 1000}])
    c.upsert(ids=[ids[4]], documents=["upserted"], embeddings=[[-1.0, 0.0, 0.0, 1.0]], metadatas=[{"half": 7.5}])
answers = {}
for space in ["cosine", "l2", "ip"]:
    c = client.get_collection("made-" + space, embedding_function=None)
    got = c.get(include=["documents", "metadatas", "embeddings"])
    near = c.query(query_embeddings=[[1.0, 2.0, 3.0, 4.0]], n_results=55)
    even = c.get(where={"$and": [{"even": True}, {"half": {"$gte": 20.0}}]}, include=[])
    answers[space] = {"count": c.count(), "ids": got["ids"], "documents": got["documents"], "metadatas": got["metadatas"],
        "embeddings": [[float(x) for x in v] for v in got["embeddings"]],
        "distances": dict(zip(near["ids"][0], near["distances"][0])), "even": even["ids"]}
print(json.dumps(answers))
"#;

/// Whether two lists of numbers are equal up to rounding.
fn agree(one: &[f32], other: &[f32]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| (one - other).abs() <= 1e-4 * (1.0 + other.abs()))
}

fn answers_agree(sync: usize) {
    let scene = tempfile::tempdir().unwrap();
    let palace = PalaceRef::local(scene.path().join("chroma"));
    let script = MAKE.replace("SYNC", &sync.to_string());
    let Some(answers) = chromadb(&script, palace.directory().unwrap()) else {
        return;
    };
    let backend = ChromaBackend::new(known).mirrors_in(scene.path().join("mirrors"));
    for (space, answer) in answers.as_object().unwrap() {
        let name = format!("made-{space}");
        let made = backend
            .get_collection(&palace, &name, false, &CollectionOptions::default())
            .unwrap();
        assert_eq!(made.metric().as_str(), space);
        let all = Get {
            include: Include::ALL,
            ..Get::new(Selection::all())
        };
        let found = made.get(&all).unwrap();
        assert_eq!(found.warnings, [], "{space}");
        assert_eq!(json!(found.ids), answer["ids"]);
        assert_eq!(json!(found.documents), answer["documents"]);
        for (at, metadata) in found.metadatas.iter().enumerate() {
            assert_eq!(
                *metadata,
                Metadata::from_json(&answer["metadatas"][at]).unwrap()
            );
        }
        for (at, vector) in found.embeddings.unwrap().iter().enumerate() {
            let expected: Vec<f32> =
                serde_json::from_value(answer["embeddings"][at].clone()).unwrap();
            assert!(
                agree(vector, &expected),
                "{space} {}: {vector:?} {expected:?}",
                found.ids[at]
            );
        }
        let near = made
            .query(&Query::vector(vec![1.0, 2.0, 3.0, 4.0]).k(55))
            .unwrap();
        let expected: BTreeMap<String, f32> =
            serde_json::from_value(answer["distances"].clone()).unwrap();
        assert_eq!(near.ids[0].len(), 55);
        let distances: BTreeMap<_, _> = near.ids[0].iter().zip(&near.distances[0]).collect();
        assert_eq!(expected.len(), 55, "{space}");
        for (id, expected) in expected {
            assert!(agree(&[*distances[&id]], &[expected]), "{space} {id}");
        }
        let even = json!({"$and": [{"even": true}, {"half": {"$gte": 20.0}}]});
        let even = Selection::matching(Filter::parse(&even).unwrap());
        assert_eq!(
            json!(made.get(&Get::new(even)).unwrap().ids),
            answer["even"]
        );
    }
}

#[test]
fn a_directory_whose_vectors_are_in_the_queue_answers_as_chromadb_does() {
    answers_agree(1_000);
}

#[test]
fn a_directory_with_index_files_answers_as_chromadb_does() {
    answers_agree(20);
}
