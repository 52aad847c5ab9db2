//! Counts the transcripts that agents keep on this machine.

use std::path::{Path, PathBuf};

use loci_palace::serialize_paths;
use serde::Serialize;

/// Where transcripts are, and how many.
#[derive(Debug, Serialize)]
pub(super) struct Transcripts {
    #[serde(serialize_with = "serialize_paths")]
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: usize,
}

/// Counting stops here.
const MOST: usize = 100_000;

impl Transcripts {
    pub(super) fn of_agents() -> Self {
        let folders = loci_palace::agent_folders();
        let mut seen = 0;
        let files = folders.iter().map(|folder| count(folder, &mut seen)).sum();
        Self { folders, files }
    }
}

/// The files below a folder that look like transcripts. Links are not followed.
fn count(folder: &Path, seen: &mut usize) -> usize {
    let mut files = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        *seen += 1;
        if *seen > MOST {
            break;
        }
        let Ok(kind) = path.symlink_metadata() else {
            continue;
        };
        if kind.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else if kind.is_file() {
            let ending = path.extension().and_then(|ending| ending.to_str());
            files += usize::from(matches!(ending, Some("jsonl" | "json" | "vscdb" | "db")));
        }
    }
    files
}
