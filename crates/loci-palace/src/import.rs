//! The verb `import`: reads JSON lines into collections, in small batches, and reports every record
//! that was not imported.

pub(crate) mod lines;
mod projects;
mod relations;
mod sources;
mod spool;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Seek};
use std::sync::Arc;
use std::time::Duration;

use loci_core::clock::new_id;
use loci_core::{
    Batch, Collection, CollectionOptions, Error, ErrorKind, Existing, Get, History, Include,
    LeftOut, MAX_BATCH_TEXT_BYTES, MAX_BATCH_VECTOR_BYTES, Machine, Metadata, Metric, Outcome,
    OutcomeKind, Result, Selection, Warning, quoted,
};
use schemars::JsonSchema;
use serde::Serialize;

use self::lines::Lines;
use self::projects::WingPlan;
use self::relations::Incoming;
use self::sources::WaitingSources;
use self::spool::Spool;
use crate::forgotten::mostly_forgotten;
use crate::record::{JsonLine, JsonRecord, columns};
use crate::secrets::{Policy, Tally, merge};
use crate::{DEFAULT_COLLECTION, Palace};

pub use self::projects::RenamedWing;

/// Records per transaction. It is small, so that other writers never wait long.
const BATCH: usize = 200;

/// What to do with a record whose id exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The existing drawer is kept.
    #[default]
    Skip,
    /// The existing drawer is overwritten with the record.
    Update,
    /// The record is added under a new id, unless text and source are the same.
    Duplicate,
    /// Nothing is imported.
    Error,
}

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Import everything into this collection, whatever the records name.
    pub collection: Option<String>,
    /// What to do with a record whose id exists.
    pub on_conflict: OnConflict,
    /// Also import texts that were forgotten in this palace.
    pub allow_again: bool,
}

/// A record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Loss {
    /// Line in the input, from 1.
    pub line: u64,
    /// Its id, if it could be read.
    pub id: Option<String>,
    /// The reason.
    pub reason: String,
}

/// The result of an import. `added + updated + sources + facts + links + skipped + failed` is the
/// number of records read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// New drawers.
    pub added: u64,
    /// Drawers changed.
    pub updated: u64,
    /// New rows of the ledger of mining.
    pub sources: u64,
    /// Of those, rows with missing drawers. The next mine reads their sources again.
    pub incomplete_sources: u64,
    /// Projects of wings that were recorded.
    pub projects: u64,
    /// Wings of the file that have another name in this palace, because another project has their
    /// name, or because their project has another wing.
    pub wings: Vec<RenamedWing>,
    /// New facts.
    pub facts: u64,
    /// New links.
    pub links: u64,
    /// Records that existed already.
    pub skipped: u64,
    /// Records that were refused; `lost` names each.
    pub failed: u64,
    /// The refused records.
    pub lost: Vec<Loss>,
    /// Data that this palace cannot store.
    pub left_out: Vec<LeftOut>,
    /// Warnings, for example about a vector that does not match its text.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

struct Pending {
    line: u64,
    record: JsonRecord,
}

impl Palace {
    /// Imports JSON lines. A bad record is reported and the others are imported; a failing store
    /// stops the import. `progress` is called with the number of lines done.
    ///
    /// An export is read twice, because the projects of wings are needed first and older exports
    /// have them last. Meanwhile a copy of the input is kept: in memory if it is small, else in an
    /// unnamed temporary file. Lines that name no collection do not come from an export and are
    /// imported in one pass.
    pub fn import(
        &self,
        input: &mut dyn BufRead,
        options: &Request,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Answer> {
        if options.on_conflict != OnConflict::Error && !may_be_export(input)? {
            return Import::new(self, options).run(input, progress);
        }
        let mut spool = Spool::new(input);
        let plan = WingPlan::survey(&mut spool)?;
        self.import_again(&mut spool.finish()?, plan, options, progress)
    }

    /// [`Self::import`] of a file, which needs no copy.
    pub fn import_file<F: BufRead + Seek>(
        &self,
        file: &mut F,
        options: &Request,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Answer> {
        let plan = WingPlan::survey(file)?;
        self.import_again(file, plan, options, progress)
    }

    /// Imports lines in a second pass.
    fn import_again<F: BufRead + Seek>(
        &self,
        lines: &mut F,
        plan: WingPlan,
        options: &Request,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Answer> {
        let rewind = |lines: &mut F| {
            let rewound = lines.rewind();
            rewound.map_err(|source| Error::io("cannot read again", "the import", source))
        };
        if options.on_conflict == OnConflict::Error {
            rewind(lines)?;
            self.refuse_conflicts(lines, options)?;
        }
        rewind(lines)?;
        let mut import = Import::new(self, options);
        import.plan = plan;
        import.run(lines, progress)
    }

    fn refuse_conflicts(&self, input: &mut dyn BufRead, options: &Request) -> Result<()> {
        let import = Import::new(self, options);
        let mut seen = HashSet::new();
        let mut lines = Lines::new(input);
        while let Some((line, text)) = lines.next()? {
            let record = match text.and_then(|text| JsonLine::parse(&text)) {
                Ok(JsonLine::Drawer(record)) => record,
                Ok(JsonLine::Fact(fact)) => {
                    import.refuse_other_fact(line, fact)?;
                    continue;
                }
                Ok(JsonLine::Source(_) | JsonLine::Project(_) | JsonLine::Link(_)) | Err(_) => {
                    continue;
                }
            };
            let (Some(id), name) = (record.id.clone(), import.target(&record)) else {
                continue;
            };
            let taken = match self.collection(&name, false) {
                Ok(collection) => {
                    let get = Get {
                        include: Include::NONE,
                        ..Get::new(Selection::ids([id.clone()]))
                    };
                    let found = collection.get(&get)?;
                    // A damaged drawer occupies its id too, but only the warnings mention it.
                    !found.ids.is_empty() || !found.warnings.is_empty()
                }
                Err(Error::CollectionNotInitialized { .. }) => false,
                Err(error) => return Err(error),
            };
            if taken || !seen.insert((name.clone(), id.clone())) {
                return Err(Error::Conflict {
                    what: format!(
                        "line {line}: {} exists in {} or occurs twice; nothing was imported",
                        quoted(&id),
                        quoted(&name)
                    ),
                });
            }
        }
        Ok(())
    }
}

struct Import<'a> {
    palace: &'a Palace,
    options: &'a Request,
    report: Answer,
    current: Option<Arc<dyn Collection>>,
    batch: Vec<Pending>,
    ids: HashSet<String>,
    text_bytes: usize,
    vector_bytes: usize,
    incoming: Incoming,
    sources: WaitingSources,
    plan: WingPlan,
}

impl<'a> Import<'a> {
    fn new(palace: &'a Palace, options: &'a Request) -> Self {
        Self {
            palace,
            options,
            report: Answer::default(),
            current: None,
            batch: Vec::new(),
            ids: HashSet::new(),
            text_bytes: 0,
            vector_bytes: 0,
            incoming: Incoming::default(),
            sources: WaitingSources::default(),
            plan: WingPlan::default(),
        }
    }

    fn run(mut self, input: &mut dyn BufRead, progress: &mut dyn FnMut(u64)) -> Result<Answer> {
        let mut lines = Lines::new(input);
        while let Some((line, text)) = lines.next()? {
            match text.and_then(|text| {
                if text.trim_start_matches('\u{feff}').trim().is_empty() {
                    Ok(None)
                } else {
                    JsonLine::parse(&text).map(Some)
                }
            }) {
                Ok(None) => {}
                Ok(Some(JsonLine::Drawer(record))) => self.take(line, record)?,
                Ok(Some(JsonLine::Source(source))) => self.take_source(line, source)?,
                Ok(Some(JsonLine::Project(project))) => self.plan.note(line, project),
                Ok(Some(JsonLine::Fact(fact))) => self.take_fact(line, fact)?,
                Ok(Some(JsonLine::Link(link))) => self.take_link(line, link)?,
                Err(error) => self.lose(line, None, &error),
            }
            progress(line);
        }
        self.flush()?;
        self.flush_sources()?;
        self.place_all_projects()?;
        self.flush_relations()?;
        self.note_left_out();
        self.note_projects_left_out();
        Ok(self.report)
    }

    fn target(&self, record: &JsonRecord) -> String {
        let named = self
            .options
            .collection
            .as_ref()
            .or(record.collection.as_ref());
        named.map_or_else(|| DEFAULT_COLLECTION.to_owned(), Clone::clone)
    }

    fn take(&mut self, line: u64, mut record: JsonRecord) -> Result<()> {
        let name = self.target(&record);
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.name() != name)
        {
            self.flush()?;
            match self.open(&name, &record) {
                Ok(collection) => {
                    self.place_projects(collection.as_ref())?;
                    self.current = Some(collection);
                }
                Err(error) if is_of_record(&error) => {
                    self.lose(line, record.id, &error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if record.is_collection_only() {
            return Ok(());
        }
        self.plan.place_drawer(&mut record);
        if self.was_forgotten(&record)? {
            self.note_forgotten(&name, record.id.as_ref());
            self.report.skipped += 1;
            self.report.lost.push(Loss {
                line,
                id: record.id,
                reason: "its text was forgotten here".into(),
            });
            return Ok(());
        }
        let id = record.id.get_or_insert_with(new_id).clone();
        let text_bytes = record.document.as_ref().map_or(0, String::len);
        let vector_bytes = record
            .embedding
            .as_ref()
            .map_or(0, |vector| vector.len() * 4);
        if self.batch.len() >= BATCH
            || self.ids.contains(&id)
            || self.text_bytes + text_bytes > MAX_BATCH_TEXT_BYTES
            || self.vector_bytes + vector_bytes > MAX_BATCH_VECTOR_BYTES
        {
            self.flush()?;
        }
        self.ids.insert(id);
        self.text_bytes += text_bytes;
        self.vector_bytes += vector_bytes;
        self.batch.push(Pending { line, record });
        Ok(())
    }

    /// Whether most of the record's text was forgotten in its target collection.
    fn was_forgotten(&self, record: &JsonRecord) -> Result<bool> {
        let (Some(collection), Some(text)) = (&self.current, &record.document) else {
            return Ok(false);
        };
        mostly_forgotten(collection.as_ref(), text, self.options.allow_again)
    }

    /// The collection of a record, created if it is missing.
    fn open(&self, name: &str, record: &JsonRecord) -> Result<Arc<dyn Collection>> {
        let metric = record.metric.as_deref().map(Metric::parse).transpose()?;
        let options = CollectionOptions {
            metric,
            embedder: None,
        };
        let collection = self.palace.collection_with(name, true, &options)?;
        if let Some(identity) = &record.embedder {
            self.palace
                .collection(name, false)?
                .pin_embedder(identity)?;
        }
        Ok(collection)
    }

    /// The collection with its embedder, if texts of this batch need vectors. The texts of an
    /// export do not, and neither do texts in a collection whose embedder is unknown.
    fn embedding(
        &self,
        plain: Arc<dyn Collection>,
        batch: &[Pending],
    ) -> Result<Arc<dyn Collection>> {
        let exported = batch
            .iter()
            .any(|pending| pending.record.collection.is_some());
        let brings = batch
            .iter()
            .any(|pending| pending.record.embedding.is_some());
        if exported || (brings && plain.embedder()?.is_none()) {
            return Ok(plain);
        }
        Ok(self.palace.memory(plain.name(), false)?.0.collection)
    }

    /// Writes the batch. If it is refused, the records are written one at a time, so that only the
    /// bad ones are lost.
    fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.batch);
        self.ids.clear();
        self.text_bytes = 0;
        self.vector_bytes = 0;
        let Some(collection) = self.current.clone() else {
            return Ok(());
        };
        if pending.is_empty() {
            return Ok(());
        }
        let collection = self.embedding(collection, &pending)?;
        match self.write(collection.as_ref(), &pending) {
            Err(error) if is_of_record(&error) => {
                for single in pending {
                    if let Err(error) =
                        self.write(collection.as_ref(), std::slice::from_ref(&single))
                    {
                        if !is_of_record(&error) {
                            return Err(error);
                        }
                        self.lose(single.line, single.record.id.clone(), &error);
                    }
                }
                Ok(())
            }
            result => result,
        }
    }

    fn write(&mut self, collection: &dyn Collection, pending: &[Pending]) -> Result<()> {
        let mut batch = batch_of(pending)?;
        if self.options.on_conflict == OnConflict::Update {
            replace_metadata(collection, &mut batch)?;
        }
        let existing = match self.options.on_conflict {
            OnConflict::Update => Existing::Change,
            OnConflict::Skip | OnConflict::Duplicate | OnConflict::Error => Existing::Keep,
        };
        let result = collection.import_records(
            &batch,
            &histories_of(pending, &self.palace.machine()),
            existing,
        )?;
        self.report.warnings.extend(result.warnings);
        merge(&mut self.report.masked, &result.masked);
        for (single, outcome) in pending.iter().zip(result.outcomes) {
            match outcome {
                // Another process added it after the check.
                Outcome::Exists if self.options.on_conflict == OnConflict::Error => {
                    let id = single.record.id.as_deref().unwrap_or_default();
                    return Err(Error::Busy {
                        what: format!(
                            "importing {}: another process added it; the records before it are imported",
                            quoted(id)
                        ),
                        waited: Duration::ZERO,
                    });
                }
                Outcome::Added => self.report.added += 1,
                Outcome::Updated => self.report.updated += 1,
                Outcome::Exists if self.options.on_conflict == OnConflict::Duplicate => {
                    let record = JsonRecord {
                        id: Some(new_id()),
                        ..single.record.clone()
                    };
                    let copy = [Pending {
                        line: single.line,
                        record,
                    }];
                    let added = collection.import_records(
                        &batch_of(&copy)?,
                        &histories_of(&copy, &self.palace.machine()),
                        Existing::Keep,
                    )?;
                    match added.count(OutcomeKind::Added) {
                        0 => self.report.skipped += 1,
                        _ => self.report.added += 1,
                    }
                }
                Outcome::Exists
                | Outcome::Unchanged
                | Outcome::DuplicateOf(_)
                | Outcome::Unknown => {
                    self.report.skipped += 1;
                }
            }
        }
        Ok(())
    }

    fn lose(&mut self, line: u64, id: Option<String>, error: &Error) {
        // A parser's message may quote the refused value, which may be a secret.
        let mut reason = error.to_string();
        Policy::Mask.apply(&mut reason, &mut Tally::new());
        self.report.failed += 1;
        self.report.lost.push(Loss { line, id, reason });
    }
}

/// Changes the patches of a batch so that they replace the metadata: keys that only the stored
/// drawer has are removed.
pub(crate) fn replace_metadata(collection: &dyn Collection, batch: &mut Batch) -> Result<()> {
    let stored = collection.get(&Get::new(Selection::ids(batch.ids.clone())))?;
    let stored: HashMap<String, Metadata> = stored.ids.into_iter().zip(stored.metadatas).collect();
    for (id, patch) in batch.ids.iter().zip(batch.metadatas.iter_mut().flatten()) {
        for key in stored
            .get(id)
            .into_iter()
            .flat_map(|metadata| metadata.0.keys())
        {
            patch.0.entry(key.clone()).or_insert(None);
        }
    }
    Ok(())
}

/// Whether the first line names a collection, as the lines of an export do, or is too long to tell.
/// It consumes nothing from the input, and waits only for its first bytes.
fn may_be_export(input: &mut dyn BufRead) -> Result<bool> {
    let buffered = loop {
        match input.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => {
                break other.map_err(|source| Error::io("cannot read", "the import", source))?;
            }
        }
    };
    let first = buffered.split_inclusive(|byte| *byte == b'\n').next();
    let Some(first) = first.and_then(|line| line.strip_suffix(b"\n")) else {
        return Ok(true);
    };
    let line = std::str::from_utf8(first).unwrap_or_default();
    Ok(match JsonLine::parse(line) {
        Ok(JsonLine::Drawer(record)) => record.collection.is_some(),
        _ => true,
    })
}

/// Whether an error is caused by the record, not by the store.
fn is_of_record(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Conflict)
}

/// The histories of the pending records. A source of an unknown machine counts as this machine's.
fn histories_of(pending: &[Pending], machine: &Machine) -> Vec<History> {
    let mut histories: Vec<History> = pending
        .iter()
        .map(|pending| pending.record.history())
        .collect();
    let origins = histories
        .iter_mut()
        .filter_map(|history| history.origin.as_mut());
    for origin in origins.filter(|origin| origin.machine.is_empty()) {
        origin.machine.clone_from(&machine.id);
    }
    histories
}

fn batch_of(pending: &[Pending]) -> Result<Batch> {
    let mut batch = columns();
    for Pending { record, .. } in pending {
        batch.ids.push(record.id.clone().unwrap_or_default());
        batch
            .documents
            .get_or_insert_default()
            .push(record.document.clone());
        batch
            .metadatas
            .get_or_insert_default()
            .push(record.patch()?);
        batch
            .embeddings
            .get_or_insert_default()
            .push(record.embedding.clone());
    }
    Ok(batch)
}
