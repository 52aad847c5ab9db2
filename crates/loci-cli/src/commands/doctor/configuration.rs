//! The configuration files: which were read, and where the other directories are.

use std::path::Path;

use loci_palace::{Config, Error, PalaceRef, UserDirectories, display_location, path_text};
use serde_json::{Value, json};

use super::advice::Findings;
use super::sheet::Section;

/// Variables that change what commands do.
const VARIABLES: [&str; 7] = [
    "LOCI_PALACE",
    "LOCI_BACKEND",
    "LOCI_EMBEDDER",
    "LOCI_MODELS",
    "LOCI_HOOKS",
    "LOCI_LOG",
    "MEMPALACE_PALACE_PATH",
];

pub(super) fn examine(palace: Option<&PalaceRef>, findings: &mut Findings) -> (Value, Section) {
    let places = UserDirectories::of_user();
    let mut section = Section::new("files");
    let user = Config::of_user();
    hooks_switched_off(&user, findings);
    let config = file(
        places.config.as_deref(),
        user.err(),
        "config.toml",
        &mut section,
        findings,
    );
    let of_palace = palace.and_then(PalaceRef::as_directory).map(|directory| {
        let read = Config::of_palace(&PalaceRef::local(directory)).err();
        file(
            Some(&directory.join("palace.toml")),
            read,
            "palace.toml",
            &mut section,
            findings,
        )
    });
    for (label, place) in [
        ("data", &places.data),
        ("state", &places.state),
        ("cache", &places.cache),
    ] {
        if let Some(place) = place {
            section.line(label, path_text(place));
        }
    }
    let set: serde_json::Map<String, Value> = VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)))
        .map(|(name, value)| (name, json!(display_location(Path::new(&value)))))
        .collect();
    for (name, value) in &set {
        section.line(name, value.as_str().unwrap_or_default());
    }
    let json = json!({
        "config": config,
        "palace_config": of_palace,
        "data": places.data.as_deref().map(path_text),
        "state": places.state.as_deref().map(path_text),
        "cache": places.cache.as_deref().map(path_text),
        "environment": set,
    });
    (json, section)
}

/// One file: read, absent or unreadable.
fn file(
    path: Option<&Path>,
    error: Option<Error>,
    label: &str,
    section: &mut Section,
    findings: &mut Findings,
) -> Value {
    let there = path.is_some_and(Path::exists);
    let state = match (&error, there) {
        (Some(_), _) => "unreadable",
        (None, true) => "read",
        (None, false) => "absent",
    };
    let shown = path.map_or_else(|| "nowhere".to_owned(), path_text);
    section.line(label, format!("{shown} ({state})"));
    if let Some(error) = error {
        findings.failed(
            "configuration_unreadable",
            error,
            "correct or remove the file; every other command fails because of it",
        );
    }
    json!({"path": path.map(path_text), "state": state})
}

fn hooks_switched_off(config: &Result<Config, Error>, findings: &mut Findings) {
    let by_file = config
        .as_ref()
        .is_ok_and(|config| config.hooks.as_ref().and_then(|hooks| hooks.enabled) == Some(false));
    if loci_agents::hooks::switched_off() {
        findings.note(
            "hooks_off",
            "hooks are switched off by LOCI_HOOKS",
            "unset LOCI_HOOKS to switch them on",
        );
    } else if by_file {
        findings.note(
            "hooks_off",
            "hooks are switched off in config.toml",
            "remove `enabled = false` under `[hooks]` to switch them on",
        );
    }
}
