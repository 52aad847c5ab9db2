//! `repair` of a database that cannot be read: what was there, what is left, what is lost, and
//! `--replace`. `export` and `import` of a mined palace.

use serde_json::{Value, json};

use crate::support::{Dir, lines, texts, vector};

const PAGE: usize = 8192;
const DRAWERS: u64 = 1_200;

/// 1,200 drawers; some pages that hold their texts, and nothing else, are overwritten.
fn damaged() -> Dir {
    let dir = Dir::new();
    let records = (0..DRAWERS).map(|n| {
        json!({"id": format!("d{n}"), "document": format!("The lighthouse keeper wrote page {n} of the log."),
               "metadata": {"wing": "lighthouse", "room": "log"}, "embedding": vector(n)})
    });
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    let mut bytes = std::fs::read(dir.database()).unwrap();
    let needle = b"lighthouse keeper";
    let holds_texts =
        |page: &[u8]| page[0] == 0x0d && page.windows(needle.len()).any(|text| text == needle);
    let hit: Vec<usize> = (1..bytes.len() / PAGE)
        .filter(|page| holds_texts(&bytes[page * PAGE..(page + 1) * PAGE]))
        .step_by(4)
        .collect();
    for page in hit {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xAB);
    }
    std::fs::write(dir.database(), bytes).unwrap();
    dir
}

fn assert_adds_up(salvage: &Value) -> u64 {
    let number = |key: &str| salvage[key].as_u64().unwrap();
    let lost = number("lost_drawers");
    assert_eq!(number("drawers_before"), DRAWERS);
    assert_eq!(salvage["known_by"], "counter");
    assert_eq!(number("saved") + lost, DRAWERS, "{salvage}");
    assert_eq!(salvage["lost"].as_array().unwrap().len() as u64, lost);
    assert_eq!(salvage["discrepancies"], json!([]));
    assert!(lost > 20, "{lost}");
    lost
}

#[test]
fn a_repair_tells_how_many_drawers_were_there_and_names_those_that_are_lost() {
    let dir = damaged();
    let report = dir.json(1, &["repair"]);
    assert_eq!(report["drawers_before"], DRAWERS);
    assert_eq!(report["drawers_after"], report["salvage"]["saved"]);
    let lost = assert_adds_up(&report["salvage"]);
    let first = &report["salvage"]["lost"][0];
    assert_eq!(
        (&first["wing"], &first["room"]),
        (&json!("lighthouse"), &json!("log"))
    );
    assert_eq!(first["collection"], "drawers");
    let ids = texts(&report["salvage"]["lost"], "id");
    let ran = dir.run(&["repair"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let saved = report["salvage"]["saved"].as_u64().unwrap();
    let sum = match saved {
        1_000.. => format!(
            "drawers: 1,200 before, 1,{:03} after, {lost} lost",
            saved - 1_000
        ),
        _ => format!("drawers: 1,200 before, {saved} after, {lost} lost"),
    };
    assert!(ran.stdout.contains(&sum), "{}", ran.stdout);
    let listed = format!("lost: `{}` in `drawers`, lighthouse/log\n", ids[0]);
    assert!(ran.stdout.contains(&listed), "{}", ran.stdout);
    let more = format!("and {} more; `--json` lists them all", lost - 20);
    assert!(ran.stdout.contains(&more), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("loci repair --replace"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_replacing_repair_ends_with_a_whole_palace_and_keeps_the_damaged_one() {
    let dir = damaged();
    let old = std::fs::read(dir.database()).unwrap();
    // Drawers are lost, so the palace is healthy and not complete.
    let report = dir.json(1, &["repair", "--replace"]);
    assert_eq!(
        (&report["ok"], &report["remaining"]),
        (&json!(true), &json!([]))
    );
    assert_adds_up(&report["salvage"]);
    let replaced = report["replaced"].as_str().unwrap();
    assert_eq!(std::fs::read(replaced).unwrap(), old);
    assert_eq!(report["salvage"]["palace"].as_str(), dir.palace().to_str());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(
        dir.json(0, &["status"])["drawers"],
        report["salvage"]["saved"]
    );
    assert_eq!(dir.json(0, &["repair", "--replace"])["actions"], json!([]));
    // The old one goes back as any other file would.
    let ran = dir.run(&["repair", "--replace"]);
    assert!(ran.stdout.contains("nothing to repair"), "{ran:?}");
}

/// `repair --replace` reported that all drawers were lost, and exited with 0.
#[test]
fn a_replacing_repair_that_lost_drawers_exits_with_1_and_claims_no_more_than_it_saved() {
    let dir = damaged();
    let ran = dir.run(&["repair", "--replace"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("what was saved is consistent"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("everything is consistent"), "{ran:?}");
}

#[test]
fn a_chroma_directory_is_never_replaced() {
    let dir = Dir::new();
    let ran = dir.run(&["repair", "--replace", "--chroma", "somewhere"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stderr.contains("--replace"), "{ran:?}");
    assert!(ran.stderr.contains("cannot be used with"), "{ran:?}");
}

#[test]
fn an_exported_palace_goes_on_mining_where_it_was() {
    let dir = Dir::new();
    let tree = dir.path("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(
        tree.join("roses.md"),
        "# Roses\n\nThe roses were cut in June.\n",
    )
    .unwrap();
    let tree = tree.to_str().unwrap();
    dir.json(0, &["mine", tree]);
    let answer = dir.json(0, &["export", "e.jsonl"]);
    assert_eq!(answer["sources"], 1);
    assert_eq!(texts(&answer["left_out"], "what"), ["runs"]);
    let shown = dir.run(&["export", "e.jsonl", "--force"]).ok();
    assert!(shown.stdout.contains("1 mined source(s)"), "{shown:?}");
    assert!(shown.stdout.contains("left out: 1 runs"), "{shown:?}");
    let other = dir.path("other");
    let other = ["--palace", other.to_str().unwrap()];
    let report = dir.json(0, &[&["import", "jsonl", "e.jsonl"][..], &other].concat());
    assert_eq!(
        (&report["sources"], &report["incomplete_sources"]),
        (&json!(1), &json!(0))
    );
    let again = dir.json(0, &[&["mine", tree][..], &other].concat());
    assert_eq!(again["files"]["read"], 0, "{again}");
    assert_eq!(again["drawers"]["new"], 0, "{again}");
}

#[test]
fn a_replacing_repair_names_the_palace_that_an_earlier_repair_left() {
    let dir = damaged();
    let first = dir.json(1, &["repair"]);
    let left = first["salvage"]["palace"].as_str().unwrap();
    let ran = dir.run(&["repair", "--replace"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains(&format!("left `{left}`")), "{ran:?}");
    assert!(std::path::Path::new(left).is_dir());
}
