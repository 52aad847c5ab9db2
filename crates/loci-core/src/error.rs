//! One error type for every backend. A variant exists because a caller decides differently on it;
//! [`Error::kind`] says who must act, [`Error::help`] what they can do in general, and
//! [`Error::advice`] the same for a front end that knows the command or the call for it.

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
    /// There is no palace at this place, and the call may not create one.
    #[error("no palace at {}", quoted_path(path))]
    PalaceNotFound {
        /// The directory that was looked at.
        path: PathBuf,
    },
    /// The palace was moved or deleted while it was open. A new one is not made in its place.
    #[error("palace {} was moved or deleted while it was open", quoted_path(path))]
    PalaceGone {
        /// Where it was.
        path: PathBuf,
    },
    /// The palace exists, the collection in it does not. A special case of "palace not found":
    /// its kind is the same.
    #[error("collection {} does not exist in this palace", quoted(collection))]
    CollectionNotInitialized {
        /// The name that was asked for.
        collection: String,
    },
    /// The backend, or this palace's handle in it, was closed.
    #[error("backend `{backend}` is closed")]
    BackendClosed {
        /// Name of the backend.
        backend: String,
    },
    /// A filter holds an operator that this contract or this backend does not have.
    #[error("unsupported filter operator {} in {place}", quoted(operator))]
    UnsupportedFilter {
        /// The operator as written.
        operator: String,
        /// Where it stands, for example "`where`, key `wing`".
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
        /// Length of the vector that was given.
        got: usize,
    },
    /// The embedder given is not the one whose vectors the collection holds.
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
        /// The embedder that was given.
        given: String,
    },
    /// The palace on disk belongs to another backend than the one asked for.
    #[error("{} is a `{found}` palace, not `{asked}`", quoted_path(path))]
    BackendMismatch {
        /// The palace.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// No backend has this name.
    #[error("unknown backend `{name}`; known: {}", known.join(", "))]
    UnknownBackend {
        /// The name as given.
        name: String,
        /// All registered names.
        known: Vec<String>,
    },
    /// The write would break uniqueness, or the thing to be created exists.
    #[error("{what}")]
    Conflict {
        /// What collides with what.
        what: String,
    },
    /// Other writers held the palace for longer than the wait limit. Nothing was written; retry.
    #[error("the palace stayed busy for {} s while {what}", waited.as_secs())]
    Busy {
        /// What was being done.
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
    /// Bytes on disk are not what was written.
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
        /// The field or value, named.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The operating system refused: disk full, no permission, …
    #[error("{action} {}: {source}", quoted_path(path))]
    Io {
        /// What was being done, for example "cannot create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The palace can be read and not written: another user's, or on a read-only file system.
    #[error("the palace `{}` is read-only: {reason}", path.display())]
    ReadOnly {
        /// The palace.
        path: PathBuf,
        /// What forbids writing.
        reason: String,
    },
    /// The store has no room left (full disk or file-size limit). Nothing of the write remains.
    #[error("no room left in {}", quoted_path(path))]
    Full {
        /// The palace.
        path: PathBuf,
    },
    /// Another error, with what can be done about it. It is that error in every other respect: in
    /// its kind, its code and its message.
    #[error("{}", .0.error)]
    Advised(Box<Advised>),
    /// A fault of Loci or of a library under it.
    #[error("internal error while {doing}: {detail}")]
    Internal {
        /// What was being done.
        doing: String,
        /// What came back.
        detail: String,
    },
}

/// An error with what can be done about it.
#[derive(Debug)]
pub struct Advised {
    /// The error.
    pub error: Error,
    /// What can be done.
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
    /// The caller must decide between two things that collide.
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

    /// The same error, with what can be done about it.
    #[must_use]
    pub fn advise(self, advice: Advice) -> Self {
        Self::Advised(Box::new(Advised {
            error: self,
            advice,
        }))
    }

    /// The error without advice that was added to it: its variant tells what went wrong.
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

    /// Stable name of the variant, for programs that decide on more than the kind.
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

    /// What can be done, for front ends: each says it in words that its users can act on.
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

    /// What the reader of the message can do, when there is something. It names no command: that is
    /// for the front end, which has [`Error::advice`].
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::PalaceNotFound { .. } => {
                "create the palace first, or name another one".into()
            }
            Self::PalaceGone { .. } => {
                "put it back, or restart this program to begin a new one; nothing was written".into()
            }
            Self::CollectionNotInitialized { .. } => {
                "name a collection of this palace, or create this one".into()
            }
            Self::BackendClosed { .. } => "open the palace again".into(),
            Self::UnsupportedFilter { .. } => "operators are $eq $ne $gt $gte $lt $lte $in $nin \
                 $contains $not_contains $and $or, and on documents $contains $not_contains \
                 $regex $not_regex"
                .into(),
            Self::DimensionMismatch { expected, .. } => {
                format!("give a vector of {expected} numbers, or use another collection")
            }
            Self::EmbedderMismatch { pinned, .. } => format!(
                "use the embedder {pinned}, or embed all texts again with the other one"
            ),
            Self::BackendMismatch { .. } => {
                "this is not a palace of Loci; name another directory".into()
            }
            Self::UnknownBackend { .. } => "use one of the known names".into(),
            Self::Busy { .. } => "try again; another process is writing".into(),
            Self::Locked { .. } => {
                "try again when that process is done; if it is stopped, continue it with `kill -CONT` \
                 or end it: nothing is lost by ending it"
                    .into()
            }
            Self::Corrupt { .. } => {
                "a deep check lists the damage, a repair saves what can be read".into()
            }
            Self::NewerFormat { .. } => "upgrade loci; nothing was changed".into(),
            Self::ReadOnly { .. } => {
                "it can be read; to write, run the command as the user who owns the palace, or \
                 restore that user's rights with `chown` and `chmod`"
                    .into()
            }
            Self::Full { .. } => "free some space and try again; nothing was lost".into(),
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
