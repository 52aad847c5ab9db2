//! The binary at a real terminal: a pseudo-terminal is its stdin, stdout and stderr.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs a command at a terminal where `typed` is typed, and gives its exit code and everything that
/// was shown, the typed text included.
pub(crate) fn at_terminal(mut command: Command, typed: &str) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let end = || Stdio::from(slave.try_clone().unwrap());
    command
        .env("TERM", "xterm")
        .stdin(end())
        .stdout(end())
        .stderr(end());
    let mut child = command.spawn().unwrap();
    // The reader sees the end only when nobody has the other side open.
    drop((command, slave));
    let mut master = File::from(master);
    master.write_all(typed.as_bytes()).unwrap();
    let mut shown = Vec::new();
    let mut part = [0; 4_096];
    // A closed terminal is an error on Linux, and an end elsewhere.
    while let Ok(read @ 1..) = master.read(&mut part) {
        shown.extend_from_slice(&part[..read]);
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (code, String::from_utf8_lossy(&shown).into_owned())
}
