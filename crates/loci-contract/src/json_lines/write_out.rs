//! Writes palaces of JSON lines, in the role of the program that created them. The backend never
//! writes.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test code reports by panicking"
)]

use std::path::Path;

use super::{CATALOGUE, Catalogue, Line, Listed};
use crate::memory::{Written, WrittenCollection, WrittenDrawer};

/// Writes a palace into an existing directory.
pub fn write_out(palace: &Written, directory: &Path) {
    let catalogue = Catalogue {
        collections: palace.collections.iter().map(listed).collect(),
    };
    let text = serde_json::to_string(&catalogue).expect("a catalogue is JSON");
    std::fs::write(directory.join(CATALOGUE), text).expect("the catalogue is written");
    for collection in &palace.collections {
        let lines = collection.drawers.iter().map(|drawer| {
            let line = serde_json::to_string(&line(drawer)).expect("a drawer is JSON");
            line + "\n"
        });
        let path = directory.join(format!("{}.jsonl", collection.number));
        std::fs::write(path, lines.collect::<String>()).expect("the drawers are written");
    }
}

fn listed(collection: &WrittenCollection) -> Listed {
    Listed {
        name: collection.name.clone(),
        number: collection.number,
        metric: collection.metric.as_str().to_owned(),
        dimension: collection.dimension,
        embedder: collection.embedder.clone(),
    }
}

fn line(drawer: &WrittenDrawer) -> Line {
    Line {
        record: drawer.record,
        id: drawer.id.clone(),
        text: drawer.document.clone(),
        metadata: serde_json::to_value(&drawer.metadata).ok(),
        vector: drawer.embedding.clone(),
        created_at: drawer.created_at,
        updated_at: drawer.updated_at,
        seq: drawer.seq,
    }
}
