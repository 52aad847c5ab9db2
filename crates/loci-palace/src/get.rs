//! The verb `get`: returns drawers by id.

use std::collections::HashMap;

use loci_core::{
    Collection, Get, GetResult, Include, MetaValue, Metadata, Result, Selection, Warning,
    validate_id,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::{DrawerLocation, Flag, Moment, flags_of};
use crate::palace::Palace;

/// The request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Ids of the drawers. Duplicates count once.
    pub ids: Vec<String>,
    /// Only in this collection; `None` means all.
    pub collection: Option<String>,
    /// Whether the answer contains the vectors.
    pub vectors: bool,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The drawers, in the order of the request.
    pub drawers: Vec<Drawer>,
    /// Ids that no drawer has, in the order of the request.
    pub missing: Vec<String>,
    /// Warnings about data that is missing from the answer.
    pub warnings: Vec<Warning>,
}

/// A drawer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Drawer {
    /// Its id.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// Its wing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// Its room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The file or conversation that it was mined from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its first line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<MetaValue>,
    /// Its last line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<MetaValue>,
    /// Its text, or the beginning of its text if `cut`.
    pub text: String,
    /// Flags of its text.
    pub flags: Vec<Flag>,
    /// Whether the text is cut; only in a brief list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<bool>,
    /// The day on which it was written, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Its metadata; not in a brief list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Its vector, if requested; empty if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
}

impl Palace {
    /// Returns drawers by id, from one collection or from all of them.
    pub fn get(&self, request: &Request) -> Result<Answer> {
        request.ids.iter().try_for_each(|id| validate_id(id))?;
        let mut positions = HashMap::new();
        for id in &request.ids {
            let next = positions.len();
            positions.entry(id.as_str()).or_insert(next);
        }
        let mut answer = Answer::default();
        for collection in self.scope(request.collection.as_deref())? {
            let found = collection.get(&Get {
                include: Include {
                    embeddings: request.vectors,
                    ..Include::GET
                },
                ..Get::new(Selection::ids(positions.keys().copied()))
            })?;
            let drawers = drawers_of(collection.as_ref(), found, &mut answer.warnings);
            answer.drawers.extend(drawers);
        }
        let position = |id: &str| positions.get(id).copied();
        answer.drawers.sort_by_key(|drawer| position(&drawer.id));
        answer.missing = positions
            .keys()
            .filter(|id| !answer.drawers.iter().any(|drawer| drawer.id == **id))
            .map(|id| (*id).to_owned())
            .collect();
        answer.missing.sort_by_key(|id| position(id));
        Ok(answer)
    }
}

/// The rows of a collection as drawers.
pub(crate) fn drawers_of(
    collection: &dyn Collection,
    found: GetResult,
    warnings: &mut Vec<Warning>,
) -> Vec<Drawer> {
    warnings.extend(found.warnings);
    let mut vectors = found.embeddings.map(Vec::into_iter);
    found
        .ids
        .into_iter()
        .zip(found.documents)
        .zip(found.metadatas)
        .map(|((id, text), metadata)| {
            let place = DrawerLocation::of(&metadata);
            Drawer {
                id,
                collection: collection.name().to_owned(),
                wing: place.wing,
                room: place.room,
                source: place.source,
                start_line: place.start_line,
                end_line: place.end_line,
                flags: flags_of(&text),
                text,
                cut: None,
                date: metadata.authored_at().map(|moment| Moment(moment).day()),
                metadata: Some(metadata),
                embedding: vectors.as_mut().and_then(Iterator::next),
            }
        })
        .collect()
}
