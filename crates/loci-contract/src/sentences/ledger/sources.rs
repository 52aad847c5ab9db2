//! Rows of the ledger, and the machines they belong to.

use loci_core::{
    Adopted, Batch, CountedSource, Existing, History, Machine, Origin, SourceHash, SourceRecord,
    Stat,
};
use serde_json::json;

use super::{begin, change, counts, file, file_one, hash, here, ledger, mined, named, row};
use crate::Fixture;
use crate::scene::patch;

fn names(rows: &[SourceRecord]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

pub fn s19_11_sources_are_found_by_name_folder_and_hash(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let run = begin(&*collection);
    for (name, of) in [("/n/a.md", 1), ("/n/b/c.md", 2), ("/nn/d.md", 1)] {
        let record = SourceRecord {
            hash: hash(of),
            ..row(name)
        };
        file_one(&*collection, run, &change(&*collection, record, &["red"]));
    }
    let ledger = ledger(&*collection);
    assert_eq!(
        names(&ledger.source(&here(), "/n/a.md").unwrap()),
        ["/n/a.md"]
    );
    assert_eq!(ledger.source(&here(), "/n").unwrap(), []);
    let mut below = ledger.sources_under(&here(), "/n").unwrap();
    below.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(names(&below), ["/n/a.md", "/n/b/c.md"]);
    assert_eq!(
        names(&ledger.sources_under(&here(), "/n/a.md").unwrap()),
        ["/n/a.md"]
    );
    assert_eq!(
        names(&ledger.sources_with_hash(&here(), &hash(1)).unwrap()),
        ["/n/a.md", "/nn/d.md"]
    );
    assert_eq!(ledger.hashes_of(&here(), "/n/a.md").unwrap().len(), 1);
    let mut all = Vec::new();
    let mut each = |record: SourceRecord| {
        all.push(record.name);
        Ok(())
    };
    ledger.each_source(&mut each).unwrap();
    assert_eq!(all, ["/n/a.md", "/n/b/c.md", "/nn/d.md"]);
}

pub fn s19_12_touch_writes_figures_unless_the_source_was_filed_since(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name) = (begin(&*collection), "/notes/a.md");
    file(&*collection, run, name, &["red"]);
    let ledger = ledger(&*collection);
    let touched = |size, revision| SourceRecord {
        stat: Stat {
            size,
            ..Stat::default()
        },
        revision,
        ..row(name)
    };
    let revision = ledger.source(&here(), name).unwrap()[0].revision;
    ledger.touch(&[touched(7, revision)]).unwrap();
    let now = ledger.source(&here(), name).unwrap();
    assert_eq!((now[0].stat.size, now[0].revision), (7, revision));
    ledger.touch(&[touched(9, revision + 1)]).unwrap();
    assert_eq!(ledger.source(&here(), name).unwrap()[0].stat.size, 7);
}

pub fn s19_13_a_renamed_source_keeps_its_drawers(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let run = begin(&*collection);
    file(&*collection, run, "/notes/a.md", &["red"]);
    file(&*collection, run, "/notes/b.md", &["blue"]);
    let before = super::texts(&*collection);
    let ledger = ledger(&*collection);
    assert!(
        !ledger
            .rename(run, "/notes/a.md", &row("/notes/b.md"))
            .unwrap()
    );
    assert!(
        !ledger
            .rename(run, "/notes/none.md", &row("/notes/c.md"))
            .unwrap()
    );
    assert!(
        ledger
            .rename(run, "/notes/a.md", &row("/notes/c.md"))
            .unwrap()
    );
    assert_eq!(super::texts(&*collection), before);
    assert_eq!(ledger.source(&here(), "/notes/a.md").unwrap(), []);
    assert_eq!(ledger.drawers_of(&here(), "/notes/c.md").unwrap(), 1);
    let id = &before.iter().find(|(text, _)| text == "red").unwrap().1;
    let metadata = crate::scene::one(&*collection, id).1;
    assert_eq!(metadata.get_str("source_file"), Some("/notes/c.md"));
}

pub fn s19_14_a_source_belongs_to_the_machine_that_filed_it(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name, there) = (begin(&*collection), "/notes/a.md", named("there"));
    file(&*collection, run, name, &["red"]);
    let ledger = ledger(&*collection);
    assert_eq!(ledger.source(&there, name).unwrap(), []);
    assert_eq!(ledger.sources_under(&there, "/notes").unwrap(), []);
    assert_eq!(ledger.sources_with_hash(&there, &hash(1)).unwrap(), []);
    assert_eq!(ledger.drawers_of(&there, name).unwrap(), 0);
    let to = SourceRecord {
        machine: there.clone(),
        ..row("/notes/b.md")
    };
    assert!(!ledger.rename(run, name, &to).unwrap());
    // The same path on another machine is another source.
    let other = SourceRecord {
        machine: there.clone(),
        ..row(name)
    };
    let filed = file_one(&*collection, run, &change(&*collection, other, &["blue"]));
    assert_eq!(filed, counts(1, 0, 0, 0));
    assert_eq!(ledger.drawers_of(&here(), name).unwrap(), 1);
    assert_eq!(ledger.drawers_of(&there, name).unwrap(), 1);
}

pub fn s19_15_a_text_of_two_machines_is_one_drawer_of_the_first(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name, there) = (begin(&*collection), "/notes/a.md", named("there"));
    file(&*collection, run, name, &["red"]);
    let other = || SourceRecord {
        machine: there.clone(),
        ..row(name)
    };
    let filed = file_one(&*collection, run, &change(&*collection, other(), &["red"]));
    assert_eq!(filed, counts(0, 0, 0, 1));
    let ledger = ledger(&*collection);
    assert_eq!(ledger.drawers_of(&here(), name).unwrap(), 1);
    assert!(ledger.source(&there, name).unwrap()[0].complete);
    // The first machine files another text, so the second one must read its file again.
    file(&*collection, run, name, &["white"]);
    let now = ledger.source(&there, name).unwrap();
    assert_eq!(
        (now[0].complete, now[0].hash),
        (false, SourceHash::default())
    );
    let filed = file_one(&*collection, run, &change(&*collection, other(), &["red"]));
    assert_eq!(filed, counts(1, 0, 0, 0));
    assert!(ledger.source(&here(), name).unwrap()[0].complete);
}

pub fn s19_16_a_source_of_no_known_machine_is_everybodys_until_it_is_filed(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let (run, name, there) = (begin(&*collection), "/notes/a.md", named("there"));
    let nobodys = SourceRecord {
        machine: Machine::default(),
        ..row(name)
    };
    file_one(&*collection, run, &change(&*collection, nobodys, &["red"]));
    let ledger = ledger(&*collection);
    assert_eq!(ledger.source(&here(), name).unwrap().len(), 1);
    assert_eq!(ledger.source(&there, name).unwrap().len(), 1);
    assert_eq!(file(&*collection, run, name, &["red"]), counts(0, 0, 0, 1));
    assert_eq!(ledger.source(&here(), name).unwrap()[0].machine, here());
    assert_eq!(ledger.source(&there, name).unwrap(), []);
}

pub fn s19_17_sources_are_listed_in_pages_with_sections_before_heads(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let run = begin(&*collection);
    for (name, section) in [("/n/a.md", 0), ("/n/a.md", 1), ("/n/b.md", 0)] {
        let record = SourceRecord {
            section,
            ..row(name)
        };
        let texts: &[&str] = if section == 0 && name == "/n/a.md" {
            &[]
        } else {
            &["red"]
        };
        file_one(&*collection, run, &change(&*collection, record, texts));
    }
    let ledger = ledger(&*collection);
    let page = |name: Option<&str>, limit| -> Vec<(String, u32, u64)> {
        let page = ledger.sources_after(name, limit).unwrap();
        let brief =
            |source: CountedSource| (source.record.name, source.record.section, source.drawers);
        page.into_iter().map(brief).collect()
    };
    assert_eq!(
        page(None, 1),
        [("/n/a.md".into(), 1, 1), ("/n/a.md".into(), 0, 0)]
    );
    assert_eq!(page(Some("/n/a.md"), 10), [("/n/b.md".into(), 0, 1)]);
    assert_eq!(page(Some("/n/b.md"), 10), []);
}

pub fn s19_18_adopted_sources_are_whole_only_with_all_their_drawers(fixture: &dyn Fixture) {
    let Some(collection) = mined(fixture) else {
        return;
    };
    let origin = |name: &str| History {
        origin: Some(Origin {
            name: name.into(),
            section: 0,
            machine: here().id,
        }),
        ..History::default()
    };
    let batch = Batch::new(["a", "b"])
        .documents(["red", "blue"])
        .metadatas([patch(&json!({})), patch(&json!({}))]);
    let histories = [origin("/n/a.md"), origin("/n/b.md")];
    collection
        .import_records(&batch, &histories, Existing::Keep)
        .unwrap();
    let found = collection.histories(&["a".to_owned()]).unwrap();
    assert_eq!(found[0].origin, histories[0].origin);
    let ledger = ledger(&*collection);
    let counted = |name: &str, drawers| CountedSource {
        record: row(name),
        drawers,
    };
    let adopted = ledger.adopt_sources(&[counted("/n/a.md", 1), counted("/n/b.md", 2)]);
    assert_eq!(adopted.unwrap(), [Adopted::Whole, Adopted::Incomplete]);
    assert!(ledger.source(&here(), "/n/a.md").unwrap()[0].complete);
    assert!(!ledger.source(&here(), "/n/b.md").unwrap()[0].complete);
    let again = ledger.adopt_sources(&[counted("/n/a.md", 1)]).unwrap();
    assert_eq!(again, [Adopted::Known]);
    let bad = CountedSource {
        record: row(""),
        drawers: 0,
    };
    crate::scene::refused!(
        ledger.adopt_sources(&[bad]),
        loci_core::Error::InvalidInput { .. }
    );
}
