//! Imports the stores of other programs: records with their vectors, facts and links, and a proof that
//! they arrived.
//!
//! A run can be repeated, and continues after an earlier one was killed: existing drawers are left
//! alone. Everything that cannot be imported is in the report with its reason. Only a failure of
//! the target palace stops a run.

mod drawers;
mod duplicates;
mod fitting;
mod intake;
mod proof;
mod relations;
mod report;
mod target;

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use loci_core::{DrawerRef, Error, ErrorKind, Get, Include, Result, Selection, Warning, quoted};
use loci_foreign::{ForeignPalace, OnBatch, ReadSummary};

use self::drawers::Drawers;
pub use self::report::{
    Answer, FindingCounts, ImportProgress, ImportedCollection, LostPiece, Phase, RelationsReport,
};
use crate::secrets::{Tally, merge};
use crate::{DEFAULT_COLLECTION, OnConflict, Palace};

/// How many records are read at a time, unless [`Request::batch`] is set.
const BATCH: usize = 200;

/// How to import a foreign palace.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// How to handle a record whose id is taken.
    pub on_conflict: OnConflict,
    /// Also import texts that were forgotten in this palace.
    pub allow_again: bool,
    /// Do everything except writing.
    pub dry_run: bool,
    /// The target of the main collection, instead of its default.
    pub collection: Option<String>,
    /// Records per transaction; 0 for the default.
    pub batch: usize,
    /// The new JSON Lines file for texts of uncertain id. Without one they are only counted.
    pub candidates: Option<PathBuf>,
}

impl Request {
    fn batch(&self) -> usize {
        match self.batch {
            0 => BATCH,
            records => records.min(loci_core::MAX_BATCH_RECORDS),
        }
    }
}

/// The path of a new file for texts of uncertain id from the palace at `source`. It is in the state
/// directory, never beside the source. `None` if there is no home directory.
pub fn candidates_file(source: &Path) -> Result<Option<PathBuf>> {
    let Some(directory) = crate::state_directory() else {
        return Ok(None);
    };
    let directory = directory.join("candidates");
    loci_files::create_directory(&directory)
        .map_err(|error| Error::io("cannot create", &directory, error))?;
    let stamp = loci_core::clock::file_stamp();
    let named = |number: u32| {
        let mut name = source.file_name().unwrap_or("palace".as_ref()).to_owned();
        name.push(format!(".candidates-{stamp}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        name.push(".jsonl");
        directory.join(name)
    };
    // Two imports may run in the same second.
    Ok((0..1000).map(named).find(|file| !file.exists()))
}

impl Palace {
    /// Imports a foreign palace. Damaged parts of the source are reported, and the import
    /// continues. A file that this user may not read is an error before anything is imported. A
    /// failure of this palace stops the import, and a later run continues.
    pub fn import_foreign(
        &self,
        source: &dyn ForeignPalace,
        options: &Request,
        progress: &mut dyn FnMut(ImportProgress<'_>),
    ) -> Result<Answer> {
        if let Some(name) = &options.collection {
            loci_core::validate_collection_name(name)?;
        }
        source.require_readable()?;
        let import = ForeignImport {
            palace: self,
            source,
            options,
            forgotten: RefCell::default(),
            masked: RefCell::default(),
        };
        if options.on_conflict == OnConflict::Error {
            import.refuse_conflicts()?;
        }
        import.run(progress)
    }
}

/// The state of one run.
struct ForeignImport<'a> {
    palace: &'a Palace,
    source: &'a dyn ForeignPalace,
    options: &'a Request,
    /// Drawers that were skipped because their text was forgotten in this palace.
    forgotten: RefCell<HashSet<DrawerRef>>,
    /// Secrets that were masked in facts and links.
    masked: RefCell<Tally>,
}

impl ForeignImport<'_> {
    fn run(&self, progress: &mut dyn FnMut(ImportProgress<'_>)) -> Result<Answer> {
        let mut report = Answer::of(self.source, self.options.dry_run);
        self.keep_candidates(&mut report)?;
        for at in 0..self.source.collections().len() {
            Drawers::new(self, at, &mut report).run(progress)?;
        }
        self.bring_relations(&mut report, progress)?;
        merge(&mut report.masked, &self.masked.borrow());
        report.lose_names(self.source.findings());
        report.lose_all_if_nothing_was_read();
        if !self.source.is_unchanged() {
            report.warnings.push(Warning::SourceChanged {
                path: self.source.path().to_owned(),
            });
        }
        Ok(report)
    }

    /// Writes texts of uncertain id to a file. This is the first step, so if it fails, nothing has
    /// been imported.
    fn keep_candidates(&self, report: &mut Answer) -> Result<()> {
        let candidates = self.source.candidates();
        report.candidates = candidates.len() as u64;
        let texts = candidates.iter().filter(|of| of.row.is_some());
        report.candidate_texts = texts.count() as u64;
        let file = self.options.candidates.as_ref();
        let Some(file) = file.filter(|_| !candidates.is_empty() && !self.options.dry_run) else {
            return Ok(());
        };
        loci_chroma::write_candidates(candidates, file)?;
        report.candidates_file = Some(file.to_string_lossy().into_owned());
        Ok(())
    }

    /// The name in this palace of a source collection.
    fn target_name(&self, at: usize) -> String {
        let named = self.options.collection.as_ref();
        match (named, self.source.collections().get(at)) {
            (Some(name), _) if self.main_collection() == Some(at) => name.clone(),
            (_, Some(collection)) => collection.target.clone(),
            (_, None) => DEFAULT_COLLECTION.into(),
        }
    }

    /// The collection that `--collection` applies to: the one that belongs into the default
    /// collection, or else the first.
    fn main_collection(&self) -> Option<usize> {
        let collections = self.source.collections();
        collections
            .iter()
            .position(|collection| collection.target == DEFAULT_COLLECTION)
            .or((!collections.is_empty()).then_some(0))
    }

    /// Renames the collection of a drawer that a fact or link refers to.
    fn moved(&self, drawer: &mut DrawerRef) {
        let collections = self.source.collections();
        let at = collections
            .iter()
            .position(|collection| collection.target == drawer.collection);
        if let Some(at) = at {
            drawer.collection = self.target_name(at);
        }
    }

    fn refuse_conflicts(&self) -> Result<()> {
        for at in 0..self.source.collections().len() {
            let name = self.target_name(at);
            let collection = match self.palace.collection(&name, false) {
                Ok(collection) => collection,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let (_, failed) = stream(
                |take| self.source.for_each_record(at, self.options.batch(), take),
                |records| {
                    let ids = records.into_iter().map(|record| record.id);
                    let found = collection.get(&Get {
                        include: Include::NONE,
                        ..Get::new(Selection::ids(ids))
                    })?;
                    // A damaged drawer keeps its id too, but appears only in the warnings.
                    match (found.ids.first(), found.warnings.first()) {
                        (None, None) => Ok(()),
                        (id, _) => Err(Error::Conflict {
                            what: format!(
                                "{} exists in {}; nothing was imported",
                                quoted(id.map_or("a damaged drawer", String::as_str)),
                                quoted(&name)
                            ),
                        }),
                    }
                },
            );
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Reads in batches, and keeps errors of the source and of the target apart. A source that becomes
/// unreadable is a loss. A target that cannot be written stops the run.
fn stream<T>(
    read: impl FnOnce(OnBatch<'_, T>) -> Result<ReadSummary>,
    mut take: impl FnMut(Vec<T>) -> Result<()>,
) -> (Result<ReadSummary>, Option<Error>) {
    let failed = RefCell::new(None);
    let result = read(&mut |batch| {
        take(batch).map_err(|error| {
            failed.replace(Some(error));
            Error::Internal {
                doing: "importing a batch".into(),
                detail: "the palace failed".into(),
            }
        })
    });
    (result, failed.into_inner())
}
