//! Findings about `header.bin`.

use loci_core::finding::{Finding, Severity};

use super::{CANNOT_APPLY, CRASHES, Facts, REFUSES};
use crate::chroma::hnsw::FILES;
use crate::chroma::hnsw::header::{HEADER_BYTES, Header};
use crate::chroma::hnsw::layout::Layout;

/// Every index may have this capacity. ChromaDB up to 0.6 began with a thousand.
const FEW: u64 = 1000;

impl Facts<'_> {
    pub(super) fn header_file(&self, found: &mut Vec<Finding>) {
        let finding = match self.header_bytes {
            None => Finding::new("header_missing", Severity::Error, "the header is missing")
                .then(REFUSES),
            Some(bytes) if bytes < HEADER_BYTES as u64 => Finding::new(
                "header_size",
                Severity::Error,
                format!("the header has {bytes} bytes instead of {HEADER_BYTES}"),
            )
            .with("bytes", bytes)
            .then(CRASHES),
            Some(bytes) if bytes > HEADER_BYTES as u64 => Finding::new(
                "header_size",
                Severity::Note,
                format!("the header has {bytes} bytes instead of {HEADER_BYTES}"),
            )
            .with("bytes", bytes)
            .then("none; it reads the first 100"),
            Some(_) => return,
        };
        let finding = finding.file(FILES[0]);
        let finding = if self.header.is_none() {
            self.read_as(finding)
        } else {
            finding
        };
        found.push(finding);
    }

    /// Adds how the records are read without the header.
    fn read_as(&self, finding: Finding) -> Finding {
        match self.layout {
            Some(layout) => finding
                .with("read_with_dimension", layout.dimension)
                .with("read_with_m", layout.neighbours),
            None => finding.with("records_read", 0),
        }
    }

    pub(super) fn header_numbers(&self, header: &Header, found: &mut Vec<Finding>) {
        if header.version != 1 {
            found.push(
                Finding::new(
                    "header_version",
                    Severity::Error,
                    format!("the header has version {} instead of 1", header.version),
                )
                .file(FILES[0])
                .with("version", header.version)
                .then(REFUSES),
            );
        }
        match header.layout() {
            None => found.push(self.read_as(layout_finding(
                header,
                "the numbers in the header are inconsistent",
            ))),
            Some(layout) => {
                if !header.is_mult_right() {
                    found.push(layout_finding(
                        header,
                        "the header's level factor is not 1/ln M",
                    ));
                }
                self.header_dimension(layout, found);
            }
        }
        self.header_count(header, found);
    }

    fn header_dimension(&self, layout: Layout, found: &mut Vec<Finding>) {
        let Some(expected) = self
            .dimension
            .filter(|expected| *expected != layout.dimension)
        else {
            return;
        };
        let finding = Finding::new(
            "header_dimension",
            Severity::Error,
            format!(
                "the segment says dimension {}, the collection {expected}",
                layout.dimension
            ),
        )
        .file(FILES[0])
        .with("segment", layout.dimension)
        .with("collection", expected)
        .then("queries and writes of the right dimension are refused; `get` returns vectors of the wrong length");
        found.push(self.read_as(finding));
    }

    fn header_count(&self, header: &Header, found: &mut Vec<Finding>) {
        let elements = self.scan.elements.len() as u64;
        let (message, consequence) = if header.count > header.max_elements {
            ("the header counts more elements than its capacity", REFUSES)
        } else if header.max_elements > header.count.max(elements).max(FEW).saturating_mul(64) {
            (
                "the header claims a capacity far above the number of elements",
                REFUSES,
            )
        } else if !header.is_count_possible() {
            (
                "the header counts no elements but has an entry point",
                CANNOT_APPLY,
            )
        } else if self.is_data_short(header) && self.is_length_short(header) {
            (
                "the header counts more elements than either file holds",
                CANNOT_APPLY,
            )
        } else if self.sound
            && header.count > 0
            && u64::from(self.scan.furthest) >= header.count
            && u64::from(self.scan.furthest) < elements
            && self.has_trailing_links()
        {
            (
                "the header counts fewer elements than the links name",
                CRASHES,
            )
        } else {
            return;
        };
        found.push(
            Finding::new("header_count", Severity::Error, message)
                .file(FILES[0])
                .with("count", header.count)
                .with("max_elements", header.max_elements)
                .with("records_in_file", elements)
                .then(consequence),
        );
    }

    pub(super) fn entry_point(&self, header: &Header, found: &mut Vec<Finding>) {
        let entry = header.entry_point;
        let level = self
            .links
            .and_then(|links| links.levels.get(entry as usize))
            .map(|level| i32::from(*level));
        let (severity, message, consequence) = if u64::from(entry) >= header.count {
            (Severity::Error, "the entry point does not exist", CRASHES)
        } else if header.max_level < 0 {
            let consequence = "queries miss most elements, silently";
            (
                Severity::Warning,
                "the highest level is negative",
                consequence,
            )
        } else if level.is_some_and(|level| level < header.max_level) {
            (
                Severity::Error,
                "the entry point is not at the highest level",
                CRASHES,
            )
        } else {
            return;
        };
        found.push(
            Finding::new("entry_point", severity, message)
                .file(FILES[0])
                .with("entry_point", entry)
                .with("entry_level", level)
                .with("max_level", header.max_level)
                .with("count", header.count)
                .then(consequence),
        );
    }
}

fn layout_finding(header: &Header, message: &str) -> Finding {
    Finding::new("header_layout", Severity::Error, message)
        .file(FILES[0])
        .with("offset_level0", header.offset_level0)
        .with("element_bytes", header.element_bytes)
        .with("label_offset", header.label_offset)
        .with("data_offset", header.data_offset)
        .with("max_neighbours", header.max_neighbours)
        .with("max_neighbours_0", header.max_neighbours_0)
        .with("m", header.m)
        .with("mult", header.mult)
        .then("depending on the number, every call fails, or the process dies with a segmentation fault")
}
