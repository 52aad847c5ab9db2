//! Makes a palace that holds one of everything that format 9 knows.

use std::path::Path;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use loci_mine::{Description, Intake, Item, Listed, Read, Section, Since, hash_of};
use loci_palace::{
    DrawerRef, Embedder, EmbedderIdentity, Error, Fact, Link, LinkEnd, Machine, Metadata, Meter,
    MineOptions, OpenOptions, Palace, Piece, Project, Result, STATIC_NAME, Selection, Source, Stat,
    search,
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
    let palace = Palace::open(path, &on("laptop")).unwrap();
    mined(&palace);
    stood_in(&palace);
    half_done(&palace);
    posted(&palace);
    related(&palace);
    claimed(&palace);
    posted_elsewhere(path);
    let parent = path.parent().unwrap();
    for question in ["where is the harbour", "who likes tea"] {
        palace.search(&search::Request::new(question)).unwrap();
    }
    palace.close().unwrap();
    let palace = Palace::open(path, &on("laptop")).unwrap();
    palace
        .backup(&loci_palace::backup::Request {
            target: parent.join("format-9.sqlite3").clone(),
        })
        .unwrap();
    let mut lines = std::fs::File::create(parent.join("format-9.jsonl")).unwrap();
    palace
        .export(&loci_palace::export::Request::default(), &mut lines)
        .unwrap();
}

/// No machine of ours is in the fixture.
fn on(host: &str) -> OpenOptions {
    OpenOptions {
        machine: Some(Machine {
            id: format!("{host}-0123456789"),
            host: host.into(),
        }),
        ..OpenOptions::create()
    }
}

/// A source of another machine with the name of one that is there.
fn posted_elsewhere(path: &Path) {
    let palace = Palace::open(path, &on("desk")).unwrap();
    let source = Post(vec![(
        "post:bo",
        "Dear Ana, this is from the other desk. | Yours, Bo",
    )]);
    let (meter, stop) = (Meter::default(), AtomicBool::new(false));
    palace
        .mine(&loci_palace::mine::Request {
            collection: "post",
            source: &source,
            options: &MineOptions::default(),
            meter: &meter,
            stop: &stop,
        })
        .unwrap();
    palace.close().unwrap();
}

/// A source with lines, dates, a speaker by metadata, one by role and one by label; static vectors,
/// pinned.
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
            "r1",
            "Remind me of the tide tables.",
            &json!({"date": "2023-05-09", "role": "user"}),
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
    let error = palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "moving",
                embedder: &tired,
            },
            &mut |_| (),
        )
        .unwrap_err();
    assert!(error.to_string().contains("tired"), "{error}");
}

/// Letters by name: a source that is no file, so that no path of a machine is in the fixture.
struct Post(Vec<(&'static str, &'static str)>);

impl Source for Post {
    fn describe(&self) -> Description {
        Description {
            name: "post".into(),
            recipe: "post 1".into(),
            roots: vec!["post".into()],
            only: None,
        }
    }

    fn items(
        &self,
        since: &dyn Since,
        each: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<()> {
        for (name, text) in &self.0 {
            let stat = Stat {
                size: text.len() as u64,
                ..Stat::default()
            };
            let listed = if since.is_unchanged(name, &stat) {
                Listed::Unchanged
            } else {
                Listed::Changed(Item {
                    name: (*name).to_owned(),
                    root: "post".into(),
                    stat,
                })
            };
            if each(listed).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, item: &Item, intake: &mut Intake<'_>) -> Result<Read> {
        let (_, text) = self.0.iter().find(|(name, _)| *name == item.name).unwrap();
        let before = intake.before(&item.name)?;
        let pieces = text.split(" | ").enumerate().map(|(at, text)| Piece {
            text: text.to_owned(),
            metadata: Metadata::from_json(&json!({
                "wing": "post", "room": "letters", "source_file": item.name, "heading": "Letters",
                "start_line": at + 1, "end_line": at + 1,
            }))
            .unwrap(),
            part: 1,
        });
        let section = Section {
            name: item.name.clone(),
            kind: "file",
            hash: hash_of(text.as_bytes()),
            pieces: Some(pieces.collect()),
            ..Section::default()
        };
        intake.whole(&before, section);
        Ok(Read::Filed)
    }
}

/// Two runs: the second changes a source, adds one, and moves a piece. Then one text is forgotten.
fn posted(palace: &Palace) {
    let mine = |letters: Vec<(&'static str, &'static str)>| {
        let source = Post(letters);
        let (meter, stop) = (Meter::default(), AtomicBool::new(false));
        palace
            .mine(&loci_palace::mine::Request {
                collection: "post",
                source: &source,
                options: &MineOptions::default(),
                meter: &meter,
                stop: &stop,
            })
            .unwrap();
    };
    mine(vec![(
        "post:ana",
        "Dear Bo, the quince tree bears fruit. | It rained on Sunday. | Yours, Ana",
    )]);
    mine(vec![
        (
            "post:ana",
            "Dear Bo, the medlar tree bears fruit. | A line between. | It rained on Sunday. | Yours, Ana",
        ),
        (
            "post:bo",
            "Dear Ana, the password of the shed is a secret of mine. | Yours, Bo",
        ),
    ]);
    let collection = palace.collection("post", false).unwrap();
    let found = loci_palace::search_words(&*collection, "shed", 1, &Selection::all()).unwrap();
    let outcome = palace
        .forget(&loci_palace::forget::Request::in_collection(
            "post",
            Selection::ids([found.hits[0].id.clone()]),
        ))
        .unwrap();
    assert_eq!(outcome.forgotten, 1);
}

/// Facts with and without a name, a time, a source; links between drawers, rooms and what does not exist.
fn related(palace: &Palace) {
    let relations = palace.relations().unwrap().unwrap();
    let fact = |subject: &str, predicate: &str, object: &str| Fact {
        subject: subject.into(),
        predicate: predicate.into(),
        object: object.into(),
        ..Fact::default()
    };
    let source = |collection: &str, id: &str| {
        Some(DrawerRef {
            collection: collection.into(),
            id: id.into(),
        })
    };
    let facts = [
        Fact {
            id: "tea".into(),
            valid_from: Some("2023-05-07".into()),
            confidence: Some(1.0),
            source: source("drawers", "t1"),
            ..fact("Caroline", "likes", "green tea")
        },
        Fact {
            valid_from: Some("2019".into()),
            valid_to: Some("2022-11-30T08:00:00Z".into()),
            confidence: Some(0.1),
            metadata: Metadata::from_json(
                &json!({"said_by": ["Ana", "Bo"], "times": 3, "weight": 2.0}),
            )
            .unwrap(),
            ..fact("Μελίνα", "lives in", "Marseille")
        },
        Fact {
            source: source("nowhere", "nobody"),
            ..fact("the harbour", "is", "")
        },
    ];
    relations.add_facts(&facts).unwrap();
    let link = |from: LinkEnd, to: LinkEnd, label: &str| Link {
        from,
        to,
        label: label.into(),
        metadata: Metadata::default(),
    };
    let links = [
        link(
            LinkEnd::drawer("drawers", "m1"),
            LinkEnd::drawer("drawers", "m2"),
            "precedes",
        ),
        Link {
            metadata: Metadata::from_json(&json!({"strength": 0.25})).unwrap(),
            ..link(
                LinkEnd::room("alice", "harbour"),
                LinkEnd::room("bob", ""),
                "",
            )
        },
        link(
            LinkEnd::drawer("models", "v1"),
            LinkEnd::room("post", "letters"),
            "見よ",
        ),
    ];
    relations.add_links(&links).unwrap();
}

/// Two projects of one name, one of them in two folders, and a folder without a repository.
fn claimed(palace: &Palace) {
    let drawers = palace.collection("drawers", false).unwrap();
    let projects = drawers.projects().unwrap();
    let project = |owner: &str, folder: &str, commit: &str| Project {
        name: "harbour".into(),
        owner: Some(owner.into()),
        remote: Some(format!("example.org/{owner}/harbour")),
        first_commit: Some(commit.repeat(40)),
        path: folder.into(),
        is_repository: true,
        ..Project::default()
    };
    let folder = Project {
        name: "harbour".into(),
        owner: Some("notes".into()),
        path: "/notes/harbour".into(),
        ..Project::default()
    };
    for (project, wing) in [
        (project("ana", "/ana/harbour", "a"), "harbour"),
        (project("ana", "/clone/harbour", "a"), "harbour"),
        (project("bo", "/bo/harbour", "b"), "bo/harbour"),
        (folder, "notes/harbour"),
    ] {
        assert_eq!(projects.claim_wing(&project).unwrap().wing, wing);
    }
}
