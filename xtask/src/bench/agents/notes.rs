//! Notes in natural words: lines of the peer's source texts, drawn at random, so that any number can be made.

use std::path::Path;

use anyhow::ensure;

use crate::bench::mine::corpus::Corpus;
use crate::bench::mine::fresh;
use crate::target;

/// What both sides make one drawer of: more than MemPalace's least, less than its most.
const NOTE_BYTES: usize = 600;
const NOTES_PER_FOLDER: usize = 100;

/// Lines to make notes of.
pub(super) struct Notes {
    lines: Vec<String>,
}

impl Notes {
    /// The Markdown lines of a source tree that are sentences.
    pub(super) fn read(source: &Path) -> anyhow::Result<Self> {
        let folder = target().join("bench").join("agents").join("lines");
        let corpus = Corpus::notes(source, &folder)?;
        let mut lines = Vec::new();
        for path in corpus.paths()? {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            lines.extend(
                text.lines()
                    .map(str::trim)
                    .filter(|line| line.split_whitespace().count() >= 6 && line.len() < 300)
                    .map(str::to_owned),
            );
        }
        ensure!(lines.len() > 100, "too few lines in {}", folder.display());
        Ok(Self { lines })
    }

    /// Writes so many notes, each a file.
    pub(super) fn write(&self, folder: &Path, count: usize) -> anyhow::Result<()> {
        fresh(folder)?;
        let mut random = fastrand::Rng::with_seed(6);
        for number in 0..count {
            let room = folder.join(format!("room{}", number / NOTES_PER_FOLDER));
            if number.is_multiple_of(NOTES_PER_FOLDER) {
                std::fs::create_dir_all(&room)?;
            }
            let note = self.note(number, &mut random);
            std::fs::write(room.join(format!("note{number}.md")), note)?;
        }
        Ok(())
    }

    /// A note unlike every other.
    pub(super) fn note(&self, number: usize, random: &mut fastrand::Rng) -> String {
        let mut note = format!("Note {number}.\n");
        while let Some(line) = random.choice(&self.lines) {
            if note.len() + line.len() > NOTE_BYTES {
                break;
            }
            note.push_str(line);
            note.push('\n');
        }
        note
    }

    /// Questions: some words that stand together in a line.
    pub(super) fn questions(&self, count: usize) -> Vec<String> {
        let mut random = fastrand::Rng::with_seed(60);
        let mut question = || {
            let line = random.choice(&self.lines).map_or("", String::as_str);
            let words: Vec<&str> = line
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .take(7)
                .collect();
            words.join(" ")
        };
        (0..count).map(|_| question()).collect()
    }
}
