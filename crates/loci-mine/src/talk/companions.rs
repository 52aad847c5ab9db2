//! Files that belong to a conversation beside the one that stands for it.

use super::format::Format;
use super::{opencode, slack};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The files whose change means that the conversation at `path` changed, without `path` itself. Those that do not exist
/// yet may be named too.
pub fn companions(format: Format, path: &Path) -> Vec<PathBuf> {
    match format {
        Format::OpenCode => opencode::companions(path),
        Format::Slack => slack::users_file(path).into_iter().collect(),
        Format::Cursor | Format::OpenCodeDb => {
            let mut log = OsString::from(path);
            log.push("-wal");
            vec![PathBuf::from(log)]
        }
        Format::ClaudeCode
        | Format::Codex
        | Format::ClaudeAi
        | Format::ChatGpt
        | Format::GeminiCli
        | Format::GeminiLog
        | Format::GeminiPrompts
        | Format::Continue
        | Format::Aider
        | Format::Plain => Vec::new(),
    }
}
