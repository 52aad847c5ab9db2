//! Finds the processes that have a palace open, from the kernel's list of locks. Only Linux has
//! one; on other systems no process is found.

use std::path::Path;

use loci_files::holders;
use serde::Serialize;

/// A process that locks this byte of the log's index is writing.
const WRITE_BYTE: u64 = 120;
/// Files of a palace that processes lock.
const FILES: [(&str, &str); 5] = [
    ("palace.sqlite3", "open"),
    ("palace.sqlite3-shm", "open"),
    ("palace.lock", "creates, migrates, restores or writes"),
    ("restore.lock", "restores"),
    ("index.lock", "builds the index"),
];

/// A process that uses a palace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its command, if readable.
    pub name: Option<String>,
    /// What it does: `open`, `writes`, `builds the index`, …
    pub doing: Vec<&'static str>,
}

/// Other processes that hold a lock on a file of this palace, by number.
pub fn users_of(palace: &Path) -> Vec<Process> {
    let mut users: Vec<Process> = Vec::new();
    for (file, meaning) in FILES {
        for lock in holders::locks_on(&palace.join(file)) {
            if lock.pid == std::process::id() {
                continue;
            }
            let writes = lock.posix && lock.exclusive && lock.start == WRITE_BYTE;
            let doing = if writes && meaning == "open" {
                "writes"
            } else {
                meaning
            };
            match users.iter_mut().find(|user| user.pid == lock.pid) {
                Some(user) if user.doing.contains(&doing) => {}
                Some(user) => user.doing.push(doing),
                None => users.push(Process {
                    pid: lock.pid,
                    name: holders::holder(lock.pid).command,
                    doing: vec![doing],
                }),
            }
        }
    }
    users.sort_by_key(|user| user.pid);
    users
}
