//! One call of a hook: switched off or not, a time limit around the work, a note of what became of
//! it.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use loci_palace::{
    Advice, DEFAULT_COLLECTION, ErrorKind, ForeignKind, HooksConfig, OpenOptions, Palace,
    PalaceRef, Result, recognise,
};

use super::answer::HookOutput;
use super::harness::{Event, Harness};
use super::input::Input;
use super::notes::{self, Outcome};
use super::shelf::Shelf;
use super::{failure, prompt, saving, wake};
use crate::home::Home;

/// The longest that anybody waits for a hook, and the least that it needs.
const LIMIT: Duration = Duration::from_secs(2);
const LEAST_LIMIT: Duration = Duration::from_millis(100);

/// Everything a hook works with.
#[derive(Debug, Clone)]
pub struct Call {
    /// What happened.
    pub event: Event,
    /// Who calls.
    pub harness: Harness,
    /// Where the user's files are.
    pub home: Home,
    /// The palace; a directory is absolute.
    pub palace: PalaceRef,
    /// How it is opened.
    pub options: OpenOptions,
    /// What the user wants.
    pub config: HooksConfig,
    /// This program, and the arguments that name the palace: for a process that saves in the
    /// background.
    pub program: PathBuf,
    /// See `program`.
    pub arguments: Vec<OsString>,
}

/// Whether `LOCI_HOOKS` switches all hooks off.
pub fn switched_off() -> bool {
    std::env::var_os("LOCI_HOOKS").is_some_and(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        matches!(value.trim(), "off" | "0" | "false" | "no")
    })
}

/// Notes a call that could not be understood.
pub fn note_unknown(home: &Home, why: &str) {
    notes::write(
        &Shelf::of(home),
        "unknown",
        "unknown",
        &Outcome::failed(why),
        Duration::ZERO,
    );
}

/// Notes why nothing can be done, and gives the neutral answer.
pub fn refuse(home: &Home, harness: Harness, event: Event, why: &str) -> String {
    let outcome = Outcome::failed(why);
    notes::write(
        &Shelf::of(home),
        harness.name(),
        event.name(),
        &outcome,
        Duration::ZERO,
    );
    HookOutput::Nothing.render(harness, event)
}

/// Does what the event asks for and gives what is to be printed: JSON, or nothing. Takes the time
/// limit at most, whatever the palace, the input or another process does. What is still under way
/// then ends with this process.
pub fn answer(call: &Call, mut input: impl Read + Send + 'static) -> String {
    let since = Instant::now();
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = {
        let call = call.clone();
        move || {
            let result = match Input::read(&mut input) {
                _ if call.config.enabled == Some(false) => return,
                Ok(input) => call.work(&input),
                Err(why) => (HookOutput::Nothing, Outcome::failed(why)),
            };
            let _ = sender.send(result);
        }
    };
    let (answer, outcome) = match std::thread::Builder::new().spawn(work) {
        Ok(_) => receiver
            .recv_timeout(call.limit())
            .unwrap_or_else(|error| (HookOutput::Nothing, broken_off(error))),
        Err(error) => (
            HookOutput::Nothing,
            Outcome::failed(format!("cannot start a thread: {error}")),
        ),
    };
    if call.config.enabled != Some(false) {
        let (harness, event) = (call.harness.name(), call.event.name());
        notes::write(&call.shelf(), harness, event, &outcome, since.elapsed());
    }
    answer.render(call.harness, call.event)
}

fn broken_off(error: mpsc::RecvTimeoutError) -> Outcome {
    match error {
        mpsc::RecvTimeoutError::Timeout => {
            Outcome::failed("it took too long and was stopped").advise(Advice::Verify)
        }
        mpsc::RecvTimeoutError::Disconnected => {
            Outcome::failed("it stopped by itself; that is a bug, please report it")
        }
    }
}

impl Call {
    fn work(&self, input: &Input) -> (HookOutput, Outcome) {
        let result = match self.event {
            Event::SessionStart => wake::run(self, input),
            Event::Prompt => prompt::run(self, input),
            Event::ToolUse | Event::ToolFailure => failure::run(self, input),
            Event::Stop | Event::SessionEnd | Event::PreCompact => saving::run(self, input),
        };
        result.unwrap_or_else(|error| (HookOutput::Nothing, Outcome::error(&error)))
    }

    /// How long the hook may take.
    pub(super) fn limit(&self) -> Duration {
        let asked = self.config.timeout_ms.map_or(LIMIT, Duration::from_millis);
        asked.clamp(LEAST_LIMIT, LIMIT)
    }

    pub(super) fn shelf(&self) -> Shelf {
        Shelf::of(&self.home)
    }

    /// The palace, if there is one.
    pub(super) fn existing(&self) -> Result<Option<Palace>> {
        match Palace::open(&self.palace, &self.options) {
            Ok(palace) => Ok(Some(palace)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The palace, made if there is none; never inside a directory of another program.
    pub(super) fn created(&self) -> Result<Palace> {
        if let Some(directory) = self.palace.as_directory()
            && let Ok(Some(found)) = recognise(directory)
            && found.kind != ForeignKind::Loci
        {
            return Err(loci_palace::Error::invalid(
                format!("`{}`", self.palace),
                format!("a palace of {}, not of Loci", found.writer),
            ));
        }
        let options = OpenOptions {
            create: true,
            ..self.options.clone()
        };
        Palace::open(&self.palace, &options)
    }

    /// The wing of the project that the agent works in.
    pub(super) fn wing(&self, palace: &Palace, input: &Input) -> Result<Option<String>> {
        let Some(folder) = input.folder(self.harness) else {
            return Ok(None);
        };
        palace.wing_of_folder(DEFAULT_COLLECTION, &folder).map(Some)
    }
}
