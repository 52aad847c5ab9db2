//! `loci hook`: runs a hook for an agent. It always exits with 0, and it writes only output that
//! the agent understands.

mod log;
mod trial;

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use loci_agents::Home;
use loci_agents::hooks::{self, Call, Event, Harness};
use loci_palace::{Config, Error, PalaceRef, quoted};

use crate::args::HookArguments;
use crate::failure::{Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

/// The event of the process that saves in the background.
const SAVE: &str = "save";
/// Limits for reading an input that is discarded.
const MOST_DRAINED: u64 = 64 << 20;
const DRAINING: Duration = Duration::from_millis(500);

pub(crate) fn run(arguments: &HookArguments, session: &Session<'_>) -> Result<Reply> {
    match arguments.event.as_str() {
        "try" => return trial::run(arguments, session),
        "log" => return log::run(arguments, session),
        _ => {}
    }
    if let Some(extra) = &arguments.prompt {
        return Err(Failure::usage(
            format!("unexpected argument {}", quoted(extra)),
            "only `loci hook try` takes a prompt; agents pass theirs on stdin",
        ));
    }
    // The message of a panic would go to stderr, which agents show to the user.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(transcript) = &arguments.transcript
        && arguments.event == SAVE
    {
        if let Ok(call) = call(Event::Stop, harness(arguments)?, session) {
            hooks::save_in_background(&call, transcript, arguments.folder.clone());
        }
        return Ok(Reply::printed());
    }
    if std::io::stdin().is_terminal() {
        return Err(called_by_a_person(arguments));
    }
    if hooks::switched_off() {
        drain();
        return Ok(Reply::printed());
    }
    Ok(printed(answer(arguments, session)))
}

/// The output of the hook. It never fails.
fn answer(arguments: &HookArguments, session: &Session<'_>) -> String {
    let Ok(home) = Home::of_user() else {
        return String::new();
    };
    let understood = harness(arguments).and_then(|harness| Ok((harness, event(arguments)?)));
    let (harness, event) = match understood {
        Ok(understood) => understood,
        Err(failure) => {
            drain();
            hooks::note_unknown(&home, &failure.message());
            return String::new();
        }
    };
    match call(event, harness, session) {
        Ok(call) => hooks::answer(&call, std::io::stdin()),
        Err(failure) => {
            drain();
            hooks::refuse(&home, harness, event, &failure.message())
        }
    }
}

fn call(event: Event, harness: Harness, session: &Session<'_>) -> Result<Call> {
    let palace = session.place()?.absolute()?;
    let program =
        std::env::current_exe().map_err(|error| Error::io("cannot find", "this program", error))?;
    Ok(Call {
        event,
        harness,
        home: Home::of_user()?,
        options: session.options(false),
        config: Config::of_user()?.hooks.unwrap_or_default(),
        arguments: same_palace(&palace, session),
        palace,
        program,
    })
}

/// The arguments with which this program opens the same palace with the same options. A URL is not
/// passed as an argument, because it may contain a password and other users can see arguments.
fn same_palace(palace: &PalaceRef, session: &Session<'_>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = match palace {
        PalaceRef::Directory(path) => vec!["--palace".into(), path.as_os_str().to_owned()],
        PalaceRef::Url(_) => Vec::new(),
    };
    arguments.extend(session.spelled_options());
    arguments
}

fn harness(arguments: &HookArguments) -> Result<Harness> {
    Harness::named(&arguments.harness).ok_or_else(|| {
        Failure::usage(
            format!("unknown harness `{}`", arguments.harness),
            format!("one of {}", hooks::harness_names().join(", ")),
        )
    })
}

fn event(arguments: &HookArguments) -> Result<Event> {
    Event::named(&arguments.event).ok_or_else(|| {
        Failure::usage(
            format!("unknown event `{}`", arguments.event),
            format!("one of {}", hooks::event_names().join(", ")),
        )
    })
}

/// Refuses a terminal as stdin: a person who types the command gets an explanation.
fn called_by_a_person(arguments: &HookArguments) -> Failure {
    let wrong = harness(arguments).and_then(|_| event(arguments)).err();
    wrong.unwrap_or_else(|| {
        Failure::usage(
            "agents call hooks, with JSON on stdin",
            "`loci connect --hooks` sets them up; `loci hook try PROMPT` shows what a prompt gets; \
             `loci doctor` shows their last runs",
        )
    })
}

/// Reads the input to its end, within a short time limit, so that the writer does not get a broken
/// pipe.
fn drain() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let started = std::thread::Builder::new().spawn(move || {
        let input = std::io::stdin().lock();
        let _ = std::io::copy(&mut input.take(MOST_DRAINED), &mut std::io::sink());
        let _ = sender.send(());
    });
    if started.is_ok() {
        let _ = receiver.recv_timeout(DRAINING);
    }
}

fn printed(text: String) -> Reply {
    Reply {
        json: text.clone(),
        text,
        ..Reply::printed()
    }
}

/// Whether an invalid command line is a hook call from a program, which does not read usage
/// messages.
pub(crate) fn is_meant_by(line: impl Iterator<Item = OsString>) -> bool {
    let mut words = line.skip(1).skip_while(|word| word != "hook");
    let is_hook = words.next().is_some();
    let is_for_people = words
        .next()
        .is_some_and(|word| word == "try" || word == "log");
    is_hook && !is_for_people && !std::io::stdin().is_terminal()
}

/// Records such a call for `loci doctor`.
pub(crate) fn note_misunderstood(why: &str) {
    if let Ok(home) = Home::of_user() {
        let first = why.lines().next().unwrap_or_default();
        hooks::note_unknown(&home, first);
    }
}
