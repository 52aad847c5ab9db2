//! Which text files were written by a program for programs.

use std::path::Path;

use super::HEAD;

const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "packages.lock.json",
    "go.sum",
    "bun.lockb",
    "package.resolved",
    "gradle.lockfile",
];

/// The file is a lock file, minified, a source map, or says near its top that it was generated.
/// Only 8 KiB of `head` are looked at. It is text all the same; whether to keep it is for the
/// caller to say.
pub fn is_generated(path: &Path, head: &[u8]) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_lock = extension == "lock" || LOCKS.contains(&name.as_str());
    let is_map = extension == "map" && stem.contains('.');
    let is_minified = stem.split('.').skip(1).any(|part| part == "min");
    is_lock || is_map || is_minified || says_so(head.get(..HEAD).unwrap_or(head))
}

/// A comment in `head` says that the file was generated.
fn says_so(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.lines().any(|line| {
        let line = line.trim_start();
        let marks = ['/', '*', '#', '-', ';', '<', '!', '%', '"', '\'', ' ', '\t'];
        let comment = line.trim_start_matches(marks);
        // Only a comment speaks of its own file.
        if comment.len() == line.len() {
            return false;
        }
        let lower = comment.to_ascii_lowercase();
        lower.starts_with("@generated")
            || (lower.contains("generated")
                && (lower.contains("do not edit") || lower.contains("do not modify")))
    })
}
