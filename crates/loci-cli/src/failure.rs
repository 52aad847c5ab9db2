//! Why a command failed, and the exit code that says so.

use std::process::ExitCode;

use loci_palace::{Error, message_line};

use crate::hint::{self, Offered};

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or found.
    Done,
    /// Nothing was found, or a check found problems.
    Nothing,
    /// It failed.
    Error,
    /// The command line cannot be understood.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Nothing => 1,
            Exit::Error => 2,
            Exit::Usage => 64,
        })
    }
}

/// What a failed command returns instead of a reply.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The palace, a file or the input caused an error.
    Palace(Error),
    /// The value of an option cannot be used. The library has refused it, so the error keeps its
    /// kind and code.
    Argument(Error),
    /// The command line is contradictory or incomplete.
    Usage {
        /// What is wrong with the command line.
        message: String,
        /// What to type instead.
        help: String,
    },
}

/// Result of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Palace(error)
    }
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            help: help.into(),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Palace(_) => Exit::Error,
            Self::Argument(_) | Self::Usage { .. } => Exit::Usage,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Palace(error) | Self::Argument(error) => error.kind().as_str(),
            Self::Usage { .. } => "usage",
        }
    }

    /// The name of the error, which is more specific than its kind.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Palace(error) | Self::Argument(error) => error.code(),
            Self::Usage { .. } => "usage",
        }
    }

    /// The message, followed by its causes.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Usage { message, .. } => message.clone(),
            Self::Palace(error) | Self::Argument(error) => {
                let mut message = error.to_string();
                let mut cause = std::error::Error::source(error);
                while let Some(inner) = cause {
                    let text = inner.to_string();
                    if !message.contains(&text) {
                        message.push_str(": ");
                        message.push_str(&text);
                    }
                    cause = inner.source();
                }
                message_line(&message)
            }
        }
    }

    pub(crate) fn help(&self, offered: &Offered) -> Option<String> {
        match self {
            Self::Palace(error) | Self::Argument(error) => hint::of_error(error, offered),
            Self::Usage { help, .. } => Some(help.clone()),
        }
    }

    /// Whether the reader of the output closed the pipe, which is not an error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Palace(Error::Io { source, .. })
            if source.kind() == std::io::ErrorKind::BrokenPipe)
    }
}
