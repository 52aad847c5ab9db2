//! Rows of the ledger of mining in an import. They are written after their drawers, so that the
//! next mine skips unchanged sources. A row that this palace recorded itself is not changed.

use std::sync::Arc;

use loci_core::{Adopted, Collection, CountedSource, LeftOut, Result};

use super::{BATCH, Import};
use crate::import::is_of_record;
use crate::record::JsonRecord;
use crate::record::source::JsonSourceLine;

/// Maximum bytes of rows in one transaction.
const BYTES: usize = 4 << 20;

/// Rows of one collection that wait for their transaction.
#[derive(Default)]
pub(super) struct WaitingSources {
    collection: Option<Arc<dyn Collection>>,
    lines: Vec<u64>,
    rows: Vec<CountedSource>,
    bytes: usize,
    /// Rows that the backend cannot store.
    left_out: u64,
}

impl Import<'_> {
    pub(super) fn take_source(&mut self, line: u64, read: JsonSourceLine) -> Result<()> {
        let JsonSourceLine {
            collection,
            mut source,
        } = read;
        let id = Some(source.name.clone());
        let record = JsonRecord {
            collection,
            ..JsonRecord::default()
        };
        let name = self.target(&record);
        // The drawers must be written before the row that claims them.
        self.flush()?;
        let open = self.sources.collection.as_ref();
        if open.is_none_or(|collection| collection.name() != name) {
            self.flush_sources()?;
            match self.open(&name, &record) {
                Ok(collection) => {
                    self.place_projects(collection.as_ref())?;
                    self.sources.collection = Some(collection);
                }
                Err(error) if is_of_record(&error) => {
                    self.lose(line, id, &error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.plan
            .place_source(record.collection.as_deref(), &mut source);
        if source.machine.is_empty() {
            // A row of an unknown machine counts as this machine's.
            let machine = self.palace.machine();
            (source.machine, source.host) = (machine.id, machine.host);
        }
        let row = match source.counted() {
            Ok(row) => row,
            Err(error) => {
                self.lose(line, id, &error);
                return Ok(());
            }
        };
        let bytes = row.record.mark.len() + row.record.name.len();
        if self.sources.rows.len() >= BATCH || self.sources.bytes + bytes > BYTES {
            self.flush_sources()?;
        }
        self.sources.lines.push(line);
        self.sources.rows.push(row);
        self.sources.bytes += bytes;
        Ok(())
    }

    pub(super) fn flush_sources(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.sources.rows);
        let lines = std::mem::take(&mut self.sources.lines);
        self.sources.bytes = 0;
        let Some(collection) = self.sources.collection.clone() else {
            return Ok(());
        };
        if rows.is_empty() {
            return Ok(());
        }
        let Some(ledger) = collection.ledger() else {
            self.report.skipped += rows.len() as u64;
            self.sources.left_out += rows.len() as u64;
            return Ok(());
        };
        match ledger.adopt_sources(&rows) {
            Ok(adopted) => self.count_sources(&adopted),
            Err(error) if is_of_record(&error) => {
                for (line, row) in lines.iter().zip(&rows) {
                    match ledger.adopt_sources(std::slice::from_ref(row)) {
                        Ok(adopted) => self.count_sources(&adopted),
                        Err(error) if is_of_record(&error) => {
                            self.lose(*line, Some(row.record.name.clone()), &error);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn count_sources(&mut self, adopted: &[Adopted]) {
        for adopted in adopted {
            match adopted {
                Adopted::Whole => self.report.sources += 1,
                Adopted::Incomplete => {
                    self.report.sources += 1;
                    self.report.incomplete_sources += 1;
                }
                Adopted::Known => self.report.skipped += 1,
            }
        }
    }

    /// Reports the rows that the backend cannot store.
    pub(super) fn note_left_out(&mut self) {
        if self.sources.left_out > 0 {
            self.report.left_out.push(LeftOut {
                what: "sources".into(),
                count: self.sources.left_out,
                reason: format!(
                    "backend `{}` keeps no ledger of mining",
                    self.palace.backend_name()
                ),
            });
        }
    }
}
