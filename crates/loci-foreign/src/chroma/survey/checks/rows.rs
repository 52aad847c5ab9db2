//! Checks for lost rows of `embeddings`, and which records are recovered.

use std::collections::{BTreeMap, HashSet};

use loci_core::finding::{Finding, Severity, counted};

use super::Scene;
use crate::chroma::directory::DATABASE;
use crate::chroma::lost_rows::Evidence;
use crate::chroma::survey::Survey;

impl Scene<'_> {
    pub(super) fn rows(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let restored: Vec<(&str, Evidence)> = survey
            .live
            .iter()
            .filter_map(|live| Some((live.id.as_str(), live.restored?)))
            .collect();
        let candidates = self.candidates();
        let unresolved = self.unresolved().len() as u64;
        if !restored.is_empty() {
            let mut by: BTreeMap<Evidence, u64> = BTreeMap::new();
            for (_, evidence) in &restored {
                *by.entry(*evidence).or_default() += 1;
            }
            let count = |evidence| by.get(&evidence).copied().unwrap_or(0);
            let number = restored.len() as u64;
            let strays = self.stray_ids();
            let stray = restored.iter().filter(|(id, _)| strays.contains(id));
            let stray = stray.count() as u64;
            let subject = if number == 1 { "it is" } else { "they are" };
            let message = if stray == 0 {
                format!(
                    "{} lost the row that joins id and text; {subject} recovered",
                    counted(number, "record has", "records have"),
                )
            } else {
                format!(
                    "{} no row in this collection; {stray} of these rows exist but name a segment that is \
                     not in the catalog; {subject} recovered",
                    counted(number, "record has", "records have"),
                )
            };
            found.push(
                Finding::new("rows_missing", Severity::Error, message)
                .file(DATABASE)
                .list("ids", restored.iter().map(|(id, _)| *id))
                .with("by_index", count(Evidence::Index))
                .with("by_queue", count(Evidence::Queue))
                .with("by_order", count(Evidence::Order))
                .with("candidates", candidates)
                .with("ids_unresolved", unresolved)
                .with("stray_rows", stray)
                .then("`get` and filters do not return them, and queries return ids that `get` does not know")
                .fix(self.repair()),
            );
        }
        if candidates > 0 {
            found.push(
                Finding::new(
                    "rows_uncertain",
                    Severity::Error,
                    format!(
                        "{} whose row is lost, and it is not certain which text belongs to which id",
                        counted(candidates, "record is left", "records are left")
                    ),
                )
                .file(DATABASE)
                .with("candidates", candidates)
                .with("ids_unresolved", unresolved)
                .then(
                    "import and repair write their texts and possible ids to a JSON Lines file",
                )
                .fix(self.import()),
            );
        }
    }

    /// The number of candidates that may belong to this collection. A candidate that may belong to
    /// several is counted with the first.
    pub(super) fn candidates(&self) -> u64 {
        let own = |collection: Option<&String>| match collection {
            Some(name) => *name == self.row.name,
            None => self.collection == 0,
        };
        let candidates = self.lost.candidates.iter();
        candidates
            .filter(|candidate| own(candidate.collection.as_ref()))
            .count() as u64
    }

    /// Ids that this collection lacks and that have a row under a segment which is not in the
    /// catalog.
    pub(super) fn stray_ids(&self) -> HashSet<&str> {
        let strays = self.lost.strays.iter();
        strays
            .filter(|stray| stray.collection == self.collection)
            .map(|stray| stray.id.as_str())
            .collect()
    }

    /// Ids whose row is lost and whose text is not certain.
    fn unresolved(&self) -> &[String] {
        self.lost
            .unresolved
            .get(self.collection)
            .map_or(&[], Vec::as_slice)
    }
}
