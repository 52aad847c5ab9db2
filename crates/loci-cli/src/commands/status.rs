//! `loci status`: counts and sizes of the palace, and how far its indexes are behind.

use std::fmt::Write as _;

use loci_palace::backup::LastBackup;
use loci_palace::status::{self, CollectionStatus};
use loci_palace::{Advice, Warning};

use crate::failure::Result;
use crate::hint;
use crate::reply::Reply;
use crate::session::Session;
use crate::units::{ago, size};

pub(crate) fn run(session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let answer = palace.status(&status::Request::default())?;
    Reply::new(&answer, lines(palace.backend_name(), &answer))
}

fn lines(backend: &str, answer: &status::Answer) -> String {
    let (path, state) = (&answer.palace, &answer.state);
    let mut text = format!(
        "palace       {path}\nbackend      {backend}, format {}\ndrawers      {}\nsize         {}\n",
        state.format,
        answer.total,
        size(state.bytes)
    );
    if let Some(files) = &answer.files {
        let _ = writeln!(text, "last backup  {}", backup(files.last_backup.as_ref()));
    }
    for CollectionStatus { info, index } in &answer.collections {
        let _ = write!(
            text,
            "collection   {}: {} drawers, {} with a vector",
            info.name, info.count, info.vectors
        );
        if let Some(dimension) = info.dimension {
            let _ = write!(text, " of {dimension} numbers");
        }
        let _ = write!(text, ", {}", info.metric.as_str());
        if let Some(embedder) = &info.embedder {
            let _ = write!(text, ", embedder {}", embedder.name);
        }
        let _ = match (index.covered, index.tail) {
            (None, _) => writeln!(text, "; no index, searched exactly"),
            (Some(_), 0) => writeln!(text, "; indexed"),
            (Some(_), tail) => writeln!(text, "; indexed, the newest {tail} searched exactly"),
        };
        for warning in &answer.warnings {
            if !matches!(warning, Warning::EarlierTable { collection } if *collection == info.name)
            {
                continue;
            }
            let _ = writeln!(text, "             note: {}", warning.message());
            if let Some(hint) = warning.advice().and_then(|advice| hint::words(&advice)) {
                let _ = writeln!(text, "             help: {hint}");
            }
        }
        if let Some(reason) = &index.held_back {
            let _ = writeln!(text, "             the index was not rebuilt: {reason}");
            if let Some(hint) = hint::words(&Advice::RebuildIndex) {
                let _ = writeln!(text, "             help: {hint}");
            }
        }
    }
    if state.facts + state.links > 0 {
        let _ = writeln!(
            text,
            "relations    {} facts, {} links",
            state.facts, state.links
        );
    }
    let counts = [
        (
            state.damaged_drawers,
            "damaged drawers set aside by a repair",
        ),
        (
            state.damaged_relations,
            "damaged facts and links set aside by a repair",
        ),
        (state.removed_duplicates, "duplicates set aside"),
        (state.drift_files as u64, "index files set aside"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "kept         {count} {what}");
    }
    for file in &state.set_aside {
        let _ = writeln!(text, "set aside    {file}");
    }
    if state.purge_pending {
        let _ = writeln!(
            text,
            "pending      forgotten text may still be in the files; the next process removes it"
        );
    }
    text
}

/// The last backup in a few words.
pub(super) fn backup(last: Option<&LastBackup>) -> String {
    let Some(last) = last else {
        return "none".to_owned();
    };
    let mut words = format!("{}, {}", ago(last.seconds), last.path);
    if last.missing {
        words.push_str(" (the file is gone or has another size)");
    }
    words
}
