//! The error type of every backend. A variant exists only if callers handle it differently.
//! [`Error::kind`] says who must act, [`Error::help`] says what they can do, and [`Error::advice`]
//! gives the same as data, so that a front end can name its own command or call.

use std::path::PathBuf;
use std::time::Duration;

use crate::advice::Advice;
use crate::quote::quoted;
use crate::quoted_path;

/// Result of every contract call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in terms of the contract.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no palace at this path, and the call may not create one.
    #[error("no palace at {}", quoted_path(path))]
    PalaceNotFound {
        /// The directory.
        path: PathBuf,
    },
    /// The palace was moved or deleted while it was open. No new palace is created in its place.
    #[error("palace {} was moved or deleted while it was open", quoted_path(path))]
    PalaceGone {
        /// Where it was.
        path: PathBuf,
    },
    /// The palace exists, but the collection does not. Its kind is that of
    /// [`Error::PalaceNotFound`].
    #[error("collection {} does not exist in this palace", quoted(collection))]
    CollectionNotInitialized {
        /// The name that was requested.
        collection: String,
    },
    /// The backend or the handle was closed.
    #[error("backend `{backend}` is closed")]
    BackendClosed {
        /// Name of the backend.
        backend: String,
    },
    /// A filter contains an operator that the contract or the backend does not support.
    #[error("unsupported filter operator {} in {place}", quoted(operator))]
    UnsupportedFilter {
        /// The operator as written.
        operator: String,
        /// Where it was found, for example "`where`, key `wing`".
        place: String,
    },
    /// The backend, or the collection as configured, cannot do this.
    #[error("`{capability}` is not available: {reason}")]
    UnsupportedCapability {
        /// The capability that is missing.
        capability: String,
        /// Why.
        reason: String,
    },
    /// A vector's length differs from the collection's dimension.
    #[error(
        "collection {} holds vectors of dimension {expected}, got {got}",
        quoted(collection)
    )]
    DimensionMismatch {
        /// The collection.
        collection: String,
        /// Its pinned dimension.
        expected: usize,
        /// Length of the vector that was passed.
        got: usize,
    },
    /// The embedder is not the one that made the vectors of the collection.
    #[error(
        "collection {} holds vectors of embedder {}, not {}",
        quoted(collection),
        quoted(pinned),
        quoted(given)
    )]
    EmbedderMismatch {
        /// The collection.
        collection: String,
        /// The embedder pinned in it.
        pinned: String,
        /// The embedder that was passed.
        given: String,
    },
    /// The palace on disk belongs to another backend than the requested one.
    #[error("{} is a `{found}` palace, not `{asked}`", quoted_path(path))]
    BackendMismatch {
        /// The palace.
        path: PathBuf,
        /// The backend that wrote it.
        found: String,
        /// The backend that was requested.
        asked: String,
    },
    /// No backend has this name.
    #[error("unknown backend {}; known: {}", crate::display_value(name), known.join(", "))]
    UnknownBackend {
        /// The name that was passed.
        name: String,
        /// All registered names.
        known: Vec<String>,
    },
    /// The write would break uniqueness, or the thing to be created exists.
    #[error("{what}")]
    Conflict {
        /// What conflicts with what.
        what: String,
    },
    /// Other writers held the palace for longer than the wait limit. Nothing was written; retry.
    #[error("the palace stayed busy for {} s while {what}", waited.as_secs())]
    Busy {
        /// The operation that waited.
        what: String,
        /// How long it waited.
        waited: Duration,
    },
    /// A known process held a lock for longer than the wait limit. Nothing was written. Its kind
    /// and code are those of [`Error::Busy`].
    #[error("{lock} stayed locked for {} s by {holder}", waited.as_secs())]
    Locked {
        /// The lock, for example "`index.lock`".
        lock: String,
        /// The process: its number and its command.
        holder: String,
        /// How long it waited.
        waited: Duration,
    },
    /// Bytes on disk differ from what was written.
    #[error("{what} in {} is damaged: {detail}", quoted_path(path))]
    Corrupt {
        /// What is damaged.
        what: String,
        /// The file.
        path: PathBuf,
        /// The evidence.
        detail: String,
    },
    /// The palace was written by a newer version of Loci.
    #[error(
        "palace {} has format {found}; this version of loci reads up to {supported}",
        quoted_path(path)
    )]
    NewerFormat {
        /// The palace.
        path: PathBuf,
        /// Its format version.
        found: i64,
        /// The newest format this build reads.
        supported: i64,
    },
    /// The caller's input was refused before anything was written.
    #[error("{what}: {problem}")]
    InvalidInput {
        /// Name of the field or value.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The operating system refused the call: disk full, no permission, …
    #[error("{action} {}: {source}", quoted_path(path))]
    Io {
        /// The operation, for example "cannot create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The palace can be read but not written: it belongs to another user or is on a read-only file
    /// system.
    #[error("the palace `{}` is read-only: {reason}", path.display())]
    ReadOnly {
        /// The palace.
        path: PathBuf,
        /// Why it cannot be written.
        reason: String,
    },
    /// The store has no space left (full disk or file-size limit). The write was rolled back.
    #[error("no room left in {}", quoted_path(path))]
    Full {
        /// The palace.
        path: PathBuf,
    },
    /// An error with advice. Its kind, code and message are those of the error inside.
    #[error("{}", .0.error)]
    Advised(Box<Advised>),
    /// A bug in Loci or in a library that it uses.
    #[error("internal error while {doing}: {detail}")]
    Internal {
        /// The operation that failed.
        doing: String,
        /// The unexpected result.
        detail: String,
    },
}

/// An error with advice.
#[derive(Debug)]
pub struct Advised {
    /// The error.
    pub error: Error,
    /// What can be done about it.
    pub advice: Advice,
}

/// Who must act on an error, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The thing named does not exist.
    NotFound,
    /// The caller must change the input.
    InvalidInput,
    /// The caller must resolve a conflict.
    Conflict,
    /// Nothing is wrong; try again.
    Busy,
    /// Stop and repair.
    Corrupt,
    /// The environment must change (disk, permissions, a closed handle).
    Unavailable,
    /// This backend or configuration cannot do it.
    Unsupported,
    /// A bug.
    Internal,
}

impl ErrorKind {
    /// Stable name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidInput => "invalid_input",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::Corrupt => "corrupt",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

impl Error {
    /// Shorthand for [`Error::InvalidInput`].
    pub fn invalid(what: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidInput {
            what: what.into(),
            problem: problem.into(),
        }
    }

    /// Shorthand for [`Error::Io`].
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        if source.kind() == std::io::ErrorKind::StorageFull
            || source.kind() == std::io::ErrorKind::FileTooLarge
        {
            return Self::Full { path };
        }
        Self::Io {
            action,
            path,
            source,
        }
    }

    /// [`Error::io`] for reading a file of another program. If permission is denied, the advice is
    /// to make the file readable: the file may be intact, so nothing may treat it as damaged.
    pub fn reading(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let denied = source.kind() == std::io::ErrorKind::PermissionDenied;
        let error = Self::io("cannot read", path, source);
        if denied {
            error.advise(Advice::MakeReadable)
        } else {
            error
        }
    }

    /// Adds advice to the error.
    #[must_use]
    pub fn advise(self, advice: Advice) -> Self {
        Self::Advised(Box::new(Advised {
            error: self,
            advice,
        }))
    }

    /// The error without its advice. Match on this to decide on a variant.
    pub fn plain(&self) -> &Self {
        match self {
            Self::Advised(advised) => advised.error.plain(),
            other => other,
        }
    }

    /// Who must act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::PalaceNotFound { .. }
            | Self::PalaceGone { .. }
            | Self::CollectionNotInitialized { .. } => ErrorKind::NotFound,
            Self::UnsupportedFilter { .. }
            | Self::DimensionMismatch { .. }
            | Self::UnknownBackend { .. }
            | Self::InvalidInput { .. } => ErrorKind::InvalidInput,
            Self::UnsupportedCapability { .. } | Self::NewerFormat { .. } => ErrorKind::Unsupported,
            Self::EmbedderMismatch { .. }
            | Self::BackendMismatch { .. }
            | Self::Conflict { .. } => ErrorKind::Conflict,
            Self::Busy { .. } | Self::Locked { .. } => ErrorKind::Busy,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::BackendClosed { .. }
            | Self::Io { .. }
            | Self::ReadOnly { .. }
            | Self::Full { .. } => ErrorKind::Unavailable,
            Self::Advised(advised) => advised.error.kind(),
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }

    /// Stable name of the variant, for programs that need more than the kind.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PalaceNotFound { .. } => "palace_not_found",
            Self::PalaceGone { .. } => "palace_gone",
            Self::CollectionNotInitialized { .. } => "collection_not_initialized",
            Self::BackendClosed { .. } => "backend_closed",
            Self::UnsupportedFilter { .. } => "unsupported_filter",
            Self::UnsupportedCapability { .. } => "unsupported_capability",
            Self::DimensionMismatch { .. } => "dimension_mismatch",
            Self::EmbedderMismatch { .. } => "embedder_mismatch",
            Self::BackendMismatch { .. } => "backend_mismatch",
            Self::UnknownBackend { .. } => "unknown_backend",
            Self::Conflict { .. } => "conflict",
            Self::Busy { .. } | Self::Locked { .. } => "busy",
            Self::Corrupt { .. } => "corrupt",
            Self::NewerFormat { .. } => "newer_format",
            Self::InvalidInput { .. } => "invalid_input",
            Self::Io { .. } => "io",
            Self::ReadOnly { .. } => "read_only",
            Self::Full { .. } => "full",
            Self::Advised(advised) => advised.error.code(),
            Self::Internal { .. } => "internal",
        }
    }

    /// What can be done about it, as data. Each front end turns it into words that its users can
    /// act on.
    pub fn advice(&self) -> Option<Advice> {
        Some(match self {
            Self::Advised(advised) => advised.advice.clone(),
            Self::PalaceNotFound { .. } => Advice::CreatePalace,
            Self::CollectionNotInitialized { .. } => Advice::ListCollections,
            Self::EmbedderMismatch { pinned, .. } => Advice::UsePinnedEmbedder {
                pinned: pinned.clone(),
            },
            Self::BackendMismatch { .. } => Advice::NameAnotherPalace,
            Self::Corrupt { .. } => Advice::Repair,
            _ => return None,
        })
    }

    /// What the reader of the message can do. It names no command of Loci: front ends take that
    /// from [`Error::advice`].
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::PalaceNotFound { .. } => {
                "create the palace first, or name another one".into()
            }
            Self::PalaceGone { .. } => {
                "put it back, or restart this program to create a new one; nothing was written".into()
            }
            Self::CollectionNotInitialized { .. } => {
                "name a collection of this palace, or create this one".into()
            }
            Self::BackendClosed { .. } => "open the palace again".into(),
            Self::UnsupportedFilter { .. } => "operators are $eq $ne $gt $gte $lt $lte $in $nin \
                 $contains $not_contains $starts_with $and $or, and on documents $contains $not_contains \
                 $regex $not_regex"
                .into(),
            Self::DimensionMismatch { expected, .. } => {
                format!("give a vector of {expected} numbers, or use another collection")
            }
            Self::EmbedderMismatch { pinned, .. } => format!(
                "use the embedder {pinned}, or re-embed all texts with the other one"
            ),
            Self::BackendMismatch { .. } => {
                "this is not a palace of Loci; name another directory".into()
            }
            Self::UnknownBackend { .. } => "use one of the known names".into(),
            Self::Busy { .. } => "try again; another process is writing".into(),
            Self::Locked { .. } => {
                "try again when that process is done; if it is stopped, continue it with `kill -CONT` \
                 or end it; ending it loses no data"
                    .into()
            }
            Self::Corrupt { .. } => {
                "a deep check lists the damage; a repair saves the data that can be read".into()
            }
            Self::NewerFormat { .. } => "upgrade loci; nothing was changed".into(),
            Self::ReadOnly { .. } => {
                "it can be read; to write, run the command as the user who owns the palace, or \
                 restore that user's rights with `chown` and `chmod`"
                    .into()
            }
            Self::Full { .. } => "free some space and try again; no data was lost".into(),
            Self::Advised(advised) => return advised.error.help(),
            Self::UnsupportedCapability { .. }
            | Self::Conflict { .. }
            | Self::InvalidInput { .. }
            | Self::Io { .. }
            | Self::Internal { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_advice_is_that_error_in_every_other_respect() {
        let plain = || Error::Full {
            path: "palace".into(),
        };
        let advised = plain().advise(Advice::BackUp).advise(Advice::ListRuns);
        assert_eq!(advised.advice(), Some(Advice::ListRuns));
        assert!(matches!(advised.plain(), Error::Full { .. }));
        assert_eq!(advised.to_string(), plain().to_string());
        assert_eq!(advised.kind(), plain().kind());
        assert_eq!(advised.code(), plain().code());
        assert_eq!(advised.help(), plain().help());
    }
}
