//! The findings about a segment, one per problem, with the observed behaviour of ChromaDB 1.5.9.

mod header;

use loci_core::Metric;
use loci_core::finding::{Finding, Severity};
use serde_json::Value;

use super::header::Header;
use super::layout::Layout;
use super::links::Links;
use super::scan::{Sample, Scan};
use super::{Element, FILES};

const CRASHES: &str = "the process that opens it dies with a segmentation fault, at the first call of any kind or at the first query";
const REFUSES: &str = "every call fails: the index cannot be loaded";
const CANNOT_APPLY: &str = "every call fails: `Failed to apply logs to the hnsw segment writer`";

const WRONG_LENGTH: &str = "`get` of embeddings returns vectors of the wrong length";

/// The input of the findings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) header: Option<&'a Header>,
    pub(super) header_bytes: Option<u64>,
    pub(super) data_bytes: u64,
    pub(super) length_bytes: Option<u64>,
    pub(super) links_bytes: Option<u64>,
    pub(super) dimension: Option<usize>,
    pub(super) metric: Metric,
    pub(super) layout: Option<Layout>,
    pub(super) sound: bool,
    pub(super) count: usize,
    pub(super) scan: &'a Scan,
    pub(super) links: Option<&'a Links>,
}

/// All findings, those about the header first. Before the first flush the files hold arbitrary
/// memory, so nothing is reported.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    facts.header_file(&mut found);
    if let Some(header) = facts.header {
        facts.header_numbers(header, &mut found);
    }
    let is_fresh = facts.sound && facts.header.is_some_and(|header| header.count == 0);
    if facts.layout.is_some() && !is_fresh {
        if let Some(header) = facts.header.filter(|_| facts.sound) {
            facts.sizes(header, &mut found);
            facts.entry_point(header, &mut found);
        }
        facts.link_lists(&mut found);
        facts.graph(&mut found);
        facts.labels(&mut found);
        facts.vectors(&mut found);
    }
    found
}

impl Facts<'_> {
    fn is_data_short(&self, header: &Header) -> bool {
        let size = self.layout.map_or(0, Layout::record_bytes) as u64;
        header.count.saturating_mul(size) > self.data_bytes
    }

    fn is_length_short(&self, header: &Header) -> bool {
        header.count.saturating_mul(4) > self.length_bytes.unwrap_or(0)
    }

    /// Whether the extra entries are probably those of elements that the count omits.
    fn has_trailing_links(&self) -> bool {
        let links = self.links.zip(self.links_bytes);
        links.is_some_and(|(links, bytes)| links.bytes < bytes)
    }

    /// Compares the lengths of the files with a trusted count.
    fn sizes(&self, header: &Header, found: &mut Vec<Finding>) {
        let count = header.count;
        if self.is_data_short(header) {
            found.push(
                Finding::new(
                    "data_short",
                    Severity::Error,
                    format!(
                        "the file ends after {} of {count} records",
                        self.scan.elements.len()
                    ),
                )
                .file(FILES[1])
                .with("bytes", self.data_bytes)
                .with("count", count)
                .with("records_in_file", self.scan.elements.len())
                .then("queries fail with `Error finding id`, `get` of embeddings with `Error getting embedding`"),
            );
        }
        let finding = match self.length_bytes {
            None => {
                Finding::new("length_short", Severity::Error, "the file is missing").then(REFUSES)
            }
            Some(bytes) if self.metric == Metric::Cosine && self.is_length_short(header) => {
                Finding::new(
                    "length_short",
                    Severity::Warning,
                    format!("the file ends after {} of {count} lengths", bytes / 4),
                )
                .with("bytes", bytes)
                .then(WRONG_LENGTH)
            }
            Some(_) => return,
        };
        found.push(finding.file(FILES[2]).with("count", count));
    }

    fn link_lists(&self, found: &mut Vec<Finding>) {
        let (Some(links), Some(bytes)) = (self.links, self.links_bytes) else {
            found.push(
                Finding::new("links_short", Severity::Error, "the file is missing")
                    .file(FILES[3])
                    .then(REFUSES),
            );
            return;
        };
        let count = self
            .header
            .filter(|_| self.sound)
            .map(|header| header.count);
        let entries = links.levels.len() as u64;
        if let Some((element, offset, size)) = links.absurd {
            found.push(
                Finding::new(
                    "links_level",
                    Severity::Error,
                    format!("the entry of element {element} claims an impossible length"),
                )
                .file(FILES[3])
                .with("element", element)
                .with("offset", offset)
                .with("claimed_bytes", size)
                .then(CRASHES),
            );
        } else if let Some(count) = count.filter(|count| *count > entries) {
            found.push(
                Finding::new(
                    "links_short",
                    Severity::Warning,
                    format!("the file ends after {entries} of {count} entries"),
                )
                .file(FILES[3])
                .with("bytes", bytes)
                .with("entries", entries)
                .with("count", count)
                .then("undefined; it continues with whatever is in memory, often without harm"),
            );
        } else if count.is_some() && links.bytes < bytes {
            found.push(
                Finding::new(
                    "links_trailing",
                    Severity::Note,
                    format!("{} bytes follow the last entry", bytes - links.bytes),
                )
                .file(FILES[3])
                .with("bytes", bytes)
                .with("entries_end", links.bytes)
                .then("none; they are not read"),
            );
        }
        self.high_levels(links, found);
    }

    /// Finds elements above the level that the header calls the highest.
    fn high_levels(&self, links: &Links, found: &mut Vec<Finding>) {
        let Some(header) = self
            .header
            .filter(|header| self.sound && header.max_level >= 0)
        else {
            return;
        };
        let mut above = Sample::default();
        for (element, level) in links.levels.iter().enumerate() {
            if i32::from(*level) > header.max_level {
                above.add(element as u64);
            }
        }
        if above.count > 0 {
            let message = format!(
                "{} elements are above the highest level, {}",
                above.count, header.max_level
            );
            let finding = Finding::new("links_level", Severity::Warning, message)
                .file(FILES[3])
                .with("max_level", header.max_level)
                .then("queries start lower than they should and may miss elements");
            found.push(sampled(finding, "elements", &above));
        }
    }

    fn graph(&self, found: &mut Vec<Finding>) {
        let wrong = &self.scan.wrong_neighbours;
        let upper = self.links.map(|links| &links.wrong);
        for (file, wrong) in [(FILES[1], Some(wrong)), (FILES[3], upper)] {
            let Some(wrong) = wrong.filter(|wrong| wrong.count > 0) else {
                continue;
            };
            let message = format!(
                "{} elements have neighbours that do not exist there, or more neighbours than fit",
                wrong.count
            );
            let finding = Finding::new("neighbours_out_of_range", Severity::Error, message)
                .file(file)
                .with("count", self.count)
                .then(CRASHES);
            found.push(sampled(finding, "elements", wrong));
        }
        if self.count > 1 && self.scan.connected == 0 {
            found.push(
                Finding::new(
                    "graph_disconnected",
                    Severity::Warning,
                    format!("none of {} elements has a neighbour", self.count),
                )
                .file(FILES[1])
                .with("count", self.count)
                .then("queries return a handful of elements and miss all others, silently"),
            );
        }
    }

    fn labels(&self, found: &mut Vec<Finding>) {
        let duplicates = duplicate_labels(self.scan.elements.get(..self.count).unwrap_or_default());
        if duplicates.count > 0 {
            let message = format!(
                "{} labels belong to more than one element; two processes wrote at the same time",
                duplicates.count
            );
            let finding = Finding::new("labels_duplicate", Severity::Warning, message)
                .file(FILES[1])
                .then("records are missing from answers, and filters that touch them fail with `Error finding id`");
            found.push(sampled(finding, "labels", &duplicates));
        }
    }

    fn vectors(&self, found: &mut Vec<Finding>) {
        let kinds = [
            (
                "vectors_not_finite",
                FILES[1],
                &self.scan.not_finite,
                "vectors have numbers that are not finite",
                "they are not found, or in the wrong place, silently",
            ),
            (
                "vectors_norm",
                FILES[1],
                &self.scan.norm_off,
                "vectors do not have length 1",
                "their distances are wrong, silently",
            ),
            (
                "length_values",
                FILES[2],
                &self.scan.length_bad,
                "original lengths are not positive numbers, or implausible compared with the others",
                WRONG_LENGTH,
            ),
        ];
        for (code, file, sample, message, consequence) in kinds {
            if sample.count > 0 {
                let message = format!("{} {message}", sample.count);
                let finding = Finding::new(code, Severity::Warning, message)
                    .file(file)
                    .then(consequence);
                found.push(sampled(finding, "elements", sample));
            }
        }
    }
}

/// Labels that more than one live element has.
fn duplicate_labels(elements: &[Element]) -> Sample {
    let mut labels: Vec<u64> = elements
        .iter()
        .filter(|element| !element.deleted)
        .map(|element| element.label)
        .collect();
    labels.sort_unstable();
    let mut duplicates = Sample::default();
    for run in labels.chunk_by(|left, right| left == right) {
        if let [label, _, ..] = run {
            duplicates.add(*label);
        }
    }
    duplicates
}

fn sampled(finding: Finding, name: &str, sample: &Sample) -> Finding {
    finding
        .with(
            name,
            sample
                .first
                .iter()
                .copied()
                .map(Value::from)
                .collect::<Vec<_>>(),
        )
        .with(&format!("{name}_count"), sample.count)
}
