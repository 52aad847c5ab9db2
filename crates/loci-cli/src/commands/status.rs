//! `loci status`: what the palace holds, and how far what is derived is behind.

use std::fmt::Write as _;

use loci_palace::{Advice, CollectionStatus, Status, Warning};
use serde_json::{Value, json};

use crate::failure::Result;
use crate::hint;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let status = palace.status()?;
    let path = palace.place().to_string();
    let collections: Vec<Value> = status.collections.iter().map(of_collection).collect();
    let state = &status.state;
    let answer = json!({
        "drawers": status.drawers,
        "collections": collections,
        "palace": path,
        "backend": palace.backend_name(),
        "format": state.format,
        "bytes": state.bytes,
        "seq": state.seq,
        "purge_pending": state.purge_pending,
        "facts": state.facts,
        "links": state.links,
        "damaged_drawers": state.damaged_drawers,
        "damaged_relations": state.damaged_relations,
        "removed_duplicates": state.removed_duplicates,
        "drift_files": state.drift_files,
        "read_only": state.read_only.as_ref().map(Warning::message),
        "set_aside": state.set_aside,
        "indexes": state.indexes,
    });
    Reply::new(&answer, shown(&path, palace.backend_name(), &status))
}

fn of_collection(collection: &CollectionStatus) -> Value {
    let (info, index) = (&collection.info, &collection.index);
    json!({
        "name": info.name,
        "drawers": info.count,
        "vectors": info.vectors,
        "dimension": info.dimension,
        "metric": info.metric.as_str(),
        "embedder": info.embedder.as_ref().map(|pinned| &pinned.name),
        "index": {
            "covered": index.covered,
            "tail": index.tail,
            "due": index.due,
            "held_back": index.held_back,
        },
    })
}

fn shown(path: &str, backend: &str, status: &Status) -> String {
    let state = &status.state;
    let mut text = format!(
        "palace       {path}\nbackend      {backend}, format {}\ndrawers      {}\nsize         {} bytes\n",
        state.format, status.drawers, state.bytes
    );
    for CollectionStatus { info, index } in &status.collections {
        let _ = write!(
            text,
            "collection   {}: {} drawers, {} with a vector",
            info.name, info.count, info.vectors
        );
        if let Some(dimension) = info.dimension {
            let _ = write!(text, " of {dimension} numbers");
        }
        let _ = write!(text, ", {}", info.metric.as_str());
        if let Some(embedder) = &info.embedder {
            let _ = write!(text, ", embedder {}", embedder.name);
        }
        let _ = match (index.covered, index.tail) {
            (None, _) => writeln!(text, "; no index, searched exactly"),
            (Some(_), 0) => writeln!(text, "; indexed"),
            (Some(_), tail) => writeln!(text, "; indexed, the newest {tail} searched exactly"),
        };
        if let Some(reason) = &index.held_back {
            let _ = writeln!(text, "             the index is not rebuilt: {reason}");
            if let Some(hint) = hint::words(&Advice::RebuildIndex) {
                let _ = writeln!(text, "             hint: {hint}");
            }
        }
    }
    if state.facts + state.links > 0 {
        let _ = writeln!(
            text,
            "relations    {} facts, {} links",
            state.facts, state.links
        );
    }
    let counts = [
        (
            state.damaged_drawers,
            "damaged drawers set aside by a repair",
        ),
        (
            state.damaged_relations,
            "damaged facts and links set aside by a repair",
        ),
        (state.removed_duplicates, "duplicates set aside"),
        (state.drift_files as u64, "index files set aside"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "kept         {count} {what}");
    }
    for file in &state.set_aside {
        let _ = writeln!(text, "set aside    {file}");
    }
    if state.purge_pending {
        let _ = writeln!(
            text,
            "pending      forgotten text may still be in the files; the next process removes it"
        );
    }
    text
}
