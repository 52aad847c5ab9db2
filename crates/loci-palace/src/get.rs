//! The verb `get`: returns drawers by id.

use std::collections::{HashMap, HashSet};

use loci_core::{
    Collection, Get, GetResult, Include, MetaValue, Metadata, Result, Selection, Warning,
    validate_id,
};
use loci_recall::count_tokens;
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::{DrawerLocation, Flag, Moment, flags_of};
use crate::palace::Palace;
use crate::title::Titles;

/// Ids that are read at once if there is a budget.
const SLICE: usize = 50;
/// A text with more bytes per token than this counts by its bytes.
const TOKEN_BYTES: usize = 8;

/// The request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Ids of the drawers. Duplicates count once.
    pub ids: Vec<String>,
    /// Only in this collection; `None` means all.
    pub collection: Option<String>,
    /// Whether the answer contains the vectors.
    pub vectors: bool,
    /// Maximum number of tokens in all texts and their metadata. A first drawer that is too long is
    /// cut; others that do not fit are left out. `None` means no limit.
    pub budget: Option<usize>,
    /// Number of characters at the beginning of each text that are left out.
    pub offset: usize,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The drawers, in the order of the request.
    pub drawers: Vec<Drawer>,
    /// Ids that no drawer has, in the order of the request.
    pub missing: Vec<String>,
    /// Ids that were not read, because the budget was used up, in the order of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
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
    /// The title of the conversation that it belongs to: its name, or its first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text, or the beginning of its text if `cut`.
    pub text: String,
    /// Flags of its text.
    pub flags: Vec<Flag>,
    /// Whether the text is cut; only in a brief list and in an answer with a budget.
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
        let Some(budget) = request.budget else {
            let mut answer = self.read_drawers(request, &request.ids)?;
            for drawer in &mut answer.drawers {
                skip(&mut drawer.text, request.offset);
            }
            return Ok(answer);
        };
        let mut seen = HashSet::new();
        let mut ids = request.ids.clone();
        ids.retain(|id| seen.insert(id.clone()));
        let mut answer = Answer::default();
        let mut fitting = Fitting {
            budget,
            used: 0,
            offset: request.offset,
        };
        // Texts that do not fit are not read, apart from those of the same slice.
        for slice in ids.chunks(SLICE) {
            if !answer.left_out.is_empty() {
                answer.left_out.extend_from_slice(slice);
                continue;
            }
            let mut found = self.read_drawers(request, slice)?;
            answer.missing.append(&mut found.missing);
            answer.warnings.append(&mut found.warnings);
            for drawer in found.drawers {
                fitting.take(drawer, &mut answer);
            }
        }
        if !answer.left_out.is_empty() {
            answer.warnings.push(Warning::DrawersLeftOut {
                budget,
                drawers: answer.left_out.clone(),
            });
        }
        Ok(answer)
    }

    fn read_drawers(&self, request: &Request, ids: &[String]) -> Result<Answer> {
        let mut positions = HashMap::new();
        for id in ids {
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

/// Fits drawers into a number of tokens.
struct Fitting {
    budget: usize,
    used: usize,
    offset: usize,
}

impl Fitting {
    /// Adds a drawer to the answer if it fits. The first drawer is cut if it does not fit; any other
    /// one is left out, and so are those that follow it.
    fn take(&mut self, mut drawer: Drawer, answer: &mut Answer) {
        if !answer.left_out.is_empty() {
            // A drawer of another collection may have the same id.
            if answer.left_out.last() != Some(&drawer.id) {
                answer.left_out.push(drawer.id);
            }
            return;
        }
        let characters = drawer.text.chars().count();
        let skipped = self.offset.min(characters);
        skip(&mut drawer.text, self.offset);
        let metadata = drawer.metadata.as_ref();
        let metadata = metadata.map_or_else(String::new, Metadata::to_json_text);
        let left = self.budget.saturating_sub(self.used);
        let left = left.saturating_sub(cost_of(&metadata, left));
        let cost = cost_of(&drawer.text, left);
        if cost > left {
            if !answer.drawers.is_empty() {
                answer.left_out.push(drawer.id);
                return;
            }
            let end = fitting_bytes(&drawer.text, left);
            drawer.text.truncate(end);
            drawer.cut = Some(true);
            answer.warnings.push(Warning::TextCut {
                drawer: drawer.id.clone(),
                read: skipped + drawer.text.chars().count(),
                characters,
            });
        }
        self.used = self.budget - left + cost.min(left);
        answer.drawers.push(drawer);
    }
}

/// The tokens of a text. A long run without space counts as one token, so bytes count too.
fn cost_of(text: &str, limit: usize) -> usize {
    let by_bytes = text.len() / TOKEN_BYTES;
    // The tokens of a text that is too long anyway need not be counted.
    if by_bytes > limit {
        return by_bytes;
    }
    by_bytes.max(count_tokens(text))
}

/// The number of bytes at the beginning of a text that fit a number of tokens; at least one
/// character.
fn fitting_bytes(text: &str, tokens: usize) -> usize {
    let boundary = |at: usize| {
        (0..=at.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
    };
    let fits = |end: usize| cost_of(text.get(..end).unwrap_or(text), tokens) <= tokens;
    let (mut low, mut high) = (0, tokens.saturating_mul(TOKEN_BYTES).min(text.len()));
    while high - low > 16 {
        let middle = low + (high - low) / 2;
        match boundary(middle) {
            Some(end) if fits(end) => low = middle,
            _ => high = middle,
        }
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    boundary(low).unwrap_or_default().max(first)
}

/// Removes characters from the beginning of a text.
fn skip(text: &mut String, characters: usize) {
    if characters > 0 {
        let start = text.char_indices().nth(characters).map(|(at, _)| at);
        text.drain(..start.unwrap_or(text.len()));
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
    let mut titles = Titles::of(collection);
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
                title: titles.title(&metadata),
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
