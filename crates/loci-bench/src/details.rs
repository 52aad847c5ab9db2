//! The file with one line of JSON per question.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use loci_palace::{Error, Result};
use serde::Serialize;

use crate::ask::Asked;
use crate::baseline::Ranking;
use crate::dataset::{Half, Question};

/// Writes a line per question, if a file was requested.
pub(crate) struct Details {
    file: Option<(PathBuf, BufWriter<File>)>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    category: &'a str,
    half: Half,
    unanswerable: bool,
    question: &'a str,
    evidence: Evidence<'a>,
    turns: Vec<Turn<'a>>,
    sessions: &'a [String],
    turn: Split<'a>,
    session: Split<'a>,
    tokens: usize,
    cpu_ms: f64,
    session_cpu_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Baseline<'a>>,
}

#[derive(Serialize)]
struct Baseline<'a> {
    turns: &'a [String],
    sessions: &'a [String],
}

#[derive(Serialize)]
struct Evidence<'a> {
    turns: &'a [String],
    sessions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    mempalace_sessions: Option<&'a [String]>,
}

#[derive(Serialize)]
struct Turn<'a> {
    id: &'a str,
    score: f32,
    /// Turns with the same text, which the answer names but does not show. They do not count as
    /// found.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    also_in: &'a [String],
}

/// The evidence, split by whether it is among the first ten.
#[derive(Serialize)]
struct Split<'a> {
    hits: Vec<&'a str>,
    misses: Vec<&'a str>,
}

impl<'a> Split<'a> {
    fn new(evidence: &'a [String], found: impl Fn(&str) -> bool) -> Self {
        let (hits, misses) = evidence
            .iter()
            .map(String::as_str)
            .partition(|item| found(item));
        Self { hits, misses }
    }
}

impl Details {
    /// Whether a file was requested.
    pub(crate) fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    /// Creates the file, and overwrites an existing one.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| match loci_files::foreign::create(path) {
            Ok(file) => Ok((path.to_owned(), BufWriter::new(file))),
            Err(source) => Err(Error::io("cannot create", path, source)),
        };
        Ok(Self {
            file: path.map(create).transpose()?,
        })
    }

    /// Adds a question.
    pub(crate) fn write(
        &mut self,
        question: &Question,
        half: Half,
        asked: &Asked,
        baseline: Option<&Ranking>,
    ) -> Result<()> {
        let line = Line {
            id: &question.id,
            category: &question.category,
            half,
            unanswerable: question.unanswerable,
            question: &question.text,
            evidence: Evidence {
                turns: &question.turns,
                sessions: &question.sessions,
                mempalace_sessions: question.mempalace.as_deref(),
            },
            turns: asked
                .turns
                .iter()
                .map(|hit| Turn {
                    id: &hit.id,
                    score: hit.score,
                    also_in: hit.also_in.as_deref().unwrap_or_default(),
                })
                .collect(),
            sessions: &asked.sessions,
            turn: Split::new(&question.turns, |item| {
                asked.turns.iter().any(|hit| hit.id == item)
            }),
            session: Split::new(&question.sessions, |item| {
                asked.sessions.iter().any(|session| session == item)
            }),
            tokens: asked.tokens,
            cpu_ms: asked.cpu_ms,
            session_cpu_ms: asked.session_cpu_ms,
            baseline: baseline.map(|ranking| Baseline {
                turns: &ranking.turns,
                sessions: &ranking.sessions,
            }),
        };
        self.write_line(&line)
    }

    /// Adds a line.
    pub(crate) fn write_line(&mut self, line: &impl Serialize) -> Result<()> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        serde_json::to_writer(&mut *file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|source| Error::io("cannot write", path.as_path(), source))
    }

    /// Flushes the file.
    pub(crate) fn finish(self) -> Result<()> {
        match self.file {
            None => Ok(()),
            Some((path, mut file)) => file
                .flush()
                .map_err(|source| Error::io("cannot write", path, source)),
        }
    }
}
