//! `model`, and palaces whose model is here or not.
//!
//! Tests with the real model read the wheel named by `LOCI_TEST_MINILM`; without it they say so and pass.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Dir, texts};

/// A search that also prints hits without a word of the question.
fn by_meaning(question: &str) -> [&str; 4] {
    ["search", question, "--min-probability", "0"]
}

const NO_WHEEL: &str = "the model is not here; LOCI_TEST_MINILM names its wheel";

/// Where the real model is, if it is there.
fn wheel() -> Option<String> {
    let path = std::env::var("LOCI_TEST_MINILM").ok()?;
    PathBuf::from(&path).is_file().then_some(path)
}

/// Runs with `--json` and these models.
fn at(dir: &Dir, models: &str, code: i32, arguments: &[&str]) -> Value {
    let mut command: Command = dir.command();
    command.env("LOCI_MODELS", dir.path(models));
    let output = command.args(arguments).arg("--json").output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {output:?}"
    );
    let said = if code == 2 {
        &output.stderr
    } else {
        &output.stdout
    };
    serde_json::from_slice(said).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn codes(answer: &Value) -> Vec<String> {
    texts(&answer["warnings"], "code")
}

/// What is in the directory of models, hidden files of locks aside.
fn kept(dir: &Dir, models: &str) -> Vec<PathBuf> {
    if !dir.path(models).exists() {
        return Vec::new();
    }
    let hidden = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with('.');
    let files = Dir::files(&dir.path(models)).into_iter();
    files.filter(|path| !hidden(path)).collect()
}

#[test]
fn the_list_shows_the_built_in_one_and_how_to_get_the_other() {
    let dir = Dir::new();
    let list = at(&dir, "models", 0, &["model", "list"]);
    assert_eq!(
        (&list["builtin"], &list["models"]),
        (&json!(["static"]), &json!([]))
    );
    assert_eq!(list["directory"], dir.path("models").to_str().unwrap());
    let human = dir.run(&["model", "list"]).ok();
    assert!(human.stdout.contains("static"), "{human:?}");
    assert!(human.stdout.contains("loci model pull minilm"), "{human:?}");
    assert!(!dir.path("models").exists() && !dir.palace().exists());
}

#[test]
fn what_is_no_model_is_refused_by_name_and_leaves_nothing_behind() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("empty")).unwrap();
    std::fs::create_dir(dir.path("half")).unwrap();
    dir.write("half/model.onnx", "x");
    dir.write("half/tokenizer.json", "{}");
    dir.write("text.txt", "no model");
    dir.write("bad.onnx", "no model");
    dir.write("bad.safetensors", [0xff; 100]);
    dir.write("bad.whl", b"PK\x03\x04 no archive");
    dir.write("none.onnx", "");
    for name in [
        "nowhere",
        "empty",
        "half",
        "text.txt",
        "bad.onnx",
        "bad.safetensors",
        "bad.whl",
        "none.onnx",
    ] {
        let path = dir.path(name);
        let answer = at(&dir, "models", 2, &["model", "add", path.to_str().unwrap()]);
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains(name), "{said}");
        assert_eq!(kept(&dir, "models"), [""; 0].map(PathBuf::from), "{name}");
    }
    assert_eq!(
        at(&dir, "models", 0, &["model", "list"])["models"],
        json!([])
    );
}

#[test]
fn a_directory_without_a_model_is_reported_with_what_it_lacks() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("empty")).unwrap();
    let path = dir.path("empty");
    let answer = at(&dir, "models", 2, &["model", "add", path.to_str().unwrap()]);
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(
        said.contains("model.safetensors") && said.contains("model.onnx"),
        "{said}"
    );
}

#[test]
fn only_a_model_that_is_here_can_be_removed() {
    let dir = Dir::new();
    for name in ["nobody", "minilm", "static"] {
        let answer = at(&dir, "models", 2, &["model", "remove", name]);
        assert!(
            answer["error"]["message"].as_str().unwrap().contains(name),
            "{answer}"
        );
    }
    let outside = dir.write("outside", "stays");
    at(&dir, "models", 2, &["model", "remove", "../outside"]);
    assert!(outside.exists());
}

#[test]
fn a_download_of_an_unknown_model_or_from_nowhere_is_an_error_and_no_model() {
    let dir = Dir::new();
    let unknown = at(&dir, "models", 2, &["model", "pull", "bogus"]);
    let said = unknown["error"]["message"].as_str().unwrap();
    assert!(said.contains("bogus") && said.contains("minilm"), "{said}");
    for address in ["nonsense", "file:///etc/passwd", "http://127.0.0.1:1/model"] {
        let answer = at(
            &dir,
            "models",
            2,
            &["model", "pull", "minilm", "--from", address],
        );
        assert!(answer["error"]["message"].is_string(), "{address}");
    }
    assert_eq!(
        at(&dir, "models", 0, &["model", "list"])["models"],
        json!([])
    );
    at(&dir, "models", 2, &["add", "text", "--embedder", "minilm"]);
}

#[test]
fn a_search_with_a_model_that_is_not_here_answers_by_words_and_names_the_way_to_get_it() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add",
            "The physician recommended more sleep",
            "--id",
            "sleep",
        ],
    );
    let answer = at(
        &dir,
        "models",
        0,
        &["search", "physician", "--embedder", "minilm"],
    );
    assert_eq!(texts(&answer["hits"], "id"), ["sleep"]);
    let said = answer["warnings"].to_string();
    assert!(
        said.contains("loci model add") && said.contains("loci model pull minilm"),
        "{said}"
    );
}

#[test]
fn adding_a_drawer_with_a_model_that_is_not_here_is_an_error_and_adds_nothing() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    let answer = at(&dir, "models", 2, &["add", "text", "--embedder", "minilm"]);
    assert!(
        answer["error"]
            .to_string()
            .contains("loci model pull minilm"),
        "{answer}"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 0);
}

#[test]
fn a_real_model_is_added_once_used_and_removed() {
    let Some(wheel) = wheel() else {
        eprintln!("SKIPPED: {NO_WHEEL}");
        return;
    };
    let dir = Dir::new();
    let added = at(&dir, "models", 0, &["model", "add", &wheel]);
    assert!(added.to_string().contains("minilm"), "{added}");
    let list = at(&dir, "models", 0, &["model", "list"]);
    assert_eq!(texts(&list["models"], "name"), ["minilm"]);
    assert_eq!(list["models"][0]["dimension"], 384);
    at(&dir, "models", 0, &["model", "add", &wheel]);
    assert_eq!(
        at(&dir, "models", 0, &["model", "list"]),
        list,
        "a second time changes nothing"
    );

    let text = "The physician recommended more sleep";
    at(
        &dir,
        "models",
        0,
        &["add", text, "--id", "sleep", "--embedder", "minilm"],
    );
    at(
        &dir,
        "models",
        0,
        &["add", "Trains to Oslo leave at nine", "--id", "train"],
    );
    let answer = at(&dir, "models", 0, &by_meaning("what did the doctor advise"));
    assert_eq!(texts(&answer["hits"], "id"), ["sleep", "train"]);
    assert_eq!(codes(&answer), [""; 0]);
    let status = dir.json(0, &["status"]);
    assert_eq!(status["collections"][0]["embedder"], "minilm");

    at(&dir, "models", 0, &["model", "remove", "minilm"]);
    assert_eq!(kept(&dir, "models"), [""; 0].map(PathBuf::from));
}

#[test]
fn a_damaged_wheel_is_refused_and_leaves_nothing_behind() {
    let Some(wheel) = wheel() else {
        eprintln!("SKIPPED: {NO_WHEEL}");
        return;
    };
    let dir = Dir::new();
    let mut bytes = std::fs::read(wheel).unwrap();
    let middle = bytes.len() / 2;
    dir.write("short.whl", &bytes[..middle]);
    bytes[middle] ^= 1;
    dir.write("flipped.whl", &bytes);
    for name in ["short.whl", "flipped.whl"] {
        let path = dir.path(name);
        let answer = at(&dir, "models", 2, &["model", "add", path.to_str().unwrap()]);
        assert!(
            answer["error"]["message"].as_str().unwrap().contains(name),
            "{answer}"
        );
        assert_eq!(kept(&dir, "models"), [""; 0].map(PathBuf::from), "{name}");
    }
}

#[test]
fn a_palace_is_upgraded_searched_without_its_model_and_upgraded_again() {
    let Some(wheel) = wheel() else {
        eprintln!("SKIPPED: {NO_WHEEL}");
        return;
    };
    let dir = Dir::new();
    at(&dir, "models", 0, &["model", "add", &wheel]);
    dir.json(
        0,
        &[
            "add",
            "The physician recommended more sleep",
            "--id",
            "sleep",
        ],
    );
    dir.json(0, &["add", "Trains to Oslo leave at nine", "--id", "train"]);
    let report = at(&dir, "models", 0, &["reembed", "--model", "minilm"]);
    assert_eq!(
        (
            &report["before"]["name"],
            &report["embedder"]["name"],
            &report["made"]
        ),
        (&json!("static"), &json!("minilm"), &json!(2))
    );
    let doctor = by_meaning("what did the doctor advise");
    let with = at(&dir, "models", 0, &doctor);
    assert_eq!(
        (codes(&with), &with["hits"][0]["id"]),
        (Vec::new(), &json!("sleep"))
    );

    let without = at(&dir, "elsewhere", 0, &doctor);
    let hit = &without["hits"][0];
    assert_eq!(
        (&hit["id"], &hit["matched_via"]),
        (&json!("sleep"), &json!("semantic"))
    );
    assert!(
        without["warnings"].to_string().contains("loci model add"),
        "{without}"
    );

    let text = "The veterinarian vaccinated our puppy";
    at(&dir, "elsewhere", 0, &["add", text, "--id", "vet"]);
    for models in ["elsewhere", "models"] {
        let answer = at(
            &dir,
            models,
            0,
            &["search", "who treated the dog", "-k", "1"],
        );
        assert_eq!(texts(&answer["hits"], "id"), ["vet"], "{models}");
    }
    let before = dir.json(0, &["get", "vet", "--vectors"]);
    at(&dir, "models", 0, &["reembed", "--model", "minilm"]);
    assert_ne!(
        dir.json(0, &["get", "vet", "--vectors"]),
        before,
        "its vector was upgraded"
    );
    let answer = at(
        &dir,
        "models",
        0,
        &["search", "who treated the dog", "-k", "1"],
    );
    assert_eq!(
        (texts(&answer["hits"], "id"), codes(&answer)),
        (vec!["vet".to_owned()], Vec::new())
    );
    dir.json(0, &["verify", "--deep"]);
}

#[test]
fn another_embedder_than_the_collections_is_a_conflict_that_names_both_ways_out() {
    let Some(wheel) = wheel() else {
        eprintln!("SKIPPED: {NO_WHEEL}");
        return;
    };
    let dir = Dir::new();
    at(&dir, "models", 0, &["model", "add", &wheel]);
    let text = "The physician recommended more sleep";
    dir.json(0, &["add", text, "--id", "sleep"]);
    for command in [["search", "physician"], ["add", "Another text"]] {
        let flags = [&command[..], &["--embedder", "minilm"]].concat();
        let error = &at(&dir, "models", 2, &flags)["error"];
        assert_eq!(error["kind"], "conflict", "{error}");
        let help = error["help"].as_str().unwrap();
        assert!(
            help.contains("omit `--embedder`") && help.contains("loci reembed --model"),
            "{help}"
        );
    }
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn the_embedder_of_the_environment_is_for_new_collections() {
    let dir = Dir::new();
    let text = "The physician recommended more sleep";
    dir.json(0, &["add", text, "--id", "sleep"]);
    for command in [
        &["add", "Trains to Oslo leave at nine"][..],
        &[
            "search",
            "what did the doctor advise",
            "--min-probability",
            "0",
        ],
    ] {
        let mut run = dir.command();
        run.env("LOCI_EMBEDDER", "minilm").args(command);
        let output = run.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stderr, b"", "the collection is static: {output:?}");
    }
    let mut new = dir.command();
    new.env("LOCI_EMBEDDER", "none");
    new.args(["add", text, "--collection", "new"]);
    assert!(new.output().unwrap().status.success());
    let status = dir.json(0, &["status"]);
    let collections = status["collections"].as_array().unwrap();
    let vectors = |name: &str| {
        let one = collections.iter().find(|one| one["name"] == name);
        one.unwrap()["vectors"].clone()
    };
    assert_eq!((vectors("drawers"), vectors("new")), (json!(2), json!(0)));
}
