//! Imports JSON lines into collections, in small batches, and reports every record that was not
//! imported.

mod drawers;
pub(crate) mod lines;
mod projects;
mod relations;
mod sources;
mod spool;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Seek};
use std::sync::Arc;

use loci_core::{Collection, Error, Get, Include, LeftOut, Result, Selection, Warning, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use self::drawers::Pending;
use self::lines::Lines;
use self::projects::WingPlan;
use self::relations::Incoming;
use self::sources::WaitingSources;
use self::spool::Spool;
use crate::import::OnConflict;
use crate::record::{JsonLine, JsonRecord};
use crate::secrets::{Policy, Tally};
use crate::{DEFAULT_COLLECTION, Palace};

pub use self::projects::RenamedWing;

/// Records per transaction. It is small, so that other writers never wait long.
const BATCH: usize = 200;

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
    /// Records that existed already, and lines without anything to import; `lost` names the latter.
    pub skipped: u64,
    /// Records that were refused; `lost` names each.
    pub failed: u64,
    /// The refused records, and the lines that have nothing to import.
    pub lost: Vec<Loss>,
    /// Data that this palace cannot store.
    pub left_out: Vec<LeftOut>,
    /// Warnings, for example about a vector that does not match its text.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
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

/// Whether a line is a record, or anything else that an import stores. Callers look for one before
/// they create a palace.
pub fn is_record(line: &str) -> bool {
    match JsonLine::parse(line) {
        Ok(JsonLine::Drawer(record)) => !record.is_empty() || record.collection.is_some(),
        Ok(_) => true,
        Err(_) => false,
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
    /// How often each content without an id was read; see [`drawers`].
    without_id: HashMap<u128, u64>,
    /// Ignored vectors of the current collection, and the length that they should have.
    ignored_vectors: (u64, usize),
    /// Whether the collection of the current batch embeds texts.
    embeds: bool,
    /// Texts of the current collection that were added without a vector.
    without_vector: u64,
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
            without_id: HashMap::new(),
            ignored_vectors: (0, 0),
            embeds: false,
            without_vector: 0,
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
        self.note_vectors();
        self.flush_sources()?;
        self.place_all_projects()?;
        self.flush_relations()?;
        self.note_left_out();
        self.note_projects_left_out();
        self.report.lost.sort_by_key(|loss| loss.line);
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

    fn skip(&mut self, line: u64, id: Option<String>, reason: &str) {
        self.report.skipped += 1;
        self.report.lost.push(Loss {
            line,
            id,
            reason: reason.to_owned(),
        });
    }

    fn lose(&mut self, line: u64, id: Option<String>, error: &Error) {
        // A parser's message may quote the refused value, which may be a secret.
        let mut reason = error.to_string();
        Policy::Mask.apply(&mut reason, &mut Tally::new());
        self.report.failed += 1;
        self.report.lost.push(Loss { line, id, reason });
    }
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
