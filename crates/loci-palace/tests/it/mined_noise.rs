//! Files and lines without anything to read, in a palace.

use std::ops::ControlFlow;

use loci_mine::{Description, Intake, Item, Listed, Read, Section, Since, Source, hash_of};
use loci_palace::{MetaValue, Metadata, MineOptions, Palace, Piece, Reading, Result, Tree};

use super::mined::{DRAWERS, Scene, mine, undo_of};
use super::support::contents;

/// Base64 that looks random.
fn base64(length: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 88_172_645_463_325_252_u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(ALPHABET[(state >> 33) as usize % 64])
        })
        .collect()
}

fn texts(palace: &Palace) -> Vec<String> {
    let mut texts: Vec<String> = contents(palace, DRAWERS)
        .into_values()
        .filter_map(|row| row.text)
        .collect();
    texts.sort();
    texts
}

fn numbers() -> String {
    (0..3_000)
        .map(|n| format!("{n}.25,{},{}\n", n * 3, n * 7))
        .collect::<Vec<String>>()
        .concat()
}

#[test]
fn files_of_noise_are_counted_by_reason_and_lines_of_noise_are_counted() {
    let scene = Scene::new();
    scene.write("font.txt", base64(9_000));
    scene.write("grid.csv", numbers());
    scene.write("icon.svg", "<svg><path d=\"M1 2L3 4\"/></svg>");
    scene.write("saved.json", "{\"lockfileVersion\": 3, \"packages\": {}}");
    scene.write(
        "notes.md",
        format!(
            "Above.\n\n![]({}{})\n\nBelow.\n",
            "data:image/png;base64,",
            base64(900)
        ),
    );
    let palace = scene.open();
    let report = scene.mine(&palace);
    let skipped: Vec<(&str, u64)> = report
        .files
        .skipped
        .iter()
        .map(|(reason, count)| (reason.as_str(), *count))
        .collect();
    assert_eq!(
        skipped,
        [
            ("encoded data", 1),
            ("generated", 1),
            ("no text in it", 1),
            ("table of numbers", 1)
        ]
    );
    assert_eq!((report.files.read, report.noise_lines), (1, 1));
    assert_eq!(texts(&palace), ["Above.", "Below."]);
}

fn with_generated(scene: &Scene) -> Tree {
    let reading = Reading {
        generated: true,
        ..Reading::default()
    };
    Tree::new(std::slice::from_ref(&scene.root), reading).unwrap()
}

#[test]
fn generated_includes_tables_of_numbers_after_they_were_left_out() {
    let scene = Scene::new();
    scene.write("grid.csv", "a,b\n1,2\n");
    let palace = scene.open();
    scene.mine(&palace);
    assert_eq!(texts(&palace).len(), 1);
    scene.write("grid.csv", numbers());
    let report = scene.mine(&palace);
    assert_eq!(
        (report.drawers.removed, texts(&palace).len()),
        (1, 0),
        "{report:?}"
    );
    let report = mine(&palace, &with_generated(&scene), &MineOptions::default());
    assert!(report.drawers.new > 5, "{report:?}");
    assert_eq!(report.noise_lines, 0);
}

/// Files as an earlier version filed them: every line is a drawer, whatever it holds.
struct Earlier<'a> {
    root: String,
    files: Vec<(&'a str, &'a str)>,
}

impl Source for Earlier<'_> {
    fn describe(&self) -> Description {
        Description {
            name: "files".into(),
            recipe: "files 1, 2000/3000/1100/0, secrets masked".into(),
            roots: vec![self.root.clone()],
            only: None,
        }
    }

    fn items(&self, _: &dyn Since, each: &mut dyn FnMut(Listed) -> ControlFlow<()>) -> Result<()> {
        for (name, _) in &self.files {
            let item = Item {
                name: format!("{}/{name}", self.root),
                root: self.root.clone(),
                ..Item::default()
            };
            if each(Listed::Changed(item)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, item: &Item, intake: &mut Intake<'_>) -> Result<Read> {
        let (_, text) = self
            .files
            .iter()
            .find(|(name, _)| item.name.ends_with(name))
            .unwrap();
        let pieces = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty());
        let pieces = pieces.map(|(at, line)| {
            let mut metadata = Metadata::default();
            for (key, value) in [
                ("wing", MetaValue::Str("garden".into())),
                ("room", MetaValue::Str("garden".into())),
                ("source_file", MetaValue::Str(item.name.clone())),
                ("start_line", MetaValue::Int(at as i64 + 1)),
                ("end_line", MetaValue::Int(at as i64 + 1)),
                ("tags", MetaValue::Str("old words".into())),
            ] {
                metadata.0.insert(key.into(), value);
            }
            Piece {
                text: line.to_owned(),
                metadata,
                part: 1,
            }
        });
        let before = intake.before(&item.name)?;
        let section = Section {
            name: item.name.clone(),
            kind: "file",
            hash: hash_of(text.as_bytes()),
            mark: r#"{"front":["tags"]}"#.into(),
            pieces: Some(pieces.collect()),
            ..Section::default()
        };
        intake.whole(&before, section);
        Ok(Read::Filed)
    }
}

#[test]
fn drawers_of_noise_that_an_earlier_version_filed_go_and_the_others_keep_their_ids() {
    let scene = Scene::new();
    let image = format!("![](data:image/png;base64,{})", base64(900));
    let notes = format!("Above.\n\n{image}\n\nBelow.\n");
    let font = base64(9_000);
    scene.write("notes.md", &notes);
    scene.write("font.txt", &font);
    let palace = scene.open();
    let earlier = Earlier {
        root: scene.root.to_str().unwrap().to_owned(),
        files: vec![("notes.md", &notes), ("font.txt", &font)],
    };
    mine(&palace, &earlier, &MineOptions::default());
    let before = contents(&palace, DRAWERS);
    assert_eq!(before.len(), 4);
    // Nobody touched the files.
    let report = scene.mine(&palace);
    assert_eq!(report.drawers.removed, 2, "{report:?}");
    let after = contents(&palace, DRAWERS);
    assert_eq!(texts(&palace), ["Above.", "Below."]);
    for (id, row) in &after {
        assert_eq!(before[id].text, row.text, "a drawer got another id");
        assert_eq!(
            row.meta.get("tags"),
            None,
            "a key of the earlier version stayed"
        );
    }
    assert_eq!(scene.mine(&palace).run, None);
    palace.undo(&undo_of(DRAWERS, report.run.unwrap())).unwrap();
    assert_eq!(contents(&palace, DRAWERS).len(), 4);
    scene.mine(&palace);
    assert_eq!(texts(&palace), ["Above.", "Below."]);
}

#[test]
fn a_large_file_of_noise_is_skipped_and_text_between_noise_in_one_is_read() {
    let scene = Scene::of_words();
    let mut grid = String::new();
    while grid.len() < 5 << 20 {
        grid.push_str(&numbers());
    }
    scene.write("grid.csv", &grid);
    scene.write(
        "log.txt",
        format!("The first note.\n{grid}The last note.\n"),
    );
    let palace = scene.open();
    let report = scene.mine(&palace);
    assert_eq!(
        report.files.skipped.get("table of numbers"),
        Some(&2),
        "{report:?}"
    );
    let prose = "Some words that people wrote on a line of their own.\n".repeat(9_000);
    scene.write("log.txt", format!("{prose}{grid}The last note.\n"));
    scene.mine(&palace);
    assert!(
        texts(&palace)
            .iter()
            .any(|text| text.ends_with("The last note."))
    );
    assert!(
        texts(&palace)
            .iter()
            .all(|text| !text.contains("9.25,27,63"))
    );
}
