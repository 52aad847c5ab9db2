//! Saves the new part of a transcript, exactly as `loci mine` of that file would. A small
//! transcript is saved immediately. For a large one, or while other processes hold the palace, a
//! background process saves it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use loci_palace::{
    Advice, DEFAULT_COLLECTION, DistinctWing, Error, ErrorKind, MaskTally, Meter, MineOptions,
    Reading, Result, SecretPolicy, Tree, describe_masked, mine, recognise_conversation,
    secret_policy,
};

use super::answer::HookOutput;
use super::background;
use super::harness::{Event, Harness};
use super::input::Input;
use super::lock::{LockGuard, Turn};
use super::notes::Outcome;
use super::run::Call;
use super::transcript::Transcript;

/// Transcripts up to this size are saved immediately.
const SMALL_BYTES: u64 = 96 << 10;
/// How long a hook waits for that. It is half of its time limit at most, so that it can still start
/// a background process.
const PATIENCE: Duration = Duration::from_millis(400);
/// How many bytes decide whether a file is a conversation.
const HEAD_BYTES: u64 = 64 << 10;

/// A transcript to be saved.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) call: Call,
    pub(super) path: PathBuf,
    /// The folder for a new conversation that does not name one.
    pub(super) folder: Option<String>,
    pub(super) turn: Turn,
    pub(super) transcript: Transcript,
}

/// The result of a save.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) passages: u64,
    /// Wings that differ from the folder's name, because that is the wing of another project.
    pub(super) wings: Vec<DistinctWing>,
    /// Whether the index should be built, which takes longer than a hook may.
    index_due: bool,
}

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |outcome| Ok((HookOutput::Nothing, outcome));
    let Some(path) = input.transcript(&call.home.home) else {
        return nothing(Outcome::done("no transcript was named"));
    };
    let size = match inspect(&path) {
        FileContent::Conversation(size) => size,
        FileContent::Nothing => return nothing(Outcome::done("the transcript does not exist yet")),
        FileContent::Unknown => {
            let note = format!(
                "`{}` is not a transcript that Loci can read",
                path.display()
            );
            return nothing(Outcome::failed(note).advise(Advice::MineAgents));
        }
    };
    // Gemini's transcripts do not name the folder. A conversation that is already filed keeps its
    // place.
    let folder = match call.harness {
        Harness::Gemini => input.folder(call.harness),
        _ => None,
    };
    let job = Job::new(call, &path, folder);
    if call.event == Event::Stop {
        let stops = job.transcript.stopped();
        let interval = u64::from(call.config.interval.unwrap_or(1)).max(1);
        if !stops.is_multiple_of(interval) {
            return nothing(Outcome::done("will be saved at a later stop"));
        }
    }
    let outcome = job.save(size)?;
    let (unreported, masked) = match call.event {
        Event::Stop => job.transcript.take_unreported(),
        _ => (0, MaskTally::new()),
    };
    let answer = if unreported > 0 && call.config.message.unwrap_or(true) {
        HookOutput::Message(message(unreported, &masked))
    } else {
        HookOutput::Nothing
    };
    Ok((answer, outcome))
}

fn message(passages: u64, masked: &MaskTally) -> String {
    let noun = if passages == 1 { "passage" } else { "passages" };
    let saved = format!("Loci: {passages} {noun} of this conversation saved");
    match describe_masked(masked) {
        Some(masked) => format!("{saved}; {masked}"),
        None => saved,
    }
}

/// Describes a save, for the records that `doctor` reads.
pub(super) fn note(passages: u64, wings: &[DistinctWing]) -> String {
    let mut note = format!("saved {passages} passage(s)");
    for wing in wings {
        note.push_str("; ");
        note.push_str(&wing.to_string());
    }
    note
}

/// The kind of file at a path.
enum FileContent {
    /// A conversation of this many bytes.
    Conversation(u64),
    /// No file, or an empty one.
    Nothing,
    /// Another file.
    Unknown,
}

fn inspect(path: &Path) -> FileContent {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return FileContent::Nothing,
        Err(_) => return FileContent::Unknown,
    };
    // Opening a named pipe would block.
    if !metadata.is_file() {
        return FileContent::Unknown;
    }
    if metadata.len() == 0 {
        return FileContent::Nothing;
    }
    let mut head = Vec::new();
    let read = loci_files::foreign::open(path)
        .and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    match read {
        Ok(_) if recognise_conversation(path, &head).is_some() => {
            FileContent::Conversation(metadata.len())
        }
        _ => FileContent::Unknown,
    }
}

impl Job {
    pub(super) fn new(call: &Call, path: &Path, folder: Option<String>) -> Self {
        // All paths to the file must share one lock.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let state_dir = call.state_dir();
        let turn = Turn::of(&state_dir, &path);
        let transcript = Transcript::of(&state_dir, &turn);
        Self {
            call: call.clone(),
            path,
            folder,
            turn,
            transcript,
        }
    }

    /// Saves now, or starts a background process.
    fn save(&self, size: u64) -> Result<Outcome> {
        let fail = |error| Error::io("cannot lock", self.call.state_dir().folder(), error);
        self.turn.mark().map_err(fail)?;
        let Some(held) = self.turn.take().map_err(fail)? else {
            return Ok(Outcome::done("another process is saving"));
        };
        if size > SMALL_BYTES {
            drop(held);
            return background::start(self);
        }
        self.save_at_once(held)
    }

    fn save_at_once(&self, held: LockGuard) -> Result<Outcome> {
        self.turn.unmark();
        let (sender, receiver) = mpsc::sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let work = {
            let (job, stop) = (self.clone(), Arc::clone(&stop));
            move || {
                let saved = job.mine(&stop, false);
                drop(held);
                let _ = sender.send(saved);
            }
        };
        std::thread::Builder::new()
            .spawn(work)
            .map_err(|error| Error::io("cannot start", "a thread", error))?;
        match receiver.recv_timeout(PATIENCE.min(self.call.limit() / 2)) {
            Ok(Ok(saved)) => {
                if saved.index_due {
                    let _ = self.turn.mark();
                }
                if self.turn.is_marked() {
                    background::start(self)?;
                }
                Ok(Outcome::done(note(saved.passages, &saved.wings)))
            }
            Ok(Err(error)) if error.kind() != ErrorKind::Busy => Err(error),
            Ok(Err(_)) | Err(_) => {
                stop.store(true, Ordering::Relaxed);
                let _ = self.turn.mark();
                background::start(self)
            }
        }
    }

    /// Transcripts only grow. A shorter one was truncated or replaced, and mining it would remove
    /// saved drawers.
    fn became_shorter(&self) -> Error {
        let path = self.path.display();
        Error::invalid(
            format!("transcript `{path}`"),
            "is shorter than the part that was saved; the saved drawers are kept",
        )
        .advise(Advice::MineFile {
            path: self.path.clone(),
        })
    }

    /// Mines the transcript. If `close` is set, the palace is closed, which may build its index.
    pub(super) fn mine(&self, stop: &AtomicBool, close: bool) -> Result<Saved> {
        let size = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if size < self.transcript.size() {
            return Err(self.became_shorter());
        }
        let mut reading = Reading {
            folder: self.folder.clone(),
            ..Reading::default()
        };
        let policy = secret_policy(&self.call.palace, &self.call.options)?;
        reading.text_options.keep_secrets = policy == SecretPolicy::Keep;
        let tree =
            Tree::new(std::slice::from_ref(&self.path), reading)?.only(vec![self.path.clone()]);
        let palace = self.call.created()?;
        let options = MineOptions {
            threads: Some(1),
            ..MineOptions::default()
        };
        let report = palace.mine(&mine::Request {
            collection: DEFAULT_COLLECTION,
            source: &tree,
            options: &options,
            meter: &Meter::default(),
            stop,
        })?;
        let passages = report.drawers.new + report.drawers.updated;
        self.transcript.saved(size, passages, &report.masked);
        if let Some(failure) = report.failures.first() {
            return Err(Error::invalid(
                format!("transcript `{}`", failure.path),
                failure.why.clone(),
            ));
        }
        if close {
            palace.close()?;
            return Ok(Saved {
                passages,
                wings: report.wings,
                index_due: false,
            });
        }
        Ok(Saved {
            passages,
            wings: report.wings,
            index_due: palace.index_due(DEFAULT_COLLECTION)?,
        })
    }
}
