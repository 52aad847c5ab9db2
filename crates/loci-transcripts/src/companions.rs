//! Files that belong to a conversation beside the one that stands for it.

use super::format::Format;
use super::{opencode, slack};
use loci_files::allowed::{AllowedRoots, EVERYTHING};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The files whose change means that the conversation at `path` changed, without `path` itself. Those that do not exist
/// yet may be named too.
pub fn companions(format: Format, path: &Path) -> Vec<PathBuf> {
    companions_within(format, path, &EVERYTHING)
}

/// The same where only some folders may be listed.
pub fn companions_within(format: Format, path: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    match format {
        Format::OpenCode => opencode::companions(path, allowed),
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

/// Where the other files of the conversation at `path` lie: folders and files, whether they exist or not.
pub fn companion_places(format: Format, path: &Path) -> Vec<PathBuf> {
    match format {
        Format::OpenCode => opencode::companion_folders(path),
        Format::Slack => slack::users_file(path).into_iter().collect(),
        Format::Cursor | Format::OpenCodeDb => {
            let beside = |suffix| {
                let mut name = OsString::from(path);
                name.push(suffix);
                PathBuf::from(name)
            };
            ["-wal", "-journal"].map(beside).to_vec()
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
