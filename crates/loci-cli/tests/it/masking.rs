//! Secrets are masked on every way into a palace, and kept on every way with the one opt-out.
//! Secrets are put together at run time, so that none is in this file.

use std::path::Path;

use serde_json::{Value, json};

use crate::chroma_directories::copy;
use crate::hooks::{Scene, exchange};
use crate::mcp::client::Client;
use crate::mine::put;
use crate::support::{Dir, lines};

/// Letters and digits drawn by lot, always the same for one seed.
fn drawn(length: usize, seed: u64) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..length)
        .map(|_| char::from(ALPHABET[(next() % ALPHABET.len() as u64) as usize]))
        .collect()
}

/// A token that is a secret by its form, and a key that its name makes one.
fn secrets() -> [String; 2] {
    [format!("{}p_{}", "gh", drawn(36, 7)), drawn(40, 11)]
}

/// A note that holds both.
fn note() -> String {
    let [token, key] = secrets();
    format!(
        "the lamp deploys with {token}\n{}access_key = {key}\n",
        "aws_secret_"
    )
}

/// The one opt-out, if it is wanted.
fn with<'a>(keep: bool, arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = arguments.to_vec();
    all.extend(keep.then_some("--keep-secrets"));
    all
}

/// The counts of an answer, added up.
fn count(masked: &Value) -> u64 {
    let kinds = masked.as_object().unwrap_or_else(|| panic!("{masked}"));
    kinds.values().map(|count| count.as_u64().unwrap()).sum()
}

/// Writes the note in some way and gives what the answer says was masked.
type Writing = fn(&Dir, bool) -> Value;

const WRITINGS: [(&str, Writing); 21] = [
    ("add", |dir, keep| {
        dir.json(0, &with(keep, &["add", &note()]))["masked"].clone()
    }),
    ("add from stdin", |dir, keep| {
        let ran = dir.pipe(&with(keep, &["add", "--json"]), note().as_bytes());
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["masked"].clone()
    }),
    ("frontmatter of a mined file", |dir, keep| {
        let [token, key] = secrets();
        let front = format!("title: lamp {token}\n{}access_key: {key}", "aws_secret_");
        let file = put(dir, "tree/lamp.md", format!("---\n{front}\n---\nA lamp.\n"));
        dir.json(0, &with(keep, &["mine", file.to_str().unwrap()]))["masked"].clone()
    }),
    ("metadata of add", |dir, keep| {
        let [token, key] = secrets();
        let metadata = json!({"link": format!("see {token}"), "aws_secret_access_key": key});
        let arguments = ["add", "a lamp", "--metadata", &metadata.to_string()];
        dir.json(0, &with(keep, &arguments))["masked"].clone()
    }),
    ("update", |dir, keep| {
        dir.run(&["add", "a lamp", "--id", "a"]).ok();
        dir.json(0, &with(keep, &["update", "a", &note()]))["masked"].clone()
    }),
    ("diary", |dir, keep| {
        let arguments = ["diary", "write", &note(), "--agent", "claude"];
        dir.json(0, &with(keep, &arguments))["masked"].clone()
    }),
    ("identity", |dir, keep| {
        dir.json(0, &with(keep, &["wake-up", "--identity", &note()]))["masked"].clone()
    }),
    ("facts add", |dir, keep| {
        let [token, key] = secrets();
        let subject = format!("lamp {token}");
        let arguments = ["facts", "add", &subject, "aws secret access key", &key];
        dir.json(0, &with(keep, &arguments))["masked"].clone()
    }),
    ("facts supersede", |dir, keep| {
        let [token, key] = secrets();
        dir.run(&["facts", "add", "lamp", "token", "none"]).ok();
        let new = format!("{token} {}access_key={key}", "aws_secret_");
        let arguments = ["facts", "supersede", "lamp", "token", "none", &new];
        dir.json(0, &with(keep, &arguments))["masked"].clone()
    }),
    ("links add", |dir, keep| {
        for id in ["a", "b"] {
            dir.run(&["add", id, "--id", id]).ok();
        }
        let label = note();
        dir.json(
            0,
            &with(keep, &["links", "add", "a", "b", "--label", &label]),
        )["masked"]
            .clone()
    }),
    ("import of JSON lines", |dir, keep| {
        let [token, key] = secrets();
        let records = lines([
            json!({"id": "a", "document": format!("deploys with {token}")}),
            json!({"id": "b", "document": "a lamp", "metadata": {"aws_secret_access_key": key}}),
            json!({"fact": {"subject": "lamp", "predicate": "has", "object": token}}),
        ]);
        dir.write("records.jsonl", records);
        dir.json(0, &with(keep, &["import", "jsonl", "records.jsonl"]))["masked"].clone()
    }),
    ("import of ChromaDB", |dir, keep| {
        let old = chroma_with(dir, &note());
        let report = dir.json(0, &with(keep, &["import", "chroma", old.to_str().unwrap()]));
        let whole = report["collections"].as_array().unwrap().iter();
        for collection in whole {
            assert_eq!(collection["verified"], true, "{report}");
        }
        // A second import finds everything.
        let again = dir.json(0, &with(keep, &["import", "chroma", old.to_str().unwrap()]));
        for collection in again["collections"].as_array().unwrap() {
            assert_eq!(collection["added"], 0, "{again}");
            assert_eq!(collection["verified"], true, "{again}");
        }
        report["masked"].clone()
    }),
    ("loci_add", |dir, keep| {
        let drawer = json!({"drawers": [{"text": note(), "facts": [
            {"subject": "lamp", "predicate": "has", "object": secrets()[0]},
        ]}]});
        Client::new(dir, &with(keep, &[])).call("loci_add", &drawer)["masked"].clone()
    }),
    ("loci_update", |dir, keep| {
        dir.run(&["add", "a lamp", "--id", "a"]).ok();
        let change = json!({"id": "a", "text": note()});
        Client::new(dir, &with(keep, &[])).call("loci_update", &change)["masked"].clone()
    }),
    ("loci_diary", |dir, keep| {
        let entry = json!({"agent": "claude", "text": note()});
        Client::new(dir, &with(keep, &[])).call("loci_diary", &entry)["masked"].clone()
    }),
    ("loci_facts", |dir, keep| {
        let [token, key] = secrets();
        let mut client = Client::new(dir, &with(keep, &[]));
        let fact = |action: &str, object: &str| json!({"action": action, "subject": "lamp", "predicate": "secret access key", "object": object});
        let first = client.call("loci_facts", &fact("add", &token))["masked"].clone();
        let second = client.call("loci_facts", &fact("supersede", &key))["masked"].clone();
        json!({"first": count(&first), "second": count(&second)})
    }),
    ("loci_links", |dir, keep| {
        for id in ["a", "b"] {
            dir.run(&["add", id, "--id", id]).ok();
        }
        let link = json!({"action": "add", "from": "a", "to": "b", "label": note()});
        let mut client = Client::new(dir, &with(keep, &["--tools", "full"]));
        client.call("loci_links", &link)["masked"].clone()
    }),
    ("mempalace_add_drawer in parts", |dir, keep| {
        // A cut at 800 characters would go through the token.
        let text = format!("{} {}", "lamp ".repeat(157), note());
        let drawer = json!({"wing": "w", "room": "r", "content": text});
        let mut client = Client::new(dir, &with(keep, &["--tools", "mempalace"]));
        let added = client.call("mempalace_add_drawer", &drawer);
        let change = json!({"drawer_id": added["drawer_id"], "content": format!("{text}!")});
        client.call("mempalace_update_drawer", &change);
        added["masked"].clone()
    }),
    ("mempalace's diary and graph", |dir, keep| {
        let [token, key] = secrets();
        let mut client = Client::new(dir, &with(keep, &["--tools", "mempalace"]));
        let entry = json!({"agent_name": "claude", "entry": format!("deploys with {token}")});
        let entry = client.call("mempalace_diary_write", &entry)["masked"].clone();
        let fact = json!({"subject": "lamp", "predicate": "secret_access_key", "object": key});
        let fact = client.call("mempalace_kg_add", &fact);
        assert_eq!(fact.to_string().contains(&key), keep, "{fact}");
        if keep {
            json!({})
        } else {
            json!({"diary": count(&entry), "fact": count(&fact["masked"])})
        }
    }),
    ("mine", |dir, keep| {
        let file = put(dir, "notes/lamp.md", note());
        dir.json(0, &with(keep, &["mine", file.to_str().unwrap()]))["masked"].clone()
    }),
    ("mine of a transcript", |dir, keep| {
        let talk = exchange(
            &dir.path("home"),
            1,
            &format!("Why {}?", secrets()[0]),
            &note(),
        );
        let file = put(dir, "talks/lamp.jsonl", talk);
        dir.json(0, &with(keep, &["mine", file.to_str().unwrap()]))["masked"].clone()
    }),
];

/// A ChromaDB directory, one of whose documents is this text.
fn chroma_with(dir: &Dir, text: &str) -> std::path::PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../loci-foreign/tests/fixtures/chroma-0.6-flushed/now");
    let old = dir.path("old");
    copy(&from, &old);
    let database = rusqlite::Connection::open(old.join("chroma.sqlite3")).unwrap();
    let changed = database
        .execute(
            "UPDATE embedding_metadata SET string_value = ?1 WHERE key = 'chroma:document' AND id = \
             (SELECT min(id) FROM embedding_metadata WHERE key = 'chroma:document')",
            [text],
        )
        .unwrap();
    assert_eq!(changed, 1);
    old
}

/// Whether the files of the palace, or an export, hold a secret.
fn held(dir: &Dir, secret: &str) -> bool {
    let export = dir.run(&["export"]).ok();
    let in_files = dir.files_with(secret);
    export.stdout.contains(secret) || !in_files.is_empty()
}

#[test]
fn secrets_are_masked_on_every_way_in_and_the_answer_says_so() {
    for (name, way) in WRITINGS {
        let dir = Dir::new();
        let masked = way(&dir, false);
        assert!(count(&masked) >= 2, "{name}: {masked}");
        for secret in secrets() {
            assert!(!masked.to_string().contains(&secret), "{name}");
            assert!(!held(&dir, &secret), "{name} keeps {secret}");
        }
    }
}

#[test]
fn one_flag_keeps_secrets_on_every_way_in() {
    for (name, way) in WRITINGS {
        let dir = Dir::new();
        let masked = way(&dir, true);
        assert!(masked.is_null() || count(&masked) == 0, "{name}: {masked}");
        for secret in secrets() {
            assert!(held(&dir, &secret), "{name} masks {secret}");
        }
    }
}

#[test]
fn one_setting_keeps_secrets_for_everything_and_the_palace_wins_over_the_user() {
    let ways = |names: &[&str]| -> Vec<Writing> {
        let chosen = |name: &&str| WRITINGS.iter().find(|(way, _)| way == name).unwrap().1;
        names.iter().map(chosen).collect()
    };
    for way in ways(&["add", "loci_add", "mine", "import of JSON lines"]) {
        let dir = Dir::new();
        put(
            &dir,
            "home/.config/loci/config.toml",
            "secrets = \"keep\"\n",
        );
        way(&dir, false);
        assert!(secrets().iter().all(|secret| held(&dir, secret)));
        let other = Dir::new();
        put(
            &other,
            "home/.config/loci/config.toml",
            "secrets = \"keep\"\n",
        );
        put(&other, "palace/palace.toml", "secrets = \"mask\"\n");
        way(&other, false);
        assert!(!secrets().iter().any(|secret| held(&other, secret)));
    }
    let dir = Dir::new();
    put(
        &dir,
        "home/.config/loci/config.toml",
        "secrets = \"perhaps\"\n",
    );
    let error = dir.error(2, &["add", "a lamp"]);
    assert!(
        error["message"].as_str().unwrap().contains("mask, keep"),
        "{error}"
    );
}

#[test]
fn a_stop_masks_the_transcript_and_its_message_says_so_once() {
    let scene = Scene::new();
    let [token, key] = secrets();
    let talk = exchange(&scene.project(), 1, &format!("Does {token} work?"), &note());
    let transcript = put(&scene.dir, "talks/lamp.jsonl", talk);
    let said = scene.stop(&transcript).unwrap();
    assert_eq!(
        said,
        "Loci: 1 passage of this conversation saved; masked 3 secrets: AWS secret key 1, GitHub token 2"
    );
    for secret in [&token, &key] {
        assert!(!held(&scene.dir, secret));
        for file in Dir::files(&scene.dir.path("home")) {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{}", file.display());
        }
    }
    Scene::append(
        &transcript,
        &exchange(&scene.project(), 2, "And the fuse?", "It is new."),
    );
    let said = scene.stop(&transcript).unwrap();
    assert_eq!(said, "Loci: 1 passage of this conversation saved");
    let kept = Scene::new();
    put(
        &kept.dir,
        "home/.config/loci/config.toml",
        "secrets = \"keep\"\n",
    );
    let talk = exchange(&kept.project(), 1, "Does it work?", &note());
    let transcript = put(&kept.dir, "talks/lamp.jsonl", talk);
    kept.stop(&transcript).unwrap();
    assert!(held(&kept.dir, &token) && held(&kept.dir, &key));
}

#[test]
fn the_title_of_a_conversation_is_masked_in_its_drawers_and_in_the_ledger() {
    let dir = Dir::new();
    let [token, _] = secrets();
    let title =
        json!({"type": "summary", "summary": format!("Rotate {token}"), "leafUuid": "assistant1"});
    let mut talk = format!("{title}\n");
    talk.push_str(&exchange(&dir.path("home"), 1, "Why?", "Because."));
    let file = put(&dir, "talks/lamp.jsonl", talk);
    dir.run(&["mine", file.to_str().unwrap()]).ok();
    assert!(!held(&dir, &token));
}

#[test]
fn an_agent_cannot_have_secrets_kept_by_an_argument() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    for name in ["keep_secrets", "secrets"] {
        let call = json!({"drawers": [{"text": note()}], name: true});
        let said = client.refusal("loci_add", &call);
        assert!(said.contains("unknown; known arguments"), "{said}");
    }
}

#[test]
fn text_answers_count_the_masked_secrets_by_kind() {
    let dir = Dir::new();
    let [token, _] = secrets();
    let ran = dir.run(&["add", &format!("deploys with {token}")]).ok();
    assert!(
        ran.stdout.contains("masked 1 secret: GitHub token 1"),
        "{}",
        ran.stdout
    );
    let ran = dir.run(&["add", &note()]).ok();
    let line = "masked 2 secrets: AWS secret key 1, GitHub token 1";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let ran = dir.run(&["add", "a lamp"]).ok();
    assert!(!ran.stdout.contains("masked"), "{}", ran.stdout);
}

#[test]
fn the_same_text_is_known_again_in_its_masked_form() {
    let dir = Dir::new();
    let source = ["--source", "lamp.md"];
    let first = dir.json(0, &[&["add", &note()][..], &source].concat());
    let second = dir.json(0, &[&["add", &note()][..], &source].concat());
    assert_eq!(second["outcome"], "duplicate", "{second}");
    assert_eq!(second["duplicate_of"], first["id"]);
    let check = dir.json(1, &["add", "--check", &note()]);
    assert_eq!(check["twins"][0]["exact"], true, "{check}");
    assert!(
        !secrets()
            .iter()
            .any(|secret| check.to_string().contains(secret))
    );
    let mut client = Client::new(&dir, &[]);
    let drawer = json!({"drawers": [{"text": note(), "wing": "w"}]});
    assert_eq!(client.call("loci_add", &drawer)["added"], 1);
    assert_eq!(client.call("loci_add", &drawer)["added"], 0);
    let id = first["id"].as_str().unwrap();
    let same = dir.json(0, &["update", id, &note()]);
    assert_eq!(same["outcome"], "unchanged", "{same}");
}

/// Forgets the note in one form and tries to import it in the other.
fn comes_back(forgotten_kept: bool, imported_kept: bool) -> bool {
    let dir = Dir::new();
    let text = format!(
        "{}\n{}",
        "The lamp of the lighthouse burns since the new fuse.",
        note()
    );
    dir.run(&with(forgotten_kept, &["add", &text, "--id", "a"]))
        .ok();
    dir.run(&["forget", "a", "--yes"]).ok();
    dir.write(
        "records.jsonl",
        lines([json!({"id": "b", "document": text})]),
    );
    dir.json(
        0,
        &with(imported_kept, &["import", "jsonl", "records.jsonl"]),
    )["added"]
        == 1
}

#[test]
fn a_text_that_was_forgotten_in_one_form_does_not_come_back_in_the_other() {
    for forgotten_kept in [false, true] {
        for imported_kept in [false, true] {
            assert!(
                !comes_back(forgotten_kept, imported_kept),
                "forgotten kept {forgotten_kept}, imported kept {imported_kept}"
            );
        }
    }
}

#[test]
fn a_file_whose_text_was_forgotten_with_its_secrets_does_not_come_back_masked() {
    let dir = Dir::new();
    let [token, key] = secrets();
    let file = put(&dir, "notes/lamp.md", note());
    let name = file.to_str().unwrap();
    dir.run(&["mine", name, "--keep-secrets"]).ok();
    let ids = dir.json(0, &["list"]);
    let id = ids["drawers"][0]["id"].as_str().unwrap().to_owned();
    dir.run(&["forget", &id, "--yes"]).ok();
    put(&dir, "notes/copy.md", note());
    dir.run(&[
        "mine",
        dir.path("notes/copy.md").to_str().unwrap(),
        "--force",
    ])
    .ok();
    assert!(!held(&dir, "deploys with"));
    assert!(!held(&dir, &token) && !held(&dir, &key));
}

#[test]
fn an_import_of_json_lines_twice_adds_nothing_the_second_time() {
    let dir = Dir::new();
    let record = json!({"document": note(), "metadata": {"source_file": "lamp.md"}});
    dir.write(
        "records.jsonl",
        lines([record, json!({"id": "b", "document": note()})]),
    );
    let first = dir.json(0, &["import", "jsonl", "records.jsonl"]);
    assert_eq!(first["added"], 2, "{first}");
    let second = dir.json(0, &["import", "jsonl", "records.jsonl"]);
    assert_eq!(
        (&second["added"], &second["skipped"]),
        (&json!(0), &json!(2)),
        "{second}"
    );
}

#[test]
fn no_error_quotes_a_secret_of_a_refused_record() {
    let dir = Dir::new();
    let [token, _] = secrets();
    let bad = json!({"id": "a", "document": "x", "embedding": token});
    dir.write("records.jsonl", lines([bad]));
    let ran = dir.run(&["import", "jsonl", "records.jsonl", "--json"]);
    assert_eq!(ran.code, 2);
    assert!(
        !format!("{}{}", ran.stdout, ran.stderr).contains(&token),
        "{ran:?}"
    );
}

#[test]
fn an_imported_source_does_not_bring_the_choice_to_keep_secrets() {
    let kept = Dir::new();
    let file = put(&kept, "notes/lamp.md", note());
    let name = file.to_str().unwrap();
    kept.run(&["mine", name, "--keep-secrets"]).ok();
    let export = kept.run(&["export"]).ok().stdout;
    let dir = Dir::new();
    dir.write("export.jsonl", export);
    dir.run(&["import", "jsonl", "export.jsonl"]).ok();
    let [token, key] = secrets();
    assert!(!held(&dir, &token) && !held(&dir, &key));
    let again = dir.json(0, &["mine", name]);
    assert_eq!(again["files"]["unchanged"], 1, "{again}");
    std::fs::write(&file, format!("{}\nThe fuse is new.\n", note())).unwrap();
    dir.run(&["mine", name]).ok();
    assert!(!held(&dir, &token) && !held(&dir, &key));
}

#[test]
fn a_secret_in_a_metadata_key_is_masked_and_reported() {
    let dir = Dir::new();
    let [token, _] = secrets();
    let mut metadata = serde_json::Map::new();
    metadata.insert(token.clone(), json!("v"));
    metadata.insert(format!("{token} again"), json!("w"));
    let metadata = Value::Object(metadata).to_string();
    let added = dir.json(0, &["add", "a lamp", "--id", "a", "--metadata", &metadata]);
    assert!(!added["masked"].as_object().unwrap().is_empty(), "{added}");
    let read = dir.json(0, &["get", "a"]);
    assert!(!read.to_string().contains(&token), "{read}");
    let kept = &read["drawers"][0]["metadata"];
    let mut values: Vec<&str> = kept
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_str)
        .collect();
    values.sort_unstable();
    assert_eq!(values, ["v", "w"], "{read}");
}
