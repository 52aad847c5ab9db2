//! Records whose row of `embeddings` is lost. Each one is recovered with its own text, or is among
//! the candidates.

use std::collections::BTreeSet;

use loci_foreign::chroma::Evidence;

use crate::chroma_scenes::damage::{case, rows};
use crate::chroma_scenes::reading::Reading;
use crate::chroma_scenes::scene::{Options, Scene};

fn alone(changes: bool) -> Option<Scene> {
    let options = Options {
        second: false,
        changes,
        ..Options::default()
    };
    Scene::healthy(1000, 16, "cosine", options)
}

#[test]
fn the_doctor_says_how_many_rows_are_gone_and_by_what_each_record_comes_back() {
    for (name, evidence) in [
        ("rows_gone_together", Evidence::Order),
        ("rows_gone_first", Evidence::Order),
        ("rows_gone_queued", Evidence::Queue),
        ("rows_page_zero", Evidence::Index),
        ("rows_page_noise", Evidence::Index),
        ("rows_page_and_index_noise", Evidence::Order),
    ] {
        let Some(scene) = case(name).stage() else {
            return;
        };
        let lost = scene.gone();
        // A record without text and metadata leaves nothing that the order could join with its id.
        // The rows on a page differ from one directory to the next, so one such record may be among
        // them.
        let bare = |id: &&String| {
            let record = scene.expected.first().record(id).unwrap();
            evidence == Evidence::Order && record.document.is_none() && record.metadata.is_none()
        };
        let uncertain = lost.iter().filter(bare).count();
        let gone = lost.len() - uncertain;
        let reading = Reading::of(&scene);
        assert!(gone > 10, "{name}: {gone}");
        let key = match evidence {
            Evidence::Index => "by_index",
            Evidence::Queue => "by_queue",
            Evidence::Order => "by_order",
        };
        let told = |name: &str| reading.told("rows_missing", name).unwrap() as usize;
        assert_eq!(told("ids_count"), gone, "{name}");
        let all = told("by_index") + told("by_queue") + told("by_order");
        assert_eq!(all, gone, "{name}");
        assert_eq!(told(key), reading.evidence(evidence), "{name}");
        assert!(
            told(key) * 10 >= gone * 9,
            "{name}: {} of {gone}",
            told(key)
        );
        assert_eq!(told("candidates"), uncertain, "{name}");
        let candidates = reading.diagnosis.directory.candidates().unwrap();
        let named: BTreeSet<&String> = candidates.iter().flat_map(|of| &of.ids).collect();
        assert_eq!(named, lost.iter().filter(bare).collect(), "{name}");
        assert_eq!(
            reading.problems(&scene, &BTreeSet::new()),
            [""; 0],
            "{name}"
        );
        for finding in reading.diagnosis.all() {
            assert!(
                !finding.consequence.contains("in none of the files"),
                "{name}: {finding:?}"
            );
            assert_ne!(finding.code.as_str(), "metadata_orphans", "{name}");
        }
    }
}

#[test]
fn rows_come_back_by_order_also_when_the_queue_was_purged() {
    for changes in [false, true] {
        let Some(scene) = alone(changes) else { return };
        let topic = scene.topic();
        let watermark = "SELECT max(seq_id) FROM max_seq_id";
        // As after a flush: only the last entry remains.
        let kept: BTreeSet<String> = scene.expected.labels[&scene.vector_segment()]
            .keys()
            .cloned()
            .collect();
        let database = scene.sql();
        let purge = format!(
            "DELETE FROM embeddings_queue WHERE topic = '{topic}' AND seq_id < ({watermark})"
        );
        database.execute(&purge, []).unwrap();
        rows::scattered(&scene);
        let reading = Reading::of(&scene);
        // The newest vectors were lost with the queue. The texts were not.
        let mut problems = reading.problems(&scene, &BTreeSet::new());
        problems.retain(|problem| !problem.contains("another vector"));
        assert_eq!(problems, [""; 0]);
        let gone = scene.gone();
        let bare = |id: &&String| {
            let record = scene.expected.first().record(id).unwrap();
            record.document.is_none() && record.metadata.is_none()
        };
        let expected = gone
            .iter()
            .filter(|id| kept.contains(*id))
            .filter(|id| !bare(id))
            .count();
        let restored = gone
            .iter()
            .filter(|id| reading.records.contains_key(*id))
            .count();
        assert!(
            restored >= expected && expected > 50,
            "{restored} of {expected}"
        );
    }
}

/// Labels of ChromaDB up to 0.6 are in no order.
#[test]
fn order_tells_nothing_in_a_directory_that_an_old_release_wrote() {
    let scene = Scene::fixture("chroma-0.6-flushed");
    let segment = scene.metadata_segment();
    let rows = format!("DELETE FROM embeddings WHERE segment_id = '{segment}' AND id % 5 = 2");
    assert!(scene.sql().execute(&rows, []).unwrap() > 3);
    // Without the entries that hold texts, there is no other evidence.
    scene
        .sql()
        .execute(
            "DELETE FROM embeddings_queue WHERE metadata LIKE '%document%'",
            [],
        )
        .unwrap();
    let reading = Reading::of(&scene);
    assert_eq!(reading.evidence(Evidence::Order), 0);
    assert_eq!(reading.problems(&scene, &BTreeSet::new()), [""; 0]);
    assert_eq!(reading.dropped(&scene), [""; 0]);
}

/// The side effects of a strike.
struct Strike {
    /// Ids that lost metadata.
    spoiled: BTreeSet<String>,
    /// Entries inside the queue are lost, and with them the newest vectors of some records.
    cut: bool,
}

/// A random loss of rows, combined with other damage.
fn strike(scene: &Scene, random: &mut fastrand::Rng) -> Strike {
    let database = scene.sql();
    let segment = scene.metadata_segment();
    let count: i64 = database
        .query_row("SELECT max(id) FROM embeddings", [], |row| row.get(0))
        .unwrap();
    let condition = match random.u8(..4) {
        0 => {
            let first = random.i64(0..count);
            format!("id BETWEEN {first} AND {}", first + random.i64(1..150))
        }
        1 => format!("(id * {}) % {} = 1", random.u32(1..999), random.u32(3..40)),
        2 => format!("id % 50 < {}", random.u32(1..12)),
        _ => format!("id > {}", count - random.i64(1..300)),
    };
    let chosen =
        format!("SELECT id FROM embeddings WHERE segment_id = '{segment}' AND {condition}");
    let mut spoiled = BTreeSet::new();
    if random.u8(..3) == 0 {
        // The metadata of a few of them, and of their neighbours, is lost too.
        let some = format!("id IN ({chosen}) AND (id * 31) % 7 = 2");
        let mut names = database
            .prepare(&format!("SELECT embedding_id FROM embeddings WHERE {some}"))
            .unwrap();
        let names = names.query_map([], |row| row.get(0)).unwrap();
        spoiled.extend(names.map(Result::unwrap));
        for table in [
            "embedding_metadata",
            "embedding_metadata_array",
            "embedding_fulltext_search_content",
        ] {
            database
                .execute(
                    &format!(
                        "DELETE FROM {table} WHERE id IN (SELECT id FROM embeddings WHERE {some})"
                    ),
                    [],
                )
                .unwrap();
        }
    }
    if random.u8(..3) == 0 {
        // Text of a record that was deleted long ago.
        for row in (0..count).filter(|row| row % 97 == 5) {
            database
                .execute(
                    "INSERT INTO embedding_metadata (id, key, string_value) SELECT ?1, 'chroma:document', 'left behind ' || ?1 \
                     WHERE ?1 NOT IN (SELECT id FROM embeddings)",
                    [row],
                )
                .unwrap();
        }
    }
    let cut = random.u8(..3) == 0;
    if cut {
        database
            .execute(
                &format!(
                    "DELETE FROM embeddings_queue WHERE seq_id % {} = 0",
                    random.u32(2..30)
                ),
                [],
            )
            .unwrap();
    }
    database
        .execute(
            &format!("DELETE FROM embeddings WHERE id IN ({chosen})"),
            [],
        )
        .unwrap();
    Strike { spoiled, cut }
}

/// Lost entries inside the queue undo the latest changes, which no reader can know.
fn strikes(seeds: std::ops::Range<u64>) {
    let mut restored = 0;
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let scene = match seed % 3 {
            0 => Scene::standard(),
            1 => alone(true),
            _ => alone(false),
        };
        let Some(scene) = scene else { return };
        let Strike { spoiled, cut } = strike(&scene, &mut random);
        let reading = Reading::of(&scene);
        let live = reading.diagnosis.surveys.iter().flat_map(|of| &of.live);
        restored += live.filter(|live| live.restored.is_some()).count();
        let wrong: Vec<String> = reading
            .problems(&scene, &spoiled)
            .into_iter()
            .filter(|problem| !cut || !problem.contains("another vector"))
            .collect();
        assert_eq!(wrong, [""; 0], "seed {seed}");
        let dropped: Vec<String> = reading
            .dropped(&scene)
            .into_iter()
            .filter(|id| !spoiled.contains(id))
            .collect();
        assert_eq!(dropped, [""; 0], "seed {seed}");
    }
    assert!(restored > 100, "{restored}");
}

#[test]
fn whatever_rows_are_gone_no_record_gets_the_text_of_another_and_none_is_dropped() {
    strikes(0..24);
}

#[test]
#[ignore = "takes minutes; part of the long run"]
fn whatever_rows_are_gone_no_record_gets_the_text_of_another_in_many_runs() {
    strikes(1000..1600);
}
