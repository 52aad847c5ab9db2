//! `verify` and `repair`: derived files are worthless, damage to the truth is said.

use serde_json::json;

use crate::support::{Dir, INDEXED, texts};

#[test]
fn verify_of_a_sound_palace_is_ok() {
    let dir = Dir::with_index();
    let answer = dir.json(0, &["verify"]);
    assert_eq!(
        (&answer["ok"], &answer["findings"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(
        (&answer["drawers"], &answer["deep"]),
        (&json!(INDEXED), &json!(false))
    );
    assert_eq!(dir.json(0, &["verify", "--deep"])["deep"], true);
    let repaired = dir.json(0, &["repair"]);
    assert_eq!(
        (&repaired["ok"], &repaired["actions"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn a_deleted_index_file_is_a_finding_and_changes_no_answer() {
    let dir = Dir::with_index();
    let right = dir.nearest(42);
    std::fs::remove_file(&dir.index_files()[0]).unwrap();
    let found = dir.json(1, &["verify"]);
    assert_eq!(found["ok"], false);
    assert_eq!(found["findings"][0]["kind"], "index");
    assert!(found["findings"][0]["detail"].is_string());
    assert_eq!(dir.nearest(42), right);
    let repaired = dir.json(0, &["repair"]);
    assert_eq!(
        (&repaired["drawers_before"], &repaired["drawers_after"]),
        (&json!(INDEXED), &json!(INDEXED))
    );
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(dir.index_files().len(), 1);
    assert_eq!(dir.nearest(42), right);
}

#[test]
fn a_damaged_index_file_is_found_set_aside_and_rebuilt() {
    let dir = Dir::with_index();
    let right = dir.nearest(7);
    let index = dir.index_files().remove(0);
    let mut bytes = std::fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&index, &bytes).unwrap();
    assert_eq!(dir.json(1, &["verify", "--deep"])["ok"], false);
    assert_eq!(dir.nearest(7), right);
    let human = dir.run(&["repair"]).ok();
    assert!(
        human.stdout.contains("everything is consistent")
            || human.stdout.contains("nothing to repair"),
        "{human:?}"
    );
    assert_eq!(dir.nearest(7), right);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    let kept = Dir::files(&dir.palace().join("index"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains(".drift-"))
        .unwrap();
    assert_eq!(std::fs::read(kept).unwrap(), bytes);
}

#[test]
fn repair_rebuilds_a_damaged_index_without_a_query_before() {
    let dir = Dir::with_index();
    let index = dir.index_files().remove(0);
    let bytes = std::fs::read(&index).unwrap();
    std::fs::write(&index, &bytes[..bytes.len() / 3]).unwrap();
    let report = dir.json(0, &["repair"]);
    assert!(!report["before"].as_array().unwrap().is_empty(), "{report}");
    assert!(
        report["actions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|action| { action.as_str().unwrap().contains("rebuilt the index") }),
        "{report}"
    );
    assert_eq!(report["remaining"], json!([]));
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_flipped_byte_in_a_stored_vector_is_found_by_name_and_set_aside() {
    let dir = Dir::with_index();
    let mut bytes = std::fs::read(dir.database()).unwrap();
    let stored: Vec<u8> = crate::support::vector(77)
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let at = bytes
        .windows(stored.len())
        .position(|window| window == stored)
        .unwrap();
    bytes[at] ^= 1;
    std::fs::write(dir.database(), &bytes).unwrap();
    let found = dir.json(1, &["verify", "--deep"]);
    let damaged: Vec<_> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["kind"] == "damaged")
        .collect();
    assert_eq!(damaged.len(), 1, "{found}");
    assert_eq!(damaged[0]["id"], "d77");
    let report = dir.json(0, &["repair"]);
    assert_eq!(report["set_aside"], json!(["d77"]));
    assert_eq!(report["drawers_after"], INDEXED - 1);
    assert!(std::path::Path::new(report["copy"].as_str().unwrap()).is_file());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(dir.json(0, &["status"])["damaged_drawers"], 1);
}

#[test]
fn pages_overwritten_in_the_middle_are_found_and_the_rest_is_salvaged() {
    let dir = Dir::with_index();
    let mut bytes = std::fs::read(dir.database()).unwrap();
    let middle = bytes.len() / 2 / 8_192 * 8_192;
    bytes[middle..middle + 3 * 8_192].fill(0x5a);
    std::fs::write(dir.database(), &bytes).unwrap();
    let found = dir.json(1, &["verify", "--deep"]);
    assert_eq!(found["ok"], false);
    assert!(
        texts(&found["findings"], "kind").contains(&"database".to_owned()),
        "{found}"
    );
    let report = dir.json(1, &["repair"]);
    assert_eq!(report["ok"], false);
    let salvage = &report["salvage"];
    let saved = salvage["saved"].as_u64().unwrap();
    assert!(saved > INDEXED / 2, "{salvage}");
    assert_eq!(report["drawers_after"], saved);
    assert_eq!(
        std::fs::read(dir.database()).unwrap(),
        bytes,
        "the damaged palace is untouched"
    );
    let palace = ["--palace", salvage["palace"].as_str().unwrap()];
    assert_eq!(
        dir.json(0, &[&["verify", "--deep"][..], &palace].concat())["drawers"],
        saved
    );
}

#[test]
fn a_first_page_of_noise_is_a_finding_and_not_a_refusal() {
    let dir = Dir::with_index();
    let mut bytes = std::fs::read(dir.database()).unwrap();
    bytes[..4_096].fill(0xa5);
    std::fs::write(dir.database(), &bytes).unwrap();
    let found = dir.json(1, &["verify"]);
    assert_eq!(found["findings"][0]["kind"], "database");
    let error = dir.error(2, &["status"]);
    assert_eq!(error["kind"], "corrupt");
    assert!(
        error["help"].as_str().unwrap().contains("loci repair"),
        "{error}"
    );
    let report = dir.json(1, &["repair"]);
    assert_eq!(report["salvage"]["saved"], INDEXED);
}

#[test]
fn a_wrong_page_size_in_the_header_costs_no_drawer() {
    let dir = Dir::with_index();
    let mut bytes = std::fs::read(dir.database()).unwrap();
    assert_eq!(bytes[16..18], [0x20, 0x00], "8,192, big-endian");
    bytes[16..18].copy_from_slice(&[0x10, 0x00]);
    std::fs::write(dir.database(), &bytes).unwrap();
    assert_eq!(dir.json(1, &["verify"])["findings"][0]["kind"], "database");
    let report = dir.json(1, &["repair"]);
    let salvage = &report["salvage"];
    assert_eq!(salvage["saved"], INDEXED, "{salvage}");
    for lost in ["without_vector", "damaged"] {
        assert_eq!(salvage[lost], json!([]), "{salvage}");
    }
    assert!(std::fs::read(dir.database()).unwrap() == bytes);
    let palace = ["--palace", salvage["palace"].as_str().unwrap()];
    let check = dir.json(0, &[&["verify", "--deep"][..], &palace].concat());
    assert_eq!(check["drawers"], INDEXED);
}
