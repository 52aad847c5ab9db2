//! Runs one hook: checks whether hooks are switched off, applies the time limit, and records the
//! outcome.

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
use super::state_dir::StateDir;
use super::{failure, prompt, saving, wake};
use crate::home::Home;

/// The longest time limit of a hook, and the shortest.
const LIMIT: Duration = Duration::from_secs(2);
const LEAST_LIMIT: Duration = Duration::from_millis(100);

/// The inputs of a hook.
#[derive(Debug, Clone)]
pub struct Call {
    /// The event.
    pub event: Event,
    /// The harness that calls.
    pub harness: Harness,
    /// The directories of the user.
    pub home: Home,
    /// The palace. A directory is absolute.
    pub palace: PalaceRef,
    /// The options for opening it.
    pub options: OpenOptions,
    /// The user's configuration.
    pub config: HooksConfig,
    /// The path of this program, for the process that saves in the background.
    pub program: PathBuf,
    /// The arguments of that process that name the palace.
    pub arguments: Vec<OsString>,
}

/// Whether `LOCI_HOOKS` switches all hooks off.
pub fn switched_off() -> bool {
    std::env::var_os("LOCI_HOOKS").is_some_and(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        matches!(value.trim(), "off" | "0" | "false" | "no")
    })
}

/// Records a call whose harness or event is unknown.
pub fn note_unknown(home: &Home, why: &str) {
    notes::write(
        &StateDir::of(home),
        "unknown",
        "unknown",
        &Outcome::failed(why),
        Duration::ZERO,
    );
}

/// Records why the hook can do nothing, and returns the neutral answer.
pub fn refuse(home: &Home, harness: Harness, event: Event, why: &str) -> String {
    let outcome = Outcome::failed(why);
    notes::write(
        &StateDir::of(home),
        harness.name(),
        event.name(),
        &outcome,
        Duration::ZERO,
    );
    HookOutput::Nothing.render(harness, event)
}

/// Handles the event and returns the output: JSON, or nothing. It takes the time limit at most,
/// whatever the palace, the input or another process does. Work that is still running then ends
/// with this process.
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
            .unwrap_or_else(|error| (HookOutput::Nothing, outcome_of_timeout(error))),
        Err(error) => (
            HookOutput::Nothing,
            Outcome::failed(format!("cannot start a thread: {error}")),
        ),
    };
    if call.config.enabled != Some(false) {
        let (harness, event) = (call.harness.name(), call.event.name());
        notes::write(&call.state_dir(), harness, event, &outcome, since.elapsed());
    }
    answer.render(call.harness, call.event)
}

fn outcome_of_timeout(error: mpsc::RecvTimeoutError) -> Outcome {
    match error {
        mpsc::RecvTimeoutError::Timeout => {
            Outcome::failed("the hook took too long and was stopped").advise(Advice::Verify)
        }
        mpsc::RecvTimeoutError::Disconnected => {
            Outcome::failed("the hook stopped unexpectedly; this is a bug, please report it")
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

    /// The time limit of the hook.
    pub(super) fn limit(&self) -> Duration {
        let asked = self.config.timeout_ms.map_or(LIMIT, Duration::from_millis);
        asked.clamp(LEAST_LIMIT, LIMIT)
    }

    pub(super) fn state_dir(&self) -> StateDir {
        StateDir::of(&self.home)
    }

    /// Opens the palace, if it exists.
    pub(super) fn existing(&self) -> Result<Option<Palace>> {
        match Palace::open(&self.palace, &self.options) {
            Ok(palace) => Ok(Some(palace)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the palace, and creates it if necessary. It is never created in a directory of another
    /// program.
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

    /// Returns the wing of the project that the agent works in.
    pub(super) fn wing(&self, palace: &Palace, input: &Input) -> Result<Option<String>> {
        let folder = input.folder(self.harness);
        folder
            .map(|folder| palace.wing_of_folder(DEFAULT_COLLECTION, &folder))
            .transpose()
    }
}
