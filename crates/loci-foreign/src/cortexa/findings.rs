//! The findings about a CortexaDB directory.

use std::path::Path;

use loci_core::finding::{Finding, Severity};

use super::replay::State;
use crate::database;

/// All findings.
pub(super) fn of(path: &Path, state: &State, dimension: Option<usize>) -> Vec<Finding> {
    let mut findings = Vec::new();
    log(state, &mut findings);
    commands(state, &mut findings);
    checkpoint(state, &mut findings);
    segments(state, &mut findings);
    vectors(state, dimension, &mut findings);
    if path.join("cortexadb.hnsw").exists() {
        findings.push(
            Finding::new(
                "hnsw_present",
                Severity::Note,
                "there is a vector index beside the data; it is not read",
            )
            .file("cortexadb.hnsw")
            .then("CortexaDB loads it as it is: after a crash it lacks new memories and answers with deleted ones"),
        );
    }
    database::fixed_by_import(path, &mut findings);
    findings
}

fn log(state: &State, findings: &mut Vec<Finding>) {
    let Some(log) = &state.log else {
        if state.checkpoint.is_some() {
            findings.push(
                Finding::new(
                    "wal_missing",
                    Severity::Error,
                    "the log is missing; writes and deletes since the checkpoint are known from segments only",
                )
                .file("cortexadb.wal")
                .then("CortexaDB silently opens the state of the checkpoint"),
            );
        }
        return;
    };
    let mut gaps = log.gaps.as_slice();
    if log.tail_cut
        && let Some((tail, before)) = gaps.split_last()
    {
        gaps = before;
        findings.push(
            Finding::new(
                "wal_tail_cut",
                Severity::Warning,
                "the log ends inside a record",
            )
            .file("cortexadb.wal")
            .with("offset", tail.start as u64)
            .with("bytes", tail.len() as u64)
            .then("CortexaDB silently drops the last record"),
        );
    }
    if !gaps.is_empty() || !state.notes.repaired.is_empty() {
        let behind = log
            .frames
            .iter()
            .filter(|frame| gaps.first().is_some_and(|gap| frame.offset > gap.start));
        findings.push(
            Finding::new(
                "wal_damaged",
                Severity::Error,
                "records of the log fail their checksum; the records after them were read",
            )
            .file("cortexadb.wal")
            .list("offsets", gaps.iter().map(|gap| gap.start as u64))
            .with(
                "bytes",
                gaps.iter().map(|gap| gap.len() as u64).sum::<u64>(),
            )
            .list("mended", state.notes.repaired.iter().map(|at| *at as u64))
            .list(
                "deletes_lost",
                state.notes.deletes_lost.iter().map(|at| *at as u64),
            )
            .with("records_behind", behind.count() as u64)
            .then("CortexaDB truncates the log at the first of them and loses everything after it"),
        );
    }
}

fn commands(state: &State, findings: &mut Vec<Finding>) {
    let notes = &state.notes;
    if !notes.poison.is_empty() {
        let offsets = notes.poison.iter().map(|(at, _)| *at as u64);
        let commands = notes.poison.iter().map(|(_, what)| what.clone());
        findings.push(
            Finding::new(
                "poison_pill",
                Severity::Error,
                "the log holds commands that name memories that do not exist",
            )
            .file("cortexadb.wal")
            .list("offsets", offsets)
            .list("commands", commands)
            .then("CortexaDB refuses to open the database"),
        );
    }
    if !notes.stale.is_empty() {
        findings.push(
            Finding::new(
                "stale_after_checkpoint",
                Severity::Error,
                "the log repeats commands that the checkpoint already has; it was not truncated",
            )
            .file("cortexadb.wal")
            .list("offsets", notes.stale.iter().map(|(at, _)| *at as u64))
            .list("ids", notes.stale.iter().map(|(_, id)| *id))
            .then("CortexaDB refuses to open the database"),
        );
    }
    if !notes.reused.is_empty() {
        findings.push(
            Finding::new(
                "id_reuse",
                Severity::Warning,
                "ids of deleted memories were reused",
            )
            .file("cortexadb.wal")
            .list("ids", notes.reused.iter().copied())
            .then("CortexaDB's index may still find the deleted vector under the new memory"),
        );
    }
}

fn checkpoint(state: &State, findings: &mut Vec<Finding>) {
    let Some(checkpoint) = &state.checkpoint else {
        return;
    };
    if let Some(damage) = &checkpoint.damage {
        findings.push(
            Finding::new(
                "checkpoint_damaged",
                Severity::Error,
                format!("the checkpoint is damaged: {damage}"),
            )
            .file("cortexadb.ckpt")
            .with("memories_read", checkpoint.entries.len() as u64)
            .list(
                "offsets",
                checkpoint.gaps.iter().map(|gap| gap.start as u64),
            )
            .then("CortexaDB refuses to open the database"),
        );
    }
    if !state.notes.altered.is_empty() {
        findings.push(
            Finding::new(
                "checkpoint_altered",
                Severity::Error,
                "memories in the checkpoint differ from their checksummed copies; the copies were used",
            )
            .file("cortexadb.ckpt")
            .list("ids", state.notes.altered.iter().copied())
            .then("CortexaDB answers with the altered memories"),
        );
    }
}

fn segments(state: &State, findings: &mut Vec<Finding>) {
    let notes = &state.notes;
    if !notes.from_segments.is_empty() {
        findings.push(
            Finding::new(
                "segments_only",
                Severity::Warning,
                "memories missing from checkpoint and log were found in segments; some may have been deleted earlier",
            )
            .file("segments")
            .list("ids", notes.from_segments.iter().copied())
            .then("CortexaDB deletes the segments when it opens the database, and these memories with them"),
        );
    }
    if !notes.left_in_segments.is_empty() {
        findings.push(
            Finding::new(
                "segments_deleted",
                Severity::Note,
                "segments still hold deleted memories; they are not imported",
            )
            .file("segments")
            .list("ids", notes.left_in_segments.iter().copied())
            .then("CortexaDB keeps the text of deleted memories on disk until it is opened again"),
        );
    }
    if !state.segments.gaps.is_empty() {
        let places = state.segments.gaps.iter();
        findings.push(
            Finding::new(
                "segment_damaged",
                Severity::Warning,
                "records of segments fail their checksum",
            )
            .file("segments")
            .list("places", places.map(|(file, at)| format!("{file}:{at}")))
            .then("CortexaDB rewrites the segments from the checkpoint, or refuses to open"),
        );
    }
}

fn vectors(state: &State, dimension: Option<usize>, findings: &mut Vec<Finding>) {
    let odd = |bytes: &[u8]| dimension.is_some_and(|dimension| bytes.len() != dimension * 4);
    let mut missing = Vec::new();
    let mut other = Vec::new();
    for id in state.memories.keys() {
        match state.entry(*id).map(|entry| entry.vector) {
            Some(Some(bytes)) if odd(bytes) => other.push(*id),
            Some(Some(_)) | None => {}
            Some(None) => missing.push(*id),
        }
    }
    if !missing.is_empty() {
        findings.push(
            Finding::new("vectors_missing", Severity::Note, "memories have no vector")
                .list("ids", missing)
                .then("CortexaDB never finds them by search"),
        );
    }
    if !other.is_empty() {
        findings.push(
            Finding::new(
                "dimension_mixed",
                Severity::Warning,
                "vectors have different lengths",
            )
            .list("ids", other)
            .with("dimension", dimension.unwrap_or_default() as u64)
            .then("CortexaDB leaves these memories out of its index"),
        );
    }
}
