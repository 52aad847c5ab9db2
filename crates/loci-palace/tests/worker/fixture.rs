//! Makes a palace that holds one of everything that format 2 knows.

use std::path::Path;

use loci_palace::{
    Embedder, EmbedderIdentity, Error, OpenOptions, Palace, Request, Result, STATIC_NAME,
};
use serde_json::{Value, json};

use crate::protocol::{Fake, Op, Row, embedding};

/// Gives up at its second call: what it leaves is a reembedding that is half done.
struct Tired(Fake, std::sync::atomic::AtomicUsize);

impl Embedder for Tired {
    fn identity(&self) -> EmbedderIdentity {
        self.0.identity()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        match self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => self.0.embed(texts),
            _ => Err(Error::invalid("embedder", "is tired")),
        }
    }
}

fn row(id: &str, text: &str, meta: &Value) -> Row {
    Row {
        id: id.into(),
        text: Some(text.into()),
        meta: serde_json::from_value(meta.clone()).unwrap(),
        vector: None,
    }
}

pub(crate) fn make(path: &Path) {
    let palace = Palace::open(path, &OpenOptions::create()).unwrap();
    mined(&palace);
    stood_in(&palace);
    half_done(&palace);
    let parent = path.parent().unwrap();
    for question in ["where is the harbour", "who likes tea"] {
        palace.search("drawers", &Request::new(question)).unwrap();
    }
    palace.close().unwrap();
    let palace = Palace::open(path, &OpenOptions::existing()).unwrap();
    palace.backup(&parent.join("format-2.sqlite3")).unwrap();
    let mut lines = std::fs::File::create(parent.join("format-2.jsonl")).unwrap();
    palace.export(None, &mut lines).unwrap();
}

/// A source with lines, dates, a speaker by metadata and one by label; static vectors, pinned.
fn mined(palace: &Palace) {
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let place =
        |line: u32| json!({"wing": "alice", "source_file": "notes/harbour.md", "start_line": line});
    let rows = vec![
        row("m1", "The harbour of Marseille opens at dawn.", &place(1)),
        row(
            "m2",
            "Call parse_config_file before the boats leave.",
            &place(14),
        ),
        row(
            "m3",
            "Then HTTPServer42 answers with the tide tables.",
            &place(30),
        ),
        row(
            "t1",
            "Caroline: I like green tea more than coffee.",
            &json!({"date": "2023-05-07"}),
        ),
        row(
            "t2",
            "I would rather have a beer.",
            &json!({"date": "1:56 pm on 8 May, 2023", "speaker": "Melanie"}),
        ),
        row(
            "t3",
            "Nobody said when this was.",
            &json!({"tags": ["a", "b"], "pinned": true}),
        ),
        row(
            "u1",
            "Η μνήμη είναι παλάτι, 記憶の宮殿, un café crème",
            &json!({"timestamp": 1_683_554_160_000_i64}),
        ),
    ];
    Op::Add { rows }
        .run(palace, memory.collection.as_ref())
        .unwrap();
    let bare = Op::Add {
        rows: vec![Row {
            text: None,
            ..row("bare", "", &json!({"wing": "bob"}))
        }],
    };
    bare.run(palace, memory.collection.as_ref()).unwrap();
    let gone = Op::Add {
        rows: vec![row("gone", "This was deleted.", &json!({}))],
    };
    gone.run(palace, memory.collection.as_ref()).unwrap();
    Op::Delete {
        ids: vec!["gone".into()],
    }
    .run(palace, memory.collection.as_ref())
    .unwrap();
    assert_eq!(memory.embedder.unwrap().identity().name, STATIC_NAME);
}

/// Vectors of a model, and drawers that were added while it was missing.
fn stood_in(palace: &Palace) {
    let models = embedding(palace, "models", Fake::minilm()).unwrap();
    let rows = vec![
        row("v1", "The lighthouse keeper writes letters.", &json!({})),
        row(
            "v2",
            "A telescope points at the winter sky.",
            &json!({"date": "2022-01-02"}),
        ),
    ];
    Op::Add { rows }.run(palace, models.as_ref()).unwrap();
    let (memory, _) = palace.memory("models", false).unwrap();
    let rows = vec![
        row("o1", "Bread is baked with rye flour and salt.", &json!({})),
        row(
            "o2",
            "The railway bridge was repaired in autumn.",
            &json!({"speaker": "Zoe"}),
        ),
    ];
    Op::Add { rows }
        .run(palace, memory.collection.as_ref())
        .unwrap();
}

/// 140 drawers of which 128 have a new vector.
fn half_done(palace: &Palace) {
    let collection = palace.collection("moving", true).unwrap();
    let rows = (1..=140)
        .map(|n| Row {
            vector: Some(vec![1.0, n as f32]),
            ..row(
                &format!("d{n}"),
                &format!("line {n} of the old list"),
                &json!({}),
            )
        })
        .collect();
    Op::Add { rows }.run(palace, collection.as_ref()).unwrap();
    let tired = Tired(Fake::new("fake", 8), 0.into());
    let error = palace.reembed("moving", &tired, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("tired"), "{error}");
}
