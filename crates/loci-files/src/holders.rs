//! Finds the processes that hold locks on a file, from the kernel's list. Only Linux has such a
//! list; on other systems no holders are known.
//!
//! The files are examined with `stat` only, because opening and closing them could drop locks of
//! this process.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;

use crate::own;

/// The kernel's list.
const LOCKS: &str = "/proc/locks";
/// Number of times that the list is read.
const LOOKS: usize = 5;
/// Maximum number of bytes of a command line in a message.
const SHOWN_BYTES: usize = 120;

/// One lock that a process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLock {
    /// The process.
    pub pid: u32,
    /// Whether it is a POSIX lock, which SQLite uses; otherwise it is an `flock`.
    pub posix: bool,
    /// Whether it is exclusive.
    pub exclusive: bool,
    /// The first locked byte.
    pub start: u64,
}

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command line, if it can be read.
    pub command: Option<String>,
    /// Whether it is stopped (Ctrl-Z, SIGSTOP).
    pub stopped: bool,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "process {}", self.pid)?;
        if let Some(command) = &self.command {
            write!(formatter, " (`{command}`)")?;
        }
        if self.stopped {
            write!(formatter, ", which is stopped")?;
        }
        Ok(())
    }
}

/// The locks that processes hold on a file.
pub fn locks_on(path: &Path) -> Vec<HeldLock> {
    let Some(file) = name_in_list(path) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // The kernel returns the list in parts, and omits entries when others are added or removed
    // meanwhile.
    for _ in 0..LOOKS {
        let list = own::read_to_string(Path::new(LOCKS)).unwrap_or_default();
        for lock in list.lines().filter_map(|line| held_in(line, &file)) {
            if !found.contains(&lock) {
                found.push(lock);
            }
        }
    }
    found
}

/// The other processes that hold a lock on one of the files.
pub fn holders_of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<Holder> {
    let mut pids: Vec<u32> = paths
        .into_iter()
        .flat_map(|path| locks_on(path.as_ref()))
        .map(|lock| lock.pid)
        .filter(|pid| *pid != std::process::id())
        .collect();
    pids.sort_unstable();
    pids.dedup();
    pids.into_iter().map(holder).collect()
}

/// Formats the list, for example `process 4711 (`loci mine .`), which is stopped, and process
/// 4712`; `None` if no process is known.
pub fn listed(holders: &[Holder]) -> Option<String> {
    let names: Vec<String> = holders.iter().map(Holder::to_string).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Reads the data of a process.
pub fn holder(pid: u32) -> Holder {
    let command = own::read(Path::new(&format!("/proc/{pid}/cmdline"))).ok();
    let state = own::read_to_string(Path::new(&format!("/proc/{pid}/stat"))).ok();
    Holder {
        pid,
        command: command.and_then(|bytes| command_text(&bytes)),
        // `4711 (name) T …`. The name may contain anything, so the last parenthesis counts.
        stopped: state.is_some_and(|line| {
            line.rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
        }),
    }
}

/// A command line as text: the program without its folder, then the arguments, truncated.
fn command_text(bytes: &[u8]) -> Option<String> {
    let mut words = bytes
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy)
        .filter(|word| !word.is_empty());
    let program = words.next()?;
    let mut text = Path::new(program.as_ref()).file_name().map_or_else(
        || program.to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    for word in words {
        text.push(' ');
        text.push_str(&word);
    }
    let text: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.len() <= SHOWN_BYTES {
        return Some(text);
    }
    let cut = (0..=SHOWN_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at))?;
    Some(format!("{}…", text.get(..cut)?))
}

/// The name of a file in the kernel's list: `fe:00:10133506`.
fn name_in_list(path: &Path) -> Option<String> {
    let file = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    Some(format!("{major:02x}:{minor:02x}:{}", file.ino()))
}

/// Parses the lock in a line, if it is on this file: `1: POSIX  ADVISORY  READ 4711 fe:00:10133506
/// 128 128`. A line of a waiting process contains an arrow.
fn held_in(line: &str, file: &str) -> Option<HeldLock> {
    let mut words = line.split_whitespace().skip(1);
    let kind = words.next()?;
    if kind == "->" {
        return None;
    }
    let access = words.nth(1)?;
    let pid = words.next()?.parse().ok().filter(|pid| *pid > 0)?;
    if words.next()? != file {
        return None;
    }
    Some(HeldLock {
        pid,
        posix: kind == "POSIX",
        exclusive: access == "WRITE",
        start: words
            .next()
            .and_then(|start| start.parse().ok())
            .unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fe:00:10";

    #[test]
    fn a_line_names_the_holder_and_the_kind_of_its_lock() {
        let posix = "3: POSIX  ADVISORY  WRITE 4711 fe:00:10 120 120";
        let lock = held_in(posix, FILE).unwrap();
        assert_eq!(
            (lock.pid, lock.posix, lock.exclusive, lock.start),
            (4711, true, true, 120)
        );
        let flock = "12: FLOCK  ADVISORY  READ 5 fe:00:10 0 EOF";
        let lock = held_in(flock, FILE).unwrap();
        assert_eq!(
            (lock.pid, lock.posix, lock.exclusive, lock.start),
            (5, false, false, 0)
        );
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
            assert_eq!(held_in(line, FILE), None, "{line}");
        }
    }

    #[test]
    fn a_command_line_is_shown_without_folder_and_control_characters() {
        assert_eq!(
            command_text(b"/usr/bin/loci\0add\0a\x1b[2Jb\0").as_deref(),
            Some("loci add a [2Jb")
        );
        assert_eq!(command_text(b""), None);
        let long = [b"loci\0".as_slice(), "ä".repeat(200).as_bytes()].concat();
        assert!(command_text(&long).unwrap().len() <= SHOWN_BYTES + 3);
    }
}
