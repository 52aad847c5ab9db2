//! The result of `forget`, and the reasons why forgotten text may still be in a file after it.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// The result of `forget`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Drawers removed.
    pub forgotten: usize,
    /// Number of removed facts that were taken from these drawers.
    pub facts: usize,
    /// Number of removed links that ended at these drawers.
    pub links: usize,
    /// True if forgotten text may still be in a file. The next process completes the purge.
    pub purge_pending: bool,
    /// Why the purge is pending.
    pub pending_reason: Option<PurgePending>,
    /// Other files of the palace that were removed because they could contain the
    /// text too.
    pub removed_files: Vec<String>,
}

impl ForgetOutcome {
    /// Adds the result of a later call. The purge is that of the later call, because each one is
    /// about the whole palace.
    pub fn add(&mut self, later: Self) {
        self.forgotten += later.forgotten;
        self.facts += later.facts;
        self.links += later.links;
        self.purge_pending = later.purge_pending;
        self.pending_reason = later.pending_reason;
        self.removed_files.extend(later.removed_files);
    }
}

/// Why a purge is incomplete. The next process that uses the palace completes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PurgePending {
    /// A reader still uses pages of an older state.
    Readers {
        /// Other processes that have the palace open, as far as the system reports them.
        processes: Vec<u32>,
    },
    /// There is no space to rewrite the palace.
    Full,
    /// A file cannot be changed or removed.
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// A restore is running. Its copy of a backup may contain the text.
    RestoreRunning,
    /// Another process uses a copy that may contain the text.
    CopyInUse {
        /// Its name in the palace directory.
        name: String,
    },
    /// Another process holds a lock of the palace, possibly for another `forget`.
    Busy,
    /// A known process holds a lock of the palace.
    Locked {
        /// The lock and the process.
        detail: String,
    },
    /// Another error.
    Failed {
        /// The message of the error.
        detail: String,
    },
}

impl PurgePending {
    /// A stable name for programs.
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

    /// The reason that corresponds to an error.
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
            Self::Full => write!(out, "there is no space to rewrite the palace"),
            Self::Denied { path } => {
                let path = path.display();
                write!(
                    out,
                    "`{path}` cannot be changed or removed: permission denied"
                )
            }
            Self::RestoreRunning => {
                write!(
                    out,
                    "a restore is running, and its copy may contain the text"
                )
            }
            Self::CopyInUse { name } => {
                write!(
                    out,
                    "another process uses `{name}`, which may contain the text"
                )
            }
            Self::Busy => write!(out, "another process holds a lock of the palace"),
            Self::Locked { detail } | Self::Failed { detail } => write!(out, "{detail}"),
        }
    }
}
