//! Notes in natural language, made of random lines of the peer's documentation, so there can be any
//! number of them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::ensure;
use serde_json::json;

use crate::bench::mine::corpus::Corpus;
use crate::target;

/// A text of this length is one drawer on both sides. MemPalace splits longer texts.
const NOTE_BYTES: usize = 600;
const ROOMS: usize = 20;
/// The wing of all notes.
pub(super) const WING: &str = "bench";

/// The lines that notes are made of.
pub(super) struct Notes {
    lines: Vec<String>,
}

impl Notes {
    /// Reads the Markdown lines of a source tree that are sentences.
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

    /// Writes this number of notes as records, one per line.
    pub(super) fn write(&self, file: &Path, count: usize) -> anyhow::Result<()> {
        let mut random = fastrand::Rng::with_seed(6);
        let mut output = BufWriter::new(File::create(file)?);
        for number in 0..count {
            let record = json!({
                "id": format!("drawer_bench_{number}"),
                "document": self.note(number, &mut random),
                "metadata": {
                    "wing": WING,
                    "room": format!("room{}", number % ROOMS),
                    "source_file": format!("/notes/{}.md", number / 10),
                    "chunk_index": number % 10,
                    "filed_at": "2026-11-01T08:00:00",
                },
            });
            writeln!(output, "{record}")?;
        }
        output.flush()?;
        Ok(())
    }

    /// A note that differs from every other.
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

    /// Questions, each made of a few adjacent words of a line.
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
