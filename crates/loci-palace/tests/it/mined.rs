//! A folder that is mined into a palace, and what the two look like.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use loci_palace::runs::RecordedRun;
use loci_palace::{Meter, MineOptions, Palace, Reading, Source, Tree, mine, runs, sync, undo};
use serde_json::Value;

use super::support::{Rng, Row, contents, open};

pub(crate) const DRAWERS: &str = "drawers";

/// A drawer without its id: where it stands and what it says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) file: String,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) part: i64,
    pub(crate) heading: String,
    pub(crate) text: String,
}

impl Shape {
    fn of(row: &Row) -> Self {
        let number = |key: &str| row.meta.get(key).and_then(Value::as_i64).unwrap_or(0);
        let words = |key: &str| {
            let value = row.meta.get(key).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        Self {
            file: words("source_file"),
            start: number("start_line"),
            end: number("end_line"),
            part: number("part"),
            heading: words("heading"),
            text: row.text.clone().unwrap_or_default(),
        }
    }
}

pub(crate) fn shapes<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = rows.into_iter().map(Shape::of).collect();
    shapes.sort();
    shapes
}

/// A root called `garden` and a palace beside it.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) path: PathBuf,
    embedder: &'static str,
    others: Cell<usize>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with("static")
    }

    /// Without vectors, for what is large.
    pub(crate) fn of_words() -> Self {
        Self::with("none")
    }

    fn with(embedder: &'static str) -> Self {
        let folder = tempfile::Builder::new().prefix("scene").tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let root = real.join("garden");
        fs::create_dir(&root).unwrap();
        let scene = Self {
            path: real.join("palace"),
            folder,
            root,
            embedder,
            others: Cell::new(0),
        };
        scene.settle_embedder(&scene.path);
        scene
    }

    fn settle_embedder(&self, palace: &Path) {
        fs::create_dir_all(palace).unwrap();
        let settings = format!("embedder = \"{}\"\n", self.embedder);
        fs::write(palace.join("palace.toml"), settings).unwrap();
    }

    /// A path beside the root and the palace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    /// A palace that is not there yet.
    pub(crate) fn other(&self) -> PathBuf {
        self.others.set(self.others.get() + 1);
        let path = self.beside(&format!("other{}", self.others.get()));
        self.settle_embedder(&path);
        path
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The name of a file in the ledger.
    pub(crate) fn name(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn delete(&self, name: &str) {
        fs::remove_file(self.at(name)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.at(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.at(from), to).unwrap();
    }

    pub(crate) fn open(&self) -> Palace {
        open(&self.path)
    }

    pub(crate) fn tree(&self) -> Tree {
        tree_of(&self.root)
    }

    pub(crate) fn mine(&self, palace: &Palace) -> mine::Answer {
        mine(palace, &self.tree(), &MineOptions::default())
    }

    /// Mines until nothing has to be read: times are apart enough by then.
    pub(crate) fn mine_until_settled(&self, palace: &Palace) {
        super::support::wait_until("never settled", || {
            let report = self.mine(palace);
            assert_eq!(report.run, None, "{report:?}");
            report.bytes == 0
        });
    }

    /// What a new palace holds that is mined from the same root.
    pub(crate) fn fresh(&self) -> BTreeMap<String, Row> {
        let palace = open(&self.other());
        self.mine(&palace);
        contents(&palace, DRAWERS)
    }

    /// Panics unless the palace holds what a new one would, and its ledger and indexes are right.
    pub(crate) fn assert_as_fresh(&self, palace: &Palace) {
        let found = contents(palace, DRAWERS);
        let wanted = self.fresh();
        assert_same_shapes(&shapes(found.values()), &shapes(wanted.values()));
        self.assert_sound(palace);
    }

    /// Panics unless everything derived is right and every mined drawer has its row in the ledger.
    pub(crate) fn assert_sound(&self, palace: &Palace) {
        let report = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(report.ok(), "{:?}", report.findings);
        if !super::support::ON_DISK {
            return;
        }
        assert_eq!(
            self.strings(
                "SELECT id FROM drawers WHERE origin <> 0 AND origin NOT IN (SELECT id FROM sources)"
            ),
            Vec::<String>::new(),
            "drawers without a row in the ledger"
        );
        assert_eq!(
            self.strings("SELECT name FROM sources WHERE section = 2147483647"),
            Vec::<String>::new(),
            "left over in the ledger"
        );
        assert_eq!(
            self.strings("SELECT name FROM sources WHERE section = 0 AND complete = 0"),
            Vec::<String>::new(),
            "incomplete in the ledger"
        );
    }

    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path.join("palace.sqlite3")).unwrap()
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn strings(&self, sql: &str) -> Vec<String> {
        let db = self.sql();
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// Panics unless a table of the ledger is empty. Only a palace on disk has tables.
    pub(crate) fn assert_empty(&self, table: &str) {
        if super::support::ON_DISK {
            assert_eq!(self.number(&format!("SELECT count(*) FROM {table}")), 0);
        }
    }

    pub(crate) fn seq(&self) -> i64 {
        self.number("SELECT seq FROM palace")
    }
}

pub(crate) fn tree_of(root: &Path) -> Tree {
    Tree::new(&[root.to_path_buf()], Reading::default()).unwrap()
}

pub(crate) fn mine(palace: &Palace, source: &dyn Source, options: &MineOptions) -> mine::Answer {
    let report = palace
        .mine(&mine::Request {
            collection: DRAWERS,
            source,
            options,
            meter: &Meter::default(),
            stop: &AtomicBool::new(false),
        })
        .unwrap();
    assert_eq!(report.files.failed, 0, "{:?}", report.failures);
    report
}

pub(crate) fn undo_of(collection: &str, run: u64) -> undo::Request {
    undo::Request {
        collection: collection.into(),
        run,
    }
}

pub(crate) fn runs(palace: &Palace, collection: &str, limit: usize) -> Vec<RecordedRun> {
    let collection = collection.into();
    palace
        .runs(&runs::Request { collection, limit })
        .unwrap()
        .runs
}

/// A removal of what was mined from files below `root` that are gone.
pub(crate) fn sync_of(root: &Path) -> sync::Request {
    sync::Request {
        collection: DRAWERS.into(),
        paths: vec![root.to_path_buf()],
        apply: true,
        ..sync::Request::default()
    }
}

/// Says what differs, not everything.
pub(crate) fn assert_same_shapes(found: &[Shape], wanted: &[Shape]) {
    if found == wanted {
        return;
    }
    let brief = |from: &[Shape], without: &[Shape]| -> Vec<String> {
        let without: BTreeSet<&Shape> = without.iter().collect();
        from.iter()
            .filter(|shape| !without.contains(shape))
            .take(5)
            .map(|shape| {
                let text: String = shape.text.chars().take(60).collect();
                format!(
                    "{}:{}-{} part {} [{}] {text:?}",
                    shape.file, shape.start, shape.end, shape.part, shape.heading
                )
            })
            .collect()
    };
    panic!(
        "{} drawers instead of {}\nmissing {:#?}\nsurplus {:#?}",
        found.len(),
        wanted.len(),
        brief(wanted, found),
        brief(found, wanted)
    );
}

/// Ids by text; a text that stands twice is a mistake of the test.
pub(crate) fn ids_by_text(palace: &Palace) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    for (id, row) in contents(palace, DRAWERS) {
        let text = row.text.unwrap();
        assert!(ids.insert(text, id).is_none(), "a text twice");
    }
    ids
}

/// The one drawer whose text holds this.
pub(crate) fn with_word(palace: &Palace, word: &str) -> Option<Row> {
    let mut found: Vec<Row> = contents(palace, DRAWERS)
        .into_values()
        .filter(|row| row.text.as_ref().unwrap().contains(word))
        .collect();
    assert!(found.len() < 2, "{word} stands in several drawers");
    found.pop()
}

/// A line of prose of about eighty bytes; other words for other seeds.
pub(crate) fn line(rng: &mut Rng) -> String {
    const SOUNDS: [&str; 16] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu",
        "wa",
    ];
    let mut line = String::new();
    while line.len() < 80 {
        if !line.is_empty() {
            line.push(' ');
        }
        for _ in 0..2 + rng.below(3) {
            line.push_str(SOUNDS[rng.below(SOUNDS.len())]);
        }
    }
    line.push('.');
    line
}

/// A section of Markdown that becomes one drawer: a heading and fourteen lines in paragraphs.
pub(crate) fn section(title: &str, seed: u64) -> String {
    let mut rng = Rng(seed);
    let mut text = format!("## {title}\n\n");
    for at in 1..=14 {
        text.push_str(&line(&mut rng));
        text.push_str(if at % 5 == 0 { "\n\n" } else { "\n" });
    }
    text.push('\n');
    text
}

/// Sections one after the other.
pub(crate) fn document(sections: impl IntoIterator<Item = u64>) -> String {
    sections
        .into_iter()
        .map(|seed| section(&format!("Section {seed}"), seed))
        .collect()
}

/// Lines of a Claude Code transcript, one exchange after the other.
pub(crate) fn transcript(exchanges: impl IntoIterator<Item = u64>, answer_lines: usize) -> String {
    let mut text = String::new();
    for number in exchanges {
        let mut rng = Rng(number + 1_000_000);
        let answer: Vec<String> = (0..answer_lines).map(|_| line(&mut rng)).collect();
        let time = |second: u64| {
            format!(
                "2026-01-{:02}T{:02}:{:02}:{second:02}.000Z",
                1 + number / 1_440,
                number / 60 % 24,
                number % 60
            )
        };
        let records = [
            serde_json::json!({
                "type": "user", "uuid": format!("q{number}"), "sessionId": "talk", "timestamp": time(1),
                "cwd": "/nowhere/orchard",
                "message": {"role": "user", "content": format!("question {number}: {}", line(&mut rng))},
            }),
            serde_json::json!({
                "type": "assistant", "uuid": format!("a{number}"), "sessionId": "talk", "timestamp": time(2),
                "cwd": "/nowhere/orchard",
                "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": answer.join("\n")}]},
            }),
        ];
        for record in records {
            text.push_str(&record.to_string());
            text.push('\n');
        }
    }
    text
}
