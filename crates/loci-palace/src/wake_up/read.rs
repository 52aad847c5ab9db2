//! Reads the drawers of a wake-up: a bounded number, whatever the size of the palace.

use std::collections::HashSet;

use loci_core::{
    Collection, Filter, Include, KeyTest, MetaValue, Metadata, Ordering, Result, Selection, Warning,
};

use super::record_words::RECORD_FOLDERS;
use crate::palace::Palace;
use crate::pin::{is_pinned, pinned_filter};

/// Number of newest drawers of a collection that are read.
const NEWEST: usize = 150;
/// Number of pinned and important drawers that are read besides.
const MARKED: usize = 50;
/// Number of drawers in the usual places of decisions and minutes that are read besides.
const RECORDS: usize = 60;
/// Number of conversations that are read, and of drawers of one and of all of them.
const SESSIONS: usize = 20;
const OF_ONE_SESSION: usize = 12;
const OF_ALL_SESSIONS: usize = 120;
/// Maximum number of collections that are read.
const COLLECTIONS: usize = 8;
/// The importance of a drawer that names none; MemPalace's scale goes from 1 to 5.
const ORDINARY: f64 = 3.0;
/// Metadata keys under which programs store importance.
const WEIGHTS: [&str; 3] = ["importance", "emotional_weight", "weight"];

/// A drawer that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) metadata: Metadata,
    /// When it was written, in milliseconds since 1970; when it was added, if that is unknown.
    pub(super) moment: Option<i64>,
    pub(super) mark: Mark,
}

/// Whether a drawer is marked. The order is that of the sections.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Mark {
    None,
    /// Somebody gave it more than the usual importance.
    Important(f64),
    Pinned,
}

impl Read {
    /// The file or conversation that it was mined from, or an empty text.
    pub(super) fn source(&self) -> &str {
        self.metadata.get_str("source_file").unwrap_or_default()
    }
}

impl Palace {
    /// The newest drawers of a wing, the marked ones, those of the last conversations, and those in
    /// the usual places of decisions.
    pub(super) fn read_for_wake_up(
        &self,
        wing: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Read>> {
        let mut drawers = Vec::new();
        let collections = self.collections()?;
        // Closets are MemPalace's index of its drawers, not memory.
        let names = collections
            .iter()
            .map(|info| info.name.as_str())
            .filter(|name| !name.ends_with("closets"));
        for name in names.take(COLLECTIONS) {
            let collection = self.collection(name, false)?;
            drawers.extend(Reader::new(collection.as_ref(), wing, warnings).read()?);
        }
        Ok(drawers)
    }
}

struct Reader<'a> {
    collection: &'a dyn Collection,
    wing: Option<&'a str>,
    warnings: &'a mut Vec<Warning>,
    drawers: Vec<Read>,
    known: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn new(
        collection: &'a dyn Collection,
        wing: Option<&'a str>,
        warnings: &'a mut Vec<Warning>,
    ) -> Self {
        Self {
            collection,
            wing,
            warnings,
            drawers: Vec::new(),
            known: HashSet::new(),
        }
    }

    fn read(mut self) -> Result<Vec<Read>> {
        let all = self.of_wing(None);
        self.take(NEWEST, all)?;
        let marked = self.of_wing(Some(marks()));
        self.take(MARKED, marked)?;
        self.read_sessions()?;
        if let Some(places) = self.record_places()? {
            let records = self.of_wing(Some(places));
            self.take(RECORDS, records)?;
        }
        self.add_dates()?;
        Ok(self.drawers)
    }

    /// The drawers of the wing that a filter selects.
    fn of_wing(&self, filter: Option<Filter>) -> Option<Filter> {
        let wing = self.wing.map(|wing| Filter::eq("wing", wing));
        match (wing, filter) {
            // A condition on one key lets a backend read every drawer that satisfies it. Two sets of
            // drawers are compared without reading them.
            (Some(wing), Some(filter)) => Some(Filter::And(vec![
                Filter::Or(vec![wing]),
                Filter::Or(vec![filter]),
            ])),
            (wing, filter) => wing.or(filter),
        }
    }

    /// Reads the newest drawers that a filter selects. Returns the sources of all of them.
    fn take(&mut self, limit: usize, filter: Option<Filter>) -> Result<Vec<String>> {
        let selection = Selection {
            filter,
            ..Selection::default()
        };
        let found = self
            .collection
            .get_recent(limit, &selection, Include::GET)?;
        self.warnings.extend(found.warnings);
        let mut sources = Vec::new();
        let rows = found.ids.into_iter().zip(found.documents);
        for ((id, text), metadata) in rows.zip(found.metadatas) {
            sources.extend(metadata.get_str("source_file").map(str::to_owned));
            if self.known.insert(id.clone()) {
                self.drawers.push(Read {
                    moment: metadata
                        .authored_at()
                        .or_else(|| metadata.moment("filed_at")),
                    mark: mark_of(&metadata),
                    id,
                    text,
                    metadata,
                });
            }
        }
        Ok(sources)
    }

    /// Reads the last exchanges of the last conversations, found by their first exchange.
    fn read_sessions(&mut self) -> Result<()> {
        let first = self.of_wing(Some(Filter::eq("exchange", MetaValue::Int(1))));
        let mut sources = Vec::new();
        for source in self.take(SESSIONS, first)? {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let most = self.drawers.len() + OF_ALL_SESSIONS;
        for source in sources {
            if self.drawers.len() >= most {
                break;
            }
            self.take(
                OF_ONE_SESSION,
                Some(Filter::eq("source_file", source.as_str())),
            )?;
        }
        Ok(())
    }

    /// Selects files in the usual places of decisions and minutes below the folders of the wing's
    /// project.
    fn record_places(&self) -> Result<Option<Filter>> {
        let Some(projects) = self.collection.projects() else {
            return Ok(None);
        };
        let of_wing = |wing: &str| self.wing.is_none_or(|here| here == wing);
        let mut places = Vec::new();
        for project in projects.projects()? {
            if of_wing(&project.wing) && places.len() < 2 * RECORD_FOLDERS.len() {
                let top = project.path.trim_end_matches('/');
                places.extend(RECORD_FOLDERS.iter().map(|folder| Filter::Key {
                    key: "source_file".to_owned(),
                    test: KeyTest::StartsWith(format!("{top}/{folder}")),
                }));
            }
        }
        Ok((!places.is_empty()).then_some(Filter::Or(places)))
    }

    /// Drawers without a date get that of their adding.
    fn add_dates(&mut self) -> Result<()> {
        let undated: Vec<usize> = (0..self.drawers.len())
            .filter(|at| {
                self.drawers
                    .get(*at)
                    .is_some_and(|drawer| drawer.moment.is_none() && drawer.source().is_empty())
            })
            .collect();
        let id = |at: &usize| self.drawers.get(*at).map(|drawer| drawer.id.clone());
        let ids: Vec<String> = undated.iter().filter_map(id).collect();
        let histories = self.collection.histories(&ids)?;
        for (at, history) in undated.into_iter().zip(histories) {
            if let Some(drawer) = self.drawers.get_mut(at) {
                drawer.moment = history.created_at;
            }
        }
        Ok(())
    }
}

/// Selects the pinned and the important drawers.
fn marks() -> Filter {
    let heavier = WEIGHTS.iter().map(|key| Filter::Key {
        key: (*key).to_owned(),
        test: KeyTest::Order(Ordering::Greater, MetaValue::Float(ORDINARY)),
    });
    Filter::Or(heavier.chain([pinned_filter()]).collect())
}

/// The mark of a drawer. The keys of a mined file may come from its front matter, where `weight` has
/// another meaning, so only its pin counts.
fn mark_of(metadata: &Metadata) -> Mark {
    if is_pinned(metadata) {
        return Mark::Pinned;
    }
    if metadata.get("start_line").is_some() {
        return Mark::None;
    }
    let number = |key: &&str| match metadata.get(key) {
        Some(MetaValue::Int(number)) => Some(*number as f64),
        Some(MetaValue::Float(number)) if number.is_finite() => Some(*number),
        Some(MetaValue::Str(text)) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    };
    match WEIGHTS.iter().find_map(number) {
        Some(weight) if weight > ORDINARY => Mark::Important(weight),
        _ => Mark::None,
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Batch, MetadataPatch};
    use serde_json::json;

    use super::*;
    use crate::palace::OpenOptions;

    #[test]
    fn a_large_wing_is_read_in_a_bounded_number_of_drawers() {
        let directory = tempfile::tempdir().unwrap();
        let palace = Palace::open(directory.path().join("palace"), &OpenOptions::create()).unwrap();
        let drawers = palace.collection("drawers", true).unwrap();
        for part in 0..10 {
            let numbers: Vec<usize> = (part * 300..(part + 1) * 300).collect();
            let metadata = numbers.iter().map(|number| {
                let json = match number % 3 {
                    0 => json!({"wing": "w", "source_file": format!("/w/{number}.md"), "start_line": 1}),
                    1 => json!({
                        "wing": "w", "source_file": format!("/talks/{}.jsonl", number / 60),
                        "exchange": 1 + number % 60 / 3, "part": 1, "start_line": number,
                    }),
                    _ => json!({"wing": "w", "pinned": true}),
                };
                MetadataPatch::from_json(&json).unwrap()
            });
            let texts = numbers.iter().map(|number| format!("text {number}"));
            let ids = numbers.iter().map(ToString::to_string);
            let batch = Batch::new(ids).documents(texts).metadatas(metadata);
            drawers.add(&batch).unwrap();
        }
        let most = NEWEST + MARKED + SESSIONS + OF_ALL_SESSIONS + OF_ONE_SESSION + RECORDS;
        let read = palace.read_for_wake_up(Some("w"), &mut Vec::new()).unwrap();
        assert!(read.len() > NEWEST, "{}", read.len());
        assert!(read.len() <= most, "{} of at most {most}", read.len());
    }
}
