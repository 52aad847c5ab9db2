//! The ledger of a masking collection. The readers of `loci-mine` mask texts by themselves, since
//! they know whether a file is one of settings. Texts of any other source, and the metadata of all,
//! are masked here.

use std::borrow::Cow;

use loci_core::{
    Adopted, Collection as _, CountedSource, Error, Filed, Ledger, Machine, Result, RunKind,
    RunRecord, RunState, SourceChange, SourceHash, SourceRecord, TextPlace, Undone,
};

use super::collection::MaskingCollection;
use super::{Policy, Tally, mask_mined, mask_text};

impl MaskingCollection {
    fn books(&self) -> Result<&dyn Ledger> {
        self.inner
            .ledger()
            .ok_or_else(|| Error::UnsupportedCapability {
                capability: "mining".into(),
                reason: format!("collection `{}` keeps no ledger", self.name()),
            })
    }

    /// The change as it is filed. A secret in metadata stands in the text, too, and is counted there.
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
        self.books()?.each_source(each)
    }

    fn source(&self, machine: &Machine, name: &str) -> Result<Vec<SourceRecord>> {
        self.books()?.source(machine, name)
    }

    fn sources_under(&self, machine: &Machine, path: &str) -> Result<Vec<SourceRecord>> {
        self.books()?.sources_under(machine, path)
    }

    fn sources_with_hash(&self, machine: &Machine, hash: &SourceHash) -> Result<Vec<SourceRecord>> {
        self.books()?.sources_with_hash(machine, hash)
    }

    fn sources_after(&self, name: Option<&str>, limit: usize) -> Result<Vec<CountedSource>> {
        self.books()?.sources_after(name, limit)
    }

    /// A row that says that secrets were kept elsewhere would keep them in later runs here: the
    /// owner of this palace has not chosen that. Its drawers were masked when they were imported.
    fn adopt_sources(&self, sources: &[CountedSource]) -> Result<Vec<Adopted>> {
        if self.policy == Policy::Keep {
            return self.books()?.adopt_sources(sources);
        }
        let mut sources = sources.to_vec();
        for source in &mut sources {
            let record = &mut source.record;
            self.policy.apply(&mut record.mark, &mut Tally::new());
            if let Some(recipe) = loci_mine::masking_recipe(&record.recipe) {
                record.recipe = recipe;
            }
        }
        self.books()?.adopt_sources(&sources)
    }

    fn drawers_of(&self, machine: &Machine, name: &str) -> Result<u64> {
        self.books()?.drawers_of(machine, name)
    }

    fn hashes_of(&self, machine: &Machine, name: &str) -> Result<Vec<SourceHash>> {
        self.books()?.hashes_of(machine, name)
    }

    fn begin_run(&self, kind: &RunKind, roots: &[String]) -> Result<u64> {
        self.books()?.begin_run(kind, roots)
    }

    fn end_run(&self, run: u64, state: &RunState, summary: &serde_json::Value) -> Result<()> {
        self.books()?.end_run(run, state, summary)
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>> {
        self.books()?.runs(limit)
    }

    fn undo(&self, run: u64) -> Result<Undone> {
        self.books()?.undo(run)
    }

    fn file(&self, run: u64, changes: &[SourceChange]) -> Result<Vec<Filed>> {
        let masked: Vec<Cow<'_, SourceChange>> =
            changes.iter().map(|change| self.masked(change)).collect();
        if masked
            .iter()
            .all(|change| matches!(change, Cow::Borrowed(_)))
        {
            return self.books()?.file(run, changes);
        }
        let masked: Vec<SourceChange> = masked.into_iter().map(Cow::into_owned).collect();
        self.books()?.file(run, &masked)
    }

    fn touch(&self, records: &[SourceRecord]) -> Result<()> {
        self.books()?.touch(records)
    }

    fn rename(&self, run: u64, from: &str, to: &SourceRecord) -> Result<bool> {
        self.books()?.rename(run, from, to)
    }

    fn forgotten_lines(&self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>> {
        self.books()?.forgotten_lines(text, place)
    }

    fn allow_again(&self, text: &str, place: TextPlace<'_>) -> Result<()> {
        self.books()?.allow_again(text, place)
    }

    fn has_forgotten(&self) -> Result<bool> {
        self.books()?.has_forgotten()
    }
}
