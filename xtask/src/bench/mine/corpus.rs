//! The files that are mined: a folder that the user names, or a copy of the text files of the
//! peer's source distribution, so that both sides read the same files.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

const TEXTS: [&str; 15] = [
    "py", "md", "json", "sh", "toml", "rs", "csv", "ts", "js", "go", "yml", "yaml", "txt", "html",
    "sql",
];
/// No hand-written file of the source is longer.
const MAX_FILE: u64 = 512 * 1024;
const SMALL_BYTES: u64 = 150_000;

/// A folder of text files.
pub(crate) struct Corpus {
    pub(crate) folder: PathBuf,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files, {:.2} MB", self.files, self.bytes as f64 / 1e6)
    }
}

impl Corpus {
    /// A folder that is used in place.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let found = files(folder)?;
        ensure!(!found.is_empty(), "no files in {}", folder.display());
        Ok(Self {
            folder: folder
                .canonicalize()
                .with_context(|| format!("finding {}", folder.display()))?,
            files: found.len(),
            bytes: found.iter().map(|(_, bytes)| bytes).sum(),
        })
    }

    /// The text files of a source tree.
    pub(crate) fn texts(source: &Path, folder: &Path) -> anyhow::Result<Self> {
        Self::copied(source, folder, files(source)?)
    }

    /// The first Markdown files of a source tree, sorted by path.
    pub(crate) fn notes(source: &Path, folder: &Path) -> anyhow::Result<Self> {
        let mut room = SMALL_BYTES;
        let mut chosen = files(source)?;
        chosen.retain(|(path, bytes)| {
            let fits = path.extension().is_some_and(|kind| kind == "md") && *bytes <= room;
            if fits {
                room -= bytes;
            }
            fits
        });
        Self::copied(source, folder, chosen)
    }

    /// Its files, sorted by path.
    pub(crate) fn paths(&self) -> anyhow::Result<Vec<PathBuf>> {
        let found = files(&self.folder)?;
        Ok(found.into_iter().map(|(path, _)| path).collect())
    }

    fn copied(
        source: &Path,
        folder: &Path,
        mut chosen: Vec<(PathBuf, u64)>,
    ) -> anyhow::Result<Self> {
        super::fresh(folder)?;
        chosen.retain(|(path, bytes)| *bytes <= MAX_FILE && is_text(path));
        for (path, _) in &chosen {
            let to = folder.join(path.strip_prefix(source)?);
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::copy(path, &to).with_context(|| format!("copying {}", path.display()))?;
        }
        Self::read(folder)
    }
}

fn is_text(path: &Path) -> bool {
    path.extension()
        .and_then(|kind| kind.to_str())
        .is_some_and(|kind| TEXTS.contains(&kind))
}

/// All files that are not hidden, with their sizes, sorted by path.
fn files(folder: &Path) -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push((entry.path(), entry.metadata()?.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The bytes of all files below a folder, or 0 if it does not exist.
pub(crate) fn size(folder: &Path) -> u64 {
    files(folder).map_or(0, |found| found.iter().map(|(_, bytes)| bytes).sum())
}
