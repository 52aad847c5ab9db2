//! The source of parse events: the records of a file, the files of a folder, or the rows of a
//! database.

use super::database::Rows;
use super::elements::Elements;
use super::error::Error;
use super::folder::Folder;
use super::format::{Format, Layout, Opening};
use super::lines::Lines;
use super::mark::Mark;
use super::records::{Next, Records};
use super::sink::{ParseSink, RecordFormat};
use super::surrogates::replace_lone_surrogates;
use loci_files::allowed::AllowedRoots;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// A longer conversation in an export is skipped and counted.
pub(super) const MAX_CONVERSATION_BYTES: usize = 256 << 20;

#[derive(Debug)]
pub(super) enum Feed<R> {
    Records(Box<RecordFeed<R>>),
    Folder(Box<Folder>),
    Rows(Box<Rows>),
}

impl<R: BufRead> Feed<R> {
    pub(super) fn new(
        format: Format,
        input: R,
        path: &Path,
        mark: &Mark,
        allowed: &AllowedRoots,
    ) -> Self {
        let file = Opening {
            path,
            point: mark.point(),
            allowed,
        };
        let (records, reader) = match &format.spec().layout {
            Layout::Lines(reader) => (Records::Lines(Lines::new(input, file.point)), reader(&file)),
            Layout::Elements { key, limit, reader } => {
                let elements = Elements::new(input, *key, *limit, file.point);
                (Records::Elements(elements), reader(&file))
            }
            Layout::Folder(folder) => {
                return Self::Folder(Box::new(Folder::new(folder, path, mark, allowed)));
            }
            Layout::Rows(rows) => {
                return Self::Rows(Box::new(Rows::new(rows, path, mark, allowed)));
            }
        };
        Self::Records(Box::new(RecordFeed {
            records,
            format: reader,
            path: path.to_owned(),
            framed: false,
        }))
    }

    /// Passes one record to the sink. Returns `false` at the end.
    pub(super) fn advance(&mut self, sink: &mut ParseSink) -> Result<bool, Error> {
        match self {
            Self::Records(feed) => feed.advance(sink),
            Self::Folder(folder) => folder.advance(sink),
            Self::Rows(rows) => rows.advance(sink),
        }
    }

    pub(super) fn held(&self) -> u64 {
        match self {
            Self::Records(feed) => feed.format.held(),
            Self::Folder(_) | Self::Rows(_) => 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct RecordFeed<R> {
    records: Records<R>,
    format: Box<dyn RecordFormat>,
    path: PathBuf,
    framed: bool,
}

impl<R: BufRead> RecordFeed<R> {
    fn advance(&mut self, sink: &mut ParseSink) -> Result<bool, Error> {
        let next = self.records.next().map_err(|source| Error::Read {
            path: self.path.clone(),
            source,
        })?;
        match next {
            Next::Record(place) | Next::Unfinished(place) => {
                self.frame_once(sink);
                let text = String::from_utf8_lossy(self.records.bytes());
                let is_json = self.format.counts_records();
                if is_json && text.trim().is_empty() {
                    return Ok(true);
                }
                if is_json && matches!(next, Next::Unfinished(_)) && !is_valid_json(&text) {
                    self.format.end(sink);
                    return Ok(false);
                }
                if is_json {
                    sink.record_tally.read();
                }
                if self.format.record(&text, place, sink).is_err() {
                    let repaired = replace_lone_surrogates(&text).map_or(text, Cow::Owned);
                    if self.format.record(&repaired, place, sink).is_err() {
                        if !is_json {
                            sink.record_tally.read();
                        }
                        sink.record_tally.skip(if is_valid_json(&repaired) {
                            "record of an unknown shape"
                        } else {
                            "line is not JSON"
                        });
                    }
                }
                Ok(true)
            }
            Next::TooLong => {
                sink.record_tally.skip_inner(match self.records {
                    Records::Lines(_) => "line longer than 64 MiB",
                    Records::Elements(_) => "element too long",
                });
                Ok(true)
            }
            Next::Closed => {
                self.framed = false;
                self.frame_once(sink);
                self.format.end(sink);
                Ok(false)
            }
            Next::End => {
                self.format.end(sink);
                Ok(false)
            }
            Next::Broken(detail) => {
                self.format.end(sink);
                Err(Error::Broken {
                    path: self.path.clone(),
                    detail,
                })
            }
        }
    }

    fn frame_once(&mut self, sink: &mut ParseSink) {
        if !self.framed {
            self.framed = true;
            let frame = String::from_utf8_lossy(self.records.frame());
            if !frame.is_empty() {
                self.format.frame(&frame, sink);
            }
        }
    }
}

fn is_valid_json(json: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(json).is_ok()
}
