//! One line about each palace of another program in the usual places.

use std::path::{Path, PathBuf};

use loci_palace::{
    ForeignKind, diagnose, path_text, recognise, shell_quoted, usual_place_names, usual_places,
};
use serde_json::{Value, json};

use super::findings::grave;
use crate::failure::{Exit, Result};

/// Where palaces of other programs are looked for.
pub(crate) fn places() -> String {
    usual_place_names().join(", ")
}

/// The summary of a palace.
pub(crate) struct ForeignSummary {
    /// For programs.
    pub(crate) answer: Value,
    /// What it is, for people.
    pub(crate) words: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// How bad it is.
    pub(crate) exit: Exit,
}

/// Everything in the usual places.
pub(crate) fn usual() -> Result<Vec<ForeignSummary>> {
    let mut found = Vec::new();
    for place in usual_places() {
        let known = recognise(&place)?.filter(|known| known.kind != ForeignKind::Loci);
        if let Some(known) = known {
            found.push(summary_of(known.kind, &known.path));
        }
    }
    Ok(found)
}

fn summary_of(kind: ForeignKind, path: &Path) -> ForeignSummary {
    let (place, path) = (path_text(path), path.to_owned());
    let command = format!("loci import {}", shell_quoted(&path));
    match diagnose(&path, Some(kind)) {
        Err(error) => ForeignSummary {
            answer: json!({"kind": kind, "path": place, "command": command, "error": error.to_string()}),
            words: format!("cannot be read: {error}"),
            exit: Exit::Error,
            path,
        },
        Ok(diagnosis) => {
            let records: u64 = diagnosis.collections.iter().map(|of| of.records).sum();
            let findings = grave(&diagnosis.findings).count();
            let (verdict, exit) = if diagnosis.healthy {
                ("healthy".to_owned(), Exit::Done)
            } else {
                (format!("{findings} finding(s)"), Exit::Nothing)
            };
            ForeignSummary {
                answer: json!({
                    "kind": kind,
                    "path": place,
                    "command": command,
                    "writer": diagnosis.writer,
                    "healthy": diagnosis.healthy,
                    "records": records,
                    "findings": findings,
                    "notes": diagnosis.findings.len() - findings,
                }),
                words: format!("{}, {records} record(s), {verdict}", diagnosis.writer),
                exit,
                path,
            }
        }
    }
}
