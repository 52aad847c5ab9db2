//! Proves that the palace holds what was read: a hash per record, and their sum, on both sides.
//!
//! The sum does not depend on the order. Only the id and hash of each record are kept, so a large
//! palace needs little memory.

use loci_core::{Collection, Get, Include, Metadata, Result, Selection};
use loci_foreign::ForeignRecord;
use xxhash_rust::xxh3::Xxh3;

use super::duplicates::original_metadata;
use super::report::{ImportedCollection, count};

/// How many drawers are read back at a time.
const PAGE: usize = 500;
/// How many differing ids are listed.
const NAMED: usize = 20;

/// The hash of one record. A missing text counts as an empty one, as in the answers of a
/// collection.
pub(super) fn hash(
    id: &str,
    text: Option<&str>,
    metadata: &Metadata,
    vector: Option<&[f32]>,
) -> u128 {
    let mut hasher = Xxh3::new();
    let mut put = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    put(id.as_bytes());
    put(text.unwrap_or_default().as_bytes());
    put(original_metadata(id, metadata).to_json_text().as_bytes());
    let bytes: Vec<u8> = vector
        .unwrap_or_default()
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    put(&bytes);
    hasher.digest128()
}

/// The hash of a source record.
pub(super) fn hash_of(record: &ForeignRecord) -> u128 {
    hash(
        &record.id,
        record.document.as_deref(),
        &record.metadata,
        record.vector.as_deref(),
    )
}

/// The expected contents of one collection.
#[derive(Default)]
pub(super) struct Proof {
    expected: Vec<Expected>,
    sum: u128,
}

struct Expected {
    id: Box<str>,
    hash: u128,
    /// Whether the hash includes the vector. It does not if the vector was made here.
    with_vector: bool,
    /// Whether this run wrote it.
    written: bool,
}

impl Proof {
    /// Notes the expected contents under the id of a record.
    pub(super) fn expect(&mut self, record: &ForeignRecord, written: bool) {
        let hash = hash_of(record);
        self.sum = self.sum.wrapping_add(hash);
        self.expected.push(Expected {
            id: record.id.as_str().into(),
            hash,
            with_vector: record.vector.is_some(),
            written,
        });
    }

    pub(super) fn source_digest(&self) -> String {
        format!("{:032x}", self.sum)
    }

    /// Reads everything back and compares. If there is nothing to compare, nothing is proved, and
    /// the report says neither yes nor no.
    pub(super) fn compare(
        mut self,
        collection: &dyn Collection,
        report: &mut ImportedCollection,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        if self.expected.is_empty() {
            return Ok(());
        }
        // Sorted by id, so that a page is found by binary search and records with the same id are
        // adjacent.
        self.expected.sort_by(|a, b| a.id.cmp(&b.id));
        let total = self.expected.len() as u64;
        let (mut sum, mut done) = (0_u128, 0_u64);
        for page in self.expected.chunks(PAGE) {
            let found = hashes(collection, page)?;
            for expected in page {
                let held = found
                    .binary_search_by(|(id, _)| id.as_str().cmp(&expected.id))
                    .ok()
                    .and_then(|at| found.get(at));
                let held = held.map(|(_, (with, without))| {
                    if expected.with_vector {
                        *with
                    } else {
                        *without
                    }
                });
                sum = sum.wrapping_add(held.unwrap_or_default());
                if held != Some(expected.hash) {
                    let ids = &mut report.differing_ids;
                    count(&mut report.differing, ids, NAMED, &expected.id);
                    report.broken += u64::from(expected.written);
                }
            }
            done += page.len() as u64;
            progress(done, total);
        }
        report.digest_palace = Some(format!("{sum:032x}"));
        report.verified = Some(report.differing == 0 && sum == self.sum);
        Ok(())
    }
}

/// The hashes of the drawers with these ids, with and without the vector, by id.
fn hashes(collection: &dyn Collection, page: &[Expected]) -> Result<Vec<(String, (u128, u128))>> {
    let mut ids: Vec<String> = page
        .iter()
        .map(|expected| expected.id.to_string())
        .collect();
    ids.dedup();
    let found = collection.get(&Get {
        include: Include {
            distances: false,
            ..Include::ALL
        },
        ..Get::new(Selection::ids(ids))
    })?;
    let vectors = found.embeddings.unwrap_or_default();
    let mut hashes: Vec<(String, (u128, u128))> = found
        .ids
        .into_iter()
        .zip(&found.documents)
        .zip(&found.metadatas)
        .zip(&vectors)
        .map(|(((id, text), metadata), vector)| {
            let with = hash(&id, Some(text), metadata, Some(vector));
            let without = hash(&id, Some(text), metadata, None);
            (id, (with, without))
        })
        .collect();
    hashes.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(hashes)
}
