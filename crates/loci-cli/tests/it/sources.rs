//! `--source` of the commands that filter: a name, a path in any form, or a folder.

use serde_json::Value;

use crate::mine::put;
use crate::support::{Dir, texts};

fn mined() -> Dir {
    let dir = Dir::new();
    for name in ["a/one", "a/b/two", "ab"] {
        put(
            &dir,
            &format!("notes/{name}.md"),
            format!("# {name}\n\nThe boiler of {name}.\n"),
        );
    }
    dir.json(0, &["mine", "notes"]);
    dir.json(
        0,
        &[
            "add",
            "The boiler by hand.",
            "--source",
            "letter",
            "--id",
            "letter",
        ],
    );
    dir
}

/// Number of drawers that `list` gives for a source.
fn listed(dir: &Dir, from: &str, source: &str) -> u64 {
    let mut command = dir.command();
    command
        .current_dir(dir.path(from))
        .args(["list", "--json", "--source", source]);
    let output = command.output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["total"].as_u64().unwrap()
}

#[test]
fn a_relative_path_a_home_a_link_and_a_folder_are_sources() {
    let dir = mined();
    std::os::unix::fs::symlink(dir.path("notes"), dir.path("home/link")).unwrap();
    let absolute = dir.path("notes/a/one.md").canonicalize().unwrap();
    for (from, source, drawers) in [
        (".", absolute.to_str().unwrap(), 1),
        (".", "notes/a/one.md", 1),
        (".", "./notes/x/../a/one.md", 1),
        ("notes/a", "one.md", 1),
        (".", "~/link/a/one.md", 1),
        (".", "home/link/a/b", 1),
        (".", "notes/a", 2),
        (".", "notes/a/", 2),
        ("notes", ".", 3),
        (".", "letter", 1),
        (".", "notes/a/o", 0),
        (".", "nothing", 0),
    ] {
        assert_eq!(listed(&dir, from, source), drawers, "{source} in {from}");
    }
    // A source with exactly the name comes before a path.
    put(&dir, "letter/x.md", "# x\n\nThe boiler of x.\n");
    dir.json(0, &["mine", "letter"]);
    assert_eq!(listed(&dir, ".", "letter"), 1);
    assert_eq!(listed(&dir, ".", "./letter"), 1);
    assert_eq!(
        texts(
            &dir.json(0, &["list", "--source", "letter"])["drawers"],
            "id"
        ),
        ["letter"]
    );
}

#[test]
fn every_command_that_filters_understands_a_relative_path() {
    let dir = mined();
    let inside = ["--source", "notes/a"];
    let search = dir.json(0, &[&["search", "boiler"][..], &inside].concat());
    assert_eq!(search["hits"].as_array().unwrap().len(), 2, "{search}");
    let query = dir.json(0, &[&["query", "boiler"][..], &inside].concat());
    assert_eq!(query["hits"].as_array().unwrap().len(), 2, "{query}");
    let found = query["hits"][0]["id"].as_str().unwrap();
    let why = dir.json(0, &[&["why-not", found, "boiler"][..], &inside].concat());
    assert_eq!(why["stage"], "found", "{why}");
    let out = dir.json(0, &[&["why-not", "letter", "boiler"][..], &inside].concat());
    assert!(out.to_string().contains("--source"), "{out}");
    let within = dir.json(
        0,
        &["search", "boiler", "--in", "notes", "--source", "notes/a"],
    );
    assert_eq!(within["hits"].as_array().unwrap().len(), 2, "{within}");
    // An unknown source is still said to be unknown.
    let nothing = dir.json(1, &["search", "boiler", "--source", "nowhere.md"]);
    assert!(
        nothing["warnings"].to_string().contains("nowhere.md"),
        "{nothing}"
    );
    assert_eq!(nothing["warnings"][1]["code"], "unknown_place", "{nothing}");
}
