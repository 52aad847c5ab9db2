//! Downloads models whose bytes are known in advance. Data is stored in `NAME.partial`, and the
//! next attempt or call continues it. The file is used only if its SHA-256 is right.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use loci_core::{Error, Result};
use ureq::Agent;
use ureq::http::{Response, StatusCode, Uri};

use super::known::{KNOWN_MODELS, KnownModel, Progress, PullLimits};
use super::{Added, Change, ModelStore};
use crate::http;
use loci_files::FileLock;

/// An attempt with this much progress does not count as a failure.
const WORTHWHILE_BYTES: u64 = 1 << 20;

/// Why an attempt ended.
enum Failure {
    /// Another attempt may succeed. The duration is the pause that the server requested, if any.
    Passing(Error, Option<Duration>),
    Lasting(Error),
}

impl ModelStore {
    /// Downloads a known model and stores it. `from` replaces its own URL. An interrupted download
    /// is continued. The bytes are checked against the pinned SHA-256 before anything uses them. A
    /// model that is already stored is not downloaded again.
    pub fn pull(
        &self,
        name: &str,
        from: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Added> {
        let Some(known) = KNOWN_MODELS.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = KNOWN_MODELS.iter().map(|known| known.name).collect();
            return Err(Error::invalid(
                format!("model name `{name}`"),
                format!("it cannot be downloaded; known: {}", names.join(", ")),
            ));
        };
        let url = from.unwrap_or(known.url);
        self.pull_known(
            &KnownModel { url, ..*known },
            &PullLimits::default(),
            progress,
        )
    }

    /// Does the same as [`ModelStore::pull`], for any model whose bytes are known.
    pub fn pull_known(
        &self,
        known: &KnownModel<'_>,
        limits: &PullLimits,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Added> {
        let uri = http::parse(known.url)?;
        self.place(known.name)?;
        loci_files::create_directory_with(self.directory(), 0o777)
            .map_err(|error| Error::io("cannot create", self.directory(), error))?;
        // A concurrent call waits here and then finds the stored model.
        let _lock = FileLock::exclusive(&self.hidden(known.name, "pull.lock"))?;
        if let Some(model) = self.whole(known.name, known.digest) {
            return Ok(Added {
                model,
                change: Change::Unchanged,
            });
        }
        let partial = self.directory().join(format!("{}.partial", known.name));
        let download = Download::new(known, uri, limits, &partial)?;
        download.run(progress)?;
        download.verify()?;
        let added = self.add_from(&partial, &download.url)?;
        // The model is stored and durable, so the partial file is not needed any more.
        fs::remove_file(&partial).map_err(|error| Error::io("cannot remove", &partial, error))?;
        Ok(added)
    }
}

struct Download<'a> {
    known: &'a KnownModel<'a>,
    limits: &'a PullLimits,
    partial: &'a Path,
    uri: Uri,
    /// The URL without its secrets.
    url: String,
    agent: Agent,
}

impl<'a> Download<'a> {
    fn new(
        known: &'a KnownModel<'a>,
        uri: Uri,
        limits: &'a PullLimits,
        partial: &'a Path,
    ) -> Result<Self> {
        let config = http::config()?
            .timeout_connect(Some(limits.connect))
            .timeout_recv_response(Some(limits.stall))
            .timeout_per_read(Some(limits.stall))
            .timeout_per_write(Some(limits.stall));
        Ok(Self {
            known,
            limits,
            partial,
            url: http::redacted(&uri),
            uri,
            agent: config.build().into(),
        })
    }

    /// Retries until the partial file is complete.
    fn run(&self, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).truncate(false);
        let mut file = loci_files::own::open_or_create(self.partial, &options)
            .map_err(|error| self.local(error))?;
        let mut failures = 0;
        loop {
            let before = self.length(&file)?;
            match self.attempt(&mut file, progress) {
                Ok(()) => return Ok(()),
                Err(Failure::Lasting(error)) => return Err(error),
                Err(Failure::Passing(error, asked)) => {
                    if self.length(&file)? >= before + WORTHWHILE_BYTES {
                        failures = 0;
                    }
                    failures += 1;
                    if failures >= self.limits.attempts {
                        return Err(error);
                    }
                    std::thread::sleep(http::pause(self.limits.backoff, failures, asked));
                }
            }
        }
    }

    /// One request for the missing bytes.
    fn attempt(&self, file: &mut File, progress: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        let lasting = |error| Failure::Lasting(self.local(error));
        let total = self.known.bytes;
        let mut done = self.length(file).map_err(Failure::Lasting)?;
        if done > total {
            // Too long to be a part of this file, so no byte of it can be used.
            file.set_len(0).map_err(lasting)?;
            done = 0;
        }
        progress(Progress { done, total });
        if done == total {
            return Ok(());
        }
        let mut request = self.agent.get(&self.uri);
        if done > 0 {
            request = request.header("range", format!("bytes={done}-"));
        }
        let mut answer = request.call().map_err(|error| self.refused(&error))?;
        let start = self.start(&answer, done)?;
        if start != done {
            // The server sends the file from its beginning, so the bytes on disk are not needed. They
            // are never trusted after a crash either: `verify` hashes the whole file.
            file.set_len(start).map_err(lasting)?;
            done = start;
        }
        file.seek(SeekFrom::Start(done)).map_err(lasting)?;
        let mut body = answer.body_mut().as_reader();
        let mut buffer = vec![0; 64 << 10];
        while done < total {
            let read = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read.min(usize::try_from(total - done).unwrap_or(usize::MAX)),
                Err(error) => return Err(self.cut_off(done, &error.to_string())),
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            file.write_all(bytes).map_err(lasting)?;
            done += read as u64;
            progress(Progress { done, total });
        }
        if done < total {
            return Err(self.cut_off(done, "the server closed the connection"));
        }
        Ok(())
    }

    /// The position of the first byte of the response body: the current one, or zero.
    fn start(&self, answer: &Response<ureq::Body>, done: u64) -> Result<u64, Failure> {
        let total = self.known.bytes;
        let status = answer.status();
        let problem = match status {
            StatusCode::PARTIAL_CONTENT if continues(answer, done, total) => return Ok(done),
            StatusCode::OK => match answer.body().content_length() {
                Some(length) if length != total => {
                    format!("the server has a file of {length} bytes, expected {total}")
                }
                _ => return Ok(0),
            },
            // The bytes on disk do not belong to the file of the server.
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if done > 0 => {
                let cleared =
                    loci_files::own::open_with(self.partial, OpenOptions::new().write(true));
                let cleared = cleared.and_then(|file| file.set_len(0));
                cleared.map_err(|error| Failure::Lasting(self.local(error)))?;
                let error = self.failed(format!("the server cannot continue at byte {done}"));
                return Err(Failure::Passing(error, None));
            }
            _ => format!("the server answered {status}"),
        };
        let error = self.failed(problem);
        Err(if http::is_temporary(status) {
            Failure::Passing(error, http::retry_after(answer.headers()))
        } else {
            Failure::Lasting(error)
        })
    }

    /// Compares the SHA-256 of the whole file with the pinned one, and removes a wrong file.
    fn verify(&self) -> Result<()> {
        let mut file = loci_files::own::open(self.partial).map_err(|error| self.local(error))?;
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = file.read(&mut buffer).map_err(|error| self.local(error))?;
            if read == 0 {
                break;
            }
            context.update(buffer.get(..read).unwrap_or_default());
        }
        let mut found = String::with_capacity(64);
        for byte in context.finish().as_ref() {
            let _ = write!(found, "{byte:02x}");
        }
        if found == self.known.sha256 {
            return Ok(());
        }
        // If the file stayed, the next call would find it at full length and fail again.
        fs::remove_file(self.partial).map_err(|error| self.local(error))?;
        Err(Error::invalid(
            format!("download `{}`", self.url),
            format!(
                "its SHA-256 is {found}, expected {}; it was removed and nothing was stored",
                self.known.sha256
            ),
        ))
    }

    fn length(&self, file: &File) -> Result<u64> {
        let metadata = file.metadata().map_err(|error| self.local(error))?;
        Ok(metadata.len())
    }

    fn refused(&self, error: &ureq::Error) -> Failure {
        let described = self.failed(error.to_string());
        if http::is_transient(error) {
            Failure::Passing(described, None)
        } else {
            Failure::Lasting(described)
        }
    }

    fn cut_off(&self, done: u64, problem: &str) -> Failure {
        let total = self.known.bytes;
        let text = format!("{problem} after {done} of {total} bytes; run it again to continue");
        Failure::Passing(self.failed(text), None)
    }

    fn failed(&self, problem: String) -> Error {
        http::unavailable("cannot download", &self.url, problem)
    }

    fn local(&self, error: std::io::Error) -> Error {
        Error::io("cannot write", self.partial, error)
    }
}

/// Whether a partial response begins at the current position and belongs to a file of the right
/// length.
fn continues(answer: &Response<ureq::Body>, done: u64, total: u64) -> bool {
    let parse = || {
        let range = answer.headers().get("content-range")?.to_str().ok()?;
        let (span, whole) = range.strip_prefix("bytes ")?.split_once('/')?;
        let start: u64 = span.split_once('-')?.0.parse().ok()?;
        let fits = whole == "*" || whole.parse() == Ok(total);
        Some(start == done && fits)
    };
    parse().unwrap_or(false)
}

#[cfg(test)]
mod tests;
