//! Who has a palace open, from the kernel's list of locks. Only Linux has one; elsewhere nobody is known.
//!
//! The files are looked at with `stat` alone: opening and closing them would drop SQLite's own locks in this process.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;

/// The kernel's list.
const LOCKS: &str = "/proc/locks";
/// In the log's index, whoever holds this byte writes.
const WRITE_BYTE: &str = "120";
/// Files of a palace that its users lock.
const FILES: [(&str, &str); 5] = [
    ("palace.sqlite3", "open"),
    ("palace.sqlite3-shm", "open"),
    ("palace.lock", "creates, migrates or restores"),
    ("restore.lock", "restores"),
    ("index.lock", "builds the index"),
];

/// A process that uses a palace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, where it can be read.
    pub name: Option<String>,
    /// What it does: `open`, `writes`, `builds the index`, …
    pub doing: Vec<&'static str>,
}

/// Other processes that hold a lock on a file of this palace, by number.
pub fn users_of(palace: &Path) -> Vec<Process> {
    let Ok(locks) = std::fs::read_to_string(LOCKS) else {
        return Vec::new();
    };
    let files: Vec<(Device, &'static str)> = FILES
        .iter()
        .filter_map(|(file, doing)| Some((Device::of(&palace.join(file))?, *doing)))
        .collect();
    let mut users: Vec<Process> = Vec::new();
    for (pid, doing) in locks.lines().filter_map(|line| held(line, &files)) {
        if pid == std::process::id() {
            continue;
        }
        match users.iter_mut().find(|user| user.pid == pid) {
            Some(user) if user.doing.contains(&doing) => {}
            Some(user) => user.doing.push(doing),
            None => users.push(Process {
                pid,
                name: name_of(pid),
                doing: vec![doing],
            }),
        }
    }
    users.sort_by_key(|user| user.pid);
    users
}

/// A file as the kernel's list names it.
#[derive(Debug, PartialEq, Eq)]
struct Device(String);

impl Device {
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
        Some(Self(format!("{major:02x}:{minor:02x}:{}", file.ino())))
    }
}

/// The holder that a line names, and what a lock on that file means:
/// `1: POSIX  ADVISORY  READ 4711 fe:00:10133506 128 128`. A line of somebody who waits has an arrow in it.
fn held(line: &str, files: &[(Device, &'static str)]) -> Option<(u32, &'static str)> {
    let mut words = line.split_whitespace().skip(1);
    let kind = words.next()?;
    if kind == "->" {
        return None;
    }
    let access = words.nth(1)?;
    let pid = words.next()?.parse().ok().filter(|pid| *pid > 0)?;
    let file = words.next()?;
    let (_, doing) = files.iter().find(|(device, _)| device.0 == file)?;
    let writes = kind == "POSIX" && access == "WRITE" && words.next() == Some(WRITE_BYTE);
    Some((
        pid,
        if writes && *doing == "open" {
            "writes"
        } else {
            doing
        },
    ))
}

fn name_of(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(u32, &'static str)> {
        let files = [
            (Device("fe:00:10".into()), "open"),
            (Device("fe:00:11".into()), "builds the index"),
        ];
        held(line, &files)
    }

    #[test]
    fn a_lock_names_its_holder_and_what_it_does() {
        let open = "3: POSIX  ADVISORY  READ 4711 fe:00:10 128 128";
        assert_eq!(of(open), Some((4711, "open")));
        let writes = "3: POSIX  ADVISORY  WRITE 4711 fe:00:10 120 120";
        assert_eq!(of(writes), Some((4711, "writes")));
        let builds = "12: FLOCK  ADVISORY  WRITE 5 fe:00:11 0 EOF";
        assert_eq!(of(builds), Some((5, "builds the index")));
    }

    #[test]
    fn other_files_waiting_processes_and_strange_lines_name_nobody() {
        for line in [
            "3: POSIX  ADVISORY  READ 4711 fe:00:12 128 128",
            "3: -> POSIX  ADVISORY  WRITE 4711 fe:00:10 120 120",
            "3: POSIX  ADVISORY  READ -1 fe:00:10 128 128",
            "3: POSIX  ADVISORY  READ 0 fe:00:10 128 128",
            "3: OFDLCK",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
