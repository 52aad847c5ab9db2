//! `loci import`: imports a palace of another program, or records from a file. The arguments and
//! the files decide which.

mod foreign;
mod jsonl;
mod places;

use std::fs::ReadDir;
use std::path::{Path, PathBuf};

use loci_palace::{
    Error, ForeignKind, OnConflict, recognise, shell_quoted, validate_collection_name,
};

use crate::args::{ConflictArgument, ImportArguments};
use crate::failure::{Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

/// Losses shown to people; JSON has them all.
const SHOWN_LOSSES: usize = 20;

pub(crate) fn run(arguments: &ImportArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    if let Some(name) = &arguments.collection {
        validate_collection_name(name)?;
    }
    match wanted(arguments)? {
        None => places::run(session),
        Some((ForeignKind::JsonLines, _)) if arguments.dry_run => Err(Failure::usage(
            "`--dry-run` works for palaces of other programs, not for JSON lines",
            "import into a new palace: `loci import jsonl FILE --palace DIR`",
        )),
        Some((ForeignKind::JsonLines, path)) => jsonl::run(&path, arguments, session),
        Some((ForeignKind::Loci, path)) => Err(Error::invalid(
            format!("`{}`", path.display()),
            format!(
                "a palace of Loci; `loci export --palace {} | loci import jsonl -` copies it",
                shell_quoted(&path)
            ),
        )
        .into()),
        Some((kind, path)) => foreign::run(kind, &path, arguments, session),
    }
}

/// Formats by the names that people type, including those of `doctor`. If a program has several
/// kinds of stores, its own name stands for all of them, and the files decide.
fn formats() -> Vec<(&'static str, Option<ForeignKind>)> {
    let importable = |kind: &&ForeignKind| **kind != ForeignKind::Loci;
    let mut formats = Vec::new();
    for kind in ForeignKind::ALL.iter().filter(importable) {
        formats.extend(kind.family().map(|name| (name, None)));
        formats.push((kind.name(), Some(*kind)));
    }
    formats
}

/// The path to import and its format; `None` if no path was given.
fn wanted(arguments: &ImportArguments) -> Result<Option<(ForeignKind, PathBuf)>> {
    let Some(first) = &arguments.kind else {
        return Ok(None);
    };
    let formats = formats();
    let named = formats.iter().find(|(name, _)| first == name);
    let Some(path) = &arguments.path else {
        let path = PathBuf::from(first);
        if path == Path::new("-") {
            return Ok(Some((ForeignKind::JsonLines, path)));
        }
        return match named {
            Some((name, _)) if !path.exists() => Err(Failure::usage(
                format!("no file or directory given for `{name}`"),
                format!("name it: `loci import {name} PATH`"),
            )),
            _ => recognised(&path).map(Some),
        };
    };
    match named {
        None => {
            let names: Vec<&str> = formats.iter().map(|(name, _)| *name).collect();
            Err(Failure::usage(
                format!("unknown format `{}`", first.display()),
                format!(
                    "known formats: {}; `loci import PATH` detects them",
                    names.join(", ")
                ),
            ))
        }
        Some((_, Some(kind))) => Ok(Some((*kind, path.clone()))),
        Some((_, None)) => recognised(path).map(Some),
    }
}

/// The detected format, and the exact path of the store.
fn recognised(path: &Path) -> Result<(ForeignKind, PathBuf)> {
    path.metadata()
        .map_err(|source| Error::io("cannot read", path, source))?;
    match recognise(path)? {
        Some(found) => Ok((found.kind, found.path)),
        None => Err(unknown(path)),
    }
}

/// The error about a path whose format is not recognised.
pub(crate) fn unknown(path: &Path) -> Failure {
    let seen = match std::fs::read_dir(path) {
        Ok(entries) => seen_among(entries),
        Err(error) if path.is_dir() => return Error::io("cannot read", path, error).into(),
        Err(_) => "it is a file of another kind".into(),
    };
    let absent: Vec<String> = ForeignKind::ALL
        .iter()
        .map(|kind| format!("no {} ({})", kind.mark(), kind.program()))
        .collect();
    Error::invalid(
        format!("`{}`", path.display()),
        format!("format not recognised: {}; {seen}", absent.join(", ")),
    )
    .into()
}

/// The content of the directory, in a few words.
fn seen_among(entries: ReadDir) -> String {
    const NAMED: usize = 5;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    match names.len() {
        0 => "the directory is empty".into(),
        1..=NAMED => format!("it contains {}", names.join(", ")),
        more => {
            names.truncate(NAMED);
            format!("it contains {} and {} more", names.join(", "), more - NAMED)
        }
    }
}

fn rule(conflict: ConflictArgument) -> OnConflict {
    match conflict {
        ConflictArgument::Skip => OnConflict::Skip,
        ConflictArgument::Update => OnConflict::Update,
        ConflictArgument::Duplicate => OnConflict::Duplicate,
        ConflictArgument::Error => OnConflict::Error,
    }
}
