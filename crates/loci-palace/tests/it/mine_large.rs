//! Files and transcripts of more than four mebibytes, which are filed in sections.

use std::collections::BTreeMap;

use crate::mined::{DRAWERS, Scene, document, ids_by_text, transcript};
use crate::support::contents;

/// Sections of about 1.2 KB.
const SIX_MEGABYTES: u64 = 4_800;

fn kept(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> usize {
    before
        .iter()
        .filter(|(text, id)| after.get(*text) == Some(id))
        .count()
}

/// Texts of both, to compare ids only where there is something to keep.
fn common(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> usize {
    before
        .keys()
        .filter(|text| after.contains_key(*text))
        .count()
}

#[test]
fn a_large_file_keeps_its_ids_when_it_is_edited_shrunk_and_grown() {
    let scene = Scene::of_words();
    let text = document(0..SIX_MEGABYTES);
    assert!(text.len() > 5_500_000, "{}", text.len());
    scene.write("large.md", &text);
    let palace = scene.open();
    let first = scene.mine(&palace);
    let before = ids_by_text(&palace);
    assert_eq!(first.drawers.new, before.len() as u64);
    assert!(
        scene.number("SELECT count(*) FROM sources") > 3,
        "several sections"
    );

    scene.write(
        "large.md",
        format!("A paragraph before everything.\n\n{text}"),
    );
    scene.mine(&palace);
    let after = ids_by_text(&palace);
    assert!(
        kept(&before, &after) + 20 > before.len(),
        "{} of {} ids stayed",
        kept(&before, &after),
        before.len()
    );
    scene.assert_as_fresh(&palace);

    // Under four mebibytes it is one section; what is left keeps its drawers.
    let before = after;
    scene.write("large.md", document(1_000..SIX_MEGABYTES - 1_000));
    scene.mine(&palace);
    let small = ids_by_text(&palace);
    assert_eq!(
        scene.number("SELECT count(*) FROM sources"),
        1,
        "one section"
    );
    assert!(common(&before, &small) > 2_700);
    assert_eq!(kept(&before, &small), common(&before, &small));
    scene.assert_as_fresh(&palace);

    scene.write("large.md", &text);
    scene.mine(&palace);
    let grown = ids_by_text(&palace);
    assert_eq!(kept(&small, &grown), common(&small, &grown));
    assert!(common(&small, &grown) + 20 > small.len());
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_large_file_that_loses_its_first_half_keeps_the_ids_of_the_second() {
    let scene = Scene::of_words();
    scene.write("large.md", document(0..7_200));
    let palace = scene.open();
    scene.mine(&palace);
    let before = ids_by_text(&palace);
    scene.write("large.md", document(3_600..7_200));
    scene.mine(&palace);
    let after = ids_by_text(&palace);
    assert!(common(&before, &after) > 3_500);
    assert_eq!(kept(&before, &after), common(&before, &after));
    scene.assert_sound(&palace);
}

#[test]
fn a_large_file_that_becomes_a_short_binary_one_loses_all_drawers() {
    let scene = Scene::of_words();
    scene.write("large.md", document(0..3_700));
    let palace = scene.open();
    assert!(scene.mine(&palace).drawers.new > 3_000);
    scene.write("large.md", b"\x00\x01\xff\xfe".repeat(100));
    scene.mine(&palace);
    assert_eq!(contents(&palace, DRAWERS).len(), 0);
    scene.assert_sound(&palace);
}

#[test]
fn a_long_transcript_is_continued_from_its_last_section() {
    let scene = Scene::of_words();
    let whole = transcript(0..1_600, 45);
    assert!(whole.len() > 5 << 20, "{}", whole.len());
    let cut = |bytes: usize| {
        let end = whole[..bytes].rfind('\n').unwrap() + 1;
        &whole[..end]
    };
    let palace = scene.open();
    scene.write("talk.jsonl", cut(3 << 20));
    scene.mine(&palace);
    let small = contents(&palace, DRAWERS);
    for bytes in [(4 << 20) + 300_000, whole.len()] {
        scene.write("talk.jsonl", cut(bytes));
        let report = scene.mine(&palace);
        assert_eq!(
            report.messages.read,
            report.messages.filed + report.messages.skipped.values().sum::<u64>()
        );
    }
    let after = contents(&palace, DRAWERS);
    let lost = small.keys().filter(|id| !after.contains_key(*id)).count();
    assert_eq!(lost, 0, "ids of {} exchanges changed", small.len());
    assert!(scene.number("SELECT count(*) FROM sources") > 3);
    scene.assert_as_fresh(&palace);
    let seq = scene.seq();
    assert_eq!(scene.mine(&palace).run, None);
    assert_eq!(scene.seq(), seq);
}
