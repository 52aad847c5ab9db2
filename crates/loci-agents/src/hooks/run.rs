//! One call of a hook: switched off or not, a time limit around the work, a note of what became of it.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use loci_palace::{
    ErrorKind, Filter, ForeignKind, HooksConfig, KeyTest, MetaValue, OpenOptions, Palace, Result,
    Selection, place_of_conversation, recognise,
};

use super::answer::Answer;
use super::harness::{Event, Harness};
use super::input::Input;
use super::notes::{self, Outcome};
use super::shelf::Shelf;
use super::{failure, prompt, saving, wake};
use crate::home::Home;

/// The longest that anybody waits for a hook.
const LIMIT: Duration = Duration::from_secs(2);
/// Wings that a palace may have for drawers without one to be found too.
const MOST_WINGS: usize = 1_000;

/// Everything a hook works with.
#[derive(Debug, Clone)]
pub struct Call {
    /// What happened.
    pub event: Event,
    /// Who calls.
    pub harness: Harness,
    /// Where the user's files are.
    pub home: Home,
    /// The directory of the palace, absolute.
    pub palace: PathBuf,
    /// How it is opened.
    pub options: OpenOptions,
    /// What the user wants.
    pub config: HooksConfig,
    /// This program, and the arguments that name the palace: for a process that saves in the background.
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
    Answer::Nothing.render(harness, event)
}

/// Does what the event asks for and gives what is to be printed: JSON, or nothing. Takes the time limit at most, whatever
/// the palace, the input or another process does. What is still under way then ends with this process.
pub fn answer(call: &Call, mut input: impl Read + Send + 'static) -> String {
    let since = Instant::now();
    let neutral = Answer::Nothing.render(call.harness, call.event);
    if call.config.enabled == Some(false) {
        return neutral;
    }
    let limit = call.config.timeout_ms.map_or(LIMIT, Duration::from_millis);
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = {
        let call = call.clone();
        move || {
            let result = match Input::read(&mut input) {
                Ok(input) => call.work(&input),
                Err(why) => (Answer::Nothing, Outcome::failed(why)),
            };
            let _ = sender.send(result);
        }
    };
    let (answer, outcome) = match std::thread::Builder::new().spawn(work) {
        Ok(_) => receiver
            .recv_timeout(limit.min(LIMIT))
            .unwrap_or_else(|error| (Answer::Nothing, Outcome::failed(broken_off(error)))),
        Err(error) => (
            Answer::Nothing,
            Outcome::failed(format!("cannot start a thread: {error}")),
        ),
    };
    let (harness, event) = (call.harness.name(), call.event.name());
    notes::write(&call.shelf(), harness, event, &outcome, since.elapsed());
    answer.render(call.harness, call.event)
}

fn broken_off(error: mpsc::RecvTimeoutError) -> &'static str {
    match error {
        mpsc::RecvTimeoutError::Timeout => {
            "it took too long and was broken off; `loci verify` says whether the palace is well"
        }
        mpsc::RecvTimeoutError::Disconnected => "it broke off; that is a bug, please report it",
    }
}

impl Call {
    fn work(&self, input: &Input) -> (Answer, Outcome) {
        let result = match self.event {
            Event::SessionStart => wake::run(self, input),
            Event::Prompt => prompt::run(self, input),
            Event::ToolUse | Event::ToolFailure => failure::run(self, input),
            Event::Stop | Event::SessionEnd | Event::PreCompact => saving::run(self, input),
        };
        result.unwrap_or_else(|error| (Answer::Nothing, Outcome::error(&error)))
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
        if let Ok(Some(found)) = recognise(&self.palace)
            && found.kind != ForeignKind::Loci
        {
            return Err(loci_palace::Error::invalid(
                format!("`{}`", self.palace.display()),
                format!("a palace of {}, not of Loci", found.writer),
            ));
        }
        let options = OpenOptions {
            create: true,
            ..self.options.clone()
        };
        Palace::open(&self.palace, &options)
    }

    /// The wing in which the transcripts of this project stand.
    pub(super) fn wing(&self, input: &Input) -> Option<String> {
        let folder = input.folder(self.harness)?;
        Some(place_of_conversation(Some(&folder)).wing)
    }

    /// What this session may be told: drawers of the project and drawers that belong nowhere, but not what was just said in the
    /// session itself. What another project's sessions said stays there.
    pub(super) fn selection(
        &self,
        palace: &Palace,
        wing: &str,
        input: &Input,
    ) -> Result<Selection> {
        let collection = palace.collection(loci_palace::DEFAULT_COLLECTION, false)?;
        let wings = collection.facet_counts("wing", &Selection::all(), MOST_WINGS + 1)?;
        let others: Vec<MetaValue> = wings
            .values
            .into_iter()
            .map(|(value, _)| value)
            .filter(|value| *value != MetaValue::from(wing))
            .collect();
        let place = if others.len() > MOST_WINGS {
            KeyTest::Eq(wing.into())
        } else {
            KeyTest::NotIn(others)
        };
        let mut parts = vec![Filter::Key {
            key: "wing".into(),
            test: place,
        }];
        let transcript = input.transcript(&self.home.home);
        let own = transcript.map(|path| path.canonicalize().unwrap_or(path));
        if let Some(own) = own.as_deref().and_then(|path| path.to_str()) {
            parts.push(Filter::Key {
                key: "source_file".into(),
                test: KeyTest::Ne(own.into()),
            });
        }
        Ok(Selection::matching(Filter::And(parts)))
    }
}
