//! The ledger of a masking collection. The readers of `loci-mine` mask texts themselves, because
//! they know whether a file contains settings. The texts of other sources, and all metadata, are
//! masked here.

use std::borrow::Cow;

use loci_core::{
    Adopted, Collection as _, CountedSource, Error, Filed, Ledger, Machine, Result, RunKind,
    RunRecord, RunState, SourceChange, SourceHash, SourceRecord, TextPlace, Undone,
};

use super::collection::MaskingCollection;
use super::{Policy, Tally, mask_mined, mask_text};

impl MaskingCollection {
    fn inner_ledger(&self) -> Result<&dyn Ledger> {
        self.inner
            .ledger()
            .ok_or_else(|| Error::UnsupportedCapability {
                capability: "mining".into(),
                reason: format!("collection `{}` has no ledger", self.name()),
            })
    }

    /// The change as it is stored. A secret in metadata is also in the text, and is counted there.
    fn masked<'a>(&self, change: &'a SourceChange) -> Cow<'a, SourceChange> {
        let masked_by_reader = loci_mine::masks(&change.record.recipe);
        let mut clean = Cow::Borrowed(change);
        if self.policy == Policy::Keep || masked_by_reader == Some(false) {
            return clean;
        }
        let mut ignored = Tally::new();
        for (at, piece) in change.pieces.iter().flatten().enumerate() {
            let text = match masked_by_reader {
                None => mask_text(self.policy, &piece.text, &mut ignored),
                Some(_) => Cow::Borrowed(piece.text.as_str()),
            };
            let mut metadata = piece.metadata.clone();
            mask_mined(self.policy, &mut metadata, &mut ignored);
            if matches!(text, Cow::Borrowed(_)) && metadata == piece.metadata {
                continue;
            }
            if let Some(pieces) = &mut clean.to_mut().pieces
                && let Some(piece) = pieces.get_mut(at)
            {
                piece.text = text.into_owned();
                piece.metadata = metadata;
            }
        }
        clean
    }
}

impl Ledger for MaskingCollection {
    fn each_source(&self, each: &mut dyn FnMut(SourceRecord) -> Result<()>) -> Result<()> {
        self.inner_ledger()?.each_source(each)
    }

    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>> {
        self.inner_ledger()?.source(machine, name)
    }

    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>> {
        self.inner_ledger()?.sources_under(machine, path)
    }

    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>> {
        self.inner_ledger()?.sources_with_hash(machine, hash)
    }

    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>> {
        self.inner_ledger()?.sources_after(name, limit)
    }

    /// Removes the setting that keeps secrets from adopted rows: it would keep secrets in later
    /// runs, which the owner of this palace has not chosen. The drawers were masked when they were
    /// imported.
    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>> {
        if self.policy == Policy::Keep {
            return self.inner_ledger()?.adopt_sources(sources);
        }
        let mut sources = sources.to_vec();
        for source in &mut sources {
            let record = &mut source.record;
            self.policy.apply(&mut record.mark, &mut Tally::new());
            if let Some(recipe) = loci_mine::masking_recipe(&record.recipe) {
                record.recipe = recipe;
            }
        }
        self.inner_ledger()?.adopt_sources(&sources)
    }

    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64> {
        self.inner_ledger()?.drawers_of(machine, name)
    }

    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>> {
        self.inner_ledger()?.hashes_of(machine, name)
    }

    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64> {
        self.inner_ledger()?.begin_run(kind, roots)
    }

    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()> {
        self.inner_ledger()?.end_run(run, state, summary)
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>> {
        self.inner_ledger()?.runs(limit)
    }

    fn undo(&self, run: u64) -> Result<Undone> {
        self.inner_ledger()?.undo(run)
    }

    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>> {
        let masked: Vec<Cow<'_, SourceChange>> =
            changes.iter().map(|change| self.masked(change)).collect();
        if masked
            .iter()
            .all(|change| matches!(change, Cow::Borrowed(_)))
        {
            return self.inner_ledger()?.file(run, changes);
        }
        let masked: Vec<SourceChange> = masked.into_iter().map(Cow::into_owned).collect();
        self.inner_ledger()?.file(run, &masked)
    }

    fn touch(&self, records: &[SourceRecord]) -> Result<()> {
        self.inner_ledger()?.touch(records)
    }

    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool> {
        self.inner_ledger()?.rename(run, from, to)
    }

    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>> {
        self.inner_ledger()?.forgotten_lines(text, place)
    }

    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()> {
        self.inner_ledger()?.allow_again(text, place)
    }

    fn has_forgotten(&self) -> Result<bool> {
        self.inner_ledger()?.has_forgotten()
    }
}
