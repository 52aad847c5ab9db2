//! Asks git for the first commit of a repository, which cannot be read from a few files. This
//! happens when a project is recorded, never in a hook that recalls. If git is missing, rejects the
//! repository or takes too long, there is no first commit and the folder identifies the project.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::repository::common_directory;
use loci_files::allowed::EVERYTHING;

/// The time limit for git. Finding the first of a hundred thousand commits takes about a second.
const LIMIT: Duration = Duration::from_millis(1_500);
const STEP: Duration = Duration::from_millis(2);

/// Returns the first commit of the repository whose working tree begins at `top`. If the repository
/// contains the recorded commit, returns that one.
pub(super) fn first_commit(top: &Path, recorded: Option<&str>) -> Option<String> {
    let recorded = recorded.filter(|commit| is_commit(commit));
    if let Some(commit) = recorded {
        let object = format!("{commit}^{{commit}}");
        if git(top, &["cat-file", "-e", &object]).is_some() {
            return Some(commit.to_owned());
        }
    }
    // The oldest commit of a shallow clone is not the first one.
    if common_directory(top, &EVERYTHING)?.join("shallow").exists() {
        return None;
    }
    let listed = git(top, &["rev-list", "--max-parents=0", "HEAD", "--"])?;
    let last = listed.lines().last()?.trim().to_owned();
    is_commit(&last).then_some(last)
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the output of git if it succeeds in time. Git runs no program from the repository's
/// configuration, fetches nothing, does not prompt, writes nothing, and still rejects a repository
/// that belongs to another user.
fn git(top: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        // In a git hook, `GIT_DIR` would name another repository.
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let mut child = command
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-C"])
        .arg(top)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_CEILING_DIRECTORIES", top.parent().unwrap_or(top))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let until = Instant::now() + LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) if Instant::now() < until => std::thread::sleep(STEP),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    // A few lines fit into the pipe. A repository with a thousand first commits blocks git until
    // the time limit.
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()
}
