//! The ledger of mined sources: what was read, which drawers it became, and how to undo it.
//!
//! A row of the ledger and its drawers change in one transaction, so a killed run leaves every
//! source either unchanged or complete. docs/format.md describes the tables.

mod adopting;
mod filing;
pub(crate) mod forgotten;
mod lending;
mod marks;
mod preparing;
mod rename;
pub(crate) mod running;
mod runs;
mod sources;
mod undo;

use loci_core::{
    Adopted, CountedSource, Filed, Ledger, Machine, Result, RunKind, RunRecord, RunState,
    SourceChange, SourceHash, SourceRecord, TextPlace, Undone,
};

pub(crate) use self::adopting::imported_origin;

use crate::collection::SqliteCollection;

impl Ledger for SqliteCollection {
    fn each_source(&self, each: &mut dyn FnMut(SourceRecord) -> Result<()>) -> Result<()> {
        sources::each(self, each)
    }

    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>> {
        self.read("reading the ledger", |db, row| {
            let found = sources::of_name(&db.sql, row.id, machine, name)?;
            Ok(found.into_iter().map(|(_, record)| record).collect())
        })
    }

    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>> {
        self.read("reading the ledger", |db, row| {
            sources::under(&db.sql, row.id, machine, path)
        })
    }

    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>> {
        self.read("reading the ledger", |db, row| {
            sources::with_hash(&db.sql, row.id, machine, hash)
        })
    }

    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>> {
        adopting::after(self, name, limit)
    }

    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>> {
        adopting::adopt(self, sources)
    }

    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64> {
        self.read("counting drawers of a source", |db, row| {
            sources::count_drawers(&db.sql, row.id, machine, name)
        })
    }

    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>> {
        self.read("reading the drawers of a source", |db, row| {
            sources::text_hashes(&db.sql, row.id, machine, name)
        })
    }

    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64> {
        runs::begin(self, kind, roots)
    }

    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()> {
        runs::end(self, run, state, summary)
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>> {
        runs::list(self, limit)
    }

    fn undo(&self, run: u64) -> Result<Undone> {
        undo::undo(self, run)
    }

    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>> {
        filing::file(self, run, changes)
    }

    fn touch(&self, records: &[SourceRecord]) -> Result<()> {
        sources::touch(self, records)
    }

    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool> {
        rename::rename(self, run, from, to)
    }

    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>> {
        forgotten::lines(self, text, place)
    }

    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()> {
        forgotten::allow_again(self, text, place)
    }

    fn has_forgotten(&self) -> Result<bool> {
        forgotten::any(self)
    }
}
