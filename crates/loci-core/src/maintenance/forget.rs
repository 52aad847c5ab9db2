//! What `forget` did, and why forgotten text may still be in a file after it.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// What `forget` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Drawers removed.
    pub forgotten: usize,
    /// Facts removed that were taken from them.
    pub facts: usize,
    /// Links removed that ended at them.
    pub links: usize,
    /// True when forgotten text may still be in a file; the next process completes the purge.
    pub purge_pending: bool,
    /// Why.
    pub pending_reason: Option<PurgePending>,
    /// Kept files of the palace that were removed because they could hold the text too.
    pub removed_files: Vec<String>,
}

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

    /// The reason that an error gives.
    pub fn of(error: &Error) -> Self {
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
