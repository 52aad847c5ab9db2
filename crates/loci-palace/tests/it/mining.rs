//! What a mine does to the drawers of files that are unchanged, changed, emptied, and of sources that are no files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_mine::document::recognise;
use loci_mine::noise::{Search, find};
use loci_mine::place::Placement;
use loci_mine::{Description, Intake, Item, Listed, Read, Section, Since, Source, hash_of};
use std::sync::atomic::AtomicBool;

use loci_palace::{
    Batch, MetaValue, Metadata, MetadataPatch, Meter, MineOptions, OpenOptions, Palace, Piece,
    Reading, Result, Stat, TextOptions, Tree,
};
use serde_json::{Value, json};

use super::mined::{
    DRAWERS, Scene, assert_same_shapes, document, ids_by_text, line, mine, runs, section, shapes,
    transcript, undo_of, with_word,
};
use super::support::{Rng, Row, Seeded, contents, effort, last_change, open, seed, wait_until};

fn forced() -> MineOptions {
    MineOptions {
        force: true,
        ..MineOptions::default()
    }
}

#[test]
fn an_unchanged_tree_is_not_read_and_nothing_is_written() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("talk.jsonl", transcript(0..3, 4));
    scene.write("code/main.rs", "fn main() {\n    println!(\"roses\");\n}\n");
    let palace = scene.open();
    let first = scene.mine(&palace);
    assert_eq!((first.files.read, first.run), (3, Some(1)), "{first:?}");
    let (seq, rows) = (last_change(&palace, DRAWERS), contents(&palace, DRAWERS));
    scene.mine_until_settled(&palace);
    let second = scene.mine(&palace);
    assert_eq!(
        (second.files.read, second.bytes, second.run),
        (0, 0, None),
        "{second:?}"
    );
    assert_eq!(second.files.unchanged, 3);
    assert_eq!(last_change(&palace, DRAWERS), seq);
    assert_eq!(contents(&palace, DRAWERS), rows);
    assert_eq!(runs(&palace, DRAWERS, 10).len(), 1);
    // Another inode time alone: read once, filed never, settled later.
    fs::set_permissions(scene.at("roses.md"), fs::Permissions::from_mode(0o600)).unwrap();
    let third = scene.mine(&palace);
    assert!(third.bytes > 0, "a file with another time was not read");
    assert_eq!(
        (third.files.read, third.files.unchanged, third.run),
        (0, 3, None)
    );
    scene.mine_until_settled(&palace);
    assert_eq!(
        (last_change(&palace, DRAWERS), contents(&palace, DRAWERS)),
        (seq, rows)
    );
}

on_disk! {
#[test]
fn other_bytes_of_the_same_size_and_times_are_found_within_the_step_of_the_clock() {
    let scene = Scene::new();
    scene.write("roses.md", "Roses are red in June.\n");
    let palace = scene.open();
    scene.mine(&palace);
    scene.write("roses.md", "Roses are tan in June.\n");
    // As if the clock of the file system had not ticked between the two.
    let now = fs::metadata(scene.at("roses.md")).unwrap();
    let modified = now.mtime() * 1_000_000_000 + now.mtime_nsec();
    let changed = now.ctime() * 1_000_000_000 + now.ctime_nsec();
    let noted = scene.sql().execute(
        "UPDATE sources SET modified_ns = ?1, changed_ns = ?2",
        [modified, changed],
    );
    assert_eq!(noted.unwrap(), 1);
    let report = scene.mine(&palace);
    assert_eq!(report.files.read, 1, "{report:?}");
    assert!(with_word(&palace, "tan in June").is_some());
    scene.assert_as_fresh(&palace);
}
}

on_disk! {
#[test]
fn chunks_that_are_still_there_keep_id_vector_counts_and_other_peoples_keys() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..6));
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS);
    assert_eq!(before.len(), 5);
    let collection = palace.collection(DRAWERS, false).unwrap();
    let ids: Vec<String> = before.keys().cloned().collect();
    let patch = MetadataPatch::from_json(&json!({"liked": "very much"})).unwrap();
    collection
        .update(&Batch::new(ids.clone()).metadatas(vec![patch; ids.len()]))
        .unwrap();
    let records: Vec<u64> = {
        let db = scene.sql();
        let mut statement = db.prepare("SELECT row FROM drawers").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        rows.map(|row| row.unwrap() as u64).collect()
    };
    collection.note_access(&records);
    wait_until("the counts are not written", || {
        collection.access_counts(&ids).unwrap() == [1; 5]
    });
    let vectors = scene.strings("SELECT hex(vector) || seq FROM vectors ORDER BY row");
    // A new section before the others; the third one goes, the last two change places.
    scene.write("roses.md", document([9, 1, 2, 5, 4]));
    let report = scene.mine(&palace);
    assert_eq!(
        (report.drawers.new, report.drawers.removed),
        (1, 1),
        "{report:?}"
    );
    let after = contents(&palace, DRAWERS);
    let mut kept = 0;
    for (id, old) in &before {
        let Some(new) = after.get(id) else {
            assert!(old.text.as_ref().unwrap().contains("## Section 3"));
            continue;
        };
        kept += 1;
        assert_eq!((&new.text, &new.vector), (&old.text, &old.vector));
        assert_eq!(new.meta["liked"], "very much");
        assert_eq!(
            collection.access_counts(std::slice::from_ref(id)).unwrap(),
            [1]
        );
        assert_ne!(new.meta["start_line"], old.meta["start_line"]);
    }
    assert_eq!(kept, 4);
    let vectors_now = scene.strings("SELECT hex(vector) || seq FROM vectors ORDER BY row");
    assert_eq!(
        vectors_now
            .iter()
            .filter(|vector| vectors.contains(vector))
            .count(),
        4,
        "vectors of unchanged text were written again"
    );
    scene.assert_as_fresh(&palace);
}
}

#[test]
fn three_equal_sections_cut_to_one_leave_one_drawer() {
    let scene = Scene::new();
    let same = section("Roses", 1);
    scene.write("roses.md", format!("{same}{same}{same}"));
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS);
    assert_eq!(before.len(), 3);
    scene.write("roses.md", &same);
    let report = scene.mine(&palace);
    assert_eq!((report.drawers.kept, report.drawers.removed), (1, 2));
    let after = contents(&palace, DRAWERS);
    assert_eq!(after.len(), 1);
    assert!(before.contains_key(after.keys().next().unwrap()));
    scene.assert_as_fresh(&palace);
    // And back again.
    scene.write("roses.md", format!("{same}{same}{same}"));
    assert_eq!(scene.mine(&palace).drawers.new, 2);
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_key_that_left_the_frontmatter_goes_and_a_key_that_somebody_added_stays() {
    let scene = Scene::new();
    let body = document(1..3);
    scene.write(
        "roses.md",
        format!("---\nstatus: draft\nmood: glad\n---\n\n{body}"),
    );
    let palace = scene.open();
    scene.mine(&palace);
    let rows = contents(&palace, DRAWERS);
    assert!(rows.values().all(|row| row.meta["status"] == "draft"));
    let patch = MetadataPatch::from_json(&json!({"season": "June"})).unwrap();
    let ids: Vec<String> = rows.keys().cloned().collect();
    palace
        .collection(DRAWERS, false)
        .unwrap()
        .update(&Batch::new(ids.clone()).metadatas(vec![patch; ids.len()]))
        .unwrap();
    scene.write("roses.md", format!("---\nmood: sad\n---\n\n{body}"));
    scene.mine(&palace);
    let after = contents(&palace, DRAWERS);
    assert!(
        after.values().all(|row| !row.meta.contains_key("status")),
        "{after:?}"
    );
    assert!(after.values().all(|row| row.meta["mood"] == "sad"));
    let marked = after
        .values()
        .filter(|row| row.meta.get("season") == Some(&json!("June")));
    assert!(marked.count() >= rows.len() - 1, "somebody's key is lost");
}

#[test]
fn a_file_that_was_emptied_or_became_binary_loses_its_drawers() {
    let scene = Scene::new();
    scene.write("empty.md", document(1..3));
    scene.write("binary.md", document(3..5));
    scene.write("stays.md", document(5..7));
    let palace = scene.open();
    scene.mine(&palace);
    scene.write("empty.md", "");
    scene.write("binary.md", b"\x00\x01\x02\xff\xfe\x00\x00\x00".repeat(100));
    let report = scene.mine(&palace);
    assert_eq!(report.files.skipped.values().sum::<u64>(), 2, "{report:?}");
    assert_eq!(report.drawers.removed, 4, "{report:?}");
    scene.assert_as_fresh(&palace);
}

#[test]
fn parts_of_one_long_line_that_are_equal_are_all_kept() {
    let scene = Scene::new();
    // One line of six thousand equal words.
    scene.write("long.txt", format!("{}\n", "x ".repeat(6_000)));
    let palace = scene.open();
    let report = scene.mine(&palace);
    let rows = contents(&palace, DRAWERS);
    let total: usize = rows
        .values()
        .map(|row| row.text.as_ref().unwrap().len())
        .sum();
    assert_eq!(total, 12_000, "{:?}", report.drawers);
    assert_eq!(report.drawers.new, rows.len() as u64);
}

#[test]
fn force_brings_back_a_drawer_that_was_deleted() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    let id = contents(&palace, DRAWERS).keys().next().unwrap().clone();
    let collection = palace.collection(DRAWERS, false).unwrap();
    let deleted = collection
        .delete(&loci_palace::Selection::ids([id]))
        .unwrap();
    assert_eq!(deleted.deleted, 1);
    mine(&palace, &scene.tree(), &forced());
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_transcript_that_grows_is_continued_and_keeps_its_drawers() {
    let scene = Scene::new();
    let whole = transcript(0..8, 3);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    // The last question has no answer yet.
    scene.write("talk.jsonl", lines[..7].concat());
    let palace = scene.open();
    let first = scene.mine(&palace);
    assert_eq!(first.messages.read, first.messages.filed, "{first:?}");
    let before = contents(&palace, DRAWERS);
    assert_eq!(before.len(), 4);
    for end in 8..=lines.len() {
        scene.write("talk.jsonl", lines[..end].concat());
        scene.mine(&palace);
    }
    let after = contents(&palace, DRAWERS);
    assert_eq!(after.len(), 8);
    assert!(before.keys().all(|id| after.contains_key(id)));
    scene.assert_as_fresh(&palace);
}

/// One random edit of a Markdown file that is kept as lines.
fn edit(rng: &mut Rng, lines: &mut Vec<String>) {
    let at = rng.below(lines.len() + 1);
    match rng.below(9) {
        0 => {
            let new = section(&format!("Title {}", rng.below(6)), rng.next() % 4);
            let new: Vec<String> = new.lines().map(str::to_owned).collect();
            lines.splice(at..at, new);
        }
        1 => lines.insert(at, line(rng)),
        2 => lines.insert(at, String::new()),
        3 => {
            let end = (at + rng.below(20)).min(lines.len());
            lines.drain(at..end);
        }
        4 => {
            let end = (at + rng.below(30)).min(lines.len());
            let copy = lines[at..end].to_vec();
            let to = rng.below(lines.len() + 1);
            lines.splice(to..to, copy);
        }
        5 => {
            let end = (at + rng.below(30)).min(lines.len());
            let moved: Vec<String> = lines.drain(at..end).collect();
            let to = rng.below(lines.len() + 1);
            lines.splice(to..to, moved);
        }
        6 => {
            if let Some(line) = lines.get_mut(at) {
                line.push_str(" more");
            }
        }
        7 => {
            let fence = ["```", "let x = 1;", "```", "", "| a | b |", "|---|---|"];
            lines.splice(at..at, fence.map(str::to_owned));
        }
        _ => {
            if lines.first().is_some_and(|line| line == "---") {
                lines.drain(..lines.len().min(3));
            } else {
                let front = [
                    "---".to_owned(),
                    format!("n: {}", rng.below(9)),
                    "---".to_owned(),
                ];
                lines.splice(0..0, front);
            }
        }
    }
}

#[test]
fn after_any_edits_the_drawers_are_those_of_a_fresh_palace() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let told = |rows: &BTreeMap<String, Row>| -> Vec<(Option<String>, BTreeMap<String, Value>)> {
        let mut told: Vec<_> = rows
            .values()
            .map(|row| (row.text.clone(), row.meta.clone()))
            .collect();
        told.sort_by_key(|(text, meta)| (text.clone(), format!("{meta:?}")));
        told
    };
    for _ in 0..2 * effort() {
        let scene = Scene::of_words();
        let mut lines: Vec<String> = document(1..7).lines().map(str::to_owned).collect();
        let palace = scene.open();
        for step in 0..20 {
            for _ in 0..rng.below(4) {
                edit(&mut rng, &mut lines);
            }
            scene.write("roses.md", lines.join("\n"));
            scene.mine(&palace);
            let (found, wanted) = (contents(&palace, DRAWERS), scene.fresh());
            assert_same_shapes(&shapes(found.values()), &shapes(wanted.values()));
            assert_eq!(told(&found), told(&wanted), "step {step}");
            if step % 5 == 4 {
                scene.assert_sound(&palace);
            }
        }
    }
}

/// Lines `start..=end` of a text, without the end of the last one.
fn lines_of(text: &str, start: i64, end: i64) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let span = lines[start as usize - 1..end as usize].concat();
    let span = span.strip_suffix('\n').unwrap_or(&span);
    span.strip_suffix('\r').unwrap_or(span).to_owned()
}

on_disk! {
#[test]
fn every_drawer_of_this_repository_is_its_lines_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let options = OpenOptions {
        embedder: Some("none".into()),
        ..OpenOptions::create()
    };
    let palace = Palace::open(folder.path().join("palace"), &options).unwrap();
    let reading = Reading {
        text_options: TextOptions {
            keep_secrets: true,
            ..TextOptions::default()
        },
        ..Reading::default()
    };
    let tree = Tree::new(&[root], reading).unwrap();
    let report = mine(&palace, &tree, &MineOptions::default());
    let rows = contents(&palace, DRAWERS);
    assert!(rows.len() > 1_000, "{report:?}");
    assert_eq!(report.drawers.new, rows.len() as u64);
    let mut files: BTreeMap<String, (String, BTreeSet<i64>)> = BTreeMap::new();
    let mut parts: BTreeMap<(String, i64, i64), BTreeMap<i64, String>> = BTreeMap::new();
    for shape in shapes(
        rows.values()
            .filter(|row| !row.meta.contains_key("extracted") && !row.meta.contains_key("encoding"))
            .filter(|row| !row.meta.contains_key("conversation")),
    ) {
        let (text, covered) = files.entry(shape.file.clone()).or_insert_with(|| {
            let bytes = fs::read(&shape.file).unwrap();
            (String::from_utf8(bytes).unwrap(), BTreeSet::new())
        });
        covered.extend(shape.start..=shape.end);
        if shape.part > 0 {
            let key = (shape.file, shape.start, shape.end);
            parts.entry(key).or_default().insert(shape.part, shape.text);
            continue;
        }
        let wanted = lines_of(text.trim_start_matches('\u{feff}'), shape.start, shape.end);
        assert_eq!(
            shape.text, wanted,
            "{}:{}-{}",
            shape.file, shape.start, shape.end
        );
    }
    let noise_of = |file: &str, text: &str| {
        let format = recognise(Path::new(file), text.as_bytes()).unwrap();
        find(text, &format, Search::All)
    };
    for ((file, start, end), parts) in parts {
        let wanted = lines_of(&files[&file].0, start, end);
        // Noise in the line is in no part.
        let mut rest = wanted.as_str();
        let mut left = 0;
        for part in parts.values() {
            let at = rest.find(part.as_str()).expect("a part is not of its line");
            left += at;
            rest = &rest[at + part.len()..];
        }
        let text = &files[&file].0;
        let noise = noise_of(&file, text);
        let noise: usize = noise.spans.iter().map(|span| span.bytes.len()).sum();
        assert!(left + rest.len() <= noise, "{file}:{start}-{end}");
    }
    for (file, (text, covered)) in &files {
        let noise = noise_of(file, text);
        let is_noise = |line: &str| {
            let at = line.as_ptr().addr() - text.as_ptr().addr();
            let mut spans = noise.spans.iter().map(|span| &span.bytes);
            spans.any(|span| span.start <= at && at < span.end)
        };
        for (at, line) in text.lines().enumerate() {
            assert!(
                line.trim().is_empty() || covered.contains(&(at as i64 + 1)) || is_noise(line),
                "{file}:{} is in no drawer",
                at + 1
            );
        }
    }
}
}

/// A source of its own kind: letters with a name and a hash, no files.
struct Letters {
    letters: Mutex<BTreeMap<String, Vec<String>>>,
    read: AtomicUsize,
}

impl Letters {
    fn stat(pieces: &[String]) -> Stat {
        let hash = hash_of(pieces.concat().as_bytes());
        let number = i64::from_le_bytes(hash[..8].try_into().unwrap()) >> 8;
        Stat {
            size: pieces.len() as u64,
            modified_ns: number,
            changed_ns: number,
            // Letters do not change by themselves: no clock has to be distrusted.
            read_ns: i64::MAX,
        }
    }
}

impl Source for Letters {
    fn describe(&self) -> Description {
        Description {
            name: "letters".into(),
            recipe: "letters 1".into(),
            roots: vec!["post".into()],
            only: None,
        }
    }

    fn items(
        &self,
        since: &dyn Since,
        each: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<()> {
        for (name, pieces) in &*self.letters.lock().unwrap() {
            let (name, stat) = (format!("letter:{name}"), Self::stat(pieces));
            let listed = if since.is_unchanged(&name, &stat) {
                Listed::Unchanged
            } else {
                Listed::Changed(Item {
                    name,
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
        self.read.fetch_add(1, Ordering::Relaxed);
        let pieces =
            self.letters.lock().unwrap()[item.name.strip_prefix("letter:").unwrap()].clone();
        let hash = hash_of(pieces.concat().as_bytes());
        let before = intake.before(&item.name)?;
        let wanted = Placement {
            wing: "ada".into(),
            room: "letters".into(),
        };
        let place = intake.place(&before, wanted);
        if intake.is_current(&before, &hash, &place) {
            intake.touch(&before);
            return Ok(Read::Unchanged);
        }
        let pieces = pieces.into_iter().enumerate().map(|(at, text)| {
            let mut metadata = Metadata::default();
            for (key, value) in [
                ("wing", MetaValue::Str(place.wing.clone())),
                ("room", MetaValue::Str(place.room.clone())),
                ("source_file", MetaValue::Str(item.name.clone())),
                ("start_line", MetaValue::Int(at as i64 + 1)),
            ] {
                metadata.0.insert(key.into(), value);
            }
            Piece {
                text,
                metadata,
                part: 1,
            }
        });
        let section = Section {
            name: item.name.clone(),
            kind: "letter",
            place: place.clone(),
            hash,
            pieces: Some(pieces.collect()),
            ..Section::default()
        };
        intake.whole(&before, section);
        Ok(Read::Filed)
    }
}

#[test]
fn a_source_of_another_kind_is_mined_like_files() {
    let scene = Scene::new();
    let palace = scene.open();
    let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let source = Letters {
        letters: Mutex::new(BTreeMap::from([
            (
                "one".into(),
                of(&["dear Ada", "the roses are red", "goodbye"]),
            ),
            ("two".into(), of(&["dear Bea", "no news"])),
        ])),
        read: AtomicUsize::new(0),
    };
    let options = MineOptions::default();
    let first = mine(&palace, &source, &options);
    assert_eq!((first.files.read, first.drawers.new), (2, 5));
    let before = ids_by_text(&palace);
    let seq = last_change(&palace, DRAWERS);
    let second = mine(&palace, &source, &options);
    assert_eq!(
        (second.files.read, second.files.unchanged, second.run),
        (0, 2, None)
    );
    assert_eq!(
        (
            source.read.load(Ordering::Relaxed),
            last_change(&palace, DRAWERS)
        ),
        (2, seq),
        "unchanged letters were read"
    );
    source
        .letters
        .lock()
        .unwrap()
        .insert("one".into(), of(&["dear Ada", "the roses are blue"]));
    let third = mine(&palace, &source, &options);
    assert_eq!(source.read.load(Ordering::Relaxed), 3);
    assert_eq!(
        (
            third.drawers.new,
            third.drawers.kept,
            third.drawers.removed,
            third.files.read
        ),
        (1, 1, 2, 1)
    );
    let after = ids_by_text(&palace);
    assert_eq!(after["dear Ada"], before["dear Ada"]);
    assert_eq!(after.len(), 4);
    let other = open(&scene.other());
    mine(&other, &source, &options);
    assert_same_shapes(
        &shapes(contents(&palace, DRAWERS).values()),
        &shapes(contents(&other, DRAWERS).values()),
    );
    scene.assert_sound(&palace);
    let undone = palace.undo(&undo_of(DRAWERS, third.run.unwrap())).unwrap();
    assert_eq!((undone.removed, undone.restored), (1, 2));
    assert_eq!(ids_by_text(&palace), before);
}

on_disk! {
/// One damaged drawer must not end a run: its source is named, all others are filed.
#[test]
fn a_source_with_a_damaged_drawer_fails_alone_and_is_named() {
    let scene = Scene::new();
    scene.write("a.md", document([1, 2, 3]));
    let palace = scene.open();
    scene.mine(&palace);
    palace.close().unwrap();
    rusqlite::Connection::open(scene.path.join("palace.sqlite3"))
        .unwrap()
        .execute("UPDATE drawers SET checksum = checksum + 1", [])
        .unwrap();
    // The lines move, so every drawer of the file is to be changed.
    scene.write(
        "a.md",
        format!("A new first line.\n\n{}", document([1, 2, 3])),
    );
    let palace = scene.open();
    let mine = || {
        let (options, stop) = (MineOptions::default(), AtomicBool::new(false));
        let tree = scene.tree();
        palace
            .mine(&loci_palace::mine::Request {
                collection: DRAWERS,
                source: &tree,
                options: &options,
                meter: &Meter::default(),
                stop: &stop,
            })
            .unwrap()
    };
    let report = mine();
    assert_eq!(
        (report.files.failed, report.files.read),
        (1, 0),
        "{report:?}"
    );
    assert_eq!(report.failures[0].path, scene.name("a.md"));
    scene.write("b.md", document([4]));
    let report = mine();
    assert_eq!(
        (report.files.failed, report.files.read),
        (1, 1),
        "{report:?}"
    );
}
}

#[test]
fn files_that_belong_to_a_conversation_are_filed_with_it_and_not_as_documents() {
    let scene = Scene::new();
    let task = json!([{"role": "user", "content": [{"type": "text", "text": "<task>\nPrune the roses\n</task>"}]}]);
    scene.write("tasks/1/api_conversation_history.json", task.to_string());
    scene.write(
        "tasks/1/ui_messages.json",
        json!([{"ts": 1, "type": "say", "say": "task", "text": "Prune the roses"}]).to_string(),
    );
    let state = json!({"id": "oh-1", "agent": {}, "workspace": {"working_dir": "/x"}});
    scene.write("hands/oh-1/base_state.json", state.to_string());
    let event = |words: &str| {
        json!({"id": "e", "timestamp": "2026-01-02T03:04:05", "kind": "MessageEvent", "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": words}]}})
        .to_string()
    };
    scene.write(
        "hands/oh-1/events/event-00000-aaaaaaaa.json",
        event("Water the roses"),
    );
    let palace = scene.open();
    let first = scene.mine(&palace);
    assert_eq!(contents(&palace, DRAWERS).len(), 2, "{first:?}");
    // The main file does not change when a conversation goes on.
    scene.write(
        "hands/oh-1/events/event-00001-bbbbbbbb.json",
        event("Mulch the roses"),
    );
    let second = scene.mine(&palace);
    assert_eq!(contents(&palace, DRAWERS).len(), 3, "{second:?}");
    assert!(with_word(&palace, "Mulch the roses").is_some());
    scene.assert_as_fresh(&palace);
}
