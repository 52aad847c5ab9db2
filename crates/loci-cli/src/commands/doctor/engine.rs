//! The index of the palace, the models that made its vectors, and the versions of this build.

use loci_palace::{
    EmbedderIdentity, EngineVersions, MINILM_NAME, Palace, Presence, STATIC_NAME, StoredModel,
    Warning, path_text, status,
};
use serde_json::{Value, json};

use super::advice::Findings;
use super::sheet::{Section, count, size};
use crate::hint;

/// Versions of the program and of its parts.
pub(super) fn versions() -> (Value, Section) {
    let engine = EngineVersions::of_this_build();
    let program = std::env::current_exe().ok();
    let mut section = Section::new("versions");
    let at = program
        .as_ref()
        .map_or_else(String::new, |path| format!(", {}", path_text(path)));
    section.line("loci", format!("{}{at}", env!("CARGO_PKG_VERSION")));
    section.line(
        "engine",
        format!("SQLite {}, formats up to {}", engine.sqlite, engine.format),
    );
    let json = json!({
        "loci": env!("CARGO_PKG_VERSION"),
        "sqlite": engine.sqlite,
        "format": engine.format,
        "program": program.map(|path| path_text(&path)),
    });
    (json, section)
}

/// How far the index of each collection is behind.
pub(super) fn index(status: Option<&status::Answer>, findings: &mut Findings) -> (Value, Section) {
    let mut section = Section::new("index");
    let Some(status) = status else {
        return (Value::Null, section);
    };
    for of in &status.collections {
        let (name, state) = (&of.info.name, &of.index);
        let words = match (state.covered, state.tail) {
            _ if state.vectors == 0 => "no vectors".to_owned(),
            (None, _) => format!("none; {} searched exactly", count(state.vectors, "vector")),
            (Some(covered), 0) => {
                format!("covers everything (number {covered} of {})", state.seq)
            }
            (Some(covered), tail) => format!(
                "covers number {covered} of {}; the newest {} searched exactly",
                state.seq,
                count(tail, "vector")
            ),
        };
        section.line(name, words);
        if let Some(reason) = &state.held_back {
            let advice = findings
                .to_write("`loci repair` rebuilds it; until then answers are exact and slower");
            findings.warn(
                "index_held_back",
                format!("the index of `{name}` was not rebuilt: {reason}"),
                advice,
            );
        } else if state.due {
            let advice = if findings.read_only() {
                "nothing; the next command of the user who owns the palace rebuilds it"
            } else {
                "nothing; the next command that searches or writes rebuilds it"
            };
            findings.note(
                "index_due",
                format!(
                    "the index of `{name}` does not cover {}",
                    count(state.tail, "vector")
                ),
                advice,
            );
        }
    }
    let drift = status.state.drift_files;
    if drift > 0 {
        section.line("set aside", count(drift as u64, "index file"));
    }
    let collections: Vec<Value> = status
        .collections
        .iter()
        .map(|of| {
            json!({
                "name": of.info.name,
                "covered": of.index.covered,
                "newest": of.index.seq,
                "vectors": of.index.vectors,
                "tail": of.index.tail,
                "tombstones": of.index.tombstones,
                "due": of.index.due,
                "held_back": of.index.held_back,
            })
        })
        .collect();
    let json = json!({
        "collections": collections,
        "files": status.state.indexes,
        "drift_files": drift,
    });
    (json, section)
}

/// The embedder of each collection and whether it is available, and the installed models.
pub(super) fn models(
    palace: Option<&Palace>,
    status: Option<&status::Answer>,
    findings: &mut Findings,
) -> (Value, Section) {
    let mut section = Section::new("models");
    let mut collections = Vec::new();
    if let (Some(palace), Some(status)) = (palace, status) {
        for of in &status.collections {
            collections.push(of_collection(palace, &of.info.name, &mut section, findings));
        }
    }
    section.line(STATIC_NAME, "part of the program");
    let mut json = json!({"collections": collections, "builtin": [STATIC_NAME], "stored": []});
    let Some(palace) = palace else {
        return (json, section);
    };
    let stored = match palace.models().list() {
        Ok(stored) => stored,
        Err(error) => {
            findings.failed("models_unreadable", error, "make the directory readable");
            Vec::new()
        }
    };
    for model in &stored {
        of_model(model, &mut section, findings);
    }
    if stored.iter().all(|model| model.name != MINILM_NAME) {
        section.line(MINILM_NAME, "not installed");
    }
    if let Value::Object(json) = &mut json {
        json.insert("stored".into(), json!(stored));
        json.insert(
            "directory".into(),
            json!(path_text(palace.models().directory())),
        );
    }
    (json, section)
}

fn of_collection(
    palace: &Palace,
    name: &str,
    section: &mut Section,
    findings: &mut Findings,
) -> Value {
    let pinned = palace.collection_info(name).map(|info| info.embedder);
    let label = format!("of {name}");
    match pinned {
        Err(error) => {
            findings.failed(
                "collection_unreadable",
                error,
                "`loci verify` shows the details",
            );
            json!({"collection": name, "embedder": null, "here": null})
        }
        Ok(None) => {
            section.line(label, "none, or vectors without a named embedder");
            json!({"collection": name, "embedder": null, "here": null})
        }
        Ok(Some(pinned)) => {
            let presence = palace.presence(&pinned);
            section.line(label, format!("{pinned}: {}", words_of(&presence)));
            of_presence(name, &pinned, &presence, findings);
            let why = match &presence {
                Presence::Missing { why, .. } => Some(why.clone()),
                Presence::Here | Presence::Earlier | Presence::Configured => None,
            };
            json!({
                "collection": name,
                "embedder": pinned.name,
                "dimension": pinned.dimension,
                "digest": pinned.digest,
                "here": why.is_none(),
                "why": why,
            })
        }
    }
}

fn words_of(presence: &Presence) -> &str {
    match presence {
        Presence::Here => "here",
        Presence::Earlier => "earlier built-in table, can still be used",
        Presence::Configured => "configured",
        Presence::Missing { why, .. } => why,
    }
}

fn of_presence(
    collection: &str,
    pinned: &EmbedderIdentity,
    presence: &Presence,
    findings: &mut Findings,
) {
    let (why, stand_in) = match presence {
        Presence::Here | Presence::Configured => return,
        Presence::Earlier => {
            let note = Warning::EarlierTable {
                collection: collection.to_owned(),
            };
            let advice = note.advice().and_then(|advice| hint::words(&advice));
            let advice = findings.to_write(advice.unwrap_or_default());
            findings.note(note.code(), note.message(), advice);
            return;
        }
        Presence::Missing { why, stand_in } => (why, stand_in),
    };
    let then = if *stand_in {
        "the built-in table is used instead"
    } else {
        "it is searched by words only"
    };
    let reembed = "`loci reembed --model static`";
    let advice = match pinned.name.as_str() {
        MINILM_NAME => "`loci model pull minilm` or `loci model add PATH`",
        name if name.starts_with("openai:") => {
            "set `url` and `model` under `[openai]` in config.toml"
        }
        _ => "",
    };
    let advice = if advice.is_empty() {
        findings.to_write(format!("{reembed} recomputes its vectors"))
    } else if findings.read_only() {
        advice.to_owned()
    } else {
        format!("{advice}; or {reembed}")
    };
    findings.warn(
        "model_missing",
        format!(
            "{} made the vectors of `{collection}`: {why}; {then}",
            pinned.name
        ),
        advice,
    );
}

fn of_model(model: &StoredModel, section: &mut Section, findings: &mut Findings) {
    let Some(damage) = &model.damage else {
        let words = format!(
            "{}-d, {}, added {}",
            model.dimension,
            size(model.bytes),
            model.added_at
        );
        section.line(&model.name, words);
        return;
    };
    section.line(&model.name, format!("damaged: {damage}"));
    findings.warn(
        "model_damaged",
        format!("the model `{}` is damaged: {damage}", model.name),
        format!(
            "add it again: `loci model add PATH` or `loci model pull {}`",
            model.name
        ),
    );
}
