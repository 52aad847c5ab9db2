//! Reads a conversation whose messages are files of a folder that is derived from the path of the
//! main file.

use super::error::Error;
use super::event::Conversation;
use super::mark::Mark;
use super::sink::ParseSink;
use super::utterance::{Point, RecordSpan};
use loci_files::allowed::AllowedRoots;
use serde_json::Value;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Larger files are skipped and counted.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// How one program stores a conversation in files.
#[derive(Debug)]
pub(super) struct FolderFormat {
    /// The folder that holds all files of the conversation at this path.
    pub(super) root: fn(&Path) -> Option<&Path>,
    /// The files of the messages, in order.
    pub(super) messages: fn(&Path, &AllowedRoots) -> Vec<PathBuf>,
    /// The files of the parts of a message, in order.
    pub(super) parts: fn(&Path, &Path, &AllowedRoots) -> Vec<PathBuf>,
    /// The facts in the main file.
    pub(super) about: fn(&Value) -> Conversation,
    /// Passes one message with its parts to the sink.
    pub(super) emit: fn(&Value, &[Value], RecordSpan, &mut ParseSink),
}

/// A conversation whose messages are files.
#[derive(Debug)]
pub(super) struct Folder {
    format: &'static FolderFormat,
    path: PathBuf,
    allowed: AllowedRoots,
    /// The number of messages before the mark, and the digest of their names.
    mark: (u64, u64),
    files: Option<std::vec::IntoIter<PathBuf>>,
    number: u64,
}

impl Folder {
    pub(super) fn new(
        format: &'static FolderFormat,
        path: &Path,
        mark: &Mark,
        allowed: &AllowedRoots,
    ) -> Self {
        Self {
            format,
            path: path.to_owned(),
            allowed: allowed.clone(),
            mark: (mark.line, mark.state.check),
            files: None,
            number: 0,
        }
    }

    /// Passes one message to the sink. Returns `false` at the end.
    pub(super) fn advance(&mut self, sink: &mut ParseSink) -> Result<bool, Error> {
        if self.files.is_none() {
            let files = self.open(sink)?;
            self.files = Some(files.into_iter());
        }
        let Some(file) = self.files.as_mut().and_then(Iterator::next) else {
            return Ok(false);
        };
        let start = RecordSpan {
            from: Some(Point::default()),
            ..RecordSpan::default()
        };
        let place = start.message(self.number);
        self.number += 1;
        sink.state.check = extend_digest(sink.state.check, &file);
        sink.record_tally.read();
        match self.read(&file) {
            Some(message) => {
                let parts = (self.format.parts)(&self.path, &file, &self.allowed)
                    .iter()
                    .filter_map(|part| self.read(part))
                    .collect::<Vec<_>>();
                (self.format.emit)(&message, &parts, place, sink);
            }
            None => sink.record_tally.skip("unreadable message"),
        }
        Ok(true)
    }

    /// Reads the facts of the conversation and returns the messages that are still to be read.
    fn open(&mut self, sink: &mut ParseSink) -> Result<Vec<PathBuf>, Error> {
        let bytes = self.bytes(&self.path).map_err(|source| Error::Read {
            path: self.path.clone(),
            source,
        })?;
        let Ok(session) = serde_json::from_slice::<Value>(&bytes) else {
            return Err(Error::Broken {
                path: self.path.clone(),
                detail: "the session is not JSON",
            });
        };
        sink.conversation = (self.format.about)(&session);
        let mut files = (self.format.messages)(&self.path, &self.allowed);
        let (read, check) = self.mark;
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        let before = files.get(..read).ok_or_else(|| self.rewritten())?;
        if before
            .iter()
            .fold(0, |check, file| extend_digest(check, file))
            != check
        {
            return Err(self.rewritten());
        }
        self.number = self.mark.0;
        Ok(files.split_off(read))
    }

    fn rewritten(&self) -> Error {
        Error::Rewritten {
            path: self.path.clone(),
        }
    }

    fn read(&self, file: &Path) -> Option<Value> {
        serde_json::from_slice(&self.bytes(file).ok()?).ok()
    }

    /// Reads a file of the conversation. A link that leads outside its folder is not followed.
    fn bytes(&self, file: &Path) -> io::Result<Vec<u8>> {
        let root = (self.format.root)(&self.path).unwrap_or(Path::new("/"));
        let inside = file.strip_prefix(root).unwrap_or(file);
        let opened = self.allowed.open_below(root, inside)?;
        let about = opened.metadata()?;
        if !about.is_file() || about.len() > MAX_FILE_BYTES {
            return Err(io::Error::other(
                "not a regular file, or larger than 64 MiB",
            ));
        }
        let mut bytes = Vec::new();
        opened.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn extend_digest(check: u64, file: &Path) -> u64 {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    xxh3_64_with_seed(name.as_bytes(), check)
}

/// Returns the JSON files of a folder sorted by name, which is the order of their age if names
/// ascend.
pub(super) fn files_in(folder: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    let mut files: Vec<_> = allowed
        .entries(folder)
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}
