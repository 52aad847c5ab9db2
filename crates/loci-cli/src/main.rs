//! The binary `loci`. [`args`] parses the command line, [`commands`] call [`loci_palace::Palace`],
//! and [`mod@print`] is the only module that writes to the terminal.
//!
//! Exit codes are part of the interface: 0 done or found, 1 nothing found or a check
//! found problems, 2 error, 64 usage.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod hint;
mod input;
mod passage;
mod print;
mod reply;
mod session;
mod units;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::FromArgMatches;
use loci_palace::PalaceRef;

use crate::args::{Arguments, Command};
use crate::print::Printer;
use crate::session::Session;

fn main() -> ExitCode {
    keep_running_past_file_size_limit();
    let command = args::command();
    let parsed = command
        .clone()
        .try_get_matches_from(args::typed())
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && commands::hook::is_meant_by(std::env::args_os()) => {
            commands::hook::note_misunderstood(&error.to_string());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let error = args::corrected(error, &command, std::env::args_os().skip(1));
            return print::usage(&error).into();
        }
    };
    hide_url(&arguments);
    // Agents show what a hook writes to stderr.
    if !matches!(arguments.command, Command::Hook(_)) {
        print::start_logs(arguments.global.json);
    }
    // A server handles signals by itself.
    if !matches!(arguments.command, Command::Mcp(_)) {
        loci_palace::before_private_copy(remove_private_copies_at_a_signal);
    }
    let printer = Printer::new(arguments.global.json);
    let session = Session::new(&arguments.global, printer);
    match commands::run(&arguments.command, &session) {
        Ok(mut reply) => {
            if let Some(path) = session.created_palace() {
                reply.json = print::with_key(&reply.json, "created_palace", &path);
            }
            session.warn_if_read_only();
            let exit = printer.reply(&reply, &session.offered());
            // The answer is printed already, because closing may take long: it may build an index.
            session.close();
            exit.into()
        }
        Err(failure) => printer
            .failure_after(
                &failure,
                &session.offered(),
                session.created_palace().as_deref(),
            )
            .into(),
    }
}

/// Handles SIGXFSZ. Its default action ends the process in the middle of a write; if the signal is
/// handled, the write fails with an error instead, as on a full disk.
fn keep_running_past_file_size_limit() {
    let seen = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen) {
        tracing::debug!("cannot handle SIGXFSZ: {error}");
    }
}

/// Lets Ctrl-C end a command without leaving the temporary copy of a read-only palace behind.
fn remove_private_copies_at_a_signal() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = match signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        Ok(signals) => signals,
        Err(error) => {
            tracing::debug!("cannot handle signals: {error}");
            return;
        }
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            loci_palace::remove_private_copies();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Restarts this program with the URL of `--palace` in a variable. Every user of the machine can
/// see the arguments of a process, and a URL may contain a password.
fn hide_url(arguments: &Arguments) {
    use std::os::unix::process::CommandExt as _;
    let Some(PalaceRef::Url(url)) = arguments.global.palace.as_ref().map(PalaceRef::from) else {
        return;
    };
    let mut typed = std::env::args_os();
    let (Some(name), Ok(program)) = (typed.next(), std::env::current_exe()) else {
        return;
    };
    let mut kept: Vec<OsString> = Vec::new();
    while let Some(argument) = typed.next() {
        if argument == "--" {
            kept.push(argument);
            kept.extend(typed);
            break;
        } else if argument == "--palace" {
            typed.next();
        } else if !argument.as_encoded_bytes().starts_with(b"--palace=") {
            kept.push(argument);
        }
    }
    let failed = std::process::Command::new(program)
        .arg0(name)
        .args(kept)
        .env(session::PALACE_VARIABLE, url.expose())
        .exec();
    tracing::debug!("cannot start again without the URL: {failed}");
}
