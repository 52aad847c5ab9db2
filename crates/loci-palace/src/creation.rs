//! Decides where a new palace may be created: in a directory that is new, empty, or contains only
//! files of an earlier palace. A folder with other files was probably named by mistake.

use std::path::Path;

use loci_core::{Advice, Error, Result, path_text};

/// Prefixes of the names of files that Loci writes or reads in a palace. docs/format.md lists them.
const OF_A_PALACE: [&str; 6] = [
    "palace.",
    "index",
    "restore.lock",
    "copy-",
    "models",
    ".loci-",
];

/// Names that file systems and desktops create in directories.
const OF_THE_SYSTEM: [&str; 3] = ["lost+found", ".DS_Store", ".directory"];

/// Maximum number of files in an error.
const NAMED: usize = 3;

/// Refuses to create a palace among other files. A directory that cannot be listed passes, because
/// creating the palace reports the problem.
pub(crate) fn refuse_among_other_files(directory: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Ok(());
    };
    let mut others: Vec<String> = entries
        .flatten()
        .map(|entry| path_text(Path::new(&entry.file_name())))
        .filter(|name| !is_expected(name))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    others.sort();
    let more = match others.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!(" and {more} more"),
        _ => String::new(),
    };
    others.truncate(NAMED);
    let named: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
    Err(Error::invalid(
        format!("palace `{}`", path_text(directory)),
        format!(
            "this directory is not a palace, and it contains other files: {}{more}; name a new or empty \
             directory, or create a palace in this one explicitly",
            named.join(", ")
        ),
    )
    .advise(Advice::CreatePalaceHere))
}

fn is_expected(name: &str) -> bool {
    OF_A_PALACE.iter().any(|start| name.starts_with(start)) || OF_THE_SYSTEM.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_other_files_is_refused_and_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(refuse_among_other_files(directory.path()).is_ok());
        assert!(refuse_among_other_files(&directory.path().join("new")).is_ok());
        for expected in ["palace.toml", "palace.lock", "lost+found"] {
            std::fs::create_dir(directory.path().join(expected)).unwrap();
        }
        assert!(refuse_among_other_files(directory.path()).is_ok());
        for other in ["d.md", "c.md", "b.md", "a.md"] {
            std::fs::create_dir(directory.path().join(other)).unwrap();
        }
        let error = refuse_among_other_files(directory.path()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`a.md`, `b.md`, `c.md` and 1 more;"),
            "{text}"
        );
    }
}
