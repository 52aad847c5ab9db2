//! Tests the store with a tiny model.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use safetensors::tensor::Dtype;
use tempfile::TempDir;

use super::*;
use crate::minilm::fixtures::{self, Export, FULL, HALF, scaled, zip};

pub(super) fn tiny(directory: impl Into<PathBuf>) -> ModelStore {
    ModelStore {
        directory: directory.into(),
        shape: fixtures::shape(),
    }
}

/// A store, and a function that writes a model file to another directory.
fn store() -> (TempDir, ModelStore, impl Fn(&str, &[u8]) -> PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = tiny(dir.path().join("models"));
    let files = dir.path().to_path_buf();
    let file = move |name: &str, bytes: &[u8]| {
        fs::write(files.join(name), bytes).unwrap();
        files.join(name)
    };
    (dir, store, file)
}

fn other() -> Vec<u8> {
    scaled(1.5, Dtype::F32, "")
}

fn digest(store: &ModelStore) -> String {
    store.open("minilm").unwrap().identity().digest
}

/// Names in the store's directory, without the lock.
fn names(store: &ModelStore) -> Vec<String> {
    let entries = fs::read_dir(store.directory()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names
}

#[test]
fn every_form_is_stored_as_one_safetensors_file_with_the_same_digest() {
    let mut digests = Vec::new();
    let zipped = zip(&[("package/model.safetensors", FULL)]);
    for (name, bytes) in [
        ("tiny.safetensors", FULL),
        ("half.safetensors", HALF),
        ("tiny.onnx", &Export::TORCH.bytes()),
        ("tiny.whl", &zipped),
    ] {
        let (_dir, store, file) = store();
        let path = file(name, bytes);
        let added = store.add(&path).unwrap();
        assert_eq!(added.change, Change::Added);
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&added.model));
        assert_eq!(added.model.damage, None);
        assert_eq!(added.model.source, path.display().to_string());
        assert_eq!(added.model.dimension, 16);
        let stored = fs::read(added.model.path.join(WEIGHTS)).unwrap();
        assert_eq!(stored.len() as u64, added.model.bytes);
        assert!(safetensors::SafeTensors::deserialize(&stored).is_ok());
        assert_eq!(digest(&store), added.model.digest);
        assert_eq!(names(&store), ["minilm"]);
        digests.push(added.model.digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn adding_the_same_weights_writes_nothing_and_says_so() {
    let (_dir, store, file) = store();
    let first = store.add(file("a", FULL)).unwrap();
    let when = |store: &ModelStore| fs::metadata(store.directory()).unwrap().modified().unwrap();
    let before = when(&store);
    for bytes in [FULL, HALF, &Export::TORCH.bytes()] {
        let again = store.add(file("b", bytes)).unwrap();
        assert_eq!(again.change, Change::Unchanged);
        assert_eq!(again.model, first.model);
    }
    assert_eq!(when(&store), before);
}

#[test]
fn other_weights_take_the_place_of_the_old_ones() {
    let (_dir, store, file) = store();
    let first = store.add(file("a", FULL)).unwrap().model.digest;
    let second = store.add(file("b", &other())).unwrap();
    assert_eq!(second.change, Change::Replaced);
    assert_ne!(second.model.digest, first);
    assert_eq!(digest(&store), second.model.digest);
    assert_eq!(names(&store), ["minilm"]);
}

#[test]
fn a_file_that_is_no_model_leaves_the_store_as_it_was() {
    let (_dir, store, file) = store();
    assert!(store.add(file("bad", b"nonsense")).is_err());
    assert!(!store.directory().exists());
    let digest_before = store.add(file("a", FULL)).unwrap().model.digest;
    assert!(store.add(file("cut", &FULL[..FULL.len() - 1])).is_err());
    assert_eq!(digest(&store), digest_before);
}

#[test]
fn damaged_weights_are_refused_and_adding_the_model_again_repairs_them() {
    let (_dir, store, file) = store();
    let path = file("a", FULL);
    let model = store.add(&path).unwrap().model;
    let mut weights = FULL.to_vec();
    let last = weights.len() - 1;
    weights[last] ^= 0x40;
    fs::write(model.path.join(WEIGHTS), &weights).unwrap();
    let refusal = store.open("minilm").unwrap_err();
    assert!(refusal.to_string().contains("damaged"), "{refusal}");
    assert_eq!(refusal.advice(), Some(how_to_get("minilm")));
    assert_eq!(store.add(&path).unwrap().change, Change::Replaced);
    assert_eq!(digest(&store), model.digest);
}

#[test]
fn damaged_manifests_are_listed_with_the_reason_and_not_opened() {
    let (_dir, store, file) = store();
    let path = file("a", FULL);
    let place = store.add(&path).unwrap().model.path;
    let manifest = place.join("manifest.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    for (content, reason) in [
        (Some("{"), "manifest.json"),
        (Some("{}"), "name"),
        (None, "manifest.json"),
        (Some(&*whole.replace("\"minilm\"", "\"other\"")), "other"),
        (
            Some(&*whole.replace("\"bytes\": ", "\"bytes\": 1")),
            "bytes",
        ),
    ] {
        match content {
            Some(content) => fs::write(&manifest, content).unwrap(),
            None => fs::remove_file(&manifest).unwrap(),
        }
        let listed = store.list().unwrap();
        let damage = listed[0].damage.as_deref().unwrap();
        assert_eq!((listed.len(), &*listed[0].name), (1, "minilm"));
        assert!(damage.contains(reason), "{damage}");
        let refusal = store.open("minilm").unwrap_err().to_string();
        assert!(refusal.contains(damage), "{refusal}");
    }
    assert_eq!(store.add(&path).unwrap().change, Change::Replaced);
    store.open("minilm").unwrap();
}

#[test]
fn a_missing_model_is_an_error_that_says_how_to_get_it() {
    let (dir, store, _) = store();
    for error in [
        store.open("minilm").unwrap_err(),
        store.remove("minilm").unwrap_err(),
    ] {
        assert_eq!(
            error.advice(),
            Some(Advice::AddModel {
                model: "minilm".into(),
                can_pull: true
            })
        );
    }
    assert!(store.list().unwrap().is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn names_cannot_lead_out_of_the_directory() {
    let (_dir, store, _) = store();
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        ".lock",
        "A",
        "a\0",
        &"a".repeat(65),
    ] {
        let refusals = [
            store.open(name).unwrap_err(),
            store.remove(name).unwrap_err(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.code(), "invalid_input", "{name:?}");
        }
    }
}

#[test]
fn a_removed_model_is_gone() {
    let (_dir, store, file) = store();
    store.add(file("a", FULL)).unwrap();
    store.remove("minilm").unwrap();
    assert!(store.list().unwrap().is_empty());
    assert!(names(&store).is_empty());
    assert!(store.open("minilm").is_err());
}

#[test]
fn leftovers_of_a_killed_add_are_hidden_and_removed_by_the_next_one() {
    let (_dir, store, file) = store();
    let path = file("a", FULL);
    store.add(&path).unwrap();
    let (place, new) = (
        store.directory().join("minilm"),
        store.hidden("minilm", "new"),
    );
    fs::create_dir(&new).unwrap();
    fs::write(new.join(WEIGHTS), "half a mod").unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    store.add(&path).unwrap();
    assert_eq!(names(&store), ["minilm"]);

    // Between two renames, if directories cannot be exchanged.
    fs::rename(&place, store.hidden("minilm", "old")).unwrap();
    fs::create_dir(&new).unwrap();
    let listed = store.list().unwrap();
    assert_eq!(
        (listed.len(), &*listed[0].name, &listed[0].damage),
        (1, "minilm", &None)
    );
    store.open("minilm").unwrap();
    assert_eq!(store.add(&path).unwrap().change, Change::Unchanged);
    assert_eq!(names(&store), ["minilm"]);
    fs::rename(&place, store.hidden("minilm", "old")).unwrap();
    store.remove("minilm").unwrap();
    assert!(names(&store).is_empty());
}

const CHILD: &str = "LOCI_TEST_MODEL_STORE";

/// Not a test. The next test starts and kills it.
#[test]
#[ignore = "run by another test"]
fn child_that_adds_two_models_in_turn() {
    let Some(directory) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let store = tiny(directory.join("models"));
    loop {
        store.add(directory.join("a")).unwrap();
        store.add(directory.join("b")).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_one_whole_model() {
    let (dir, store, file) = store();
    let first = store.add(file("a", FULL)).unwrap().model.digest;
    let second = store.add(file("b", &other())).unwrap().model.digest;
    let mut seen = std::collections::HashSet::new();
    for round in 0..30 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture"])
            .arg("models::tests::child_that_adds_two_models_in_turn")
            .env(CHILD, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The moment varies over a few rounds; any moment is as good as another.
        std::thread::sleep(std::time::Duration::from_micros(20_000 + 1_733 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let listed = store.list().unwrap();
        assert_eq!((listed.len(), &listed[0].damage), (1, &None));
        let found = digest(&store);
        assert!(found == first || found == second);
        seen.insert(found);
    }
    assert_eq!(seen.len(), 2, "the children did nothing");
}
