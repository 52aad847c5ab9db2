//! Why forgotten text may still be in a file after `forget`.

use std::fmt;
use std::path::PathBuf;

use loci_core::Error;

use crate::store::place::Place;

/// Why a purge is not complete. The next process that uses the palace completes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PurgePending {
    /// A reader still needs pages of an older state.
    Readers {
        /// Other processes that have the palace open, as far as the system tells.
        processes: Vec<u32>,
    },
    /// There is no room to rewrite the palace.
    Full,
    /// A file cannot be changed or removed.
    Denied {
        /// Which.
        path: PathBuf,
    },
    /// A restore is running: its copy of a backup may hold the text.
    RestoreRunning,
    /// Another process uses a copy that may hold the text.
    CopyInUse {
        /// Its name in the palace directory.
        name: String,
    },
    /// Another process holds a lock of the palace, or forgets too.
    Busy,
    /// A known process holds a lock of the palace.
    Locked {
        /// Which lock, and which process.
        detail: String,
    },
    /// Another error.
    Failed {
        /// What it says.
        detail: String,
    },
}

impl PurgePending {
    /// A stable name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Readers { .. } => "readers",
            Self::Full => "full",
            Self::Denied { .. } => "denied",
            Self::RestoreRunning => "restore_running",
            Self::CopyInUse { .. } => "copy_in_use",
            Self::Busy | Self::Locked { .. } => "busy",
            Self::Failed { .. } => "failed",
        }
    }

    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Full { .. } => Self::Full,
            Error::Busy { .. } => Self::Busy,
            Error::Locked { .. } => Self::Locked {
                detail: error.to_string(),
            },
            Error::Io { path, source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Self::Denied { path: path.clone() }
            }
            error => Self::Failed {
                detail: error.to_string(),
            },
        }
    }

    pub(super) fn readers(place: &Place) -> Self {
        Self::Readers {
            processes: processes_with(place),
        }
    }
}

impl fmt::Display for PurgePending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Readers { processes } if processes.is_empty() => {
                write!(out, "another reader still needs an older state")
            }
            Self::Readers { processes } => {
                let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
                let pids = pids.join(", ");
                write!(
                    out,
                    "another process still reads an older state (pid {pids})"
                )
            }
            Self::Full => write!(out, "there is no room to rewrite the palace"),
            Self::Denied { path } => {
                let path = path.display();
                write!(
                    out,
                    "`{path}` cannot be changed or removed: permission denied"
                )
            }
            Self::RestoreRunning => {
                write!(out, "a restore is running, and its copy may hold the text")
            }
            Self::CopyInUse { name } => {
                write!(
                    out,
                    "another process uses `{name}`, which may hold the text"
                )
            }
            Self::Busy => write!(out, "another process holds a lock of the palace"),
            Self::Locked { detail } | Self::Failed { detail } => write!(out, "{detail}"),
        }
    }
}

/// Other processes that have the database open. Nothing where the system does not tell.
fn processes_with(place: &Place) -> Vec<u32> {
    let Ok(database) = place.database.canonicalize() else {
        return Vec::new();
    };
    let own = std::process::id();
    let mut processes: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own)
        .filter(|process| {
            let descriptors = std::fs::read_dir(format!("/proc/{process}/fd"));
            descriptors.into_iter().flatten().flatten().any(|entry| {
                std::fs::read_link(entry.path()).is_ok_and(|target| target == database)
            })
        })
        .collect();
    processes.sort_unstable();
    processes
}
