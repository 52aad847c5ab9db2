//! The binary `loci`: what was typed ([`args`]), what it means ([`commands`], which call
//! [`loci_palace::Palace`]), what is shown ([`mod@print`], the only module that writes to the terminal).
//!
//! Exit codes are part of the interface: 0 done or found, 1 nothing found, 2 error, 64 usage.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod input;
mod passage;
mod print;
mod reply;
mod session;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;

use crate::args::{Arguments, Command};
use crate::print::Printer;
use crate::session::Session;

fn main() -> ExitCode {
    keep_running_past_file_size_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && commands::hook::is_meant_by(std::env::args_os()) => {
            commands::hook::note_misunderstood(&error.to_string());
            return ExitCode::SUCCESS;
        }
        Err(error) => return print::usage(&error).into(),
    };
    // Agents show what a hook writes to stderr.
    if !matches!(arguments.command, Command::Hook(_)) {
        print::start_logs(arguments.global.json);
    }
    let printer = Printer::new(arguments.global.json);
    let session = Session::new(&arguments.global, printer);
    match commands::run(&arguments.command, &session) {
        Ok(reply) => {
            let exit = printer.reply(&reply);
            // The answer is out; what follows is housekeeping that may build an index.
            session.close();
            exit.into()
        }
        Err(failure) => printer.failure(&failure).into(),
    }
}

/// The default action of SIGXFSZ ends the process in the middle of a write. Handled, the write
/// fails with an error like a full disk does.
fn keep_running_past_file_size_limit() {
    let seen = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen) {
        tracing::debug!("cannot handle SIGXFSZ: {error}");
    }
}
